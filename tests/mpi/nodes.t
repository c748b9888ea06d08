#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every composition gives what Open MPI gives where nodes share nothing but the wire:
# nodes made of namespaces, reached by Open MPI's own way of starting daemons.
set -u
cd "$(dirname "$0")/../.." || exit 1
O=$(realpath "${O:-build}")
program=$O/openmpi/tests/mpi/alltoall
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

if [ ! -x "$program" ]; then
	echo "1..0 # SKIP no Open MPI: install libopenmpi-dev and openmpi-bin"
	exit 0
fi
if ! why=$(tests/cluster/netns --each true 2>&1 </dev/null); then
	echo "1..0 # SKIP ${why//$'\n'/ }"
	exit 0
fi
# In the place of ssh: HOST COMMAND...
cat >"$dir/agent" <<'AGENT'
#!/bin/bash
host=${1#node}
shift
exec on "$host" sh -c "$*"
AGENT
chmod +x "$dir/agent"
count=0 failed=0

# run NAME HOSTS RANKS COMPOSITIONS
run() {
	count=$((count + 1))
	echo "timeout 250 mpiexec.openmpi --allow-run-as-root --oversubscribe \
		--mca plm_rsh_agent $dir/agent --mca plm_rsh_no_tree_spawn 1 \
		--mca pml ob1 --mca btl tcp,vader,self --mca mpi_yield_when_idle 1 \
		--host $2 -n $3 \
		-x SONDE_PROFILE=$dir/none $program --quick --names $4 </dev/null" >"$dir/job"
	if SHELL=/bin/bash SONDE="$O/sonde" timeout -k 5 300 tests/cluster/netns --nodes 3 --shell \
		<"$dir/job" >"$dir/out" 2>&1 && grep -q '^ok .*by itself: .* nodes' "$dir/out" &&
		! grep -q '^not ok' "$dir/out"; then
		echo "ok $count - $1"
	else
		echo "not ok $count - $1"
		grep -v '^ok' "$dir/out" | sed 's/^/# /' | head -n 20
		failed=1
	fi
}

run "4 ranks on 2 nodes" node0:2,node1:2 4 \
	sa/window:32/shm,sa/bruck:2/shm,rd/window:32/cma,leader:1/window:32/shm,flat/bruck:3
run "5 ranks on 3 nodes of 2, 2 and 1" node0:2,node1:2,node2:1 5 \
	sa/window:32/shm,rd/window:32/shm,leader:1/window:32/cma,flat/window:2
echo "1..$count"
exit $failed
