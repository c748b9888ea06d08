#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a whole job sees of libsonde-coll: communicators, other MPIs and languages,
# wrong settings, small memory, denied system calls, a rank that is killed.
# shellcheck disable=SC2317 # check calls the functions
set -u
cd "$(dirname "$0")/../.." || exit 1
O=$(realpath "${O:-build}")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# No profile of this machine may choose.
export SONDE_PROFILE=$dir/none
mpich=$O/mpich/tests/mpi openmpi=$O/openmpi/tests/mpi
# shellcheck source=tests/tap.sh
. tests/tap.sh
# shellcheck source=tests/mpi/jobs.sh
. tests/mpi/jobs.sh

if [ ! -x "$mpich/comms" ]; then
	echo "1..0 # SKIP no MPICH: install libmpich-dev and mpich"
	exit 0
fi

# ---- communicators -----------------------------------------------------------
check "communicators, threads, progress and errors on 2 ranks" job 2 "$mpich/comms" --exhaust
check "the same on 4 ranks of 2 nodes" env MPIR_CVAR_NUM_CLIQUES=2 UCX_TLS=sysv,self \
	timeout 300 "$O/sonde" run --no-coll mpiexec.mpich -n 4 "$mpich/comms"
if [ -x "$openmpi/comms" ]; then
	check "the same with Open MPI" ompi_job 4 "$openmpi/comms"
	check "every composition is right with Open MPI, 3 ranks" ompi_job 3 "$openmpi/alltoall" --quick
	check "every composition is right with Open MPI, 4 ranks" ompi_job 4 "$openmpi/alltoall" --quick
else
	skip "Open MPI" "install libopenmpi-dev and openmpi-bin"
fi

# ---- Fortran -----------------------------------------------------------------
fortran() { # MPI COMMAND...: right, and done by us
	mpi=$1
	shift
	"mpifort.$mpi" -o "$dir/fortran.$mpi" tests/mpi/fortran.f90 -J "$dir" &&
		"$@" >"$dir/out" 2>"$dir/err" &&
		cat "$dir/out" "$dir/err" && grep -q '^fortran: right' "$dir/out" &&
		grep -q 'MPI_Alltoall: 8 calls, .*: local/shm' "$dir/err" &&
		grep -q 'MPI_Alltoallv: 3 calls, .*: local/' "$dir/err"
}
if command -v gfortran >/dev/null; then
	check "Fortran's calls of MPICH are ours" fortran mpich job 3 \
		env SONDE_COLL_EXPLAIN=1 LD_PRELOAD="$O/libsonde-coll.so" "$dir/fortran.mpich"
	[ ! -x "$openmpi/comms" ] ||
		check "Fortran's calls of Open MPI are ours" fortran openmpi \
			ompi_job 3 env SONDE_COLL_EXPLAIN=1 \
			LD_PRELOAD="$O/libsonde-coll-openmpi.so" "$dir/fortran.openmpi"
else
	skip "Fortran" "install gfortran"
fi

# ---- the wrong library -------------------------------------------------------
# refused MPI COMMAND...: the job ends, and one line says which library is for it
refused() {
	mpi=$1
	shift
	! "$@" >"$dir/out" 2>"$dir/err" || return 1
	cat "$dir/err"
	[ "$(grep -c "^sonde-coll: this is the library for .*: preload libsonde-coll" \
		"$dir/err")" = 1 ] && grep -q "the program's MPI is $mpi" "$dir/err"
}
if [ -x "$openmpi/endless" ]; then
	check "MPICH's library in a program of Open MPI says so" refused "Open MPI" \
		ompi_job 2 env LD_PRELOAD="$O/libsonde-coll.so" "$openmpi/endless"
	check "Open MPI's library in a program of MPICH says so" refused MPICH \
		job 2 env LD_PRELOAD="$O/libsonde-coll-openmpi.so" "$mpich/endless"
fi

# ---- settings ----------------------------------------------------------------
# says PATTERN COMMAND...: the job is well, and one line of ours says it
says() {
	pattern=$1
	shift
	"$@" >"$dir/out" 2>"$dir/err" && cat "$dir/err" &&
		[ "$(grep -c '^sonde-coll:' "$dir/err")" = 1 ] && grep -qE "$pattern" "$dir/err"
}
with() { job 2 env "$1" "$mpich/alltoall" --quick --names mpi,local/shm; }

