#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every composition gives what MPI itself gives, whatever the number of ranks and
# where they are. Nodes are made up by MPICH (MPIR_CVAR_NUM_CLIQUES), in blocks or
# by turns. SONDE_LONG=1: more sizes and more mappings, of all cases every 17th or 50th in
# each (others in each), and exchanges at random for half an hour.
set -u
cd "$(dirname "$0")/../.." || exit 1
O=${O:-build}
program=$O/mpich/tests/mpi/alltoall
out=$(mktemp)
trap 'rm -f "$out"' EXIT

if [ ! -x "$program" ]; then
	echo "1..0 # SKIP no MPICH: install libmpich-dev and mpich"
	exit 0
fi
count=0 failed=0

# run NAME RANKS NODES BLOCK ARGUMENT...
run() {
	name=$1 ranks=$2 nodes=$3 block=$4
	shift 4
	count=$((count + 1))
	if SONDE_PROFILE=$out.none MPIR_CVAR_NUM_CLIQUES=$nodes MPIR_CVAR_CLIQUES_BY_BLOCK=$block \
		timeout "${LIMIT:-300}" "$O/sonde" run --no-coll mpiexec.mpich -n "$ranks" "$program" \
		"$@" >"$out" 2>&1; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		grep -v '^ok' "$out" | sed 's/^/# /' | head -n 20
		failed=1
	fi
}

mode=--quick more=
[ -z "${SONDE_LONG:-}" ] || { mode='--share 17' LIMIT=1800 more='12 13 16'; }
for ranks in 1 2 3 4 5 6 7 8 9 $more; do
	# shellcheck disable=SC2086 # one word or two
	run "$ranks ranks on one node" $ranks 1 0 $mode
done
# The long way has all of 2 and 3 nodes.
places=('4 2 1' '5 3 0' '7 3 1' '8 2 0' '9 4 1' '13 3 1')
[ -z "${SONDE_LONG:-}" ] || places=('9 4 1' '16 4 1')
for where in "${places[@]}"; do
	read -r ranks nodes block <<<"$where"
	how=$([ "$block" = 1 ] && echo 'in blocks' || echo 'by turns')
	# shellcheck disable=SC2086
	run "$ranks ranks on $nodes nodes $how" "$ranks" "$nodes" "$block" $mode
done
# Little memory and small pieces: blocks that have no room go another way.
for where in '9 4 0' '13 2 1'; do
	read -r ranks nodes block <<<"$where"
	SONDE_COLL_AREA=4K SONDE_COLL_EAGER=64 run "$ranks ranks on $nodes nodes with little memory" \
		"$ranks" "$nodes" "$block" --quick --names sa/window:32/shm,leader:1/window:32/shm
done
if [ -n "${SONDE_LONG:-}" ]; then
	for ranks in 2 3 4 5 6 7 8 9 12 13 16; do
		for nodes in 2 3 5; do
			[ "$nodes" -lt "$ranks" ] || continue
			run "$ranks ranks on $nodes nodes by turns, all" "$ranks" "$nodes" 0 --share 50
			run "$ranks ranks on $nodes nodes in blocks, all" "$ranks" "$nodes" 1 --share 51
		done
	done
	for where in '4 1 0' '6 2 0' '9 3 1' '8 1 0' '7 3 0'; do
		read -r ranks nodes block <<<"$where"
		run "$ranks ranks on $nodes nodes at random" "$ranks" "$nodes" "$block" \
			--random "${SONDE_LONG_SECONDS:-360}"
	done
else
	run "5 ranks on 2 nodes at random" 5 2 0 --random 3
	run "4 ranks on one node at random" 4 1 0 --random 3
fi
echo "1..$count"
exit $failed
