# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What the tests of the command share.
bats_require_minimum_version 1.5.0

SONDE=$(realpath "${SONDE:-${O:-build}/sonde}")
SOURCE=$(realpath "$BATS_TEST_DIRNAME/../..")
# A measurement that is over soon: here it matters that something is said, not what.
SHORT=(--budget 0.2 --max-size 1M)
export SONDE SOURCE SHORT

# What a test starts must not find this user's own settings.
unset SONDE_PROFILE SONDE_DEV_DIR HWLOC_XMLFILE HWLOC_COMPONENTS

# json FILE EXPRESSION: $d is the document; null prints as "null".
json() {
	perl -MJSON::PP -0777 -e '
		my $d = JSON::PP->new->utf8->decode(scalar <STDIN>);
		my $v = eval $ARGV[0];
		die $@ if $@;
		print defined $v ? $v : "null", "\n";
	' "$2" <"$1"
}

# documented FILE SECTION: sonde-profile(5) has every field of that section
documented() {
	local field
	while read -r field; do
		grep -qE "^\.It .*Va $field( |\$)" "$SOURCE/man/sonde-profile.5" ||
			{ echo "not documented: $field"; false; }
	done < <(json "$1" 'my %s; my $w; $w = sub { my $v = shift;
		if (ref $v eq "HASH") { $s{$_} = 1, $w->($v->{$_}) for keys %$v }
		elsif (ref $v eq "ARRAY") { $w->($_) for @$v } };
		$w->($d->{'"$2"'}); join "\n", sort keys %s')
}

# until_true COMMAND...: wait for it, with a deadline.
until_true() {
	local end=$((SECONDS + 120))
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.02
	done
}

# await PID: $status is how it ended; what has not ended by then is ended
await() {
	local end=$((SECONDS + 120))
	while kill -0 "$1" 2>/dev/null; do
		[ "$SECONDS" -lt "$end" ] || kill -KILL "$1"
		sleep 0.02
	done
	# shellcheck disable=SC2034 # for the test
	wait "$1" && status=0 || status=$?
}

# interrupted COMMAND...: SIGINT once it catches that (bit 1 of the signals it does) ends
# it as that signal does, and nothing is said
interrupted() {
	env --default-signal=INT "$@" >out.txt 2>err.txt &
	local pid=$!
	until_true grep -qE '^SigCgt:.*[2367abef]$' "/proc/$pid/status"
	kill -INT "$pid"
	await "$pid"
	[ "$status" -eq 130 ]
	[ ! -s out.txt ]
}

# A folder that everybody can enter, with the program in it: the one of bats is
# for its owner alone. Prints its name.
make_public() {
	local dir
	dir=$(mktemp -d "${TMPDIR:-/tmp}/sonde-cli-XXXXXX")
	chmod 755 "$dir"
	cp "$SONDE" "$(dirname "$SONDE")/libsonde.so.0" "$dir/"
	printf '%s\n' "$dir"
}

# Run without privileges: as nobody if we are root, else as we are.
unprivileged() {
	if [ "$(id -u)" -eq 0 ]; then
		setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	else
		"$@"
	fi
}

# sure COMMAND...: a run of it that exits with 0 and is sure of the first level. What
# else runs can leave one unsure, and rightly, so there are more.
sure() {
	local try
	# shellcheck disable=SC2034 # it counts
	for try in {1..10}; do
		run --separate-stderr "$@"
		[ "$status" -eq 77 ] ||
			grep -qE '^ +L1d .*(unsure|cannot be told)' <<<"$output" || break
	done
	[ "$status" -eq 0 ]
}

# one_line TEXT: it is one, and not empty
one_line() {
	[ -n "$1" ] && [ "$(wc -l <<<"$1")" -eq 1 ]
}

has() {
	[[ $1 == *"$2"* ]] || {
		printf 'not found: %s\nin: %s\n' "$2" "$1" >&2
		return 1
	}
}

# refused STATUS WORDS COMMAND...: exit status, one line with WORDS on stderr, nothing else
refused() {
	local status_wanted=$1 words=$2
	shift 2
	run --separate-stderr "$@"
	# shellcheck disable=SC2154 # run sets them
	[ "$status" -eq "$status_wanted" ] || { echo "status $status: $stderr" >&2; return 1; }
	[ -z "$output" ]
	one_line "$stderr"
	has "$stderr" "$words"
}
