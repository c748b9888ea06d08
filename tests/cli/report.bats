#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `sonde report`: two files, complete or not there at all.
# shellcheck disable=SC2016,SC2154,SC2164 # variables of Perl; bats ends a test at what fails
load helper

setup_file() {
	load helper
	cd "$BATS_FILE_TMPDIR"
	"$SONDE" report "${SHORT[@]}" -o made >table.txt 2>progress.txt
}

# On one CPU, which shares nothing and copies to nobody, a report takes a second instead of six.
setup() {
	cd "$BATS_TEST_TMPDIR"
	MADE=$BATS_FILE_TMPDIR/made
	all=$(taskset -cp $BASHPID | sed 's/.*: //')
	taskset -cp "${all##*[-,]}" $BASHPID >/dev/null
}

teardown() {
	[ -z "${PUBLIC-}" ] || rm -rf "$PUBLIC"
}

files_of() {
	find "$1" -mindepth 1 -printf '%f\n' | sort | tr '\n' ' '
}

# only_with PROGRAM...: a PATH that has nothing else
only_with() {
	mkdir bin
	for program; do
		ln -s "$(command -v "$program")" bin/
	done
	printf '%s/bin' "$PWD"
}

# A gnuplot of our own. fake_gnuplot SCRIPT; $PID_FILE is where it may leave its number.
fake_gnuplot() {
	mkdir -p fake
	PID_FILE=$PWD/gnuplot.pid
	export PID_FILE
	printf '#!/bin/sh\n%s\n' "$1" >fake/gnuplot
	chmod 755 fake/gnuplot
}

@test "it writes the profile and the page and prints the table" {
	[ "$(files_of "$MADE")" = "profile.json report.html " ]
	table=$(<"$BATS_FILE_TMPDIR/table.txt")
	has "$table" "L1d"
	has "$table" "made/profile.json"
	has "$table" "made/report.html"
}

@test "there is no progress where no terminal is" {
	[ ! -s "$BATS_FILE_TMPDIR/progress.txt" ]
}

@test "on a terminal there is progress, and it is gone in the end" {
	TERM=xterm taskset -c "$all" script -qec "'$SONDE' report --budget 1 --max-size 1M -o out" /dev/null >typescript
	grep -q $'\r\033\\[K.* %  ' typescript
	# The last thing said of progress is that its line is empty.
	[ "$(grep -o $'\r\033\\[K *[0-9]*' typescript | tail -n 1)" = $'\r\033[K' ]
}

@test "the profile is of the schema and says how it was measured" {
	[ "$(json "$MADE/profile.json" '$d->{schema}')" = sonde-profile-1 ]
	[ "$(json "$MADE/profile.json" '$d->{caches}[0]{level}')" = 1 ]
	[ "$(json "$MADE/profile.json" '$d->{backends}{meter}{using}')" = "user space" ]
	[ "$(json "$MADE/profile.json" '$d->{created} =~ /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/ ? 1 : 0')" = 1 ]
}

@test "with --json it prints the profile it wrote" {
	"$SONDE" report --json "${SHORT[@]}" -o out >printed.json
	cmp printed.json out/profile.json
}