for wrong in 'ALLTOALL=nonsense:"nonsense" is no outer algorithm' \
	'ALLTOALL=flat/brook:"brook" does not belong there' 'ALLTOALL=leader/9/shm:"9" is no' \
	'ALLTOALL=flat/shm:does not belong there' 'ALLTOALLV=sa/window/foo:"foo" is no' \
	'EAGER=12q:give bytes from' 'EAGER=-1:give bytes' 'SHM=1:give bytes' 'AREA=99999M:give bytes' \
	'EXPLAIN=yes:give 0 or 1' 'TRIAL=2:give 0 or 1'; do
	check "SONDE_COLL_${wrong%%:*} is told of in one line, and left out" \
		says "${wrong#*:}" with "SONDE_COLL_${wrong%%:*}"
done
check "a radix out of range is told of" says 'bruck takes 2 to 64, not "1"' \
	with SONDE_COLL_ALLTOALL=flat/bruck:1

profile() { # LINES -> a profile
	printf '%s\n' "$@" >"$dir/profile.json"
	with SONDE_PROFILE="$dir/profile.json"
}
check "an unknown key of a rule is told with its line" says 'line 5: rule 1 .*"rank"' profile \
	'{ "schema": "sonde-profile-1",' '"collectives": {' '"alltoall": [' '{ "nodes": [1, 1],' \
	'"rank": [1, 2], "algorithm": "local/shm" } ] } }'
check "an unknown key of the part is told with its line" says 'line 2: .*no key "alltoal"' profile \
	'{ "collectives": {' '"alltoal": [ ] } }'
check "a wrong range is told with its line" says 'line 3: rule 2 .*"bytes".*two integers' profile \
	'{ "collectives": { "alltoall": [' '{ "algorithm": "mpi", "bytes": [1, 2] },' \
	'{ "bytes": [9, 8], "algorithm": "mpi" } ] } }'
check "a wrong name is told with its line" says 'line 1: rule 1 .*"algorithm".*"fast" is no' profile \
	'{ "collectives": { "alltoall": [ { "algorithm": "fast" } ] } }'
check "what is no JSON is told with its line" says 'line 2: ' profile '{' 'nonsense'

explained() { # PATTERN COMMAND...
	pattern=$1
	shift
	"$@" >"$dir/out" 2>"$dir/err"
	cat "$dir/err"
	grep -qE "$pattern" "$dir/err"
}
rules() {
	cat >"$dir/profile.json" <<-'END'
	{ "collectives": { "about": { "when": "today" }, "alltoall": [
	  { "nodes": [2, 9], "algorithm": "sa" },
	  { "bytes": [0, 4096], "ranks": [2, 2], "algorithm": "flat/bruck:3" } ] } }
	END
	job 2 env SONDE_PROFILE="$dir/profile.json" SONDE_COLL_EXPLAIN=1 "$mpich/comms"
}
check "a rule of the profile is followed, and explained" \
	explained 'MPI_Alltoall, 2 ranks \(1 x 2\), .*flat/bruck:3: rule 2 of the profile' rules
check "without a profile a usual rule says why" \
	explained 'MPI_Alltoall, 2 ranks .*local/shm: usual rule' \
	job 2 env SONDE_COLL_EXPLAIN=1 "$mpich/comms"
check "what cannot be forced says why" \
	explained 'mpi: SONDE_COLL_ALLTOALL asks for sa, but sa: there is one node' \
	job 2 env SONDE_COLL_EXPLAIN=1 SONDE_COLL_ALLTOALL=sa "$mpich/comms"
check "counters are told at the end" explained 'MPI_Alltoall: [0-9]+ calls, .*: local/shm' \
	job 2 env SONDE_COLL_EXPLAIN=1 "$mpich/comms"
for n in 2 3; do
	check "what is said to have been done was done, $n ranks" job $n "$mpich/went"
	check "ways in a node are tried, and one is taken, $n ranks" job $n "$mpich/went" --trial
done
[ ! -x "$openmpi/went" ] || check "so they are with Open MPI" ompi_job 2 "$openmpi/went" --trial
check "a trial is explained" explained 'up to 4 KiB: local/[a-z]*: by turns it took least: .* us' \
	job 2 env SONDE_COLL_EXPLAIN=1 "$mpich/went" --trial
