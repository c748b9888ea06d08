#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whole jobs of libsonde-dsm: the eight programs give the same whatever the back end, the
# processes and the unit; a ported program; wrong settings; a process that is killed, or
# does something else that it should not.
# SONDE_LONG=1: 1 to 8 processes and all units.
# shellcheck disable=SC2317 # check calls the functions
set -u
cd "$(dirname "$0")/../.." || exit 1
O=$(realpath "${O:-build}")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mpich=$O/mpich openmpi=$O/openmpi
# shellcheck source=tests/tap.sh
. tests/tap.sh
# shellcheck source=tests/mpi/jobs.sh
. tests/mpi/jobs.sh

if [ ! -x "$mpich/tests/dsm/mpi/port" ]; then
	echo "1..0 # SKIP no MPICH: install libmpich-dev and mpich"
	exit 0
fi
apps=$mpich/dsm/apps/apps port=$mpich/tests/dsm/mpi/port

# ---- checksums ---------------------------------------------------------------
job 1 env SONDE_DSM_FAULT=sigsegv "$apps" >"$dir/expected" 2>"$dir/err"
eight() { [ "$(grep -cE '^[a-z]+ [0-9a-f]{16}$' "$dir/expected")" = 8 ] || { cat "$dir/err"; false; }; }
check "the eight programs run in one process" eight
same() { # PROCESSES UNIT BACK-END
	job "$1" env SONDE_DSM_UNIT="$2" SONDE_DSM_FAULT="$3" SONDE_DSM_DEBUG=1 "$apps" |
		diff "$dir/expected" -
}
back_ends=
for back_end in module uffd-async uffd-sigbus sigsegv; do
	if job 1 env SONDE_DSM_FAULT=$back_end SONDE_DSM_DEBUG=1 "$apps" is >"$dir/out" 2>"$dir/err"; then
		back_ends="$back_ends $back_end"
	else
		skip "checksums with $back_end" "$(head -n 1 "$dir/err" | sed 's/^sonde-dsm: //')"
	fi
done
processes='1 2 4' units='4096 16384'
[ -z "${SONDE_LONG:-}" ] || { processes='1 2 3 4 5 6 7 8' units='4096 8192 16384 65536'; }
for back_end in $back_ends; do
	for n in $processes; do
		for unit in $units; do
			check "$back_end: checksums of $n processes, $unit bytes a page" \
				same "$n" "$unit" "$back_end"
		done
	done
done
if [ -x "$openmpi/dsm/apps/apps" ]; then
	same_openmpi() { ompi_job 2 "$openmpi/dsm/apps/apps" | diff "$dir/expected" -; }
	check "so they are with Open MPI" same_openmpi
else
	skip "Open MPI" "install libopenmpi-dev and openmpi-bin"
fi

# ---- a program that was written for pthread ----------------------------------
ported() { # PROCESSES
	job "$1" "$port" >"$dir/out" && cat "$dir/out" &&
		[ "$(cat "$dir/out")" = "sum 568820, items 120, once 1" ]
}
for n in 1 2 3; do
	check "a ported program with static objects, $n processes" ported $n
done

# ---- counters ----------------------------------------------------------------
table() {
	job 2 env SONDE_DSM_STATS=1 "$apps" sor >"$dir/out" 2>"$dir/err" && cat "$dir/err" &&
		[ "$(grep -cE '^ +[01] +[1-9][0-9]* ' "$dir/err")" = 2 ]
}
check "SONDE_DSM_STATS=1 shows what each process did" table
json() {
	job 2 env SONDE_DSM_STATS=json "$apps" sor >"$dir/out" 2>"$dir/err" &&
		python3 -c 'import json, sys
d = json.load(sys.stdin)
assert d["schema"] == "sonde-dsm-stats-1" and len(d["processes"]) == 2
for p in d["processes"]:
    assert p["messages"] == sum(p["messages_by_kind"].values()) > 0' <"$dir/err"
}
check "SONDE_DSM_STATS=json is JSON, and its messages add up" json

