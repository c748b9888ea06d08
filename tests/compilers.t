#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Both compilers build everything without a warning, and the unit tests hold
# under the address and undefined-behaviour sanitizers and under valgrind. SONDE_LONG=1:
# more of them, and more seeds.
set -eu
cd "$(dirname "$0")/.."
O=${O:-build}
log=$O/compilers.log
jobs=$(nproc)
mkdir -p "$O"
# A make above us may have its own idea of jobs, and would be told so.
unset MAKEFLAGS MFLAGS MAKELEVEL

count=0 failed=0
result() { # ok|"not ok" name
	count=$((count + 1))
	echo "$1 $count - $2"
	[ "$1" = ok ] || { sed 's/^/# /' "$log" | tail -n 40; failed=1; }
}
echo 1..5

# build CC FOLDER MAKE-WORDS...: everything. Who compiled it before kept what was said then.
build() {
	local cc=$1 folder=$2
	shift 2
	if make -s -j"$jobs" CC="$cc" O="$folder" "$@" all unit-programs dsm-programs \
			guest-programs >"$log" 2>&1 &&
	   find "$folder" \( -path "$folder/clang" -o -path "$folder/threads" \) -prune -o -name '*.said' \
			-exec cat {} + >>"$log" && ! [ -s "$log" ]; then
		result ok "$cc builds without a warning"
	else
		result "not ok" "$cc builds without a warning"
	fi
}

# The tree at hand, if that is what gcc makes with nothing else asked of it.
gcc=$O/gcc
if make -s CC=gcc O="$O" flags | cmp -s - "$O/.flags"; then
	gcc=$O
fi
build gcc "$gcc"
# With the sanitizers in it.
build clang "$O/clang" SAN=address,undefined

# run_unit TEST CASES WORDS...: a unit test behind some words; what it says stays
# in a file beside the log if it fails.
run_unit() {
	local test=$1 cases=$2 out
	shift 2
	out=$log.$(basename "$test")
	if env ${cases:+CK_RUN_CASE=$cases} "$@" "$test" >"$out" 2>&1; then
		rm -f "$out"
	else
		sed -i "1i $test:" "$out"
	fi
}

# run_units FOLDER WHICH [WORDS...]: the unit tests of an output folder; what fails
# goes to the log whole. Only the quick case of those that time loads or simulate
# whole machines, and none of the simulator's own.
#   all      all others
#   slow     but for those that take long under an interpreter (with SONDE_LONG: the longest)
#   threads  those whose code has threads
run_units() {
	local units=$1 which=$2 running=0 t cases
	shift 2
	rm -f "$log".*
	for t in "$units"/tests/unit/*; do
		case $which:$t in
		*.o|*.d|*/sim_*) continue ;;
		*:*/meter_user) cases=quick ;;
		threads:*/groups|threads:*/copyv_async) cases= ;;
		threads:*|slow:*/samples|slow:*/groups|slow:*/share|slow:*/fill) continue ;;
		slow:*/alltoall_claims|slow:*/calm) continue ;;
		slow:*/same_sets|slow:*/servet|slow:*/memory|slow:*/geometry|slow:*/probe_cache|slow:*/brim)
			[ -n "${SONDE_LONG:-}" ] || continue ;;&
		# Its children end early, with what they had of the parent's.
		slow:*/region) continue ;;
		# Its search counts mappings, and one test dies on purpose.
		slow:*/colour) cases=module ;;
		*:*/probe_cache|*:*/share) cases=quick ;;
		*:*/geometry_*|*:*/survey) continue ;;
		*:*/brim|*:*/calm|*:*/geometry|*:*/hunt|*:*/classes|*:*/stride|*:*/samples) cases=quick ;;
		*) cases= ;;
		esac
		[ "$running" -lt "$jobs" ] || { wait -n; running=$((running - 1)); }
		run_unit "$t" "$cases" "$@" &
		running=$((running + 1))
	done
	wait
	cat "$log".* >"$log" 2>/dev/null || :
	rm -f "$log".*
	[ ! -s "$log" ]
}

# run_dsm FOLDER: those of dsm/, but for the deliberate faults.
run_dsm() {
	local t
	for t in diff protocol litmus search "fuzz 1 300"; do
		# shellcheck disable=SC2086 # a name and its arguments
		"$1"/tests/dsm/$t >"$log" 2>&1 || return
	done
	: >"$log"
}

few=()
[ -n "${SONDE_LONG:-}" ] || few=(TAP_LOOPS=1)
if run_units "$O/clang" all "${few[@]}" && run_dsm "$O/clang"; then
	result ok "the unit tests pass under the sanitizers"
else
	result "not ok" "the unit tests pass under the sanitizers"
fi

# Threads: what they share must be shared on purpose.
units=("$O"/threads/tests/unit/{meter_user,groups,copyv_async})
if make -s -j"$jobs" SAN=thread O="$O/threads" "${units[@]}" >"$log" 2>&1 &&
   run_units "$O/threads" threads TSAN_OPTIONS=halt_on_error=1; then
	result ok "the unit tests pass under the thread sanitizer"
else
	result "not ok" "the unit tests pass under the thread sanitizer"
fi

if run_units "$gcc" slow CK_FORK=no TAP_LOOPS=1 SONDE_TRANSFERS=10000 \
	valgrind -q --fair-sched=try --leak-check=full --errors-for-leak-kinds=definite \
	--suppressions=tests/valgrind.supp --error-exitcode=99; then
	result ok "the unit tests pass under valgrind"
else
	result "not ok" "the unit tests pass under valgrind"
fi
exit $failed
