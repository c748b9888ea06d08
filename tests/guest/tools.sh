#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The command with the module there: tools.sh SONDE.
# shellcheck disable=SC2317 # check calls the functions
set -u
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"

# Where a stranger can reach it: the tree may be in somebody's home.
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT
chmod 755 "$dir"
cp "$1" "$(dirname "$1")"/libsonde.so.* "$dir"/
sonde=$dir/sonde

says() { # pattern command...
	pattern=$1
	shift
	text=$("$@" 2>&1)
	echo "$text"
	echo "$text" | grep -q -- "$pattern"
}

as_nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

as_member() {
	setpriv --reuid=65534 --regid="$(stat -c %g /dev/sonde-probe)" --clear-groups "$@"
}

# The calls that a command makes leave a line each.
traces() {
	events=/sys/kernel/tracing
	[ -e "$events"/trace ] || mount -t tracefs tracefs "$events" || return
	echo 1 >"$events"/events/sonde/enable || return
	"$sonde" info >/dev/null
	echo 0 >"$events"/events/sonde/enable
	says "sonde_info:" cat "$events"/trace
}

# What the module gives is what was asked for, by the frames; the second time it
# is in the pool.
gives() {
	text=$("$sonde" colour alloc --json "$@") || return
	echo "$text"
	echo "$text" | perl -MJSON::PP -0777 -e '
		my $d = JSON::PP->new->decode(scalar <STDIN>);
		for my $got ($d->{first}, $d->{second}) {
			exit 1 if $got->{verified} != $d->{pages} ||
				$got->{verified_off_colour} || $got->{off_colour};
		}
		exit 1 if $d->{by} ne "module" || !$d->{first}{drawn};
		exit 1 if $d->{contiguous} ? $d->{first}{runs} != 1 : $d->{second}{drawn};
	'
}

# Anything but a crash: an emulated machine has no caches to time.
ends_well() {
	"$@"
	case $? in 0|77) ;; *) return 1 ;; esac
}

module_measures() {
	ends_well "$sonde" cache --meter module --budget 2 --max-size 4M --json >"$dir"/cache.json &&
		perl -MJSON::PP -0777 -ne '
			exit(decode_json($_)->{backends}{meter}{using} ne "module")' "$dir"/cache.json
}

echo 1..16
check info_names_the_loaded_module \
	says "Module: loaded" "$sonde" info
check root_gets_frames_from_the_module \
	says '"using": "module"' "$sonde" info --json
check a_stranger_is_told_the_group_to_join \
	says "sonde-probe.*group" as_nobody "$sonde" info
check a_stranger_goes_on_without_frames \
	says '"using": "none"' as_nobody "$sonde" info --json
check a_member_of_the_group_gets_colours_from_the_module \
	says '"using": "module"' as_member "$sonde" info --json
check a_member_is_told_that_frames_need_root \
	says "CAP_SYS_ADMIN" as_member "$sonde" info
check each_call_can_be_traced \
	traces
check clock_shows_the_counter_as_the_module_sees_it \
	says "^  furthest  *CPU [0-9]*: " "$sonde" clock
check caches_of_an_emulated_machine_do_not_crash_the_probe \
	ends_well "$sonde" cache --budget 2 --max-size 4M
check caches_are_measured_in_the_module_where_that_is_asked_for \
	module_measures
check a_stranger_is_told_the_group_that_may_measure_in_the_module \
	says "sonde-probe.*group" as_nobody "$sonde" cache --meter module
check a_processor_without_switches_keeps_its_prefetchers \
	says "offers that" "$sonde" cache --no-prefetch
check coloured_memory_is_verified_and_pooled \
	gives --bits 6 --colours 3,17
check coloured_memory_by_masks_is_verified_and_pooled \
	gives --masks 0x1001,0x12,4,8 --colours 0-3 --size 1M
check contiguous_memory_is_one_run \
	gives --contiguous --size 1M
check a_member_of_the_group_gets_coloured_memory \
	says "frame numbers need root" as_member "$sonde" colour alloc --colours 3 --pages 4
exit $failed