# ---- mistakes ----------------------------------------------------------------
refused() { # PATTERN SETTING...: one line says what to do, nothing runs
	pattern=$1
	shift
	! job 1 env SONDE_DSM_DEBUG=1 "$@" "$apps" sor >"$dir/out" 2>"$dir/err" || return 1
	cat "$dir/err"
	[ ! -s "$dir/out" ] && [ "$(grep -c '^sonde-dsm:' "$dir/err")" = 1 ] &&
		grep -qE "$pattern" "$dir/err"
}
check "a unit that is no power of two is refused" refused 'power of two' SONDE_DSM_UNIT=5000
check "a unit that is no number is refused" refused 'power of two' SONDE_DSM_UNIT=4x
check "too little memory is refused" refused 'at least' SONDE_DSM_BYTES=4k
check "a back end that there is not is refused" refused 'no back end' SONDE_DSM_FAULT=magic
unknown() { "$apps" nonsense 2>"$dir/err"; [ $? = 2 ] && grep -q 'no program' "$dir/err"; }
check "a program that there is not is refused" unknown
little() {
	! job 2 env SONDE_DSM_BYTES=1m "$apps" -s 16 barnes >"$dir/out" 2>"$dir/err" || return 1
	cat "$dir/err"
	grep -q 'raise SONDE_DSM_BYTES' "$dir/err"
}
check "memory that does not suffice is told of, and the job ends" little

# ---- a process that is killed --------------------------------------------------
# Polls, as what is killed ends a little later: gone COMMAND...: it finds nothing any more
gone() {
	for _ in $(seq 300); do
		"$@" | grep -q . || return 0
		read -rt 0.1 <> <(:) || :
	done
	return 1
}
killed() { # WRAPPER...: what the processes are started by
	: >"$dir/out"
	job 3 "$@" "$port" endless >"$dir/out" 2>&1 &
	launcher=$!
	for _ in $(seq 600); do
		grep -q '^ready' "$dir/out" && break
		read -rt 0.1 <> <(:) || :
	done
	victim=$(pgrep -n -f "^$port endless") && kill -9 "$victim"
	! wait "$launcher" || return 1
	cat "$dir/out"
	[ -n "$victim" ] && [ "$(grep -c '^sonde-dsm:' "$dir/out")" -le 1 ] &&
		gone pgrep -f "^$port endless"
}
check "a killed process ends the job and leaves nothing behind" killed
# The launcher sees a shell that goes on, so the others have to notice.
unseen() {
	# shellcheck disable=SC2016 # the shell of the job expands it
	killed bash -c '"$@" || code=$?; [ $code != 137 ] || read -rt 100 <> <(:); exit $code' \
		bash || return 1
	[ "$(grep -c '^sonde-dsm: .* has ended without' "$dir/out")" = 1 ]
}
check "where the launcher does not see it the others do, and one says so" unseen
# ---- a process that does what it should not ------------------------------------
ends=$mpich/tests/dsm/mpi/ends
stops() {
	job 3 "$ends" stop >"$dir/out" 2>&1 || { cat "$dir/out"; return 1; }
	[ "$(cat "$dir/out")" = $'Connection timed out\ncount 1' ]
}
check "who waits for a process that was stopped has its deadline, and goes on with it" stops
becomes_another() {
	mkfifo "$dir/fifo"
	! job 3 "$ends" exec "$dir/fifo" >"$dir/out" 2>&1 || return 1
	cat "$dir/out"
	[ "$(grep -c '^sonde-dsm: .* process 1 has ended without' "$dir/out")" = 1 ] &&
		gone pgrep -f "^cat $dir/fifo"
}
check "a process that became another program ends the job, and one says so" becomes_another
ends_all() { # BACK-END WHAT: with a core, if one is wanted here
	! (cd "$dir" && ulimit -c unlimited && job 3 env SONDE_DSM_BYTES=1m SONDE_DSM_FAULT="$1" \
		"$ends" "$2" >out 2>&1) || return 1
	cat "$dir/out"
	[ "$(grep -c '^sonde-dsm:' "$dir/out")" -le 1 ] && gone pgrep -f "^$ends"
}
for back_end in $back_ends; do
	check "$back_end: memory that was taken away ends who touches it, and the job" \
		ends_all "$back_end" unmap
	check "$back_end: a process that leaves a core ends the job" ends_all "$back_end" abort
done
echo "1..$count"
exit $failed
