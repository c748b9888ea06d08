#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The command with the module there: tools.sh SONDE.
# shellcheck disable=SC2317 # check calls the functions
set -u
count=0 failed=0

# Where a stranger can reach it: the tree may be in somebody's home.
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT
chmod 755 "$dir"
cp "$1" "$(dirname "$1")"/libsonde.so.* "$dir"/
sonde=$dir/sonde

check() { # name command...
	name=$1
	shift
	count=$((count + 1))
	if out=$("$@" 2>&1); then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		echo "$out" | sed 's/^/# /'
		failed=1
	fi
}

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

# Anything but a crash: an emulated machine has no caches to time.
ends_well() {
	"$@"
	case $? in 0|77) ;; *) return 1 ;; esac
}

echo 1..8
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
check caches_of_an_emulated_machine_do_not_crash_the_probe \
	ends_well "$sonde" cache --budget 2 --max-size 4M
exit $failed
