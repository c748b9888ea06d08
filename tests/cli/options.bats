#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Commands and options: what is asked for is done, what is wrong is said.
# shellcheck disable=SC2016,SC2164 # variables of Perl; bats ends a test at what fails
load helper

@test "help is printed on standard output, however it is asked for" {
	for args in --help -h help; do
		run --separate-stderr "$SONDE" $args
		[ "$status" -eq 0 ]
		[ -z "$stderr" ]
		has "$output" "usage: sonde COMMAND"
		for command in info report cache colour clock help; do
			has "$output" "  $command "
		done
	done
}

@test "help of a command is the same by help and by --help" {
	for command in info report cache colour clock; do
		run --separate-stderr "$SONDE" help $command
		[ "$status" -eq 0 ]
		[ -z "$stderr" ]
		has "$output" "usage: sonde $command"
		[ "$output" = "$("$SONDE" $command --help)" ]
		[ "$output" = "$("$SONDE" $command -h)" ]
	done
}

@test "the version is the one of dkms.conf" {
	version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' "$SOURCE/dkms.conf")
	[ "$("$SONDE" --version)" = "sonde $version" ]
	[ "$("$SONDE" -V)" = "sonde $version" ]
}

@test "no command is a usage error" {
	refused 2 "sonde --help" "$SONDE"
}

@test "an unknown command is refused and names where to look" {
	refused 2 "sonde: unknown command 'xyz'; \`sonde --help\` lists them" "$SONDE" xyz
	refused 2 "unknown command 'xyz'" "$SONDE" help xyz
	refused 2 "unknown command ''" "$SONDE" ''
}

@test "a near miss is suggested" {
	refused 2 "did you mean 'cache'?" "$SONDE" cahce
	refused 2 "did you mean 'report'?" "$SONDE" repor
	refused 2 "did you mean '--json'?" "$SONDE" clock --jsno
}

@test "an unknown option is refused, long or short" {
	refused 2 "unknown option '--frobnicate'" "$SONDE" --frobnicate
	refused 2 "unknown option '--frobnicate'; \`sonde clock --help\` lists them" \
		"$SONDE" clock --frobnicate
	refused 2 "unknown option '-x'" "$SONDE" cache -x
	refused 2 "unknown option '-x'" "$SONDE" cache -vx
}

@test "an option's argument that is missing or too much is refused" {
	refused 2 "--cpu needs its argument" "$SONDE" cache --cpu
	refused 2 "--output needs its argument" "$SONDE" report -o
	refused 2 "--json takes no argument" "$SONDE" cache --json=yes
	refused 2 "does not take 'stray'" "$SONDE" info stray
	refused 2 "the folder's name is empty" "$SONDE" report -o ''
}

@test "numbers that are none are refused" {
	refused 2 "--cpu x: not a whole number" "$SONDE" cache --cpu x
	refused 2 "--cpu -1: not a whole number" "$SONDE" cache --cpu -1
	refused 2 "--cpu : not a whole number" "$SONDE" cache --cpu ''
	refused 2 "--cpu 99999999999999999999: not" "$SONDE" cache --cpu 99999999999999999999
	for seconds in -1 0 x 1x nan inf 1e9 ''; do
		refused 2 "--budget $seconds: not a number of seconds" \
			"$SONDE" report --budget "$seconds"
	done
	for size in 3Q 0 -1 K 1.5M 64MM 99999999999G ''; do
		refused 2 "--max-size $size: not a size" "$SONDE" cache --max-size "$size"
	done
	refused 2 "--seed -3: not a whole number" "$SONDE" cache --seed -3
	refused 2 "--levels 0: that is none; 1 to 8" "$SONDE" cache --levels 0
	refused 2 "--levels 9: not a whole number" "$SONDE" cache --levels 9
}

@test "a CPU that may not be used is refused and those that may are named" {
	cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
	refused 2 "CPU 99999 is not among those this process may run on: $cpu" \
		taskset -c "$cpu" "$SONDE" cache --cpu 99999
}

@test "standard output that is full or closed is a failure" {
	for command in "clock" "info" "info --json" "help" "cache ${SHORT[*]}"; do
		# shellcheck disable=SC2016,SC2086 # expanded by the inner shell; words
		run bash -c '"$SONDE" "$@" 2>&1 >/dev/full' - $command
		[ "$status" -eq 1 ]
		has "$output" "cannot write to standard output: No space left on device"
		# shellcheck disable=SC2016,SC2086
		run bash -c '"$SONDE" "$@" 2>&1 >&-' - $command
		[ "$status" -eq 1 ]
		has "$output" "cannot write to standard output"
	done
}
