#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `sonde tune alltoall` on nodes made of namespaces: the network between them is
# measured, and what is written is followed there.
# shellcheck disable=SC2016,SC2154,SC2164 # variables of Perl; bats ends a test at what fails
load ../cli/helper

BUILD=$(dirname "$SONDE")
NETNS=$BATS_TEST_DIRNAME/netns

setup() {
	cd "$BATS_TEST_TMPDIR"
	export SONDE_PROFILE=$PWD/none
	cluster --each true 2>/dev/null || [ $? -ne 77 ] || skip "$("$NETNS" --each true 2>&1)"
	[ -x "$BUILD/sonde-tune-mpich" ] || skip "no MPICH: install libmpich-dev and mpich"
}

cluster() { timeout -k 5 120 "$NETNS" "$@"; }

@test "on two nodes the network is measured, has a class, and rules are followed" {
	cluster -n 2 -r 2 "$SONDE" tune alltoall --budget 1 --min 512 --max 1K --save p.json >table
	grep -q '^4 ranks on 2 nodes (up to 2 each, block)' table
	grep -q '^2 pairs have [0-9.]* times the bandwidth of one, ' table
	grep -q '^Handing out costs [0-9.]* times what collecting does: ' table
	[ "$(json p.json '$d->{collectives}{network}{class} =~
		/^(onload|hybrid|offload|unclear)$/ ? 1 : 0')" = 1 ]
	[ "$(json p.json 'scalar grep { $_->{bandwidth}[0]{mbs} > 0 && $_->{bandwidth}[1]{mbs} > 0 }
		@{$d->{collectives}{about}{alltoall}[0]{network}{sizes}}')" = 5 ]
	[ "$(json p.json 'scalar grep { $_->{mapping} eq "block" && "@{$_->{nodes}}" eq "2 2" &&
		$_->{bytes}[0] >= 257 && $_->{bytes}[1] <= 1024 }
		@{$d->{collectives}{alltoall}}')" = "$(json p.json 'scalar @{$d->{collectives}{alltoall}}')" ]
	SONDE_PROFILE=$PWD/p.json SONDE_COLL_EXPLAIN=1 cluster -n 2 -r 2 \
		"$BUILD/tests/run/alltoall.mpich" 512 20 >out 2>err
	[ "$(<out)" = "4 ranks, 20 calls, right" ]
	grep -q '(2 x 2), blocks of up to 512 B: .*: rule [0-9]* of the profile: measured: ' err
	# Smaller ones were not measured.
	SONDE_PROFILE=$PWD/p.json SONDE_COLL_EXPLAIN=1 cluster -n 2 -r 2 \
		"$BUILD/tests/run/alltoall.mpich" 64 20 >out 2>err
	grep -q '(2 x 2), blocks of up to 64 B: .*: usual rule ' err
}

@test "with one rank on each node there are no pairs to compare" {
	cluster -n 2 -r 1 "$SONDE" tune alltoall --budget 1 --min 64 --max 64 --save p.json >table
	grep -q '^One rank on a node: the class of the network cannot be told' table
	[ "$(json p.json '$d->{collectives}{network}{class}')" = unclear ]
}
