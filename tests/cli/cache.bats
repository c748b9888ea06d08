#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `sonde cache`: the table, the JSON, and what it does where little is to be had.
# shellcheck disable=SC2016,SC2164 # variables of Perl; bats ends a test at what fails
load helper

setup() {
	cd "$BATS_TEST_TMPDIR"
}

# fake_claims EXPRESSION...: what hwloc is made to claim, by sed on this machine's own
fake_claims() {
	lstopo-no-graphics --of xml | sed "$@" >claims.xml
	export HWLOC_XMLFILE="$PWD/claims.xml"
}

@test "the table has the first level, its latency in ns and cycles, and a confidence" {
	sure "$SONDE" cache "${SHORT[@]}"
	[ -z "$stderr" ]
	[[ $output =~ L1d\ +[0-9.]+\ KiB\ .*\ ns\ .*\ cycles\ +[01]\.[0-9][0-9] ]]
}

@test "what is piped is plain: no escapes, no blanks at a line's end" {
	"$SONDE" cache "${SHORT[@]}" >out.txt 2>err.txt
	[ ! -s err.txt ]
	LC_ALL=C run ! grep $'[^\t -~]' out.txt
	run ! grep ' $' out.txt
}

@test "the JSON has every field, and null for what was not measured" {
	"$SONDE" cache --json "${SHORT[@]}" >c.json
	for field in caches claimed_only claims claim_sources memory tlb curve core_hz cpu \
		elapsed_s notes; do
		[ "$(json c.json "exists \$d->{$field} ? 1 : 0")" = 1 ]
	done
	for field in level type size size_low size_high ways line sets colours softness inclusion \
		method samples discarded sweeps capacity_curve latency_ns latency_cycles \
		latency_cycles_ci confidence claimed; do
		[ "$(json c.json "exists \$d->{caches}[0]{$field} ? 1 : 0")" = 1 ]
	done
	[ "$(json c.json '$d->{caches}[0]{level}')" = 1 ]
	[ "$(json c.json '$d->{caches}[0]{type}')" = data ]
	[ "$(json c.json '$d->{caches}[0]{ways}')" = null ]
	[ "$(json c.json '$d->{core_hz} > 0 ? 1 : 0')" = 1 ]
	[ "$(json c.json '$d->{caches}[0]{latency_cycles} > 0 ? 1 : 0')" = 1 ]
}

