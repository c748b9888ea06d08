#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `sonde tune alltoall` before any MPI: what it says to those who misuse it. What it
# measures is in tests/mpi/tune.t.
# shellcheck disable=SC2154,SC2164 # bats ends a test at what fails
load helper

setup() {
	cd "$BATS_TEST_TMPDIR"
	unset PMI_RANK PMIX_RANK OMPI_COMM_WORLD_RANK
}

# refused WORDS ARGUMENT...: wrong usage, one line with WORDS
refused() {
	local words=$1
	shift
	run --separate-stderr "$SONDE" tune "$@"
	[ "$status" -eq 2 ]
	[ -z "$output" ]
	one_line "$stderr"
	has "$stderr" "$words"
}

@test "tune without mpiexec says in one line what to do" {
	refused "start it as sonde run mpiexec -n 8 sonde tune alltoall" alltoall
}

@test "tune tells of wrong arguments in one line" {
	refused "no subcommand"
	refused "did you mean 'alltoall'" altoall
	refused "--budget 0: not a number of seconds" alltoall --budget 0
	refused "--budget -1: not a number of seconds" alltoall --budget -1
	refused "--budget soon: not a number of seconds" alltoall --budget soon
	refused "--budget needs its argument" alltoall --budget
	refused "--min 0: not a size" alltoall --min 0
	refused "--max 1G: blocks of at most 64M" alltoall --max 1G
	refused "--min 65536 is more than --max 1024" alltoall --min 64K --max 1K
	refused "--save: the file's name is empty" alltoall --save ""
	refused "give one of them" alltoall --save a --no-save
	refused "--mpi lam: not one of mpich, openmpi" alltoall --mpi lam
	refused "does not take 'everything'" alltoall everything
	refused "--buget" alltoall --buget 3
}

@test "tune says it once, by the first rank" {
	PMI_RANK=0 refused "--budget 0: not" alltoall --budget 0
	for rank in PMI_RANK PMIX_RANK OMPI_COMM_WORLD_RANK; do
		run env $rank=1 "$SONDE" tune alltoall --budget 0
		[ "$status" -eq 2 ]
		[ -z "$output" ]
	done
}

@test "tune asks which MPI it is where the launcher does not tell" {
	PMIX_RANK=0 refused "give --mpi mpich or --mpi openmpi" alltoall
}

@test "tune says where it looked for the program of an MPI that sonde was not built for" {
	mkdir alone
	cp "$SONDE" "$(dirname "$SONDE")/libsonde.so.0" alone/
	run --separate-stderr env PMI_RANK=0 alone/sonde tune alltoall
	[ "$status" -eq 1 ]
	[ -z "$output" ]
	one_line "$stderr"
	has "$stderr" "sonde-tune-mpich is neither beside this program nor in "
}

@test "tune's page has the options of its --help, both ways" {
	options() { sed -n "s/^  *\(-[a-zA-Z], \)\{0,1\}\(--[a-z-]*\).*/\2/p" | sort -u; }
	diff <("$SONDE" tune alltoall --help | options) \
		<(sed -n 's/^\.It .*Fl -\([a-z][a-z-]*\).*/--\1/p' "$SOURCE/man/sonde-tune.1" | sort -u)
	run mandoc -Tlint -Wwarning "$SOURCE/man/sonde-tune.1"
	[ -z "$output" ]
}