@test "the page is well-formed" {
	run xmllint --noout --nonet "$MADE/report.html"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "the page needs no other file" {
	run ! grep -iE 'https?:|url\(|@import|<(link|iframe|object|embed|base|img)' "$MADE/report.html"
	run ! grep -iE "(src|href)=[\"'][^#]" "$MADE/report.html"
	run ! grep -iE '<script(>| [^>]*src)| on[a-z]+=' "$MADE/report.html"
}

@test "the page has both pictures, and no id twice" {
	perl -0777 -ne 'exit !(/<figure class="curve">\s*<div[^>]*><svg.*?<\/svg>/s &&
		/<figure class="topology">\s*<div[^>]*><svg.*?<\/svg>/s)' "$MADE/report.html"
	grep -q 'claimed size' "$MADE/report.html"
	[ -z "$(grep -oE " id=['\"][^'\"]*" "$MADE/report.html" | tr -d "'\"" | sort | uniq -d)" ]
}

# figure PAGE CLASS: svg, or why there is none
figure() {
	perl -0777 -ne 'BEGIN { $class = shift @ARGV }
		/<figure class="$class">(.*?)<\/figure>/s or die "no figure $class\n";
		$_ = $1;
		print /<svg/ ? "svg" : /<figcaption class="note">([^<]+)</ ? $1 : die "neither\n"' \
		"$2" "$1"
}

@test "sets, capacity and classes are drawn where they were told, else it says why" {
	taskset -c "$all" "$SONDE" report --budget 0.2 --max-size 64M -o out >/dev/null
	p=out/profile.json
	if [ "$(json $p 'scalar grep { @{$_->{sweeps}} } @{$d->{caches}}')" -gt 0 ]; then
		[ "$(figure out/report.html sweeps)" = svg ]
		grep -q 'misses a turn' out/report.html
		ways=$(json $p '(map { @{$_->{sweeps}} } @{$d->{caches}})[0]{ways}')
		grep -q ">$ways ways<" out/report.html
	else
		has "$(figure out/report.html sweeps)" "no set of lines"
	fi
	if [ "$(json $p 'scalar grep { ($_->{cycles} || 0) > 0 }
		map { @{$_->{capacity_curve}} } @{$d->{caches}}')" -gt 0 ]; then
		[ "$(figure out/report.html capacity)" = svg ]
		grep -q 'by set sampling<' out/report.html
	else
		has "$(figure out/report.html capacity)" "could be sampled"
	fi
	colours=$(json $p '(map { $_->{colours} } grep { $_->{colours} } @{$d->{caches}})[0]')
	if [ "$colours" != null ]; then
		[ "$(figure out/report.html classes)" = svg ]
		grep -qE ">$colours class(es)?[ <]" out/report.html
	fi
	xmllint --noout --nonet out/report.html
	[ -z "$(grep -oE " id=['\"][^'\"]*" out/report.html | tr -d "'\"" | sort | uniq -d)" ]
}

@test "a sweep too small to look for sets says so in place of each picture" {
	has "$(figure "$MADE/report.html" sweeps)" "no picture of misses"
	has "$(figure "$MADE/report.html" capacity)" "no picture of capacity"
	has "$(figure "$MADE/report.html" classes)" "no picture of classes"
}

@test "copies between processes are in the table, the page and the profile, with the way to choose" {
	has "$(<"$BATS_FILE_TMPDIR/table.txt")" "best for private memory: "
	grep -q '<p>best for shared memory: ' "$MADE/report.html"
	[ "$(figure "$MADE/report.html" transfers)" = svg ]
	[ "$(json "$MADE/profile.json" 'scalar grep { $_->{way} eq "memcpy" && $_->{ns} > 0 }
		@{$d->{transfers}{points}}')" -ge 10 ]
}

@test "a report saved as the default profile has what copies cost too" {
	SONDE_PROFILE=$PWD/kept.json taskset -c "$all" "$SONDE" report "${SHORT[@]}" -o out --save >/dev/null
	cmp kept.json out/profile.json
	[ "$(json kept.json 'scalar @{$d->{transfers}{points}}')" -ge 10 ]
}

@test "the page has the profile inside, the same as the file" {
	perl -0777 -ne 'print $1 if /<script type="application\/json" id="profile">(.*?)<\/script>/s' \
		"$MADE/report.html" >inside.json
	canonical='JSON::PP->new->canonical->encode($d)'
	[ "$(json inside.json "$canonical")" = "$(json "$MADE/profile.json" "$canonical")" ]
}

@test "what the machine is called cannot break the page" {
	lstopo-no-graphics --of xml |
		sed 's|name="CPUModel" value="[^"]*"|name="CPUModel" value="\&lt;/script\&gt;\&lt;b\&gt;A\&amp;B \&quot;C\&quot;"|' \
		>claims.xml
	grep -q 'A&amp;B' claims.xml || skip "hwloc knows no name of the processor here"
	HWLOC_XMLFILE=claims.xml "$SONDE" report "${SHORT[@]}" -o out >/dev/null
	xmllint --noout --nonet out/report.html
	grep -q '<h1>&lt;/script&gt;&lt;b&gt;A&amp;B &quot;C&quot;</h1>' out/report.html
	run ! grep '<b>' out/report.html
	[ "$(json out/profile.json '$d->{machine}{cpu_model}')" = '</script><b>A&B "C"' ]
}

@test "with a standard stream closed nothing of what is said gets into the files" {
	PUBLIC=$(make_public)
	mkdir -m 777 "$PUBLIC/all"
	# Without rights fewer descriptors are in use, so that the page would get a low one.
	for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
		unprivileged env PATH=/nowhere /bin/sh -c \
			"d=\$1; shift; exec \"\$d/sonde\" report -o \"\$d/all/out\" \"\$@\" $closed" - \
			"$PUBLIC" "${SHORT[@]}" >out.txt 2>err.txt && status=0 || status=$?
		case $closed in *'>&- '*|'>&-') [ "$status" -eq 1 ] ;; *) [ "$status" -eq 0 ] ;; esac
		xmllint --noout --nonet "$PUBLIC/all/out/report.html"
		[ "$(tail -n 1 "$PUBLIC/all/out/report.html")" = "</html>" ]
		[ "$(json "$PUBLIC/all/out/profile.json" '$d->{schema}')" = sonde-profile-1 ]
	done
}

@test "what it wrote before is replaced as a whole" {
	mkdir out
	echo old >out/profile.json
	echo old >out/report.html
	"$SONDE" report "${SHORT[@]}" -o out >/dev/null
	[ "$(files_of out)" = "profile.json report.html " ]
	run ! grep -x old out/profile.json out/report.html
}

@test "the umask decides who may read" {
	(umask 027 && "$SONDE" report "${SHORT[@]}" -o out >/dev/null)
	[ "$(stat -c %a out/profile.json out/report.html | tr '\n' ' ')" = "640 640 " ]
}

@test "without gnuplot it names the package, there and in the page, and is done" {
	path=$(only_with lstopo-no-graphics)
	run --separate-stderr env PATH="$path" "$SONDE" report "${SHORT[@]}" -o out
	[ "$status" -eq 0 ]
	one_line "$stderr"
	has "$stderr" "gnuplot-nox"
	grep -q 'gnuplot-nox' out/report.html
	xmllint --noout --nonet out/report.html
	run ! grep -q '<svg' <(sed -n '/<section id="curve"/,/<.section>/p' out/report.html)
	grep -q '<svg' out/report.html
}

@test "without lstopo it names the package, there and in the page, and is done" {
	path=$(only_with gnuplot)
	run --separate-stderr env PATH="$path" "$SONDE" report "${SHORT[@]}" -o out
	[ "$status" -eq 0 ]
	one_line "$stderr"
	has "$stderr" "hwloc-nox"
	grep -q 'hwloc-nox' out/report.html
	run ! grep -q '<svg' <(sed -n '/<section id="topology"/,/<.section>/p' out/report.html)
	grep -q '<svg' out/report.html
}

@test "a gnuplot that fails is quoted, and the report is done" {
	fake_gnuplot 'echo "first <complaint>" >&2; echo second >&2; exit 3'
	run --separate-stderr env PATH="$PWD/fake:$PATH" "$SONDE" report "${SHORT[@]}" -o out
	[ "$status" -eq 0 ]
	one_line "$stderr"
	has "$stderr" "gnuplot failed: first <complaint>"
	grep -q 'first &lt;complaint&gt;' out/report.html
}

@test "a gnuplot that draws nothing sensible is not put into the page" {
	fake_gnuplot 'echo "<html><script>alert(1)</script>"'
	run --separate-stderr env PATH="$PWD/fake:$PATH" "$SONDE" report "${SHORT[@]}" -o out
	[ "$status" -eq 0 ]
	has "$stderr" "not SVG"
	run ! grep alert out/report.html
}

@test "a gnuplot that hangs is ended when its time is over" {
	fake_gnuplot 'echo $$ >"$PID_FILE"; exec tail -f /dev/null'
	run --separate-stderr env PATH="$PWD/fake:$PATH" "$SONDE" report "${SHORT[@]}" -o out
	[ "$status" -eq 0 ]
	has "$stderr" "gnuplot failed: not done after"
	run ! kill -0 "$(<"$PID_FILE")"
	[ "$(files_of out)" = "profile.json report.html " ]
}

@test "a folder that cannot be written is said before anything is measured" {
	PUBLIC=$(make_public)
	mkdir -m 555 "$PUBLIC/locked"
	run --separate-stderr unprivileged "$PUBLIC/sonde" report --budget 600 -o "$PUBLIC/locked"
	[ "$status" -eq 1 ]
	[ -z "$output" ]
	one_line "$stderr"
	has "$stderr" "cannot write in the folder $PUBLIC/locked: Permission denied"
	run --separate-stderr unprivileged "$PUBLIC/sonde" report --budget 600 -o "$PUBLIC/locked/x"
	[ "$status" -eq 1 ]
	has "$stderr" "cannot make the folder $PUBLIC/locked/x: Permission denied"
	[ -z "$(files_of "$PUBLIC/locked")" ]
}

@test "a folder that is a file, or under one, is refused" {
	echo mine >file
	run --separate-stderr "$SONDE" report --budget 600 -o file
	[ "$status" -eq 1 ]
	one_line "$stderr"
	has "$stderr" "cannot make the folder file: Not a directory"
	run --separate-stderr "$SONDE" report --budget 600 -o file/out
	[ "$status" -eq 1 ]
	[ "$(<file)" = mine ]
	run --separate-stderr "$SONDE" report --budget 600 -o /proc/sonde
	[ "$status" -eq 1 ]
	has "$stderr" "cannot make the folder /proc/sonde"
}

@test "a page that cannot take its name is a failure that leaves no temporary file" {
	mkdir -p out/report.html
	run --separate-stderr "$SONDE" report "${SHORT[@]}" -o out
	[ "$status" -eq 1 ]
	has "$stderr" "cannot write out/report.html: Is a directory"
	[ -z "$(find out -name '.*' -mindepth 1)" ]
}

@test "a full disk is a failure that leaves nothing" {
	[ "$(id -u)" -eq 0 ] || skip "only root can mount"
	unshare -m true 2>/dev/null || skip "no mount namespace of its own can be had here"
	run --separate-stderr unshare -m bash -c '
		mkdir small && mount -t tmpfs -o size=16k tmpfs small || exit 99
		"$SONDE" report "$@" -o small/out
		status=$?
		find small -mindepth 1
		exit $status' - "${SHORT[@]}"
	[ "$status" -ne 99 ] || skip "this container may not mount"
	[ "$status" -eq 1 ]
	[ -z "$output" ]
	one_line "$stderr"
	has "$stderr" "No space left on device"
}

@test "with --save it is the profile that programs find by default" {
	SONDE_PROFILE=$PWD/mine.json "$SONDE" report "${SHORT[@]}" -o out --save >/dev/null
	cmp mine.json out/profile.json
	XDG_CACHE_HOME=$PWD/cache "$SONDE" report "${SHORT[@]}" -o out --save >/dev/null
	cmp cache/sonde/profile.json out/profile.json
}

@test "--save keeps the rules for collectives that the profile had" {
	cat >mine.json <<-'END'
		{ "schema": "sonde-profile-1", "created": "2026-01-01T00:00:00Z", "sonde_version": "0",
		  "notes": ["old"], "collectives": { "alltoall": [ { "algorithm": "flat/bruck:3" } ] } }
	END
	SONDE_PROFILE=$PWD/mine.json "$SONDE" report "${SHORT[@]}" -o out --save >/dev/null
	[ "$(json mine.json '$d->{collectives}{alltoall}[0]{algorithm}')" = flat/bruck:3 ]
	[ "$(json mine.json 'scalar @{$d->{caches}}')" -ge 1 ]
	[ "$(json mine.json 'scalar grep { $_ eq "old" } @{$d->{notes}}')" = 0 ]
}

@test "--save says that it replaces what is no profile" {
	echo nonsense >mine.json
	SONDE_PROFILE=$PWD/mine.json run --separate-stderr "$SONDE" report "${SHORT[@]}" -o out --save
	[ "$status" -eq 0 ]
	has "$stderr" "cannot be read, and is replaced as a whole"
	cmp mine.json out/profile.json
}

@test "without --save nothing is written but the folder" {
	mkdir home
	HOME=$PWD/home XDG_CACHE_HOME=$PWD/home "$SONDE" report "${SHORT[@]}" -o out >/dev/null
	[ -z "$(files_of home)" ]
}

# interrupt SIGNAL: during the measurement; $status is how it ended
interrupt() {
	env --default-signal="$1" "$SONDE" report --budget 60 -o out >out.txt 2>err.txt &
	local pid=$!
	until_true ls out/.report.html."$pid" >/dev/null 2>&1
	kill -"$1" "$pid"
	await "$pid"
}

@test "interrupted while measuring it leaves nothing" {
	for signal in INT TERM HUP; do
		interrupt $signal
		[ "$status" -eq $((128 + $(kill -l $signal))) ]
		[ ! -e out ]
		[ ! -s out.txt ]
	done
}

@test "interrupted it keeps a folder that was there, and the report in it" {
	mkdir out
	echo old >out/profile.json
	echo old >out/report.html
	interrupt INT
	[ "$status" -eq 130 ]
	[ "$(files_of out)" = "profile.json report.html " ]
	[ "$(cat out/profile.json out/report.html)" = $'old\nold' ]
}

@test "interrupted while a picture is drawn it ends the drawing too" {
	fake_gnuplot 'echo $$ >"$PID_FILE.new"; mv "$PID_FILE.new" "$PID_FILE"; exec tail -f /dev/null'
	env --default-signal=TERM PATH="$PWD/fake:$PATH" "$SONDE" report "${SHORT[@]}" -o out \
		>out.txt 2>err.txt &
	pid=$!
	until_true test -e "$PID_FILE"
	kill -TERM "$pid"
	await "$pid"
	[ "$status" -eq 143 ]
	run ! kill -0 "$(<"$PID_FILE")"
	[ ! -e out ]
}

@test "a signal that its parent had it ignore does not end it" {
	(
		trap '' HUP
		exec "$SONDE" report "${SHORT[@]}" -o out >out.txt
	) &
	pid=$!
	until_true ls out/ >/dev/null 2>&1
	kill -HUP "$pid"
	await "$pid"
	[ "$status" -eq 0 ]
	[ "$(files_of out)" = "profile.json report.html " ]
}

@test "the page draws the sharing of caches, and the profile has it" {
	[ "$(taskset -c "$all" nproc)" -ge 2 ] || skip "needs two CPUs"
	taskset -c "$all" "$SONDE" report "${SHORT[@]}" -o out >out.txt
	grep -q '<svg' <(sed -n '/<section id="sharing"/,/<.section>/p' out/report.html)
	[ "$(json out/profile.json '@{$d->{sharing}{cpus}} > 1 ? 1 : 0')" = 1 ]
}

@test "on one CPU the report says that there is nothing to share" {
	"$SONDE" report "${SHORT[@]}" -o out >out.txt
	grep -q 'one CPU shares nothing' out/report.html
	[ "$(json out/profile.json 'exists $d->{sharing} ? 1 : 0')" = 0 ]
}

@test "a profile compared with itself differs in nothing" {
	run -0 "$SONDE" report --compare "$MADE/profile.json" "$MADE/profile.json"
	has "$output" "0 values differ, "
	[[ $output != *"known"* ]]
	run -0 "$SONDE" report --compare "$MADE/profile.json" "$MADE/profile.json" --json
	printf '%s' "$output" | perl -MJSON::PP -0ne '
		my $d = decode_json($_);
		die "nothing compared" if @{$d->{fields}} < 50;
		die "$_->{field}: $_->{verdict}" for grep { $_->{verdict} ne "same" } @{$d->{fields}}'
}

# edited PERL: a copy of the profile, $p being the whole
edited() {
	perl -MJSON::PP -0ne 'my $p = decode_json($_); '"$1"'; print JSON::PP->new->canonical->encode($p)' \
		"$MADE/profile.json" >edited.json
}

@test "what differs by more than its interval is told from what does not" {
	edited '
		my $l = $p->{caches}[0];
		$l->{latency_cycles} *= 3; $_ *= 3 for @{$l->{latency_cycles_ci}}, $l->{latency_ns};
		my $t = $p->{transfers}{points}[0];
		$t->{ns} = ($t->{ns} + $t->{ns_high}) / 2 + 1e-3; $t->{ns_high} += 1;
		$p->{machine}{kernel} = "another"; pop @{$p->{transfers}{points}}'
	run -0 "$SONDE" report --compare "$MADE/profile.json" edited.json
	[[ $output =~ "caches L1 latency"[^$'\n']*"x 3" ]]
	has "$output" "another"
	[[ $output =~ "transfers"[^$'\n']*"there"[^$'\n']*"known once" ]]
	has "$output" "1 values differ, 2 are apart, "
	has "$output" " 1 differ less than their 95 % intervals"
	# One run a side does not say what another would bring.
	[[ $output =~ "caches L1 latency"[^$'\n']*"intervals apart" ]]
	has "$output" "cannot be told from 1 and 1 runs"
}

@test "a section that is new is compared like the others" {
	edited '$p->{news} = [ { node => 1, copy_bytes_per_s => 5e9, copy_bytes_per_s_low => 4.9e9,
				 copy_bytes_per_s_high => 5.1e9 } ]'
	cp edited.json first.json
	edited '$p->{news} = [ { node => 1, copy_bytes_per_s => 9e9, copy_bytes_per_s_low => 8.9e9,
				 copy_bytes_per_s_high => 9.1e9 } ]'
	run -0 "$SONDE" report --compare first.json edited.json
	[[ $output =~ "news node 1 copy"[^$'\n']*"+80.0 %" ]]
	has "$output" "0 values differ, 1 are apart, "
}