@test "the curve ascends in size and is printed when asked for" {
	"$SONDE" cache --json "${SHORT[@]}" >c.json
	[ "$(json c.json '@{$d->{curve}} > 5 ? 1 : 0')" = 1 ]
	[ "$(json c.json 'my @s = map { $_->{size} } @{$d->{curve}};
		join(",", @s) eq join(",", sort { $a <=> $b } @s) ? 1 : 0')" = 1 ]
	run "$SONDE" cache "${SHORT[@]}"
	[[ $output != *"working set"* ]]
	run "$SONDE" cache --curve "${SHORT[@]}"
	has "$output" "working set"
	has "$output" "      32 KiB "
}

@test "with --no-curve it tells how it found each level and takes no curve" {
	"$SONDE" cache --no-curve --max-size 32M --json >c.json
	[ "$(json c.json 'scalar @{$d->{curve}}')" = 0 ]
	[ "$(json c.json 'scalar @{$d->{tlb}}')" = 0 ]
	[ "$(json c.json '$d->{caches}[0]{method}')" = strides ]
	[ "$(json c.json '$d->{caches}[0]{samples} > 0 ? 1 : 0')" = 1 ]
	[ "$(json c.json '$d->{caches}[0]{latency_cycles} > 0 ? 1 : 0')" = 1 ]
}

@test "what --no-curve tells of a level fits together" {
	"$SONDE" cache --no-curve --max-size 32M --json >c.json
	[ "$(json c.json 'my $bad = 0;
		for (@{$d->{caches}}) {
			next unless $_->{sets};
			$bad++ if $_->{sets} * $_->{ways} * $_->{line} != $_->{size};
			for my $s (@{$_->{sweeps}}) {
				$bad++ if @{$s->{misses}} <= $s->{ways} || $s->{offset} >= 65536;
			}
		}
		$bad')" = 0 ]
}

@test "with --no-curve the colours that were told are in the table" {
	"$SONDE" cache --no-curve --max-size 32M --samples c.samples >table.txt
	"$SONDE" analyse c.samples --json >c.json
	colours=$(json c.json '(map { $_->{colours} // () } @{$d->{caches}})[0]')
	[ "$colours" != null ] || skip "no colours could be told here"
	grep -q ", $colours colour" table.txt
}

@test "--levels leaves what is beyond to what is claimed, and a capture says so too" {
	"$SONDE" cache --no-curve --levels 1 --max-size 32M --samples c.samples --json >c.json
	[ "$(json c.json 'scalar @{$d->{caches}}')" = 1 ]
	"$SONDE" analyse c.samples --json >again.json
	cmp c.json again.json
	"$SONDE" cache --no-curve --levels 2 --max-size 64M --json >c.json
	[ "$(json c.json 'scalar @{$d->{caches}}')" -le 2 ]
	run --separate-stderr "$SONDE" cache --levels 2 --method servet
	[ "$status" -eq 2 ]
	one_line "$stderr"
	has "$stderr" "leave --levels or"
}

@test "--no-curve is refused beside what needs the curve" {
	for other in --curve "--method servet"; do
		# shellcheck disable=SC2086 # two words
		run --separate-stderr "$SONDE" cache --no-curve $other
		[ "$status" -eq 2 ]
		[ -z "$output" ]
		one_line "$stderr"
		has "$stderr" "leave"
	done
}

@test "of --budget, --quick and --no-curve the last one holds" {
	"$SONDE" cache --json --no-curve "${SHORT[@]}" >c.json
	[ "$(json c.json '@{$d->{curve}} > 5 ? 1 : 0')" = 1 ]
	"$SONDE" cache --json "${SHORT[@]}" --no-curve --max-size 16M >c.json
	[ "$(json c.json 'scalar @{$d->{curve}}')" = 0 ]
}

@test "unless told otherwise it takes less than 256 MiB of memory" {
	case $(uname -m) in
	x86_64) getrusage=98 ;;
	aarch64) getrusage=165 ;;
	*) skip "the number of getrusage(2) is not known here" ;;
	esac
	# The fifth long of its answer is KiB; -1 asks of children.
	kib=$(perl -e '$n = shift; system(@ARGV) == 0 or die; $r = "\0" x 256;
		syscall($n, -1, $r) == 0 or die; print STDERR +(unpack "l!*", $r)[4]' \
		"$getrusage" "$SONDE" cache --budget 0.5 2>&1 >/dev/null)
	[ "$kib" -gt 4096 ]
	[ "$kib" -lt 262144 ]
}

@test "no working set is larger than --max-size" {
	"$SONDE" cache --json --budget 0.2 --max-size 512K >c.json
	[ "$(json c.json '$d->{curve}[-1]{size} <= 512 * 1024 ? 1 : 0')" = 1 ]
}

@test "a claim that differs is a headline, not an error, and not mixed in" {
	fake_claims '/type="L1Cache"/s/cache_size="[0-9]*"/cache_size="4194304"/'
	sure "$SONDE" cache "${SHORT[@]}"
	grep -qE '^! L1d: .*hwloc says 4 MiB; measured ' <<<"$output"
	has "$output" "DISAGREES"
	"$SONDE" cache --json "${SHORT[@]}" >c.json
	[ "$(json c.json '$d->{caches}[0]{claimed}{size}')" = 4194304 ]
	[ "$(json c.json '$d->{caches}[0]{claimed}{agrees} ? 1 : 0')" = 0 ]
	[ "$(json c.json '$d->{caches}[0]{size} < 4194304 ? 1 : 0')" = 1 ]
}

