#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `sonde comm` in MPI jobs: every two ranks are measured, and what is wrong is said
# once. Nothing is said of speeds.
# shellcheck disable=SC2016,SC2317 # variables of Perl; check calls the functions
set -u
cd "$(dirname "$0")/../.." || exit 1
O=$(realpath "${O:-build}")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# No profile of this machine may choose the size of messages.
export SONDE_PROFILE=$dir/none
# shellcheck source=tests/tap.sh
. tests/tap.sh
# shellcheck source=tests/mpi/jobs.sh
. tests/mpi/jobs.sh
ours='sonde comm'

if [ ! -x "$O/sonde-comm-mpich" ]; then
	echo "1..0 # SKIP no MPICH: install libmpich-dev and mpich"
	exit 0
fi

comm() { job "$1" "$O/sonde" comm --budget 0.3 --max-size 1K "${@:2}"; }

# holds FILE EXPRESSION: of Perl; $c is the section, $m its first method
holds() {
	perl -MJSON::PP -0777 -e '
		my $d = JSON::PP->new->utf8->decode(scalar <STDIN>);
		my $c = $d->{communication};
		my $m = $c->{methods}[0];
		my $v = eval $ARGV[0];
		die $@ if $@;
		exit !$v;
	' "$2" <"$1" || { cat "$1"; false; }
}

three() {
	comm 3 --json --size 256 >"$dir/json" 2>"$dir/err" && [ ! -s "$dir/err" ] &&
		holds "$dir/json" '$d->{schema} eq "sonde-profile-1" && $m->{method} eq "mpi" &&
			$m->{via} =~ /^MPICH/ && $m->{bytes} == 256' &&
		holds "$dir/json" 'join(",", map { $_->{rank} } @{$c->{places}}) eq "0,1,2" &&
			!grep { $_->{node} } @{$c->{places}}' &&
		holds "$dir/json" '@{$m->{pairs}} == 3 && !grep { !$_->{latency_ns} } @{$m->{pairs}}' &&
		holds "$dir/json" '!grep { !@{$_->{points}} || !@{$_->{loggp}{segments}} }
			@{$m->{layers}}'
}
check "every two of three ranks are measured" three

sizes() {
	comm 2 --json --size 8,512 >"$dir/json" &&
		holds "$dir/json" 'join(",", map { $_->{bytes} } @{$c->{methods}}) eq "8,512"'
}
check "messages have the sizes that were asked for" sizes

table() {
	comm 2 --figure "$dir/f.svg" >"$dir/out" && cat "$dir/out" && grep -q '<rect' "$dir/f.svg" &&
		grep -q '^Communication between 2 ranks on 1 node$' "$dir/out" &&
		grep -q '^mpi by MPICH' "$dir/out"
}
check "it is said once, and drawn" table

nodes() {
	MPIR_CVAR_NUM_CLIQUES=2 MPIR_CVAR_CLIQUES_BY_BLOCK=1 comm 4 --json >"$dir/json" &&
		holds "$dir/json" 'join(",", map { $_->{node} } @{$c->{places}}) eq "0,0,1,1"'
}
check "nodes are MPI's" nodes

wanted=77 check "one rank alone has nobody to communicate with" says 'start two or more' comm 1
wanted=2 check "a mistake is said once" says '--size x: not a size' comm 3 --size x
wanted=2 check "CPUs are not for ranks" says '--cpus is for CPUs of one machine' comm 2 --cpus 0
help() {
	comm 3 --help >"$dir/out" 2>"$dir/err" && [ "$(grep -c '^usage:' "$dir/out")" = 1 ] &&
		[ ! -s "$dir/err" ]
}
check "so is the help" help

# mpiexec may say more than we do.
unequal() {
	timeout 300 "$O/sonde" run --no-coll mpiexec.mpich \
		-n 1 "$O/sonde" comm --size 1K : -n 1 "$O/sonde" comm --size "$1"
}
wanted=2 check "ranks with different options are told of" says 'different options' unequal 2K
wanted=2 check "also where some of them are wrong" says 'different options' unequal x

# ticks PID: of CPU time that process has used
ticks() {
	local stat
	read -r stat <"/proc/$1/stat" && read -ra stat <<<"${stat##*) }" && echo $((stat[11] + stat[12]))
} 2>/dev/null
# Rank 1 says which process it is. It is killed once it has computed for a second, so it
# measures by then; the job has several left.
killed() {
	job 3 bash -c '[ "$PMI_RANK" != 1 ] || echo "$$" >"$0"; exec "$@"' "$dir/pid" \
		"$O/sonde" comm --budget 200 --max-size 64M --all-pairs --json \
		>"$dir/out" 2>"$dir/err" &
	running=$!
	end=$((SECONDS + 60))
	until [ -s "$dir/pid" ] || [ "$SECONDS" -gt "$end" ]; do :; done
	read -r victim <"$dir/pid"
	while used=$(ticks "$victim") && [ "$used" -le 100 ] && [ "$SECONDS" -le "$end" ]; do :; done
	kill -KILL "$victim"
	wait "$running"
	status=$?
	cat "$dir/err"
	[ "$status" -ne 0 ] && [ "$status" -ne 124 ] &&
		! grep -q communication "$dir/out" && [ "$(grep -c '^sonde' "$dir/err")" -le 1 ]
}
check "a rank that is killed ends the job, and nothing is taken for a result" killed

# ---- Open MPI ----------------------------------------------------------------
openmpi() {
	ompi_job 2 "$O/sonde" comm --budget 0.3 --max-size 1K --json >"$dir/json" 2>"$dir/err"
	cat "$dir/err"
	holds "$dir/json" '$m->{via} =~ /^Open MPI/ && @{$m->{pairs}} == 1'
}
if [ -x "$O/sonde-comm-openmpi" ]; then
	check "so it does with Open MPI" openmpi
fi
echo "1..$count"
exit $failed
