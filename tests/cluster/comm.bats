#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `sonde comm` on nodes made of namespaces: a layer within nodes and one between them,
# with the right members. Ten times with SONDE_LONG.
# shellcheck disable=SC2016,SC2154,SC2164 # variables of Perl; bats ends a test at what fails
load ../cli/helper

BUILD=$(dirname "$SONDE")
NETNS=$BATS_TEST_DIRNAME/netns

setup() {
	cd "$BATS_TEST_TMPDIR"
	export SONDE_PROFILE=$PWD/none
	timeout -k 5 60 "$NETNS" --each true 2>/dev/null || [ $? -ne 77 ] ||
		skip "$("$NETNS" --each true 2>&1)"
	[ -x "$BUILD/sonde-comm-mpich" ] || skip "no MPICH: install libmpich-dev and mpich"
}

# finds NODES RANKS GROUPS: of the first layer, the only other one being of all ranks
finds() {
	local times=1
	[ -z "${SONDE_LONG-}" ] || times=10
	for ((i = 0; i < times; i++)); do
		timeout -k 5 120 "$NETNS" -n "$1" -r "$2" "$SONDE" comm --budget 5 --max-size 64 \
			--json >c.json
		run json c.json 'join "; ", map { join "|", map { join "", @{$_->{places}} }
			@{$_->{groups}} } @{$d->{communication}{methods}[0]{layers}}'
		[ "$output" = "$3; 01234567" ] || { cat c.json >&2; return 1; }
		[ "$(json c.json 'join "", map { $_->{node} } @{$d->{communication}{places}}')" = "$4" ]
	done
}

@test "eight ranks on two nodes have two layers" {
	finds 2 4 "0123|4567" 00001111
}

@test "eight ranks on four nodes have two layers" {
	finds 4 2 "01|23|45|67" 00112233
}