@test "a machine that claims no caches has them measured all the same" {
	lstopo-no-graphics --no-caches --no-icaches --of xml >claims.xml
	export HWLOC_XMLFILE="$PWD/claims.xml"
	"$SONDE" cache --json "${SHORT[@]}" >c.json
	[ "$(json c.json '$d->{caches}[0]{level}')" = 1 ]
	[ "$(json c.json '$d->{caches}[0]{claimed}')" = null ]
	[ "$(json c.json 'scalar @{$d->{claimed_only}}')" = 0 ]
}

@test "a level that the sweep did not reach is claimed only" {
	fake_claims '/type="L3Cache"/s/cache_size="[0-9]*"/cache_size="1073741824"/'
	grep -q 'cache_size="1073741824"' claims.xml || skip "no third level is claimed here"
	run "$SONDE" cache --budget 0.2 --max-size 256K
	has "$output" "not reached"
	"$SONDE" cache --json --budget 0.2 --max-size 256K >c.json
	[ "$(json c.json '$d->{claimed_only}[0]{size}')" = 1073741824 ]
}

@test "in a cpuset of one CPU it measures on that one" {
	cpu=$(taskset -cp $$ | sed 's/.*[-, ]//')
	taskset -c "$cpu" "$SONDE" cache --json "${SHORT[@]}" >c.json
	[ "$(json c.json '$d->{cpu}')" = "$cpu" ]
	[ "$(json c.json '$d->{machine}{cpus}')" = "$cpu" ]
}

@test "it measures on the CPU that is asked for" {
	cpu=$(taskset -cp $$ | sed 's/.*[-, ]//')
	"$SONDE" cache --json --cpu "$cpu" "${SHORT[@]}" >c.json
	[ "$(json c.json '$d->{cpu}')" = "$cpu" ]
}

@test "without huge pages it measures all the same" {
	case $(uname -m) in
	x86_64) prctl=157 ;;
	aarch64) prctl=167 ;;
	*) skip "the number of prctl(2) is not known here" ;;
	esac
	# 41 is PR_SET_THP_DISABLE
	run --separate-stderr perl -e 'syscall(shift, 41, 1, 0, 0, 0) == 0 or die; exec @ARGV' \
		"$prctl" "$SONDE" cache "${SHORT[@]}"
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	has "$output" "L1d"
}

@test "with memory for a small sweep only it measures that and says so" {
	# Enough for the program, not for what it would like to have.
	run --separate-stderr bash -c 'ulimit -v 60000; exec "$SONDE" cache --budget 1'
	[ "$status" -eq 0 ]
	has "$output" "note: only "
}

@test "a sweep that is too small to be one is refused in one line" {
	run --separate-stderr "$SONDE" cache --max-size 4K
	[ "$status" -eq 1 ]
	[ -z "$output" ]
	one_line "$stderr"
	has "$stderr" "give --max-size 256K or more"
}

@test "wherever memory ends it says one line and does not crash" {
	for kib in 4000 5000 6000 7000 8000 9000 10000 12000; do
		status=0
		(ulimit -v $kib && exec "$SONDE" cache --budget 0.2) >out.txt 2>err.txt || status=$?
		# 127: not even the program's loader had enough
		[ "$status" -eq 0 ] || [ "$status" -eq 1 ] || [ "$status" -eq 127 ]
		[ "$status" -ne 1 ] || one_line "$(<err.txt)"
	done
}

@test "a signal in the middle ends it as that signal does" {
	interrupted "$SONDE" cache --budget 60
}

@test "loops in the module, and prefetchers off, need the module; nothing is measured else" {
	export SONDE_DEV_DIR=$BATS_TEST_TMPDIR
	refused 2 "--meter: 'kernel' is none; user and module are" "$SONDE" cache --meter kernel
	for command in cache share report; do
		refused 77 "the module is not loaded; load it with" "$SONDE" $command --meter module
		refused 77 "the module is not loaded; load it with" "$SONDE" $command --no-prefetch
	done
	[ ! -e sonde-report ]
}
