#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The manual and the program say the same.
# shellcheck disable=SC2016,SC2164 # variables of Perl; bats ends a test at what fails
load helper

# Long options by --help, and by the page. options_of_help [COMMAND]
options_of_help() {
	"$SONDE" "$@" --help |
		sed -n 's/^  *\(-[a-zA-Z], \)\{0,1\}\(--[a-z-]*\).*/\2/p' | sort -u
}

options_of_page() {
	sed -n 's/^\.It .*Fl -\([a-z][a-z-]*\).*/--\1/p' "$SOURCE/man/$1" | sort -u
}

@test "every command has a page with the options of its --help, both ways" {
	for command in info report cache share memory comm clock analyse; do
		[ -n "$(options_of_help $command)" ]
		diff <(options_of_help $command) <(options_of_page sonde-$command.1)
	done
	diff <(options_of_help) <(options_of_page sonde.1)
}

@test "every short option of --help is in the page" {
	for command in info report cache share memory comm clock analyse; do
		while read -r letter; do
			grep -q "^\.It Fl $letter " "$SOURCE/man/sonde-$command.1"
		done < <("$SONDE" $command --help | sed -n 's/^  -\([a-zA-Z]\), .*/\1/p')
	done
}

@test "the overview lists every command" {
	for command in $("$SONDE" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
		[ "$command" = help ] || grep -q "^\.It Xr sonde-$command 1" "$SOURCE/man/sonde.1"
	done
}

@test "the pages are clean mdoc with examples" {
	for page in sonde.1 sonde-info.1 sonde-cache.1 sonde-clock.1 sonde-report.1 \
		sonde-profile.5 sonde_profile.3 sonde_probe.3 sonde-share.1 sonde_share.3 \
		sonde-memory.1 sonde_memory.3 sonde-comm.1 sonde_comm.3 \
		sonde-analyse.1 sonde-samples.5 sonde-dsm.1 sonde_dsm.3; do
		run mandoc -Tlint -Wwarning "$SOURCE/man/$page"
		[ "$status" -eq 0 ]
		[ -z "$output" ]
		grep -q '^\.Sh EXAMPLES' "$SOURCE/man/$page"
	done
}

# Field names of a document, of every depth.
fields_of() {
	perl -MJSON::PP -0777 -e '
		my %seen;
		sub walk {
			my ($v, $map) = @_;
			if (ref $v eq "HASH") {
				for my $k (keys %$v) {
					$seen{$k} = 1 unless $map;
					walk($v->{$k}, $k eq "backends" && !$map);
				}
			} elsif (ref $v eq "ARRAY") {
				walk($_) for @$v;
			}
		}
		walk(JSON::PP->new->utf8->decode(scalar <STDIN>));
		print "$_\n" for sort keys %seen;
	'
}

@test "sonde-profile(5) has every field of a profile and of info's JSON" {
	cd "$BATS_TEST_TMPDIR"
	{ "$SONDE" cache --json "${SHORT[@]}" | fields_of; "$SONDE" info --json | fields_of; } |
		sort -u >fields
	[ -s fields ]
	while read -r field; do
		grep -q "^\.It Va $field " "$SOURCE/man/sonde-profile.5" ||
			{ echo "not documented: $field"; false; }
	done <fields
}

@test "the pages of the library have every function of their headers" {
	for topic in profile probe share memory comm; do
		while read -r function; do
			case $function in
			sonde_profile_*) page=sonde_profile.3 ;;
			sonde_share_*|sonde_probe_share) page=sonde_share.3 ;;
			sonde_memory_*|sonde_stream_*|sonde_probe_memory) page=sonde_memory.3 ;;
			sonde_comm_*|sonde_probe_comm) page=sonde_comm.3 ;;
			sonde_probe_*|sonde_cache_*) page=sonde_probe.3 ;;
			*) continue ;;
			esac
			grep -q "^\.Nm $function" "$SOURCE/man/$page" ||
				{ echo "$page: $function is missing"; false; }
		done < <(sed -n 's/.*\(sonde_[a-z_]*\)(.*/\1/p' "$SOURCE/include/sonde/$topic.h" |
			sort -u)
	done
}
