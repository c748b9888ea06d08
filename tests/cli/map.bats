#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `sonde map`: what it reads, what it refuses, and rank files that launchers obey.
# shellcheck disable=SC2016,SC2154,SC2164 # variables of Perl; bats ends a test at what fails
load helper

setup() {
	cd "$BATS_TEST_TMPDIR"
	export SONDE_PROFILE=$PWD/none
	# Even ranks talk to even ones and odd ones to odd ones.
	for i in 0 1 2 3; do
		for j in 0 1 2 3; do
			[ $i != $j ] && [ $((i % 2)) = $((j % 2)) ] && printf '1000 ' || printf '0 '
		done
		echo
	done >pairs
	printf '0 1\n1 0\n' >two
}

refused_map() { # STATUS TEXT ARGUMENT...
	status_wanted=$1 text=$2
	shift 2
	refused "$status_wanted" "$text" "$SONDE" map "$@"
}

@test "pairs that talk come to one node, and the report says what that saves" {
	"$SONDE" map --matrix pairs --nodes 2 --ranks-per-node 2 --no-bind >report
	grep -q '^4 ranks on 4 places of 2 nodes: 2 pairs talk, 3.91 KiB in 0 messages' report
	grep -q '^identity .* 3.91 KiB *3.91 KiB$' report
	grep -q '^round-robin .* 0 B *0 B$' report
	grep -q '^found ([a-z]*) .* 0 B *0 B$' report
	grep -q '^node[01]: 0, 2$' report
	grep -q '^node[01]: 1, 3$' report
}

