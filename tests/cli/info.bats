#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `sonde info` and `sonde clock`: what is there, and why not something better.
# shellcheck disable=SC2016,SC2164 # variables of Perl; bats ends a test at what fails
load helper

setup() {
	PUBLIC=$(make_public)
}

teardown() {
	rm -rf "$PUBLIC"
}

# info_with_devices COMMAND...: with the nodes looked for in $PUBLIC/dev
info_with_devices() {
	export SONDE_DEV_DIR=$PUBLIC/dev
	run --separate-stderr "$@"
}

# A character device, but none of ours. make_node NAME MODE GROUP
make_node() {
	mkdir -p "$PUBLIC/dev"
	[ "$(id -u)" -eq 0 ] || skip "only root can make device nodes"
	mknod "$PUBLIC/dev/$1" c 1 3 2>/dev/null || skip "this container may not make device nodes"
	chgrp "$3" "$PUBLIC/dev/$1"
	chmod "$2" "$PUBLIC/dev/$1"
}

@test "info says what is used and why nothing better" {
	info_with_devices "$SONDE" info
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	has "$output" "Machine"
	has "$output" "Module: not loaded"
	has "$output" "modprobe sonde"
	for seam in frames meter clock transfer; do
		has "$output" "  $seam "
	done
}

@test "info's JSON has the machine, the clock, the backends and the module" {
	info_with_devices "$SONDE" info --json
	[ "$status" -eq 0 ]
	printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/info.json"
	cd "$BATS_TEST_TMPDIR"
	[ "$(json info.json '$d->{schema}')" = sonde-profile-1 ]
	[ "$(json info.json '$d->{machine}{page_bytes}')" = "$(getconf PAGESIZE)" ]
	[ "$(json info.json '$d->{machine}{kernel}')" = "$(uname -r)" ]
	[ "$(json info.json '$d->{module}{loaded} ? 1 : 0')" = 0 ]
	[ "$(json info.json '$d->{module}{nodes}[1]{name}')" = sonde-probe ]
	[ "$(json info.json '$d->{module}{nodes}[1]{reachable} ? 1 : 0')" = 0 ]
	[ "$(json info.json 'join ",", sort keys %{$d->{backends}}')" = clock,frames,meter,transfer ]
}

@test "a device that may not be opened names the group to join" {
	make_node sonde 666 root
	make_node sonde-probe 660 daemon
	[ "$(id -u)" -eq 0 ] || skip "only root can become somebody else"
	info_with_devices setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$PUBLIC/sonde" info
	[ "$status" -eq 0 ]
	has "$output" "Module: loaded"
	has "$output" "sonde-probe not usable: $PUBLIC/dev/sonde-probe: permission denied; join group \`daemon\`"
}

@test "a module of another ABI is named as such, and sonde goes on without it" {
	make_node sonde 666 root
	make_node sonde-probe 666 root
	info_with_devices "$SONDE" info
	[ "$status" -eq 0 ]
	has "$output" "the module speaks another ABI"
	has "$output" "install the same version of both"
	info_with_devices "$SONDE" cache "${SHORT[@]}"
	[ "$status" -eq 0 ]
	has "$output" "L1d"
}

@test "without permission for frames it goes on and says what is lost" {
	info_with_devices unprivileged "$PUBLIC/sonde" info
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	has "$output" "frames      none"
	[[ $output =~ frames[^$'\n']*$'\n'[^$'\n']*(without|unknown|not known|cannot|lost|root) ]]
	info_with_devices unprivileged "$PUBLIC/sonde" cache --json "${SHORT[@]}"
	[ "$status" -eq 0 ]
	printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/cache.json"
	[ "$(json "$BATS_TEST_TMPDIR/cache.json" '$d->{backends}{frames}{using}')" = none ]
	[ "$(json "$BATS_TEST_TMPDIR/cache.json" '$d->{backends}{frames}{why}')" != null ]
	[ "$(json "$BATS_TEST_TMPDIR/cache.json" '$d->{caches}[0]{level}')" = 1 ]
}

@test "the clock's interval holds its frequency, and its cost is known" {
	"$SONDE" clock --json >"$BATS_TEST_TMPDIR/clock.json"
	cd "$BATS_TEST_TMPDIR"
	[ "$(json clock.json '$d->{clock}{hz_low} <= $d->{clock}{hz} &&
		$d->{clock}{hz} <= $d->{clock}{hz_high} ? 1 : 0')" = 1 ]
	[ "$(json clock.json '$d->{clock}{overhead_ticks} > 0 &&
		$d->{clock}{overhead_ns} > 0 ? 1 : 0')" = 1 ]
	[ "$(json clock.json '$d->{clock}{step_ticks} >= 1 ? 1 : 0')" = 1 ]
	run --separate-stderr "$SONDE" clock
	[ "$status" -eq 0 ]
	for line in source frequency claimed "read costs" step; do
		has "$output" "  $line "
	done
}

@test "verbose says on standard error what the library decides" {
	info_with_devices "$SONDE" info
	[ -z "$stderr" ]
	info_with_devices "$SONDE" info --verbose
	[ "$status" -eq 0 ]
	has "$stderr" "sonde info: "
}
