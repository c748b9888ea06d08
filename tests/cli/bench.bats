#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `sonde bench copy`: the table, the JSON, the profile, and mistakes of who types.
# shellcheck disable=SC2016,SC2154,SC2164 # variables of Perl; bats sets stderr and ends a test at what fails
load helper

setup() {
	cd "$BATS_TEST_TMPDIR"
	export SONDE_PROFILE=$BATS_TEST_TMPDIR/profile.json
	mapfile -t cpus < <(taskset -cp $$ | sed 's/.*: //' | tr , '\n' |
		awk -F- '{ for (i = $1; i <= (NF > 1 ? $2 : $1); i++) print i }')
}

# It matters that something is said, not what.
copy() {
	"$SONDE" bench copy --budget 0.3 --max-size 16K "$@"
}

@test "help lists the subcommand, and help of it its options" {
	run --separate-stderr "$SONDE" bench --help
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	has "$output" "usage: sonde bench SUBCOMMAND"
	has "$output" "  copy "
	[ "$output" = "$("$SONDE" help bench)" ]
	run "$SONDE" bench copy --help
	[ "$status" -eq 0 ]
	has "$output" "usage: sonde bench copy [OPTION...]"
	has "$output" "Manual: sonde-bench(1)"
}

@test "the page has the options of --help, and no others" {
	diff <({ "$SONDE" bench --help; "$SONDE" bench copy --help; } |
		sed -n 's/^  *\(-[a-zA-Z], \)\{0,1\}\(--[a-z-]*\).*/\2/p' | sort -u) \
		<(sed -n 's/^\.It .*Fl -\([a-z][a-z-]*\).*/--\1/p' \
			"$SOURCE/man/sonde-bench.1" | sort -u)
}

@test "the pages are clean mdoc with examples" {
	for page in sonde-bench.1 sonde_region.3 sonde_region_cache.3; do
		run mandoc -Tlint -Wwarning "$SOURCE/man/$page"
		[ "$status" -eq 0 ]
		[ -z "$output" ]
		grep -q '^\.Sh EXAMPLES' "$SOURCE/man/$page"
	done
}

@test "the table has a line for each size and says what is best" {
	copy >out.txt 2>err.txt
	[ ! -s err.txt ]
	for size in '1 B' '4 B' '1 KiB' '16 KiB'; do
		grep -qE "^$size  +[0-9.]+ (ns|us) " out.txt
	done
	grep -qE '^copy of +memcpy +shm' out.txt
	grep -qE '^best for shared memory: [a-z]+' out.txt
	grep -qE '^95 % intervals of the medians: within [0-9.]+ %$' out.txt
	LC_ALL=C run ! grep $'[^\t -~]' out.txt
	run ! grep ' $' out.txt
	[ ! -e profile.json ]
}

@test "without the module it says so, and what to do" {
	SONDE_DEV_DIR=$BATS_TEST_TMPDIR copy >out.txt
	grep -q '^no module: .*modprobe sonde' out.txt
}

@test "the JSON has every point, and choices by it" {
	copy --json >b.json
	[ "$(json b.json '$d->{schema}')" = sonde-profile-1 ]
	# memcpy is what all are held against.
	[ "$(json b.json '(grep { $_->{way} eq "memcpy" && $_->{ratio} == 1 }
		@{$d->{transfers}{points}}) + 0')" = 8 ]
	[ "$(json b.json '(grep { !($_->{ns} > 0 && $_->{ns_low} <= $_->{ns} &&
		$_->{ns} <= $_->{ns_high} && $_->{samples} >= 5) }
		@{$d->{transfers}{points}}) + 0')" = 0 ]
	[ "$(json b.json '$d->{transfers}{shared}[0]{from_bytes}')" = 0 ]
	[ "$(json b.json '$d->{backends}{transfer}{using} =~ /^(module|cma|shm)$/ ? 1 : 0')" = 1 ]
	# Every field is in the manual.
	perl -MJSON::PP -0777 -e '
		my $t = JSON::PP->new->utf8->decode(scalar <STDIN>)->{transfers};
		my %seen = (transfers => 1, map { $_ => 1 } keys %$t,
			map { keys %$_ } map { @{$t->{$_}} } qw(points private shared));
		print "$_\n" for sort keys %seen' <b.json >fields
	[ "$(wc -l <fields)" -ge 12 ]
	while read -r field; do
		grep -q "^\.It Va $field " "$SOURCE/man/sonde-profile.5" ||
			{ echo "not documented: $field"; false; }
	done <fields
}

@test "--save adds to the profile and keeps the rest of it" {
	"$SONDE" cache --json "${SHORT[@]}" >profile.json
	[ "$(json profile.json 'exists $d->{transfers} ? 1 : 0')" = 0 ]
	copy --save >/dev/null
	[ "$(json profile.json '@{$d->{caches}} > 0 ? 1 : 0')" = 1 ]
	[ "$(json profile.json '@{$d->{transfers}{points}} > 8 ? 1 : 0')" = 1 ]
	rm profile.json
	copy --save >/dev/null
	[ "$(json profile.json 'exists $d->{machine} && exists $d->{transfers} ? 1 : 0')" = 1 ]
}

