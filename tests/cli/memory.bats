#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `sonde memory`: the tables, the JSON, samples, and mistakes of who types.
# shellcheck disable=SC2016,SC2154,SC2164 # variables of Perl; bats sets stderr and ends a test at what fails
load helper

setup() {
	cd "$BATS_TEST_TMPDIR"
	mapfile -t cpus < <(taskset -cp $$ | sed 's/.*: //' | tr , '\n' |
		awk -F- '{ for (i = $1; i <= (NF > 1 ? $2 : $1); i++) print i }')
}

# One CPU or two, little memory: it matters that something is said, not what. 77: that it
# cannot be.
memory() {
	"$SONDE" memory --cpus "${list:-${cpus[0]}}" --max-size 32M "$@" || [ $? -eq 77 ]
}

two() {
	[ "${#cpus[@]}" -ge 2 ] || skip "needs two CPUs"
	list=${cpus[0]},${cpus[1]}
}

@test "the tables have one CPU, two, more, and latency under load" {
	two
	memory >out.txt 2>err.txt
	[ ! -s err.txt ]
	grep -qE '^  own   base  +[0-9.-]+ ' out.txt
	grep -qE '^  class  gets' out.txt
	grep -qE '^    cores +1 +2$' out.txt
	grep -q '^Latency of a load of CPU' out.txt
	grep -qE 'loops with (AVX-512|AVX2|SSE2|NEON|plain C),' out.txt
	LC_ALL=C run ! grep $'[^\t -~]' out.txt
	run ! grep ' $' out.txt
}

@test "the JSON has every operation, the pair and its class" {
	two
	memory --json >m.json
	for operation in read write copy triad; do
		[ "$(json m.json "scalar grep { \$_->{operation} eq '$operation' &&
			!defined \$_->{node} && \$_->{pages} eq 'base' } @{\$d->{bandwidth}{references}}")" = 1 ]
	done
	[ "$(json m.json 'scalar @{$d->{bandwidth}{pairs}}')" = 1 ]
	[ "$(json m.json 'join ",", @{$d->{bandwidth}{pairs}[0]{cpus}}')" = "$list" ]
	[ "$(json m.json 'my $p = $d->{bandwidth}{pairs}[0]; !defined $p->{ratio} ||
		$d->{bandwidth}{classes}[$p->{class}]{ratio} == $p->{ratio} ? 1 : 0')" = 1 ]
	[ "$(json m.json '$d->{bandwidth}{buffer_bytes} <= 16 << 20 ? 1 : 0')" = 1 ]
}

@test "sonde-profile(5) has every field of its JSON" {
	memory --json >m.json
	documented m.json bandwidth
}

@test "samples give the same again, as JSON and as text" {
	two
	memory --samples s --json >live.json
	"$SONDE" analyse s --json >again.json
	cmp live.json again.json
	memory --samples s >live
	"$SONDE" analyse s >again
	cmp live again
}

@test "one CPU is measured without pairs" {
	memory >out.txt
	run ! grep -q 'Two CPUs' out.txt
	grep -qE '^  own   base ' out.txt
}

@test "too little memory is an error that says what to do" {
	refused 1 "raise the limit" "$SONDE" memory --max-size 1M
}

@test "anybody may, without root" {
	dir=$(make_public)
	status=0
	unprivileged "$dir/sonde" memory --cpus "${cpus[0]}" --max-size 16M >out.txt 2>err.txt ||
		status=$?
	rm -r "$dir"
	[ "$status" -eq 0 ] || [ "$status" -eq 77 ]
	[ "$status" -eq 77 ] || [ ! -s err.txt ]
}

@test "a signal in the middle ends it as that signal does" {
	interrupted "$SONDE" memory
}

@test "mistakes are usage errors" {
	refused 2 "--cpus wants a list of CPUs" "$SONDE" memory --cpus 1-0
	refused 2 "CPU 99999 is not among those" "$SONDE" memory --cpus 99999
	refused 2 "did you mean '--all-pairs'" "$SONDE" memory --all-pears
	refused 2 "the file's name is empty" "$SONDE" memory --samples ""
	refused 1 "cannot write the samples to no/such" "$SONDE" memory --samples no/such
}