@test "the JSON says the same" {
	"$SONDE" map --json -m pairs -n 2 -r 2 --topology "core:2 pu:1" >map.json
	[ "$(json map.json '$d->{schema}')" = sonde-map-1 ]
	[ "$(json map.json '$d->{matrix}{pairs}')" = 2 ]
	[ "$(json map.json '$d->{costs}{identity}{network_bytes} == 4000 &&
		$d->{costs}{found}{network_bytes} == 0 ? 1 : 0')" = 1 ]
	[ "$(json map.json '$d->{ranks}[0]{node} == $d->{ranks}[2]{node} &&
		$d->{ranks}[0]{cpu} != $d->{ranks}[2]{cpu} &&
		$d->{ranks}[0]{node} != $d->{ranks}[1]{node} ? 1 : 0')" = 1 ]
}

@test "the same input gives the same placement" {
	perl -e 'srand 1; for my $i (0..31) { print join(" ", map { int rand 100 } 0..31), "\n" }' >many
	for _ in 1 2 3; do
		"$SONDE" map -m many -n 4 --topology "l3:2 core:4 pu:1" --json | sha256sum
	done | sort -u >sums
	[ "$(wc -l <sums)" = 1 ]
}

@test "a file of hosts names the nodes and says what they take" {
	printf '# of two kinds\n\nalpha:3\nbeta slots=1\n' >hosts
	printf '0 0 0 0\n0 0 9 9\n0 9 0 9\n0 9 9 0\n' >three
	"$SONDE" map -m three --hosts hosts --no-bind --format slurm >ranks
	[ "$(tr '\n' ' ' <ranks)" = "beta alpha alpha alpha " ]
}

@test "rank files have the forms that launchers read" {
	map() { "$SONDE" map -m pairs -n 2 -r 2 --topology "core:2 pu:1" --format "$@"; }
	map hydra >hosts
	grep -qx 'node[01]:1' hosts
	map openmpi >rankfile
	[ "$(grep -cE '^rank [0-3]=node[01] slot=[01]$' rankfile)" = 4 ]
	map slurm -o hosts | grep -q 'SLURM_HOSTFILE=hosts srun -n 4 --distribution=arbitrary --cpu-bind='
	[ "$(grep -cx 'node[01]' hosts)" = 4 ]
	"$SONDE" map -m two --topology "core:2 pu:1" --format hydra >hosts
	grep -qxE 'localhost:2 binding=user:(0,1|1,0)' hosts
	"$SONDE" map -m pairs --topology "core:2 pu:2" -r 4 --format openmpi >rankfile
	grep -q 'use-hwthread-cpus' rankfile
}

@test "the script binds to the CPU of the rank, and refuses ranks that were not placed" {
	cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
	echo 0 >one
	"$SONDE" map -m one --format script -o bind >/dev/null
	[ -x bind ]
	# The machine's first CPU may not be ours to use.
	[ "$cpu" = 0 ] || sed -i "s/cpu=0/cpu=$cpu/" bind
	[ "$(PMI_RANK=0 ./bind taskset -cp $$ | wc -l)" = 1 ]
	[ "$(OMPI_COMM_WORLD_RANK=0 ./bind sh -c 'taskset -cp $$' | sed 's/.*: //')" = "$cpu" ]
	run env PMI_RANK=1 ./bind true
	[ "$status" -eq 1 ]
	has "$output" "rank '1' is not one of the 1 placed"
	shellcheck bind
}

cpus_of_job() { # COMMAND...: "RANK CPU" by rank
	timeout 60 "$@" sh -c 'echo "${PMI_RANK:-$OMPI_COMM_WORLD_RANK} $(taskset -cp $$ | sed "s/.*: //")"' |
		sort -n
}

@test "jobs are bound as the rank file says, by either MPI" {
	[[ "$(taskset -cp $$ | sed 's/.*: //')" =~ ^0[,-]1 ]] || skip "needs CPUs 0 and 1"
	command -v mpiexec.mpich >/dev/null || skip "no MPICH: install mpich"
	"$SONDE" map -m two --json >map.json
	json map.json 'join "\n", map { "$_->{rank} $_->{cpu}" } @{$d->{ranks}}' >wanted
	"$SONDE" map -m two --format hydra -o hydra >/dev/null
	diff wanted <(cpus_of_job mpiexec.mpich -f hydra -n 2)
	"$SONDE" map -m two --format script -o bind >/dev/null
	diff wanted <(cpus_of_job mpiexec.mpich -n 2 ./bind)
	command -v mpiexec.openmpi >/dev/null || skip "no Open MPI: install openmpi-bin"
	"$SONDE" map -m two --format openmpi -o rankfile >/dev/null
	diff wanted <(cpus_of_job mpiexec.openmpi --allow-run-as-root --rankfile rankfile -n 2)
}

@test "a table that is none is refused with its line" {
	table() { printf %b "$1" >table; refused_map 1 "$2" --matrix table; }
	table '0 1\n1\n' 'table: line 2: 1 numbers, but 2 in the lines before'
	table '0 1 2\n1 0 2\n' 'table: 2 lines of 3 numbers'
	table '0 1\n-1 0\n' 'table: line 2: number 1 is negative'
	table '0 1\nnan 0\n' 'line 2: number 1 is negative, none, or more'
	table '0 inf\n1 0\n' 'line 1: number 2 is negative, none, or more'
	table '0 1\n1 x\n' 'line 2: number 2 is none'
	table '' 'table: 0 lines of 0 numbers'
	refused_map 1 "none: No such file" --matrix none
	refused_map 1 ".: Is a directory" --matrix .
}

@test "a recorded file that is torn or not one is refused" {
	torn() { printf '%s' "$1" >torn; refused_map 1 "$2" --matrix torn; }
	whole='{"schema": "sonde-matrix-1", "ranks": 2, "rows": [
		{"rank": 0, "sends": [[1, 2, 30]], "collectives": []},
		{"rank": 1, "sends": [], "collectives": [[0, 1, 8]]}], "outside": 0, "lost": 0}'
	printf '%s' "$whole" >torn
	"$SONDE" map -m torn -r 2 --no-bind >report
	grep -q '1 pairs talk, 38 B in 3 messages' report
	"$SONDE" map -m torn -r 2 --no-bind --sends-only >report
	grep -q '1 pairs talk, 30 B in 2 messages' report
	torn "${whole:0:100}" 'torn: line '
	torn "${whole/matrix-1/matrix-9}" 'schema sonde-matrix-9 is not sonde-matrix-1'
	torn "${whole/\"ranks\": 2/\"ranks\": 3}" '2 rows of 3 ranks'
	torn "${whole/\"ranks\": 2/\"ranks\": -2}" '"ranks" is not a number from 1'
	torn "${whole/"[1, 2, 30]"/[2, 2, 30]}" 'rank 0, entry 1: not [rank, messages, bytes] of 2 ranks'
	torn "${whole/"[1, 2, 30]"/[1, 2, -30]}" 'rank 0, entry 1: not'
	torn "${whole/\"rank\": 1/\"rank\": 0}" 'row 2 is not that of rank 1'
	torn '{}' 'schema (none) is not'
}