@test "a profile that cannot be read stays as it is" {
	echo '{"schema": "sonde-profile-9"}' >profile.json
	run --separate-stderr copy --save
	[ "$status" -eq 1 ]
	one_line "$stderr"
	has "$stderr" "cannot read the default profile"
	[ "$(<profile.json)" = '{"schema": "sonde-profile-9"}' ]
	SONDE_PROFILE=$PWD/profile.json/x run --separate-stderr copy --save
	[ "$status" -eq 1 ]
	has "$stderr" "cannot read the default profile: Not a directory"
}

@test "--figure draws every column" {
	copy --figure f.svg --json >b.json
	xmllint --noout f.svg
	for way in $(json b.json 'my %s; join " ", grep { !$s{$_}++ } map { $_->{way} }
		@{$d->{transfers}{points}}'); do
		grep -q ">$way<" f.svg
	done
}

@test "what cannot be drawn is said, and leaves nothing behind" {
	refused 1 "name another with --figure" "$SONDE" bench copy --figure none/f.svg --budget 60
	mkdir empty
	run --separate-stderr env PATH="$PWD/empty" "$SONDE" bench copy --budget 0.1 --max-size 1K --figure f.svg
	[ "$status" -eq 1 ]
	one_line "$stderr"
	has "$stderr" "gnuplot-nox"
	[ ! -e f.svg ]
	echo kept >f.svg
	run --separate-stderr env PATH="$PWD/empty" "$SONDE" bench copy --budget 0.1 --max-size 1K --figure f.svg
	[ "$status" -eq 1 ]
	[ "$(<f.svg)" = kept ]
}

@test "sizes end with the one that was asked for" {
	"$SONDE" bench copy --budget 0.1 --max-size 5000 --json >b.json
	[ "$(json b.json 'join " ", map { $_->{bytes} } grep { $_->{way} eq "memcpy" }
		@{$d->{transfers}{points}}')" = "1 4 16 64 256 1024 4096 5000" ]
	"$SONDE" bench copy --budget 0.1 --max-size 1 --json >b.json
	[ "$(json b.json 'join " ", map { $_->{bytes} } grep { $_->{way} eq "memcpy" }
		@{$d->{transfers}{points}}')" = 1 ]
}

@test "on one CPU two copies at once are left out" {
	copy --cpus "${cpus[0]},${cpus[0]}" >out.txt
	grep -q '^no twice: two processes on one CPU' out.txt
	run ! grep -q '^copy of.*twice' out.txt
}

@test "each kind of pages is taken" {
	for kind in small huge system; do
		copy --pages $kind >out.txt
		grep -q '^16 KiB' out.txt
	done
	refused 2 "not one of system, small, huge" "$SONDE" bench copy --pages tiny
}

@test "mistakes are one line that says what is right" {
	refused 2 "no subcommand" "$SONDE" bench
	refused 2 "did you mean 'copy'" "$SONDE" bench coppy
	refused 2 "unknown option '--json'" "$SONDE" bench --json
	refused 2 "did you mean '--budget'" "$SONDE" bench copy --buget 3
	refused 2 "does not take '5'" "$SONDE" bench copy 5
	refused 2 "not a number of seconds" "$SONDE" bench copy --budget 0
	refused 2 "not a size" "$SONDE" bench copy --max-size 0
	refused 2 "needs its argument" "$SONDE" bench copy --cpus
	for list in '' ',' 0 '0,' ',1' 0,1,2 0-1 a,b -1,0 '0, 1' 0x1,0 99999999999,0; do
		refused 2 "--cpus wants two CPUs" "$SONDE" bench copy "--cpus=$list"
	done
	refused 2 "CPU 99999 is not among" "$SONDE" bench copy --cpus "${cpus[0]},99999"
}

@test "too little memory is one line" {
	run --separate-stderr bash -c 'ulimit -v 200000 && exec "$SONDE" bench copy --max-size 1G'
	[ "$status" -eq 1 ]
	one_line "$stderr"
	has "$stderr" "--max-size"
}

@test "anybody may, without root" {
	dir=$(make_public)
	status=0
	SONDE_PROFILE='' unprivileged "$dir/sonde" bench copy --budget 0.2 --max-size 4K >out.txt 2>err.txt ||
		status=$?
	rm -r "$dir"
	[ "$status" -eq 0 ]
	[ ! -s err.txt ]
	grep -q '^4 KiB' out.txt
}

@test "a signal in the middle ends both processes" {
	env --default-signal=INT "$SONDE" bench copy --budget 60 >out.txt 2>err.txt &
	pid=$!
	until_true pgrep -P "$pid" >child
	kill -INT "$pid"
	await "$pid"
	[ "$status" -eq 130 ]
	[ ! -s out.txt ]
	[ ! -s err.txt ]
	run ! kill -0 "$(<child)"
}
