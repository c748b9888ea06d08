#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `sonde sim alltoall`: tables, JSON, files, and mistakes of who types.
# shellcheck disable=SC2016,SC2154,SC2164 # variables of Perl; bats sets stderr and ends a test at what fails
load helper

setup() {
	cd "$BATS_TEST_TMPDIR"
}

sim() {
	"$SONDE" sim alltoall "$@"
}

# refused STATUS WORDS ARGS...: exit status, one line with WORDS on stderr, nothing else
refused() {
	local status_wanted=$1 words=$2
	shift 2
	run --separate-stderr "$SONDE" sim "$@"
	[ "$status" -eq "$status_wanted" ]
	[ -z "$output" ]
	one_line "$stderr"
	has "$stderr" "$words"
}

@test "help lists the subcommand, and help of it its options" {
	run --separate-stderr "$SONDE" sim --help
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	has "$output" "usage: sonde sim SUBCOMMAND"
	has "$output" "  alltoall "
	[ "$output" = "$("$SONDE" help sim)" ]
	run sim --help
	[ "$status" -eq 0 ]
	has "$output" "usage: sonde sim alltoall [OPTION...]"
	has "$output" "Manual: sonde-sim(1)"
}

@test "the page has the options of --help, and no others" {
	diff <({ "$SONDE" sim --help; sim --help; } |
		sed -n 's/^  *\(-[a-zA-Z], \)\{0,1\}\(--[a-z-]*\).*/\2/p' | sort -u) \
		<(sed -n 's/^\.It .*Fl -\([a-z][a-z-]*\).*/--\1/p' \
			"$SOURCE/man/sonde-sim.1" | sort -u)
	run mandoc -Tlint -Wwarning "$SOURCE/man/sonde-sim.1"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "the table has a line for each size and names the best scheme" {
	sim >out.txt 2>err.txt
	[ ! -s err.txt ]
	grep -qE '^block +flat +leader +sa +rd +best$' out.txt
	[ "$(grep -cE '^[0-9]+ ( +[0-9.]+){4}  (flat|leader|sa|rd)$' out.txt)" -eq 12 ]
	grep -qE '^512 .* sa$' out.txt
	LC_ALL=C run ! grep $'[^\t -~]' out.txt
	run ! grep ' $' out.txt
	sim --class infinihost3 | grep -qE '^512 .* leader$'
	sim -a sa,leaders --leaders 4 -s 3x7 --inner bruck --radix 3 --max-size 100 >out.txt
	grep -qE '^block +leaders +sa +best$' out.txt
	[ "$(tail -n 1 out.txt | cut -d' ' -f1)" = 100 ]
}

@test "the JSON has what the table has" {
	sim --json --min-size 512 --max-size 2K >s.json
	[ "$(json s.json '"$d->{schema} $d->{class} $d->{nodes}x$d->{ppn}"')" = "sonde-sim-1 infinipath 64x8" ]
	[ "$(json s.json 'scalar @{$d->{points}}')" = 12 ]
	[ "$(json s.json 'join " ", map { "$_->{algorithm}:$_->{inner}" }
		grep { $_->{bytes} == 512 } @{$d->{points}}')" = "flat:isend leader:isend sa:isend rd:isend" ]
	[ "$(json s.json '(grep { !($_->{ns} > 0) } @{$d->{points}}) + 0')" = 0 ]
	[ "$(sim --min-size 512 --max-size 512 | tail -n 1 | awk '{ print $4 }')" = \
		"$(json s.json 'sprintf "%.1f", (grep { $_->{algorithm} eq "sa" &&
			$_->{bytes} == 512 } @{$d->{points}})[0]{ns} / 1e3')" ]
}

@test "every node simulated gives what one does" {
	for class in infinipath infinihost3 connectx; do
		sim -c $class -s 16x8 >one.txt
		sim -c $class -s 16x8 --full >full.txt
		cmp one.txt full.txt
	done
}

@test "a thousand nodes of 64 ranks take seconds" {
	timeout 120 "$SONDE" sim alltoall -s 1024x64 --min-size 512 --max-size 512 >out.txt
	grep -qE '^512 ' out.txt
}

@test "counts are those of every rank of a node" {
	sim --counts -s 16x8 --min-size 512 --max-size 512 --json >c.json
	[ "$(json c.json 'scalar @{$d->{ranks}}')" = 32 ]
	[ "$(json c.json 'join " ", map { "$_->{wire_messages}/$_->{wire_bytes}" }
		grep { $_->{local_rank} == 3 } @{$d->{ranks}}')" = "120/61440 0/0 15/61440 15/61440" ]
	[ "$(sim --counts -s 16x8 --min-size 512 --max-size 512 | grep -cE '^(flat|leader|sa|rd) ')" = 32 ]
}

@test "classes are printed with a source for every value" {
	sim --classes >out.txt
	[ "$(grep -cE '^    (published|derived|assumed), .*: .' out.txt)" = 72 ]
	sim --classes -c connectx --json >c.json
	[ "$(json c.json 'scalar @{$d->{classes}}')" = 1 ]
	[ "$(json c.json 'my $p = $d->{classes}[0]{parameters}; (grep { !($_->{source} &&
		$_->{low} <= $_->{value} && $_->{value} <= $_->{high}) } values %$p) + 0')" = 0 ]
}

