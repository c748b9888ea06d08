#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A program that was not made for libsonde-coll computes the same with it, to the
# last bit: 3-D FFTs, with libsonde-coll preloaded by `sonde run` and without.
set -u
cd "$(dirname "$0")/../.." || exit 1
O=${O:-build}
program=$O/mpich/bench/fft
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

if [ ! -x "$program" ]; then
	echo "1..0 # SKIP no $program: install libfftw3-dev, libmpich-dev and mpich"
	exit 0
fi
# No profile of this machine may choose.
export SONDE_PROFILE=$dir/none
count=0 failed=0

# fft COLL NODES RANKS POINTS: its digest
fft() {
	SONDE_COLL=$1 SONDE_COLL_EXPLAIN=1 MPIR_CVAR_NUM_CLIQUES=$2 timeout 120 "$O/sonde" run \
		mpiexec.mpich -n "$3" "$program" --n "$4" --check >"$dir/out" 2>"$dir/err" || return
	sed -n 's/^# digest //p' "$dir/out"
}

same() { # NODES RANKS POINTS
	count=$((count + 1))
	name="$2 ranks on $1 node(s), $3^3 points: transforms are right, the same with the library"
	without=$(fft 0 "$@") && with=$(fft 1 "$@")
	if [ -n "$without" ] && [ "${with-}" = "$without" ] &&
		grep -qE 'MPI_Alltoall: [1-9][0-9]* calls, .*: (local|sa|rd|leader)' "$dir/err"; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		{
			echo "digests: ${without:-none} without, ${with-} with"
			cat "$dir/out" "$dir/err"
		} | head -n 30 | sed 's/^/# /'
		failed=1
	fi
}

same 1 4 24
same 1 3 48
same 2 4 16
count=$((count + 1))
if timeout 60 "$O/sonde" run mpiexec.mpich -n 3 "$program" --n 16 >"$dir/out" 2>&1; then
	echo "not ok $count - points that ranks cannot share are refused"
	failed=1
else
	echo "ok $count - points that ranks cannot share are refused"
fi
echo "1..$count"
exit $failed