untried() {
	job 2 env SONDE_COLL_TRIAL=0 SONDE_COLL_EXPLAIN=1 "$mpich/went" --trial >"$dir/out" 2>"$dir/err"
	cat "$dir/err"
	grep -q 'calls, .*: local/shm' "$dir/err" && ! grep -qE 'by turns|local/stream' "$dir/err"
}
check "SONDE_COLL_TRIAL=0 leaves it at the usual way" untried
# On two processors, of which each rank is told that its node has two ranks.
one_machine() {
	cpus=
	for cpu in $(seq 0 1023); do
		! taskset -c "$cpu" true 2>/dev/null || cpus=$cpus${cpus:+,}$cpu
		[[ $cpus != *,* ]] || break
	done
	MPIR_CVAR_NUM_CLIQUES=2 UCX_TLS=sysv,self timeout 300 "$O/sonde" run --no-coll \
		taskset -c "$cpus" mpiexec.mpich -n 4 \
		env MPI_LOCALNRANKS=2 SONDE_COLL_EXPLAIN=1 "$mpich/comms"
}
check "nodes that are one machine share its processors" \
	explained 'MPI_Alltoall, 4 ranks .*leader:1/.*: usual rule .*share processors' one_machine
off() { ! explained 'local/shm' job 2 env SONDE_COLL=0 SONDE_COLL_EXPLAIN=1 "$mpich/comms"; }
check "SONDE_COLL=0 switches it off" off

# ---- memory, rights ----------------------------------------------------------
check "a segment of 64 KiB does, in many rounds" job 4 env SONDE_COLL_SHM=64K \
	"$mpich/alltoall" --quick --names local/shm,local/cma
check "so it does on nodes" env MPIR_CVAR_NUM_CLIQUES=2 SONDE_COLL_SHM=64K SONDE_COLL_EAGER=1000 \
	timeout 300 "$O/sonde" run --no-coll mpiexec.mpich -n 5 "$mpich/alltoall" --quick \
	--names sa/window:32/shm,rd/window:2/shm,leader:2/window:32/shm
for name in local/cma local/region; do
	check "$name: a rank that is denied to read does not stop the others" \
		job 4 "$mpich/denied" $name
done
for name in sa/window:32/cma rd/window:32/region leader:2/window:32/cma; do
	check "$name: the same on two nodes" env MPIR_CVAR_NUM_CLIQUES=2 UCX_TLS=sysv,self \
		timeout 300 "$O/sonde" run --no-coll mpiexec.mpich -n 6 "$mpich/denied" $name
done
check "where nobody may read MPI does it" job 3 "$mpich/denied" --before local/cma local/region

# ---- past 2^31 bytes ---------------------------------------------------------
if [ -n "${SONDE_LONG:-}" ]; then
	for name in local/shm local/cma local/region flat/window; do
		check "$name: 3 blocks of 800 MiB" job 3 "$mpich/large" 800 $name
	done
	check "flat/pairwise: 2 blocks of 2,100 MiB" job 2 "$mpich/large" 2100 flat/pairwise
	check "local/cma: blocks of 1,100 MiB are MPI's" job 2 "$mpich/large" 1100 local/cma
fi

# ---- a rank that is killed ---------------------------------------------------
# Segments have no name. The launcher ends the job; the library adds a line at most.
# Polls, as what is killed ends a little later: gone COMMAND...: it finds nothing any more
gone() {
	for _ in $(seq 100); do
		"$@" | grep -q . || return 0
		read -rt 0.1 <> <(:) || :
	done
	return 1
}
# killed WRAPPER...: what the ranks are started by. A victim is in the middle of it when
# all are; ranks may write within another's line.
killed() {
	job 4 "$@" "$mpich/endless" >"$dir/out" 2>&1 &
	launcher=$!
	for _ in $(seq 600); do
		ready=$(grep -o ready "$dir/out" | wc -l)
		[ "$ready" = 4 ] && break
		read -rt 0.1 <> <(:) || :
	done
	victim=$(pgrep -n -f "^$mpich/endless") && kill -9 "$victim"
	! wait "$launcher" || return 1
	cat "$dir/out"
	[ "$ready" = 4 ] && [ -n "$victim" ] && [ "$(grep -c '^sonde-coll:' "$dir/out")" -le 1 ] &&
		gone pgrep -f "^$mpich/endless" && gone find /dev/shm -name '*sonde*'
}
check "a killed rank ends the job and leaves nothing behind" killed
# The launcher sees a shell that goes on, so the other ranks have to notice.
unseen() {
	# shellcheck disable=SC2016 # the shell of the job expands it
	killed bash -c '"$@" || code=$?; [ $code != 137 ] || read -rt 100 <> <(:); exit $code' \
		bash || return 1
	[ "$(grep -c '^sonde-coll: another rank' "$dir/out")" = 1 ]
}
check "where the launcher does not see it the others do, and one says so" unseen
echo "1..$count"
exit $failed