@test "a class of one's own is taken, and is what it says" {
	cat >mine.json <<'END'
{
	"schema": "sonde-sim-class-1",
	"name": "mine",
	"base": "connectx",
	"parameters": { "byte_ns": 70 }
}
END
	sim --class-file mine.json -s 4x8 --min-size 8K >mine.txt
	grep -q '^mine, 4x8' mine.txt
	[ "$(awk '/^8192/ { print int($4 / 10000) }' mine.txt)" -gt 10 ]
	sim --classes --class-file mine.json | grep -qE '^  byte_ns +70 ns/B'
}

@test "a class file that is wrong is refused by line" {
	refused 1 "cannot read the class none.json: No such file" alltoall --class-file none.json
	refused 1 "cannot read the class ." alltoall --class-file .
	printf '{ "schema": "sonde-sim-class-1", "name": "x", "base": "connectx",\n"parameters": {\n"L": 1 } }' >bad.json
	refused 1 'bad.json: line 3: no parameter is called "L"' alltoall --class-file bad.json
	head -c 70000 /dev/zero >zero.json
	refused 1 "it is not JSON of up to 64 KiB" alltoall --class-file zero.json
	refused 2 "name one machine" alltoall --class-file bad.json -c connectx
}

@test "claims hold, and perturbed ones as often as is asked" {
	run --separate-stderr sim --claims
	[ "$status" -eq 0 ]
	[ "$(grep -c ' holds ' <<<"$output")" = 8 ]
	sim --perturb 20 --seed 3 --json >p.json
	[ "$(json p.json '(grep { $_->{share} >= 0 && $_->{share} <= 1 &&
		$_->{value_low} <= $_->{value_high} } @{$d->{claims}}) + 0')" = 8 ]
	sim --perturb 20 --seed 3 --json | cmp - p.json
}

@test "figures are drawn for the paper's systems and for others" {
	sim --figures figs --json >f.json
	for n in 1 2 3 4 5 7 8 9 10 11 12; do
		xmllint --noout figs/figure-$n.svg
	done
	[ "$(json f.json 'join " ", map { $_->{figure} } @{$d->{figures}}')" = "1 2 3 4 5 7 8 9 10 11 12" ]
	grep -q 'send aggregation' figs/figure-7.svg
	grep -q '64x8' figs/figure-7.svg
	grep -q '4x8' figs/figure-12.svg
	sim --figures other -s 128x16 --max-size 64 >out.txt
	[ "$(wc -l <out.txt)" = 11 ]
	grep -q '128x16' other/figure-10.svg
}

