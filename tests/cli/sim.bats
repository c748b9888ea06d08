#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# tests/sim/caches: probes held against simulated machines.
# shellcheck disable=SC2164 # bats ends a test at what fails
load helper

CACHES=$(realpath "${O:-build}/tests/sim/caches")
TABLE=$SOURCE/tests/recordings/machines-dev.tsv
export CACHES TABLE

setup() {
	cd "$BATS_TEST_TMPDIR"
	printf 'machine\tlevel\tsize_bytes\tways\tline_bytes\tsets\tshared_by_threads\n' >header
	{
		cat header
		printf 'small\t1\t8192\t4\t32\t64\t1\n'
	} >small.tsv
}

# refused STATUS WORDS ARGS...: exit status, one line with WORDS on stderr, nothing else
refused() {
	local status_wanted=$1 words=$2
	shift 2
	run --separate-stderr "$CACHES" "$@"
	[ "$status" -eq "$status_wanted" ]
	[ -z "$output" ]
	one_line "$stderr"
	has "$stderr" "$words"
}

@test "the simulator's help says what is counted" {
	run --separate-stderr "$CACHES" --help
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	has "$output" "R of N caches right, U unknown, W confidently wrong"
	has "$output" "is in none of R, U and W"
	for option in profile seed method machine budget levels jobs verbose; do
		has "$output" "--$option"
	done
}

@test "the simulator refuses a bad table by file and line" {
	{
		cat small.tsv
		printf 'small\ttwo\t8192\t4\t32\t64\t1\n'
	} >bad.tsv
	refused 1 "bad.tsv:3: level is 'two'" bad.tsv
	refused 1 "none.tsv: No such file" none.tsv
	refused 1 "header:1: no machines" header
	refused 1 "Is a directory" .
}

@test "the simulator refuses options that are none" {
	refused 2 "which table?"
	refused 2 "one table only" small.tsv small.tsv
	refused 2 "'home' is no value for --profile" --profile home small.tsv
	refused 2 "'guess' is no value for --method" --method guess small.tsv
	refused 2 "'-1' is no value for --seed" --seed -1 small.tsv
	refused 2 "'0' is no value for --jobs" --jobs 0 small.tsv
	refused 2 "'0' is no value for --levels" --levels 0 small.tsv
	refused 2 "bad option '--colour'" --colour small.tsv
	refused 2 "bad option '--seed'" small.tsv --seed
	refused 1 "no machine of small.tsv" --machine 'large*' small.tsv
}

@test "the simulator prints a line a cache and counts them last" {
	{
		cat small.tsv
		printf 'odd\t1\t8192\t4\t32\t65\t1\n'
	} >two.tsv
	run --separate-stderr "$CACHES" two.tsv
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[ "${#lines[@]}" -eq 3 ]
	has "${lines[0]}" "$(printf 'small\tL1\t8192/4/32\t')"
	has "${lines[1]}" "left out: ways x line x sets is not its size"
	[[ ${lines[2]} =~ ^[01]" of 1 caches right, "[01]" unknown, 0 confidently wrong"$ ]]
}

@test "the simulator judges as many levels as it is to look for" {
	"$CACHES" --machine '2i386-2c-*' --levels 1 "$TABLE" >one
	[ "$(grep -c "L2" one)" -eq 0 ]
	grep -q "^1 of 1 caches right, 0 unknown, 0 confidently wrong$" one
}

@test "the simulator says the same again, whatever runs at once" {
	"$CACHES" --machine '*K[56]*' --jobs 1 --profile cloud --seed 3 "$TABLE" >one
	"$CACHES" --machine '*K[56]*' --jobs 3 --profile cloud --seed 3 "$TABLE" >three
	cmp one three
	[ "$(wc -l <one)" -ge 5 ]
}

@test "the simulator goes on where a run was cut short, and keeps runs apart" {
	local args=(--machine '*K[56]*' --profile cloud --seed 3)
	"$CACHES" "${args[@]}" "$TABLE" >whole
	"$CACHES" "${args[@]}" --keep kept "$TABLE" >first
	cmp whole first
	# Cut in the middle of its last line, that one is done again.
	cp kept all
	truncate -s -9 kept
	"$CACHES" "${args[@]}" --keep kept "$TABLE" >second
	cmp whole second
	cmp <(sort all) <(sort kept)
	# What is in the file is not found out anew.
	sed -i 's,\t32768/2/32/,\t32768/3/32/,' kept
	"$CACHES" "${args[@]}" --keep kept "$TABLE" >third
	[ "$(grep -c "32768/3/32" third)" -ge 1 ]
	refused 1 "kept is of another run" "${args[@]}" --seed 4 --keep kept "$TABLE"
	sed -i 's,/2/32/,/2,' all
	refused 1 "is spoilt" "${args[@]}" --keep all "$TABLE"
	refused 1 "no-such-dir/kept: No such file" --keep no-such-dir/kept "$TABLE"
}

@test "a level that is found where one was left out is as wrong as any that is not there" {
	{
		cat small.tsv
		printf 'small\t2\t65536\t-1\t64\t-1\t1\n'
	} >left-out.tsv
	# Servet takes what gaps do for a second level here.
	run --separate-stderr "$CACHES" --profile cloud --seed 2 --method servet --budget 1 left-out.tsv
	[ "$status" -eq 0 ]
	[[ ${lines[1]} == small$'\t'L2$'\t'none$'\t'*$'\t''confidently wrong' ]]
	has "${lines[2]}" "left out"
	[ "${lines[3]}" = "1 of 1 caches right, 0 unknown, 1 confidently wrong" ]
}

@test "machines that nobody built are the same for a seed, and make a table" {
	"$SOURCE/tests/sim/made-up" --seed 2 --machines 3 >once.tsv
	"$SOURCE/tests/sim/made-up" --seed 2 --machines 3 >twice.tsv
	cmp once.tsv twice.tsv
	run --separate-stderr "$CACHES" --levels 1 once.tsv
	[ "$status" -eq 0 ]
	has "$output" "of 3 caches right"
	"$SOURCE/tests/sim/made-up" --third --machines 3 >three.tsv
	[ "$(cut -f 2 three.tsv | grep -c 3)" -eq 3 ]
	run --separate-stderr "$SOURCE/tests/sim/made-up" --machines 0
	[ "$status" -eq 2 ]
	has "$stderr" "give 1 or more"
}
