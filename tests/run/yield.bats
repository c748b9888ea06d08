#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# libsonde-yield: a rank that waits gives way, and MPI_Finalize ends.
# shellcheck disable=SC2030,SC2031,SC2154,SC2164 # each test is a process; bats ends a test at what fails
load ../cli/helper

BUILD=$(dirname "$SONDE")
YIELD=$BUILD/libsonde-yield.so
MPICH_VERSION=$'MPICH Version:\t4.0.2\nMPICH Device:\tch4:ucx\n'

# poll VERSION POLLS ROUNDS GAP_US: its line of counts is in $line
poll() {
	LD_PRELOAD=$YIELD SONDE_YIELD_STATS=$BATS_TEST_TMPDIR/counts \
		timeout 60 "$BUILD/tests/run/poll" "$@"
	line=$(cat "$BATS_TEST_TMPDIR/counts")
	rm "$BATS_TEST_TMPDIR/counts"
}

# count NAME: from $line
count() {
	sed -n "s/.*[:,] $1 \([0-9]*\).*/\1/p" <<<"$line"
}

# mpi RANKS COMMAND...: MPICH's, preloaded, with a deadline
mpi() {
	local ranks=$1
	shift
	LD_PRELOAD=$YIELD SONDE_RUN_SESSION=keep \
		timeout -k 5 60 mpiexec.mpich -n "$ranks" "$@" </dev/null
}

@test "a wait of fewer polls than the spin never yields" {
	poll "$MPICH_VERSION" 20 1000 0
	[ "$(count yields)" -eq 0 ]
}

@test "a longer wait yields" {
	poll "$MPICH_VERSION" 100 10 0
	[ "$(count yields)" -gt 0 ]
}

@test "the spin is as long as asked for" {
	SONDE_YIELD_SPIN=0 poll "$MPICH_VERSION" 20 1000 0
	[ "$(count yields)" -gt 0 ]
	SONDE_YIELD_SPIN=1000 poll "$MPICH_VERSION" 990 10 0
	[ "$(count yields)" -eq 0 ]
}

@test "yields that nobody takes become rare" {
	SONDE_YIELD=always poll "$MPICH_VERSION" 20000 1 0
	always=$(count yields)
	[ "$always" -gt 19000 ]
	# Alone in its session, so in its group: a yield is not taken.
	LD_PRELOAD=$YIELD SONDE_YIELD_STATS=$BATS_TEST_TMPDIR/counts \
		setsid -w timeout 60 "$BUILD/tests/run/poll" "$MPICH_VERSION" 2000000 1 0
	line=$(cat "$BATS_TEST_TMPDIR/counts")
	# One in 1,024, if nothing else runs; others may take some.
	[ "$(count yields)" -lt 1000000 ]
	[ "$(count yields)" -gt 0 ]
}

@test "a program that computes between its polls keeps the CPU" {
	poll "$MPICH_VERSION" 100 3 2000
	[ "$(count yields)" -eq 0 ]
	[ "$(count busy)" -gt 0 ]
}

@test "another MPI, and MPICH over something else, are left alone" {
	for version in 'Open MPI v4.1.4' $'MPICH Version:\t4.1\nMPICH Device:\tch4:ofi\n' ''; do
		poll "$version" 1000 10 0
		[ "$(count yields)" -eq 0 ]
	done
}

@test "always is for whatever polls, never for nothing" {
	SONDE_YIELD=always poll 'another MPI' 1000 1 0
	[ "$(count yields)" -gt 900 ]
	SONDE_YIELD=never poll "$MPICH_VERSION" 1000 10 0
	[ "$(count yields)" -eq 0 ]
}

@test "a setting that is none is named once and ignored" {
	for setting in SONDE_YIELD=often SONDE_YIELD_SPIN=-1 SONDE_YIELD_SPIN=2x \
		SONDE_YIELD_FINALIZE=no; do
		run --separate-stderr env "$setting" PMI_RANK=0 LD_PRELOAD="$YIELD" \
			"$BUILD/tests/run/poll" "$MPICH_VERSION" 100 1 0
		[ "$status" -eq 0 ]
		one_line "$stderr"
		has "$stderr" "sonde-yield: $setting is ignored: it is "
		run --separate-stderr env "$setting" PMI_RANK=1 LD_PRELOAD="$YIELD" \
			"$BUILD/tests/run/poll" "$MPICH_VERSION" 100 1 0
		[ -z "$stderr" ]
	done
}

