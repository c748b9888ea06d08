#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `sonde cache --method servet`: the same outputs, another way to find levels.
# shellcheck disable=SC2016,SC2164 # variables of Perl; bats ends a test at what fails
load helper

setup() {
	cd "$BATS_TEST_TMPDIR"
}

@test "it prints the same table, with a note that its confidence says nothing" {
	run --separate-stderr "$SONDE" cache --method servet --max-size 8M
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[[ $output =~ L1d\ +[0-9.]+\ KiB\ .*\ ns\ .*\ cycles\ +1\.00 ]]
	has "$output" "note: the method is Servet's"
}

@test "its sizes are those of the paper: double below 2 MiB, 1 MiB more above" {
	"$SONDE" cache --json --method servet --max-size 4M >c.json
	[ "$(json c.json 'join " ", map { $_->{size} >> 10 } @{$d->{curve}}')" = \
		"4 8 16 32 64 128 256 512 1024 2048 3072 4096" ]
	[ "$(json c.json '$d->{backends}{method}{using}')" = servet ]
	[ "$(json c.json 'scalar grep { $_->{size} & $_->{size} - 1 && $_->{size} % (1 << 20) }
		@{$d->{caches}}')" = 0 ]
	[ "$(json c.json 'scalar grep { $_->{confidence} != 1 } @{$d->{caches}}')" = 0 ]
}

@test "when its time is over it says so" {
	run "$SONDE" cache --method servet --budget 0.1 --max-size 512M
	has "$output" "note: the time was over at "
}

@test "unless asked for, the method is sonde's" {
	"$SONDE" cache --json "${SHORT[@]}" >c.json
	[ "$(json c.json '$d->{backends}{method}{using}')" = sonde ]
	"$SONDE" cache --json --method servet --method sonde "${SHORT[@]}" >c.json
	[ "$(json c.json '$d->{backends}{method}{using}')" = sonde ]
}

@test "a method that is none is refused in one line" {
	for method in "" Servet x; do
		run --separate-stderr "$SONDE" cache --method "$method"
		[ "$status" -eq 2 ]
		[ -z "$output" ]
		one_line "$stderr"
		has "$stderr" "sonde and servet are"
	done
}

@test "a sweep that is too small, or no memory, is refused in one line" {
	run --separate-stderr "$SONDE" cache --method servet --max-size 4K
	[ "$status" -eq 1 ]
	one_line "$stderr"
	has "$stderr" "give --max-size 256K or more"
}

@test "a signal in the middle ends it as that signal does" {
	interrupted "$SONDE" cache --method servet --budget 60 --max-size 512M
}
