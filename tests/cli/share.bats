#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `sonde share`: the table, the JSON, and mistakes of who types.
# shellcheck disable=SC2016,SC2154,SC2164 # variables of Perl; bats sets stderr and ends a test at what fails
load helper

setup() {
	cd "$BATS_TEST_TMPDIR"
	# The CPUs this test may run on, one a line.
	mapfile -t cpus < <(taskset -cp $$ | sed 's/.*: //' | tr , '\n' |
		awk -F- '{ for (i = $1; i <= (NF > 1 ? $2 : $1); i++) print i }')
}

need_two() {
	[ "${#cpus[@]}" -ge 2 ] || skip "needs two CPUs"
}

# Two CPUs, little memory: it matters that something is said, not what. 77: that it cannot be.
share() {
	"$SONDE" share --cpus "${cpus[0]},${cpus[1]}" --budget 0.5 --max-size 16M "$@" || [ $? -eq 77 ]
}

@test "the table has a line for each level with what hwloc claims" {
	need_two
	share >out.txt 2>err.txt
	[ ! -s err.txt ]
	grep -qE '^  L1 +(each CPU its own|cannot be told|[0-9])' out.txt
	grep -q '^Caches shared by CPUs ' out.txt
	LC_ALL=C run ! grep $'[^\t -~]' out.txt
	run ! grep ' $' out.txt
}

@test "the JSON has groups as lists and bitmaps, and every pair it compared" {
	need_two
	share --json >s.json
	for field in cpus levels pairs pooled elapsed_s notes; do
		[ "$(json s.json "exists \$d->{sharing}{$field} ? 1 : 0")" = 1 ]
	done
	[ "$(json s.json '$d->{sharing}{levels}[0]{level}')" = 1 ]
	[ "$(json s.json '$d->{sharing}{levels}[0]{groups}[0]{cpuset} =~ /^0x[0-9a-f]+$/ ? 1 : 0')" = 1 ]
	# Each CPU is in one group of each level.
	[ "$(json s.json 'my @bad = grep { my $n = 0; $n += () = $_->{cpus} =~ /[0-9]+/g
		for @{$_->{groups}}; $n != 2 } @{$d->{sharing}{levels}}; scalar @bad')" = 0 ]
	[ "$(json s.json '@{$d->{sharing}{pairs}} > 0 ? 1 : 0')" = 1 ]
	[ "$(json s.json '@{$d->{caches}} > 0 ? 1 : 0')" = 1 ]
}

@test "the matrix has every CPU and every pair" {
	need_two
	share --matrix >out.txt
	grep -q 'Nearest common cache' out.txt
	grep -qE "^ +${cpus[1]} +[^ ]+ +-$" out.txt
	grep -qE "^  L1 +${cpus[0]} ${cpus[1]} " out.txt
}

@test "what is claimed otherwise is a headline and not an error" {
	need_two
	[ "${#cpus[@]}" -eq 2 ] || skip "the claim is made up for two CPUs"
	export HWLOC_SYNTHETIC='L1d:1(size=49152) core:1 pu:2' HWLOC_THISSYSTEM=1
	share >out.txt 2>err.txt
	grep -q 'DISAGREES\|not comparable' out.txt
	! grep -q DISAGREES out.txt || grep -q '^! L1: measured: ' out.txt
}

@test "with one CPU it says so and exits with 77" {
	run --separate-stderr taskset -c "${cpus[0]}" "$SONDE" share
	[ "$status" -eq 77 ]
	[ -z "$output" ]
	one_line "$stderr"
	has "$stderr" "one CPU shares nothing"
}

@test "a list with one CPU is refused" {
	need_two
	run --separate-stderr "$SONDE" share --cpus "${cpus[0]}"
	[ "$status" -eq 2 ]
	one_line "$stderr"
	has "$stderr" "name two or more"
}

@test "a CPU that is not there is refused with those that are" {
	need_two
	run --separate-stderr "$SONDE" share --cpus "${cpus[0]},99999"
	[ "$status" -eq 2 ]
	one_line "$stderr"
	has "$stderr" "CPU 99999 is not among those this process may run on"
}

@test "what is no list of CPUs is refused" {
	for list in '' ',' '0,' ',1' 1-0 0-1-2 a 0:1 -1 ' 0,1' 0x3 99999999999999999999; do
		run --separate-stderr "$SONDE" share "--cpus=$list"
		[ "$status" -eq 2 ]
		[ -z "$output" ]
		one_line "$stderr"
		has "$stderr" "--cpus wants a list of CPUs"
	done
}

@test "it takes no arguments and knows its options" {
	run --separate-stderr "$SONDE" share 0 1
	[ "$status" -eq 2 ]
	one_line "$stderr"
	run --separate-stderr "$SONDE" share --matix
	[ "$status" -eq 2 ]
	has "$stderr" "matrix"
}

@test "anybody may, without root" {
	need_two
	dir=$(make_public)
	status=0
	unprivileged "$dir/sonde" share --cpus "${cpus[0]},${cpus[1]}" --budget 0.5 \
		--max-size 16M >out.txt 2>err.txt || status=$?
	rm -r "$dir"
	[ "$status" -eq 0 ] || [ "$status" -eq 77 ]
	[ ! -s err.txt ]
	grep -q '^  L1' out.txt
}

@test "with too little memory it says one line" {
	need_two
	for kib in 12000 30000 60000; do
		status=0
		(ulimit -v $kib && exec "$SONDE" share --budget 0.3) >out.txt 2>err.txt || status=$?
		[ "$status" -eq 0 ] || [ "$status" -eq 1 ] || [ "$status" -eq 77 ]
		[ "$status" -ne 1 ] || one_line "$(<err.txt)"
	done
}

@test "a signal in the middle ends it as that signal does and leaves no thread" {
	need_two
	interrupted "$SONDE" share --budget 60
}

@test "Servet's comparisons, of every two at every level, are no samples" {
	need_two
	share --method servet --json >s.json
	[ "$(json s.json '$d->{backends}{method}{using}')" = servet ]
	[ "$(json s.json 'grep { $_->{contention} > 0 } @{$d->{sharing}{pairs}} or -1')" = \
		"$(json s.json 'scalar @{$d->{sharing}{pairs}} or -1')" ]
	refused 2 "leave --samples or" "$SONDE" share --method servet --samples s
	refused 2 "'lmbench' is none; sonde and servet are" "$SONDE" share --method lmbench
	[ ! -e s ]
}