@test "what cannot be drawn is said, and leaves nothing behind" {
	mkdir empty figs
	run --separate-stderr env PATH="$PWD/empty" "$SONDE" sim alltoall --figures figs
	[ "$status" -eq 1 ]
	one_line "$stderr"
	has "$stderr" "gnuplot-nox"
	[ -z "$(ls -A figs)" ]
	touch file
	refused 1 "cannot write in the folder file: Not a directory" alltoall --figures file
	refused 1 "cannot write in the folder none/figs: No such file" alltoall --figures none/figs
	refused 2 "begins at 4 nodes" alltoall --figures figs -s 2x2
}

@test "a schedule is written whole or not at all" {
	sim --goal s.goal -a sa -s 3x4 --min-size 100 --max-size 100
	[ "$(head -n 1 s.goal)" = "num_ranks 12" ]
	[ "$(grep -c '^rank' s.goal)" = 12 ]
	[ "$(grep -c 'send 400b' s.goal)" = 24 ]
	sim --goal /dev/stdout -a sa -s 3x4 --min-size 100 --max-size 100 | cmp - s.goal
	refused 1 "cannot write none/s.goal: No such file" alltoall --goal none/s.goal -a sa --min-size 8 --max-size 8
	refused 1 "cannot write /dev/full: No space left" alltoall --goal /dev/full -a sa --min-size 8 --max-size 8
	[ "$(compgen -G '*goal*')" = s.goal ]
	refused 2 "one algorithm and one size" alltoall --goal s.goal
	refused 2 "one algorithm and one size" alltoall --goal s.goal -a sa,rd --min-size 8 --max-size 8
}

@test "a signal in the middle leaves nothing behind" {
	env --default-signal=INT "$SONDE" sim alltoall --goal big.goal -s 1024x64 -a flat \
		--min-size 1K --max-size 1K >out.txt 2>err.txt &
	pid=$!
	until_true compgen -G 'big.goal.*' >/dev/null
	kill -INT "$pid"
	await "$pid"
	[ "$status" -eq 130 ]
	[ ! -s err.txt ]
	run ! compgen -G 'big.goal*'
}

@test "mistakes are one line that says what is right" {
	refused 2 "no subcommand"
	refused 2 "did you mean 'alltoall'" altoall
	refused 2 "unknown option '--json'" --json
	refused 2 "did you mean '--system'" alltoall --sistem 3x4
	refused 2 "did you mean 'connectx'" alltoall -c conectx
	refused 2 "--classes lists them" alltoall -c ''
	for system in '' 64 x8 64x 0x8 64x0 64x8x2 -1x8 1e3x8 65537x1 1x4097 65536x4096; do
		refused 2 "not nodes x ranks" alltoall "--system=$system"
	done
	refused 2 "no algorithm is called 'rsa'" alltoall -a sa,rsa
	refused 2 "no algorithm is called ''" alltoall -a sa,
	refused 2 "no exchange is called 'ring'" alltoall --inner ring
	refused 2 "--radix 1: not a whole number from 2" alltoall --radix 1
	refused 2 "--leaders 0: not a whole number from 1" alltoall --leaders 0 -a leaders
	refused 2 "a node has 8 ranks" alltoall --leaders 9 -a leaders
	refused 2 "--leaders is for -a leaders" alltoall --leaders 2
	refused 2 "--min-size is larger" alltoall --min-size 1M
	refused 2 "up to 1G" alltoall --max-size 2G
	refused 2 "not a size" alltoall --max-size 0
	refused 2 "--perturb 0: not a whole number from 1" alltoall --perturb 0
	refused 2 "say how many" alltoall --claims --seed 3
	refused 2 "one at a time" alltoall --claims --counts
	refused 2 "--claims has no use for --system" alltoall --claims -s 4x8
	refused 2 "--figures has no use for --class" alltoall --figures f -c connectx
	refused 2 "--counts has no use for --full" alltoall --counts --full
	refused 2 "--goal has no use for --json" alltoall --goal g -a sa --min-size 8 --max-size 8 --json
	refused 2 "does not take '5'" alltoall 5
}
