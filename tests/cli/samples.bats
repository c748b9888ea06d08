#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `--samples` and `sonde analyse`: the same report again, and what is refused.
# shellcheck disable=SC2016,SC2164 # variables of Perl; bats ends a test at what fails
load helper

setup() {
	mkdir "$BATS_TEST_TMPDIR/here"
	cd "$BATS_TEST_TMPDIR/here"
}

@test "the caches' JSON comes again to the last byte" {
	"$SONDE" cache "${SHORT[@]}" --samples s --json >live.json
	"$SONDE" analyse s --json >again.json
	cmp live.json again.json
}

@test "the text comes again, the curve included" {
	"$SONDE" cache "${SHORT[@]}" --samples s --curve >live
	"$SONDE" analyse --curve s >again
	cmp live again
	"$SONDE" analyse s >short
	run ! cmp -s live short
}

@test "what Servet's method says comes again" {
	"$SONDE" cache --method servet "${SHORT[@]}" --samples s --json >live.json
	"$SONDE" analyse s --json >again.json
	cmp live.json again.json
}

@test "sharing comes again, as JSON and as text" {
	[ "$(nproc)" -gt 1 ] || skip "one CPU only"
	"$SONDE" share --budget 0.2 --max-size 16M --samples s --json >live.json || [ $? -eq 77 ]
	"$SONDE" analyse s --json >again.json || [ $? -eq 77 ]
	cmp live.json again.json
	"$SONDE" share --budget 0.2 --max-size 16M --matrix --samples s >live || [ $? -eq 77 ]
	"$SONDE" analyse s --matrix >again || [ $? -eq 77 ]
	cmp live again
}

@test "a report's capture has the profile again, but for copies and messages" {
	"$SONDE" report "${SHORT[@]}" -o out --samples s >/dev/null
	"$SONDE" analyse s --json >again.json || [ $? -eq 77 ]
	[ "$(json again.json '$d->{transfers} // $d->{communication}')" = null ]
	rest='delete @$d{qw(transfers communication)}; JSON::PP->new->canonical->encode($d)'
	[ "$(json out/profile.json "$rest")" = "$(json again.json "$rest")" ]
}

@test "a capture is analysed where the machine claims something else" {
	"$SONDE" cache "${SHORT[@]}" --samples s >live
	lstopo-no-graphics --of xml | sed '/Cache"/s/cache_size="[0-9]*"/cache_size="4096"/' >c.xml
	HWLOC_XMLFILE=$PWD/c.xml SONDE_CLAIMS_ROOT=/nowhere "$SONDE" analyse s >again
	cmp live again
}

@test "the capture that is kept with these tests says what it said" {
	for recording in "$SOURCE"/tests/recordings/*.samples; do
		"$SONDE" analyse "$recording" --json >again.json
		cmp "${recording%.samples}.json" again.json || {
			echo "if the probe was changed: see tests/recordings/README.md"
			false
		}
	done
}

@test "a place that cannot be written to is refused before anything is measured" {
	mkdir folder
	# What would be refused as soon as it is measured.
	refused 1 "cannot write the samples to no/such: No such file" \
		"$SONDE" cache --max-size 4K --samples no/such
	refused 1 "Is a directory" "$SONDE" cache --max-size 4K --samples folder
	refused 1 "is not a file" "$SONDE" cache --max-size 4K --samples /dev/null
	refused 1 "Is a directory" "$SONDE" report --max-size 4K --samples folder -o out
	[ -c /dev/null ]
	[ "$(ls)" = folder ]
}

@test "nobody's folder is refused to nobody" {
	PUBLIC=$(make_public)
	mkdir -m 755 "$PUBLIC/closed"
	if [ "$(id -u)" -ne 0 ]; then
		chmod 555 "$PUBLIC/closed"
	fi
	refused 1 "Permission denied" unprivileged "$PUBLIC/sonde" cache --max-size 4K \
		--samples "$PUBLIC/closed/s"
	rm -rf "$PUBLIC"
}

@test "a full disk is an error, and the old file stays" {
	echo old >s
	# A file may have 8 KiB, a capture has more; SIGXFSZ would end the program.
	refused 1 "cannot write the samples to s: File too large" env --ignore-signal=XFSZ \
		bash -c 'ulimit -f 8; exec "$@"' - "$SONDE" cache "${SHORT[@]}" --samples s
	[ "$(cat s)" = old ]
	[ "$(ls)" = s ]
}

@test "a signal in the middle leaves nothing behind" {
	interrupted "$SONDE" cache --budget 60 --samples s
	[ "$(echo s*)" = "s*" ]
}

@test "what is no capture is refused in one line" {
	: >empty
	echo '{}' >json
	head -c 5000 /dev/urandom >noise
	refused 1 "No such file" "$SONDE" analyse nothing
	refused 1 "no capture" "$SONDE" analyse empty
	refused 1 "no capture" "$SONDE" analyse json
	refused 1 "no capture" "$SONDE" analyse noise
	refused 1 "Is a directory" "$SONDE" analyse .
}

@test "a capture that was cut off or edited is refused, with what and where" {
	"$SONDE" cache "${SHORT[@]}" --samples s >/dev/null
	head -c 3000 s >cut
	sed 's/^\(run.*\)/\1 /' s >edited
	sed 's/^sonde-samples.*/sonde-samples\t2/' s >newer
	refused 1 "cut: this is no capture, or one that was cut off" "$SONDE" analyse cut
	refused 1 "edited: the sum" "$SONDE" analyse edited
	refused 1 "newer: the capture's format is 2" "$SONDE" analyse newer
}

@test "mistakes are usage errors" {
	refused 2 "needs FILE" "$SONDE" analyse
	refused 2 "does not take 'b'" "$SONDE" analyse a b
	refused 2 "did you mean '--json'" "$SONDE" analyse --jsn a
	refused 2 "needs its argument: FILE" "$SONDE" cache --samples
	refused 2 "the file's name is empty" "$SONDE" cache --samples ""
	run "$SONDE" analyse --help
	[ "$status" -eq 0 ]
	has "$output" "usage: sonde analyse [OPTION...] FILE"
}