# runs SIDE N FACTOR: profiles whose first level takes FACTOR times as long, a little less
# or more in each run, and whose second copy varies by more than the sides do
runs() {
	for ((i = 1; i <= $2; i++)); do
		mkdir -p "$1/$i"
		edited '
			my $x = '"$3"' * (1 + '"$i"' / 100);
			my $l = $p->{caches}[0];
			$l->{latency_cycles} *= $x; $_ *= $x for @{$l->{latency_cycles_ci}}, $l->{latency_ns};
			my $t = $p->{transfers}{points}[1];
			$t->{$_} *= '"$i"' for "ns", "ns_low", "ns_high"'
		mv edited.json "$1/$i/profile.json"
	done
}

@test "of folders of runs what differs is told from what another run brings" {
	runs before 5 1
	runs after 5 3
	run -0 "$SONDE" report --compare before after
	has "$output" "A: before (5 runs, medians)"
	[[ $output =~ "caches L1 latency"[^$'\n']*"x 3" ]]
	run ! grep -E 'L1 latency.*(apart|within)' <<<"$output"
	run -0 "$SONDE" report --compare before after
	has "$output" "2 values differ, 0 are apart, "
	has "$output" " 1 differ less than their runs allow"
	has "$output" "chance alone would tell up to 0.0 apart; 2 are."
	"$SONDE" report --compare before after --json >compared.json
	[ "$(json compared.json '$d->{runs}{a} == 5 && abs($d->{chance} - 2 / 252) < 1e-6 ? 1 : 0')" = 1 ]
	[ "$(json compared.json 'join ",", map { $_->{verdict} } grep { $_->{field} =~ /^L1 latency/ }
		@{$d->{fields}}')" = "differs,differs" ]
	# The median of 1 to 5 hundredths more, of both.
	[ "$(json compared.json '(map { sprintf "%.3f", $_->{ratio} }
		grep { $_->{field} =~ /^L1 latency_cycles/ } @{$d->{fields}})[0]')" = 3.000 ]
}

@test "too few runs tell nothing apart for sure" {
	runs before 3 1
	runs after 3 3
	run -0 "$SONDE" report --compare before after
	has "$output" "0 values differ, 2 are apart, "
	has "$output" "cannot be told from 3 and 3 runs"
	# Of one against many likewise.
	run -0 "$SONDE" report --compare before/1/profile.json after
	has "$output" "0 values differ, 2 are apart, "
}

@test "a folder that holds no runs is refused, and a torn one in it" {
	mkdir empty
	refused 1 "empty has no profile" "$SONDE" report --compare empty "$MADE/profile.json"
	runs before 2 1
	echo '{' >before/2/profile.json
	refused 1 "before/2/profile.json" "$SONDE" report --compare "$MADE" before
}

# by_schema FILE: whether any validator takes it
by_schema() {
	/usr/bin/python3 -m jsonschema -i "$1" "$SOURCE/lib/sonde-profile-1.schema.json"
}

@test "the schema in the tree is the program's, and a profile is valid by it" {
	run -0 --separate-stderr "$SONDE" report --schema
	[ "$output" = "$(<"$SOURCE/lib/sonde-profile-1.schema.json")" ]
	by_schema "$MADE/profile.json"
}

@test "what the library refuses the schema refuses" {
	for edit in 'delete $p->{created}' '$p->{schema} = "sonde-profile-2"' '$p->{cpu} = -1' \
		'$p->{caches}[0]{size} = "48K"' '$p->{caches}[0]{confidence} = 1.5' \
		'$p->{caches}[0]{method} = "guess"' '$p->{clock} = undef' '$p->{notes} = [1]' \
		'delete $p->{sharing}{levels}[0]{groups}' '$p->{backends}{clock}{using} = undef' \
		'$p->{transfers}{points}[0]{ns} = -1'; do
		edited "$edit"
		! by_schema edited.json || { echo "valid: $edit"; return 1; }
		run -1 "$SONDE" report --compare edited.json "$MADE/profile.json"
	done
}

@test "hwloc's programs read the measured values" {
	edited '$p->{memory} = { latency_ns => 123.4, latency_cycles => 400,
				 latency_cycles_ci => [399, 401] };
		my $c = $p->{cpu};
		$p->{bandwidth} = { cpus => [$c], vectors => "AVX2", buffer_bytes => 1, pairs => [],
			alone => [], classes => [], scaling => undef, elapsed_s => 1, notes => [],
			loaded_latency => { pages => "base", points => [] },
			references => [ { operation => "read", node => undef, pages => "base",
				bytes_s => 5000 * 2**20, bytes_s_ci => [1, 2], rounds => 3,
				discarded => 0 } ] }'
	"$SONDE" report --hwloc edited.json >topology.xml
	xmllint --noout --nonet --nodefdtd topology.xml
	run -0 lstopo-no-graphics -i topology.xml --memattrs
	[[ $output =~ "\`Latency'"[^$'\n']*$'\n'[^$'\n']*" = 123 " ]]
	[[ $output =~ "\`ReadBandwidth'"[^$'\n']*$'\n'[^$'\n']*" = 5000 " ]]
	grep -q '"SondeLatencyNs"' topology.xml
}

