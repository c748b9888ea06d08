#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# libsonde-record: the file a job leaves says exactly what its ranks sent, whatever
# they called, and nothing is written that is not whole.
# shellcheck disable=SC2016,SC2317 # variables of Perl; check calls the functions
set -u
cd "$(dirname "$0")/../.." || exit 1
O=$(realpath "${O:-build}")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export SONDE_PROFILE=$dir/none
file=$dir/matrix.json
# shellcheck source=tests/tap.sh
. tests/tap.sh
# shellcheck source=tests/mpi/jobs.sh
. tests/mpi/jobs.sh

if [ ! -x "$O/mpich/tests/mpi/sends" ]; then
	echo "1..0 # SKIP no MPICH: install libmpich-dev and mpich"
	exit 0
fi

# The file as the programs account for it: KIND FROM TO MESSAGES BYTES.
lines() {
	perl -MJSON::PP -0777 -e '
		my $d = JSON::PP->new->utf8->decode(scalar <STDIN>);
		die "not all" if $d->{schema} ne "sonde-matrix-1" || $d->{lost} ||
			@{$d->{rows}} != $d->{ranks};
		for my $row (@{$d->{rows}}) {
			print join(" ", "c", $row->{rank}, @$_), "\n" for @{$row->{collectives}};
			print join(" ", "s", $row->{rank}, @$_), "\n" for @{$row->{sends}};
		}
	' <"$file" | sort
}

record() { timeout 300 "$O/sonde" run --record "$file" "$@"; }
mpich() { ranks=$1; shift; record mpiexec.mpich -n "$ranks" "$@"; }
openmpi() { # as root, and with more ranks than cores
	ranks=$1
	shift
	record mpiexec.openmpi --allow-run-as-root --oversubscribe -n "$ranks" "$@"
}

# exact MPI RANKS: the file is the sum of the ranks' own accounts
exact() {
	rm -rf "$dir/accounts" "$file"
	mkdir "$dir/accounts"
	"$1" "$2" "$O/$1/tests/mpi/sends" "$dir/accounts" || return
	sort "$dir/accounts"/* >"$dir/expected"
	lines >"$dir/got"
	diff "$dir/expected" "$dir/got"
}
mpis=mpich
[ ! -x "$O/openmpi/tests/mpi/sends" ] || mpis="mpich openmpi"
for mpi in $mpis; do
	for ranks in 1 2 5; do
		check "$mpi: $ranks ranks send in every way, and that is what is recorded" \
			exact "$mpi" "$ranks"
	done
done

fortran() { # MPI
	rm -f "$file"
	"mpifort.$1" -o "$dir/sends.$1" tests/mpi/sends.f90 -J "$dir" &&
		"$1" 3 "$dir/sends.$1" && lines >"$dir/got" || return
	for rank in 0 1 2; do
		for to in 0 1 2; do
			[ "$to" = "$rank" ] || [ "$rank" = 0 ] || echo "c $rank $to 1 8"
		done
		echo "s $rank $(((rank + 1) % 3)) 7 280"
	done >"$dir/expected"
	printf 'c 0 1 2 36\nc 0 2 2 36\n' >>"$dir/expected"
	diff <(sort "$dir/expected") "$dir/got"
}
for mpi in $mpis; do
	if command -v gfortran >/dev/null; then
		check "$mpi: Fortran's calls are recorded, by mpi_f08 and by mpif.h" fortran "$mpi"
	else
		skip "$mpi: Fortran" "install gfortran"
	fi
done

coll() { # the exchange is the library's, and it is recorded as what was called
	rm -f "$file"
	SONDE_COLL_EXPLAIN=1 mpich 3 "$O/tests/run/alltoall.mpich" 64 10 >"$dir/out" 2>&1 &&
		cat "$dir/out" && grep -q 'MPI_Alltoall: .*: local/' "$dir/out" &&
		[ "$(lines | grep -c '^c [0-2] [0-2] 1[0-9] ')" = 6 ] && ! lines | grep '^s'
}
check "with libsonde-coll a call is recorded once, and not how it is done" coll

# ---- what is not whole is not written ----------------------------------------
nothing() { # PATTERN COMMAND...: it ends well, says why, and there is no file
	pattern=$1
	shift
	rm -f "$file"
	"$@" >"$dir/out" 2>&1
	cat "$dir/out"
	grep -qE -- "$pattern" "$dir/out" && [ "$(grep -c '^sonde-record' "$dir/out")" = 1 ] &&
		[ ! -e "$file" ]
}
some() {
	job 2 bash -c '[ $PMI_RANK = 0 ] || unset SONDE_RECORD; exec "$@"' bash \
		env LD_PRELOAD="$O/libsonde-record.so" "$O/mpich/tests/mpi/sends" "$dir/accounts"
}
check "where some ranks were not told to record, the job ends and one line says so" \
	nothing 'SONDE_RECORD is set on some ranks only' env SONDE_RECORD="$file" \
	bash -c "$(declare -f some job); O='$O' dir='$dir'; some"
check "a file that cannot be written is told of, and the job ends well" \
	nothing 'cannot write /nowhere/file: No such file' \
	timeout 300 "$O/sonde" run --record /nowhere/file mpiexec.mpich -n 2 \
	"$O/mpich/tests/mpi/sends" "$dir/accounts"
unasked() {
	rm -f "$file"
	job 2 env LD_PRELOAD="$O/libsonde-record.so" "$O/mpich/tests/mpi/sends" "$dir/accounts" &&
		[ -z "$(find "$dir" -name '*matrix*')" ]
}
check "without SONDE_RECORD the library writes nothing" unasked

killed() { # an earlier file stays as it was
	echo before >"$file"
	! mpich 2 bash -c '[ $PMI_RANK = 1 ] || exec "$@"; kill -9 $$' bash \
		"$O/mpich/tests/mpi/sends" "$dir/accounts" && [ "$(cat "$file")" = before ]
}
check "a job that does not end well leaves an earlier file as it was" killed
echo "1..$count"
exit $failed
