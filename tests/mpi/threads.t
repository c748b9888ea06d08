#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Threads on communicators of their own, under the thread sanitizer. It sees the
# library and the test; what MPI does is not its business (and UCX may not put its
# own mmap() beside the sanitizer's). check-mpi-long builds it and names it in
# SONDE_TSAN_COMMS.
set -u
cd "$(dirname "$0")/../.." || exit 1
O=${O:-build}
program=${SONDE_TSAN_COMMS:-}
if [ ! -x "$program" ]; then
	echo "1..0 # SKIP make check-mpi-long builds it with SAN=thread"
	exit 0
fi
out=$(mktemp)
trap 'rm -f "$out"' EXIT
export SONDE_PROFILE=$out.none UCX_MEM_EVENTS=n UCX_MEM_MMAP_HOOK_MODE=none UCX_ERROR_SIGNALS=
# Counters are shared by all threads.
export SONDE_COLL_EXPLAIN=1
export TSAN_OPTIONS=ignore_noninstrumented_modules=1:halt_on_error=1:exitcode=66
count=0 failed=0
for ranks in 2 4; do
	count=$((count + 1))
	if timeout 300 "$O/sonde" run --no-coll mpiexec.mpich -n $ranks "$program" >"$out" 2>&1 &&
		grep -q '^ok.*threads make plans' "$out" &&
		! grep -q 'WARNING: ThreadSanitizer' "$out"; then
		echo "ok $count - $ranks ranks: no data race is found"
	else
		echo "not ok $count - $ranks ranks: no data race is found"
		grep -v '^sonde-coll:' "$out" | head -n 40 | sed 's/^/# /'
		failed=1
	fi
done
echo "1..$count"
exit $failed