@test "hwloc's programs read how long CPUs take to hand a line over" {
	cpus=$(json "$MADE/profile.json" '$d->{machine}{cpus}')
	[ "$cpus" = "${cpus#*[,-]}" ] && skip "needs two CPUs"
	RECORDING=$SOURCE/tests/recordings/profile-two-buses.json
	export RECORDING
	edited 'open my $f, "<", $ENV{RECORDING} or die; local $/;
		my $c = JSON::PP->new->decode(<$f>)->{communication};
		my @cpus = map { /(\d+)-(\d+)/ ? $1 .. $2 : $_ } split /,/, $p->{machine}{cpus};
		@{$c->{places}} = @{$c->{places}}[0 .. 1];
		$c->{places}[$_]{cpu} = $cpus[$_] for 0, 1;
		for my $m (@{$c->{methods}}) {
			$m->{pairs} = [ $m->{pairs}[0] ];
			$_->{groups} = [] for @{$m->{layers}};
			@{$m->{matrix}} = @{$m->{matrix}}[0 .. 1];
			for my $row (@{$m->{matrix}}) {
				@{$row->{$_}} = @{$row->{$_}}[0 .. 1] for "latency_ns", "layers";
			}
		}
		$p->{communication} = $c'
	"$SONDE" report --hwloc edited.json >topology.xml
	xmllint --noout --nonet --nodefdtd topology.xml
	run -0 lstopo-no-graphics -i topology.xml --distances
	has "$output" "SondeLatencyOfLines"
	[[ $output =~ 'index '[^$'\n']*$'\n'[^$'\n']*' 180' ]]
	# Not known of all pairs: of none.
	json edited.json '$d->{communication}{methods}[0]{matrix}[0]{latency_ns}[1] = undef;
		print JSON::PP->new->encode($d); ""' >holes.json
	"$SONDE" report --hwloc holes.json >topology.xml
	run ! grep -q SondeLatencyOfLines topology.xml
}

@test "a profile of another machine is not put into this one's topology" {
	edited '$p->{machine}{identity} = "0123456789abcdef"'
	refused 1 "another machine" "$SONDE" report --hwloc edited.json
	edited 'delete $p->{machine}{identity}'
	refused 1 "does not say" "$SONDE" report --hwloc edited.json
	refused 1 "nowhere.json: No such file" "$SONDE" report --hwloc nowhere.json
}

@test "--compare wants two profiles" {
	refused 2 "--compare A.json B.json" "$SONDE" report --compare "$MADE/profile.json"
	refused 2 "without --compare" "$SONDE" report "$MADE/profile.json"
	refused 1 "nowhere.json: No such file" "$SONDE" report --compare "$MADE/profile.json" nowhere.json
	echo '{"schema": "sonde-profile-1"' >torn.json
	refused 1 "torn.json" "$SONDE" report --compare "$MADE/profile.json" torn.json
	[ ! -e sonde-report ]
}