@test "what does not fit is refused, and what would fit is said" {
	refused_map 1 "4 ranks, but places for 2" -m pairs -r 1 -n 2
	refused_map 1 "3 ranks on a node, which has 2 CPUs" -m pairs -r 3 -n 2 --topology "core:2 pu:1"
	refused_map 1 "neither a file of hwloc's XML" -m pairs --topology "nonsense:2"
	printf 'alpha\nbeta slots=x\n' >hosts
	refused_map 1 "hosts, line 2: give HOST, HOST:RANKS" -m pairs --hosts hosts
	printf 'alpha\nalpha\n' >hosts
	refused_map 1 "hosts, line 2: alpha is there twice" -m pairs --hosts hosts
	: >hosts
	refused_map 1 "hosts names no host" -m pairs --hosts hosts
	refused_map 1 "cannot write /nowhere/x" -m two -r 2 --no-bind --format hydra -o /nowhere/x
}

@test "a profile of another machine is refused, and one that is none" {
	printf '%s' '{"schema": "sonde-profile-1", "created": "2026-01-01T00:00:00Z",
		"sonde_version": "0.1.0", "machine": {"cpu_model": "Abacus", "cpus": "0-1",
		"numa_nodes": 1, "memory_bytes": 1, "page_bytes": 4096}}' >profile
	refused_map 1 "of another machine (Abacus, CPUs 0-1)" -m two -r 2 --profile profile
	sed -i 's/Abacus/X/; s/0-1/0-9000/' profile
	refused_map 1 "of another machine" -m two --topology "core:2 pu:1" --profile profile
	echo '{' >profile
	refused_map 1 "--profile: " -m two --profile profile
	refused_map 1 "--profile: No such file" -m two --profile nothing
}

@test "with measured communication the placement follows it, and says so" {
	printf '0 9 0 0\n9 0 0 0\n0 0 0 9\n0 0 9 0\n' >pairs4
	profile=$SOURCE/tests/recordings/profile-two-buses.json
	node="package:2 core:4 pu:1"
	"$SONDE" map -m pairs4 --topology "$node" -p "$profile" --json >map.json
	# Nearest are CPUs 4 apart, which the topology has in two packages.
	[ "$(json map.json 'abs($d->{ranks}[0]{cpu} - $d->{ranks}[1]{cpu}) == 4 &&
		abs($d->{ranks}[2]{cpu} - $d->{ranks}[3]{cpu}) == 4 ? 1 : 0')" = 1 ]
	[ "$(json map.json 'join ",", map { "$_->{through}: $_->{source}" } @{$d->{layers}}')" = \
		"layer 0: profile: shm, layer 0,layer 1: profile: shm, layer 1,layer 2: profile: shm, layer 2" ]
	"$SONDE" map -m pairs4 --topology "$node" -p "$profile" | grep -q '^layer 2 .* profile: shm, layer 2$'
	"$SONDE" map -m pairs4 --topology "$node" --json >map.json
	[ "$(json map.json 'join ",", map { $_->{source} } @{$d->{layers}}')" = usual ]
}

@test "wrong options are refused in one line" {
	refused_map 2 "--matrix FILE is missing: record one with sonde run --record"
	refused_map 2 "--nodes 0: give at least 1" -m two --nodes 0
	refused_map 2 "--nodes x: not a whole number" -m two --nodes x
	refused_map 2 "--hosts and --nodes: give one" -m two --nodes 2 --hosts h
	refused_map 2 "--format lam: not one of hydra, openmpi, slurm, script" -m two --format lam
	refused_map 2 "--output f: say in which --format" -m two -o f
	refused_map 2 "give --output FILE" -m two --json --format hydra
	refused_map 2 "--format script binds, --no-bind does not" -m two --no-bind --format script
	refused_map 2 "--matrix: the name is empty" -m ''
	refused_map 2 "did you mean '--nodes'?" -m two --noeds 2
	refused_map 2 "does not take 'stray'" -m two stray
	refused 2 "--record: the file's name is empty" "$SONDE" run --record '' true
}

@test "map's page has the options of its --help, both ways" {
	options() { sed -n "s/^  *\(-[a-zA-Z], \)\{0,1\}\(--[a-z-]*\).*/\2/p" | sort -u; }
	diff <("$SONDE" map --help | options) \
		<(sed -n 's/^\.It .*Fl -\([a-z][a-z-]*\).*/--\1/p' "$SOURCE/man/sonde-map.1" | sort -u)
	run mandoc -Tlint -Wwarning "$SOURCE/man/sonde-map.1"
	[ -z "$output" ]
}