@test "nothing is printed unless asked for, and nothing by programs without UCX" {
	run --separate-stderr mpi 2 "$BUILD/tests/run/alltoall.mpich"
	[ "$status" -eq 0 ]
	[ "$output" = "2 ranks, 10 calls, right" ]
	[ -z "$stderr" ]
	LD_PRELOAD=$YIELD SONDE_YIELD_STATS=1 run --separate-stderr /bin/true
	[ -z "$stderr" ]
}

@test "ranks of MPICH yield, and their exchange is right" {
	SONDE_YIELD_STATS=$BATS_TEST_TMPDIR/counts \
		run mpi 6 "$BUILD/tests/run/alltoall.mpich" 100 1000
	[ "$status" -eq 0 ]
	has "$output" "6 ranks, 1000 calls, right"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/counts")" -eq 6 ]
	while read -r line; do
		[ "$(count yields)" -gt 0 ]
		[ "$(count settled)" -eq 1 ]
		[ "$(count kept)" -gt 0 ]
	done <"$BATS_TEST_TMPDIR/counts"
}

@test "MPI_Finalize ends over TCP, ten times after an exchange" {
	export UCX_TLS=tcp,self
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		mpi 6 "$BUILD/tests/run/alltoall.mpich" 64 1
	done
}

@test "MPI_Finalize ends over TCP if some ranks never communicated" {
	export UCX_TLS=tcp,self
	for _ in 1 2 3 4 5; do
		mpi 6 "$BUILD/tests/run/alltoall.mpich" 8 0
	done
}

@test "MPI's own MPI_Finalize is used if asked for" {
	SONDE_YIELD_FINALIZE=mpi SONDE_YIELD_STATS=$BATS_TEST_TMPDIR/counts \
		mpi 2 "$BUILD/tests/run/alltoall.mpich"
	while read -r line; do
		[ "$(count settled)" -eq 0 ]
		[ "$(count kept)" -eq 0 ]
	done <"$BATS_TEST_TMPDIR/counts"
}

@test "an MPICH that a program loads for itself alone is served too" {
	SONDE_YIELD_STATS=$BATS_TEST_TMPDIR/counts \
		run mpi 4 "$BUILD/tests/run/load" "$BUILD/tests/run/alltoall.so" 100 1000
	[ "$status" -eq 0 ]
	has "$output" "4 ranks, 1000 calls, right"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/counts")" -eq 4 ]
	while read -r line; do
		[ "$(count yields)" -gt 0 ]
		[ "$(count settled)" -eq 1 ]
	done <"$BATS_TEST_TMPDIR/counts"
}

@test "Open MPI is as without it" {
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
	LD_PRELOAD=$YIELD SONDE_YIELD_STATS=$BATS_TEST_TMPDIR/counts \
		run timeout -k 5 60 mpiexec.openmpi --oversubscribe -n 3 \
		"$BUILD/tests/run/alltoall.openmpi"
	[ "$status" -eq 0 ]
	has "$output" "3 ranks, 10 calls, right"
	if [ -e "$BATS_TEST_TMPDIR/counts" ]; then
		while read -r line; do
			[ "$(count yields)" -eq 0 ]
			[ "$(count settled)" -eq 0 ]
		done <"$BATS_TEST_TMPDIR/counts"
	fi
}

# session_of COMMAND...: of what COMMAND starts as rank
@test "the launcher's ranks stay in its session if asked for, and only then" {
	own=$(ps -o sid= -p $$ | tr -d ' ')
	sids=$(mpi 2 sh -c 'ps -o sid= -p $$' | sort -u | tr -d ' ')
	[ "$sids" = "$own" ]
	LD_PRELOAD=$YIELD timeout -k 5 60 mpiexec.mpich -n 2 sh -c 'ps -o sid= -p $$' \
		</dev/null >"$BATS_TEST_TMPDIR/sids"
	run ! grep -x " *$own" "$BATS_TEST_TMPDIR/sids"
}

@test "a program that is launched has the real setsid" {
	run mpi 1 setsid -w sh -c 'ps -o sid=,pid= -p $$'
	[ "$status" -eq 0 ]
	read -r sid pid <<<"$output"
	[ "$sid" = "$pid" ]
}

@test "ranks in their launcher's session die with it" {
	mpi 3 sh -c "echo \$\$ >>$BATS_TEST_TMPDIR/pids; exec sleep 1000" 3>&- &
	until_true eval "[ \"\$(wc -l 2>/dev/null <$BATS_TEST_TMPDIR/pids)\" = 3 ]"
	# timeout(1) passes it on to mpiexec.
	kill -TERM "$(pgrep -P $! timeout || echo $!)"
	await $!
	while read -r pid; do
		until_true eval "! kill -0 $pid 2>/dev/null"
	done <"$BATS_TEST_TMPDIR/pids"
}
