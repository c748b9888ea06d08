#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What libsonde-coll sends, rank by rank, is what the simulator says it does: under
# SMPI, and under MPICH with its cliques for nodes. COUNTS_NODES, COUNTS_PPN and
# COUNTS_LIMIT (seconds of a run) make them more; COUNTS_RUN has options of sonde run,
# as "--weight 100" where other work would keep so many ranks from their turns.
# shellcheck disable=SC2164 # bats ends a test at what fails
load ../cli/helper

BUILD=$(dirname "$SONDE")
NODES=${COUNTS_NODES:-3} PPN=${COUNTS_PPN:-4} LIMIT=${COUNTS_LIMIT:-600}

setup() {
	cd "$BATS_TEST_TMPDIR"
	export SONDE_COLL_EAGER=256M SONDE_COLL_AREA=16M
}

# Each prints "rank messages bytes messages bytes" a line: sent_WAY COMPOSITION BYTES
sent_mpich() {
	# shellcheck disable=SC2086 # options
	SONDE_COLL_ALLTOALL=$1 SONDE_PROFILE=$PWD/none \
		MPIR_CVAR_NUM_CLIQUES=$NODES MPIR_CVAR_CLIQUES_BY_BLOCK=1 timeout -k 5 "$LIMIT" \
		"$SONDE" run --no-coll ${COUNTS_RUN:-} mpiexec.mpich -n $((NODES * PPN)) \
		"$BUILD/mpich/tests/counts/isends" "$2" </dev/null
}

# MPI_Allgather() and its like, which make plans, are SMPI's own. It looks through a list
# for each message of its usual ones: as many as pairs of ranks, 20 s of 128 ranks.
sent_smpi() {
	for ((rank = 0; rank < NODES * PPN; rank++)); do
		echo node$((rank / PPN))
	done >hosts
	# shellcheck disable=SC2086 # options
	SONDE_COLL_ALLTOALL=$1 timeout -k 5 "$LIMIT" \
		"$SONDE" run --no-coll --no-yield ${COUNTS_RUN:-} smpirun -np $((NODES * PPN)) -hostfile hosts \
		-platform "$SOURCE/tests/counts/cluster.xml" --cfg=smpi/simulate-computation:no \
		--cfg=smpi/coll-selector:mpich \
		--log=root.thresh:critical "$BUILD/smpi/tests/counts/isends" "$2" </dev/null 2>err.txt
}

# simulated BYTES ARGS...: the same, as it should be
simulated() {
	local bytes=$1
	shift
	"$SONDE" sim alltoall --counts -s "${NODES}x$PPN" --min-size "$bytes" --max-size "$bytes" \
		"$@" | awk -v nodes="$NODES" -v ppn="$PPN" '
		NR > 3 { counts[$4] = $5 " " $6 " " $7 " " $8 }
		END {
			for (rank = 0; rank < nodes * ppn; rank++)
				print rank, counts[rank % ppn]
		}'
}

# same COMPOSITION ARGS...: by every way that is there
same() {
	local composition=$1 way ways=0
	shift
	simulated 100 "$@" >simulated.txt
	[ "$(wc -l <simulated.txt)" -eq $((NODES * PPN)) ]
	for way in smpi mpich; do
		[ -x "$BUILD/$way/tests/counts/isends" ] || continue
		"sent_$way" "$composition" 100 >sent.txt
		diff sent.txt simulated.txt || {
			echo "$composition, $way"
			return 1
		}
		ways=$((ways + 1))
	done
	[ "$ways" -gt 0 ]
}

@test "every rank with every other sends what is simulated" {
	same flat/window -a flat --inner isend
	same flat/pairwise -a flat --inner pairwise
	same flat/bruck -a flat --inner bruck
	same flat/bruck:3 -a flat --inner bruck --radix 3
}

@test "send-side aggregation sends what is simulated" {
	same sa/window/shm -a sa --inner isend
	same sa/pairwise/shm -a sa --inner pairwise
	same sa/bruck/shm -a sa --inner bruck
}

@test "receive-side distribution sends what is simulated" {
	same rd/window/shm -a rd --inner isend
	same rd/pairwise/shm -a rd --inner pairwise
	same rd/bruck:4/shm -a rd --inner bruck --radix 4
}

@test "leaders send what is simulated" {
	same leader/window/shm -a leader --inner isend
	same leader/bruck/shm -a leader --inner bruck
	same leader:2/pairwise/shm -a leaders --leaders 2 --inner pairwise
	same leader:3/window/shm -a leaders --leaders 3 --inner isend
}

@test "a schedule that is another is told apart" {
	run ! same sa/window/shm -a leader --inner isend
	run ! same flat/window -a sa --inner isend
}
