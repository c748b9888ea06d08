#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `sonde colour`: what is asked for is done and verified, what is wrong is said.
# shellcheck disable=SC2016,SC2164,SC2030,SC2031 # variables of Perl; bats ends a test at what
# fails, and each is a shell of its own
load helper

# Frame numbers are for root, of the machine rather than of a container.
needs_frames() {
	"$SONDE" colour map --pages 1 >/dev/null 2>&1 || skip "no frame numbers here"
}

options_of() {
	"$SONDE" colour "$@" --help |
		sed -n 's/^  *\(-[a-zA-Z], \)\{0,1\}\(--[a-z-]*\).*/\2/p'
}

@test "help lists the subcommands, and help of each its options" {
	run --separate-stderr "$SONDE" colour --help
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	has "$output" "usage: sonde colour SUBCOMMAND"
	[ "$output" = "$("$SONDE" help colour)" ]
	for sub in alloc map; do
		has "$output" "  $sub "
		has "$("$SONDE" colour $sub --help)" "usage: sonde colour $sub [OPTION...]"
		has "$("$SONDE" colour $sub --help)" "Manual: sonde-colour(1)"
	done
}

@test "the page has the options of all subcommands, and no others" {
	subs=$("$SONDE" colour --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
	diff <({ options_of; for sub in $subs; do options_of "$sub"; done; } | sort -u) \
		<(sed -n 's/^\.It .*Fl -\([a-z][a-z-]*\).*/--\1/p' \
			"$SOURCE/man/sonde-colour.1" | sort -u)
}

@test "every function of the header is in its page" {
	sed -n 's/.*\(sonde_colour_[a-z_]*\)(.*/\1/p' "$SOURCE/include/sonde/colour.h" |
		sort -u >"$BATS_TEST_TMPDIR/functions"
	[ -s "$BATS_TEST_TMPDIR/functions" ]
	while read -r function; do
		grep -q "^\.Nm $function" "$SOURCE/man/sonde_colour.3"
	done <"$BATS_TEST_TMPDIR/functions"
}

@test "the pages are clean mdoc with examples" {
	for page in sonde-colour.1 sonde_colour.3 sonde.4; do
		run mandoc -Tlint -Wwarning "$SOURCE/man/$page"
		[ "$status" -eq 0 ]
		[ -z "$output" ]
		grep -q '^\.Sh EXAMPLES' "$SOURCE/man/$page"
	done
}

@test "subcommands that are none are refused" {
	refused 2 "no subcommand; \`sonde colour --help\` lists them" "$SONDE" colour
	refused 2 "unknown subcommand 'xyz'" "$SONDE" colour xyz
	refused 2 "did you mean 'alloc'?" "$SONDE" colour aloc
	refused 2 "unknown option '--pages'" "$SONDE" colour --pages 1
	refused 2 "unknown option '--frob'; \`sonde colour alloc --help\` lists them" \
		"$SONDE" colour alloc --frob
	refused 2 "does not take 'stray'" "$SONDE" colour map stray
}

@test "numbers that are none are refused" {
	for n in 0 13 x -1 ''; do
		refused 2 "--bits $n: " "$SONDE" colour alloc --bits "$n"
		refused 2 "--bits $n: " "$SONDE" colour map --bits "$n"
	done
	for masks in 0 '' x 1,,2 '1,' 1,0 -1 0x1g 1,2,3,4,5,6,7,8,9,10,11,12,13 \
		99999999999999999999; do
		refused 2 "--masks $masks: not 1 to 12 numbers" "$SONDE" colour alloc --masks "$masks"
	done
	for colours in 16 0-16 5-3 x '' '1,' ',1' 1-; do
		refused 2 "--colours $colours: not a list of colours from 0 to 15" \
			"$SONDE" colour alloc --colours "$colours"
	done
	refused 2 "--pages 0: " "$SONDE" colour alloc --pages 0
	refused 2 "--pages x: " "$SONDE" colour map --pages x
	refused 2 "--size 0: not a size" "$SONDE" colour map --size 0
	refused 2 "--node x: " "$SONDE" colour alloc --node x
	refused 2 "--backend foo: none of auto, module, search" "$SONDE" colour alloc --backend foo
}

@test "options that do not go together are refused" {
	refused 2 "give one of them" "$SONDE" colour alloc --pages 1 --size 1M
	refused 2 "--contiguous goes without" "$SONDE" colour alloc --contiguous --colours 1
	refused 2 "--contiguous goes without" "$SONDE" colour alloc --contiguous --masks 1
	refused 2 "--file goes without" "$SONDE" colour map --file /etc/passwd --pages 1
}

@test "without the module it says what to load" {
	export SONDE_DEV_DIR=$BATS_TEST_TMPDIR
	refused 77 "modprobe sonde" "$SONDE" colour alloc --backend module
}

@test "without frames and without the module it says what it needs" {
	public=$(make_public)
	export SONDE_DEV_DIR=$public/dev
	refused 77 "modprobe sonde" unprivileged "$public/sonde" colour alloc
	refused 77 "root" unprivileged "$public/sonde" colour alloc
	refused 77 "root" unprivileged "$public/sonde" colour map
	rm -rf "$public"
}

@test "a stock kernel gives only the wanted colours to root, verified" {
	needs_frames
	export SONDE_DEV_DIR=$BATS_TEST_TMPDIR
	cd "$BATS_TEST_TMPDIR"
	for colours in 3 0,5-7 all; do
		"$SONDE" colour alloc --pages 64 --colours $colours --json >alloc.json
		[ "$(json alloc.json '$d->{by}')" = search ]
		[ "$(json alloc.json '$d->{why}')" != null ]
		[ "$(json alloc.json '$d->{first}{verified}')" = 64 ]
		[ "$(json alloc.json '$d->{first}{verified_off_colour}')" = 0 ]
		[ "$(json alloc.json '$d->{second}{off_colour}')" = 0 ]
	done
	[ "$(json alloc.json 'scalar @{$d->{colours}}')" = 16 ]
	run --separate-stderr "$SONDE" colour alloc --pages 20 --masks 0x11,0x22,4 --colours 6
	[ "$status" -eq 0 ]
	has "$output" "20 pages (80 KiB) of 1 of 8 colours (parities of the frame under 0x11, 0x22, 0x4)"
	has "$output" "all pages looked up: 0 off-colour"
}

@test "what a stock kernel cannot do is said" {
	needs_frames
	export SONDE_DEV_DIR=$BATS_TEST_TMPDIR
	refused 77 "contiguous memory needs the module" "$SONDE" colour alloc --contiguous
	refused 1 "cannot be had; ask for fewer" \
		"$SONDE" colour alloc --pages 1 --masks 0x4000000000000 --colours 1
	"$SONDE" colour alloc --pages 3 --masks 0x4000000000000 --colours 1 --partial --json \
		>"$BATS_TEST_TMPDIR/partial.json"
	[ "$(json "$BATS_TEST_TMPDIR/partial.json" '$d->{first}{off_colour}')" = 3 ]
	refused 2 "the masks depend on each other" "$SONDE" colour alloc --masks 3,5,6
}

@test "map counts every page of fresh memory once" {
	needs_frames
	cd "$BATS_TEST_TMPDIR"
	"$SONDE" colour map --pages 1000 --bits 5 --json >map.json
	[ "$(json map.json '$d->{present}')" = 1000 ]
	[ "$(json map.json 'scalar @{$d->{pages_of_colour}}')" = 32 ]
	[ "$(json map.json 'my $n = 0; $n += $_ for @{$d->{pages_of_colour}}; $n')" = 1000 ]
	[ "$(json map.json '$d->{runs} >= 1 && $d->{longest} * $d->{runs} >= 1000 ? 1 : 0')" = 1 ]
	run --separate-stderr "$SONDE" colour map --size 1M --bits 2
	[ "$status" -eq 0 ]
	has "$output" "Colours of fresh memory: 256 pages (1 MiB)"
	has "$output" "4 colours: low 2 bits of the frame"
}

@test "map looks at the pages of a file, or says why not" {
	needs_frames
	cd "$BATS_TEST_TMPDIR"
	head -c 50000 /dev/zero >file
	"$SONDE" colour map --file file --json >map.json
	[ "$(json map.json '$d->{file}')" = file ]
	[ "$(json map.json '$d->{pages}')" = 13 ]
	refused 1 "cannot open nowhere: No such file" "$SONDE" colour map --file nowhere
	refused 1 "not a file with something in it" "$SONDE" colour map --file /dev/null
	refused 1 "not a file with something in it" "$SONDE" colour map --file .
}

@test "more memory than there is is refused" {
	needs_frames
	refused 1 "cannot map" "$SONDE" colour map --size 100000G
}

# A busy machine may hide its second level for a moment; it says so then.
measures() {
	for _ in 1 2 3 4 5; do
		"$@" && return
		[ "$?" -eq 77 ] || return
	done
	skip "no second level of cache could be told apart"
}

@test "verify says whether frames predict conflicts, with its statistic" {
	cd "$BATS_TEST_TMPDIR"
	measures "$SONDE" colour verify --json >verify.json
	[ "$(json verify.json '$d->{ways} > 0 && $d->{members} > $d->{ways} ? 1 : 0')" = 1 ]
	[ "$(json verify.json '$d->{classes} >= 1 ? 1 : 0')" = 1 ]
	cpu="$(json verify.json '$d->{cpu}')"
	measures taskset -c "$cpu" "$SONDE" colour verify --cpu "$cpu" --json >there.json
	[ "$(json there.json '$d->{cpu}')" = "$cpu" ]
	[ "$(json verify.json '$d->{verdict} =~ /^(plain|hashed|partly|scrambled|unknown)$/ ? 1 : 0')" = 1 ]
	measures "$SONDE" colour verify >verify.txt
	has "$(cat verify.txt)" "classes of pages by timing"
}

@test "verify needs no frames to find classes, and says that it cannot see them" {
	cd "$BATS_TEST_TMPDIR"
	local public
	public=$(make_public)
	measures unprivileged "$public/sonde" colour verify >verify.txt
	rm -r "$public"
	has "$(cat verify.txt)" "frame numbers cannot be seen here"
}

@test "classes sorts every page once" {
	cd "$BATS_TEST_TMPDIR"
	measures "$SONDE" colour classes --pages 1024 --json >classes.json
	[ "$(json classes.json 'my $n = $d->{unsorted}; $n += $_ for @{$d->{pages_of_class}}; $n')" = 1024 ]
	[ "$(json classes.json 'scalar @{$d->{pages_of_class}} > 0 ? 1 : 0')" = 1 ]
}

@test "classes of too few pages, or on no CPU, are refused" {
	refused 2 "--pages wants 256 to 16384" "$SONDE" colour classes --pages 10
	refused 2 "CPU 4000 is not among those" "$SONDE" colour verify --cpu 4000
}
