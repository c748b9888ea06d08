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

# Of a run that was cut short.
rm -f "$log".*
running=0
# run_unit TEST CASES WORDS...: a test behind some words, beside others; what it says stays in a
# file beside the log if it fails. The test may have arguments.
run_unit() {
	local test=$1 cases=$2
	shift 2
	[ "$running" -lt "$jobs" ] || { wait -n; running=$((running - 1)); }
	(
		out=$log.$(basename "${test%% *}")
		# shellcheck disable=SC2086 # its arguments
		if env ${cases:+CK_RUN_CASE=$cases} "$@" $test >"$out" 2>&1; then
			rm -f "$out"
		else
			sed -i "1i $test:" "$out"
		fi
	) &
	running=$((running + 1))
}

# All that run: whether none failed.
run_ends() {
	wait
	running=0
	cat "$log".* >"$log" 2>/dev/null || :
	rm -f "$log".*
	[ ! -s "$log" ]
}

# run_units FOLDER WHICH [WORDS...]: the unit tests of an output folder. Only the quick case
# of those that time loads or simulate whole machines, and none of the simulator's own.
#   all      all others
#   slow     but for those that take long under an interpreter (with SONDE_LONG: the longest)
#   threads  those whose code has threads
run_units() {
	local units=$1 which=$2 t cases
	shift 2
	for t in "$units"/tests/unit/*; do
		case $which:$t in
		*.o|*.d|*/sim_*) continue ;;
		*:*/meter_user) cases=quick ;;
		threads:*/groups|threads:*/copyv_async) cases= ;;
		threads:*|slow:*/samples|slow:*/groups|slow:*/share|slow:*/fill) continue ;;
		slow:*/alltoall_claims|slow:*/calm) continue ;;
		slow:*/same_sets|slow:*/servet|slow:*/memory|slow:*/geometry|slow:*/probe_cache|slow:*/brim|\
		slow:*/alltoall_*|slow:*/comm|slow:*/clock|slow:*/map)
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
		run_unit "$t" "$cases" "$@"
	done
}

few=()
[ -n "${SONDE_LONG:-}" ] || few=(TAP_LOOPS=1 SONDE_TRANSFERS=10000)
# Those of dsm/, but for the deliberate faults; the longest first.
for t in search diff protocol litmus 'fuzz 1 300'; do
	run_unit "$O/clang/tests/dsm/$t" ''
done
run_units "$O/clang" all "${few[@]}"
if run_ends; then
	result ok "the unit tests pass under the sanitizers"
else
	result "not ok" "the unit tests pass under the sanitizers"
fi

# Threads: what they share must be shared on purpose.
units=("$O"/threads/tests/unit/{meter_user,groups,copyv_async})
if make -s -j"$jobs" SAN=thread O="$O/threads" "${units[@]}" >"$log" 2>&1 &&
   run_units "$O/threads" threads TSAN_OPTIONS=halt_on_error=1 && run_ends; then
	result ok "the unit tests pass under the thread sanitizer"
else
	result "not ok" "the unit tests pass under the thread sanitizer"
fi

run_units "$gcc" slow CK_FORK=no TAP_LOOPS=1 SONDE_TRANSFERS=10000 \
	valgrind -q --fair-sched=try --leak-check=full --errors-for-leak-kinds=definite \
	--suppressions=tests/valgrind.supp --error-exitcode=99
if run_ends; then
	result ok "the unit tests pass under valgrind"
else
	result "not ok" "the unit tests pass under valgrind"
fi
exit $failed
