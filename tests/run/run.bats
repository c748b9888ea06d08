#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `sonde run`: ranks share a run queue, and nothing is left behind.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154,SC2164
load ../cli/helper

BUILD=$(dirname "$SONDE")
AUTOGROUP=/proc/sys/kernel/sched_autogroup_enabled

setup() {
	export SONDE_TEST_TAG=tag-$BATS_TEST_NUMBER-$$-$RANDOM
	export TMPDIR=$BATS_TEST_TMPDIR
	cd "$BATS_TEST_TMPDIR"
	autogroup=$(cat $AUTOGROUP 2>/dev/null || :)
}

# What a test that failed left running.
teardown() {
	local file
	grep -lsa "SONDE_TEST_TAG=$SONDE_TEST_TAG" /proc/[0-9]*/environ | while read -r file; do
		file=${file#/proc/}
		kill -KILL "${file%/environ}" 2>/dev/null || :
	done
	# A test that failed may have left it off.
	[ -z "$autogroup" ] || [ "$(cat $AUTOGROUP)" = "$autogroup" ] || echo "$autogroup" >$AUTOGROUP
}

run_sonde() { timeout -k 5 60 "$SONDE" run "$@"; }

# told FILE EXPRESSION: of the JSON that --json left
told() { json "$1" "$2"; }

# Cgroups named after the process that made them.
cgroups() { compgen -G "/sys/fs/cgroup/sonde-run.$1" || compgen -G "/sys/fs/cgroup/*/sonde-run.$1"; }

# Processes with this test's tag; what looks for them is one.
tagged() {
	local files
	files=$(grep -lsa "SONDE_TEST_TAG=$SONDE_TEST_TAG" /proc/[0-9]*/environ)
	wc -w <<<"$files"
}

is_gone() { ! cgroups "$1" >/dev/null && [ "$(tagged)" -le "$2" ]; }

needs_cgroup() {
	run_sonde --group cgroup true 2>/dev/null || skip "no cgroup may be made here"
}

needs_autogroup() {
	if ! [ -w "$AUTOGROUP" ] || [ "$(cat "$AUTOGROUP")" = 0 ]; then
		skip "autogroups are off, or not ours to switch off"
	fi
}

@test "the program gets its arguments, its streams and its folder" {
	run --separate-stderr run_sonde sh -c 'cat; pwd; echo "$0 $1" >&2' -n 'a  b' <<<"typed"
	[ "$status" -eq 0 ]
	[ "$output" = $'typed\n'"$PWD" ]
	[ "$stderr" = "-n a  b" ]
}

@test "the exit status is the program's" {
	for status_wanted in 0 1 2 77 255; do
		run run_sonde sh -c "exit $status_wanted"
		[ "$status" -eq "$status_wanted" ]
	done
}

@test "ended by a signal, it ends by that signal" {
	for signal in KILL TERM SEGV; do
		run perl -e 'my $s = system @ARGV; print $s & 127' "$SONDE" run \
			sh -c "kill -$signal \$\$"
		[ "$output" = "$(kill -l $signal)" ]
	done
}

@test "a program that is not there or is none is named" {
	run -127 run_sonde /nonexistent
	has "$output" "sonde run: /nonexistent: not found"
	one_line "$output"
	echo text >file
	run -126 run_sonde ./file
	has "$output" "sonde run: cannot start ./file: Permission denied"
	one_line "$output"
}

@test "a cgroup of its own has the job in it, and is gone after it" {
	needs_cgroup
	run --separate-stderr run_sonde --group cgroup --explain \
		sh -c 'cat /proc/self/cgroup; echo $PPID'
	[ "$status" -eq 0 ]
	number=${lines[-1]}
	has "$output" "/sonde-run.$number"
	has "$stderr" "sonde run: group: a cgroup of the job's own"
	has "$stderr" "/sonde-run.$number"
	run ! cgroups "$number"
}

@test "the cgroup weighs a task for each CPU, or what was asked for" {
	needs_cgroup
	run_sonde --group cgroup --json -o told.json true
	[ "$(told told.json '$d->{group}{weight}')" = "$(nproc)" ]
	run run_sonde --group cgroup --weight 20 sh -c \
		'cat /sys/fs/cgroup/*/sonde-run.$PPID/cpu.shares /sys/fs/cgroup/sonde-run.$PPID/cpu.weight 2>/dev/null'
	[[ $output == 20480 || $output == 2000 ]]
}

@test "what the job leaves running is ended" {
	needs_cgroup
	own=$(tagged)
	for way in cgroup session; do
		run_sonde --group $way sh -c 'setsid sh -c "trap : TERM; while :; do :; done" &'
		[ "$(tagged)" -le "$own" ]
	done
}

@test "ranks of MPICH's launcher share a session without any rights" {
	public=$(TMPDIR=/tmp make_public)
	cp "$BUILD/libsonde-yield.so" "$public/"
	cd /
	run --separate-stderr unprivileged env TMPDIR=/tmp timeout -k 5 60 "$public/sonde" run \
		--explain --group session mpiexec.mpich -n 3 sh -c 'ps -o sid= -p $$'
	rm -rf "$public"
	[ "$status" -eq 0 ]
	[ "$(sort -u <<<"$output" | wc -l)" -eq 1 ]
	has "$stderr" "group: the launcher makes no sessions"
}

@test "without rights for a cgroup it says why, and what it took" {
	[ "$(cat $AUTOGROUP 2>/dev/null)" = 1 ] || skip "no autogroups"
	public=$(TMPDIR=/tmp make_public)
	cd /
	run --separate-stderr unprivileged env TMPDIR=/tmp "$public/sonde" run --explain true
	rm -rf "$public"
	[ "$status" -eq 0 ]
	if [[ $stderr == *"nothing to do"* ]]; then skip "this user has a cgroup"; fi
	has "$stderr" "group: the launcher makes no sessions"
	has "$stderr" "not by cgroup: "
	has "$stderr" "libsonde-yield.so: left out: "
}

@test "none is what was asked for, and what is lost is said" {
	run --separate-stderr run_sonde --group none --explain true
	[ "$status" -eq 0 ]
	has "$stderr" "group: none"
	has "$stderr" "lost: a rank that waits cannot give way"
}

@test "a job within a job finds its group made" {
	needs_cgroup
	run run_sonde --group cgroup "$SONDE" run --explain true
	[ "$status" -eq 0 ]
	has "$output" "group: nothing to do"
}

@test "autogroups are off during the run and on after the last of two" {
	needs_autogroup
	mkfifo go
	"$SONDE" run --group autogroup sh -c 'echo >first; cat go' 3>&- &
	first=$!
	until_true test -e first
	[ "$(cat $AUTOGROUP)" = 0 ]
	run_sonde --group autogroup grep 0 $AUTOGROUP
	[ "$(cat $AUTOGROUP)" = 0 ]
	echo >go
	await $first
	[ "$status" -eq 0 ]
	[ "$(cat $AUTOGROUP)" = 1 ]
}

@test "autogroups are on again after KILL" {
	needs_autogroup
	"$SONDE" run --group autogroup sh -c 'echo >ready; exec sleep 1000' 3>&- &
	job=$!
	until_true test -e ready
	[ "$(cat $AUTOGROUP)" = 0 ]
	kill -KILL $job
	await $job
	until_true grep -q 1 $AUTOGROUP
}

@test "signals sent to it reach the job, and nothing is left" {
	own=$(tagged)
	for signal in TERM INT HUP; do
		rm -f ready
		# In a shell without a terminal, or under nohup, they may be ignored.
		env --default-signal=INT,HUP "$SONDE" run --explain mpiexec.mpich -n 3 \
			sh -c 'echo >>ready; while :; do :; done' 3>&- &
		job=$!
		until_true eval '[ "$(cat ready 2>/dev/null | wc -l)" -eq 3 ]'
		kill -s $signal $job
		# What mpiexec makes of its ranks' end is its own affair, but it is theirs.
		await $job
		[ "$status" -ne 137 ]
		run ! cgroups $job
		[ "$(tagged)" -le "$own" ]
		run ! compgen -G 'sonde-run.*'
	done
}

@test "a job may handle a signal and go on" {
	"$SONDE" run sh -c 'trap "echo handled >>got" USR1; echo >ready
		while ! [ -e got ]; do :; done; exit 5' 3>&- &
	job=$!
	until_true test -e ready
	kill -USR1 $job
	await $job
	[ "$status" -eq 5 ]
	[ "$(cat got)" = handled ]
}

@test "killed itself, it leaves nothing either" {
	own=$(tagged)
	"$SONDE" run --explain mpiexec.mpich -n 3 \
		sh -c 'echo >>ready; while :; do :; done' 3>&- &
	job=$!
	until_true eval '[ "$(cat ready 2>/dev/null | wc -l)" -eq 3 ]'
	kill -KILL $job
	await $job
	[ "$status" -eq 137 ]
	until_true is_gone $job "$own"
	until_true eval '! compgen -G "sonde-run.*"'
}

@test "killed itself, it also ends a job that does not listen" {
	needs_cgroup
	own=$(tagged)
	"$SONDE" run --group cgroup sh -c 'trap "" TERM; echo >ready; while :; do :; done' 3>&- &
	job=$!
	until_true test -e ready
	kill -KILL $job
	await $job
	until_true is_gone $job "$own"
}

@test "without its keeper it undoes all the same" {
	needs_cgroup
	mkfifo go
	"$SONDE" run --group cgroup sh -c 'echo >ready; cat go' 3>&- &
	job=$!
	until_true test -e ready
	keeper=$(pgrep -P $job -f 'sonde run' | while read -r pid; do
		[ "$(cat /proc/"$pid"/comm)" = sonde-run-keep ] && echo "$pid"; done)
	[ -n "$keeper" ]
	kill -KILL "$keeper"
	echo >go
	await $job
	[ "$status" -eq 0 ]
	run ! cgroups $job
}

@test "ranks have libsonde-yield in them, and their counts are summed up" {
	run --separate-stderr run_sonde --json --output told.json --no-coll \
		mpiexec.mpich -n 6 "$BUILD/tests/run/alltoall.mpich" 64 1000
	[ "$status" -eq 0 ]
	[ "$output" = "6 ranks, 1000 calls, right" ]
	[ -z "$stderr" ]
	[ "$(told told.json '$d->{ranks}{n}')" = 6 ]
	[ "$(told told.json '$d->{ranks}{settled}')" = 6 ]
	[ "$(told told.json '$d->{ranks}{yields} > 0 ? 1 : 0')" = 1 ]
	[ "$(told told.json '$d->{exit_status}')" = 0 ]
	[ "$(told told.json '$d->{preloads}[0]{why}')" = "by option" ]
	[ "$(told told.json '$d->{group}{way}')" != null ]
	run ! compgen -G 'sonde-run.*'
}

@test "without yielding MPICH is as it was" {
	run run_sonde --json --output told.json --no-coll --no-yield \
		mpiexec.mpich -n 2 "$BUILD/tests/run/alltoall.mpich"
	[ "$status" -eq 0 ]
	[ "$(told told.json '$d->{ranks}{yields} + $d->{ranks}{settled}')" = 0 ]
}

# Which of the collectives libraries a program was started with.
coll_of() { LD_DEBUG=files run_sonde "$@" 2>&1 | sed -n 's/.*calling init: .*\/\(libsonde-coll[a-z-]*\)\.so.*/\1/p' | sort -u; }

@test "libsonde-coll joins programs of its MPI, and nothing else" {
	[ -e "$BUILD/libsonde-coll.so" ] || skip "libsonde-coll is not built"
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
	[ "$(coll_of sh -c true)" = "" ]
	[ "$(coll_of mpiexec.mpich -n 1 sh -c true)" = "" ]
	[ "$(coll_of mpiexec.mpich -n 1 sh -c "$BUILD/tests/run/alltoall.mpich; :")" = libsonde-coll ]
	[ "$(coll_of --no-coll mpiexec.mpich -n 1 "$BUILD/tests/run/alltoall.mpich")" = "" ]
	[ -e "$BUILD/libsonde-coll-openmpi.so" ] || skip "it is not built for Open MPI"
	[ "$(coll_of mpiexec.openmpi -n 1 "$BUILD/tests/run/alltoall.openmpi")" = \
		libsonde-coll-openmpi ]
}

@test "what was preloaded before still is" {
	LD_PRELOAD=$BUILD/libsonde.so run run_sonde sh -c 'echo $LD_PRELOAD'
	[ "$output" = "$BUILD/libsonde-yield.so:$BUILD/libsonde.so" ]
}

@test "what cannot be written is said, and does not hide the job's failure" {
	run run_sonde --explain --output /nonexistent/file true
	[ "$status" -eq 1 ]
	has "$output" "sonde run: cannot write /nonexistent/file: No such file"
	run run_sonde --explain --output /nonexistent/file sh -c 'exit 4'
	[ "$status" -eq 4 ]
}

@test "mistakes are named in one line" {
	while IFS='|' read -r arguments complaint; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr run_sonde $arguments
		[ "$status" -eq 2 ]
		[ -z "$output" ]
		one_line "$stderr"
		has "$stderr" "sonde run: $complaint"
	done <<-'MISTAKES'
		|needs PROGRAM [ARGUMENT...]
		--explain|needs PROGRAM [ARGUMENT...]
		--group sesion true|--group sesion: not one of auto, cgroup, session, autogroup, none
		--group already true|--group already: not one of
		--group|--group needs its argument
		--weight 0 true|--weight 0: not a number of tasks from 1 to 100
		--weight 101 true|--weight 101: not a whole number from 0 to 100
		--weight heavy true|--weight heavy: not a whole number
		--no-yeld true|unknown option '--no-yeld', did you mean '--no-yield'?
		-x true|unknown option '-x'
	MISTAKES
}

@test "a way that is not to be had fails before the job starts" {
	public=$(TMPDIR=/tmp make_public)
	cd /
	for way in cgroup autogroup; do
		run --separate-stderr unprivileged "$public/sonde" run --group $way echo started
		[ "$status" -eq 1 ]
		[ -z "$output" ]
		one_line "$stderr"
		has "$stderr" "sonde run: --group $way: "
	done
	rm -rf "$public"
}

@test "the manual has every option, both ways, and is clean" {
	diff <("$SONDE" run --help | sed -n 's/^  *\(-[a-zA-Z], \)\{0,1\}\(--[a-z-]*\).*/\2/p' | sort -u) \
		<(sed -n 's/^\.It .*Fl -\([a-z][a-z-]*\).*/--\1/p' "$SOURCE/man/sonde-run.1" | sort -u)
	for page in sonde-run.1 sonde-yield.7; do
		run mandoc -Tlint -Wwarning "$SOURCE/man/$page"
		[ -z "$output" ]
	done
	while read -r variable; do
		grep -q "^\.It Ev $variable" "$SOURCE/man/sonde-yield.7"
	done < <(grep -oh 'getenv("SONDE_YIELD[A-Z_]*")' "$SOURCE"/run/*.c | grep -o 'SONDE[A-Z_]*')
}
