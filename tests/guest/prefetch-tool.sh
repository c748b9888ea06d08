#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Caches without prefetchers, where these have switches: prefetch-tool.sh SONDE.
set -u

echo 1..1
json=$("$1" cache --no-prefetch --budget 1 --max-size 1M --json)
status=$?
# An emulated machine has no caches to time: 77.
if { [ $status = 0 ] || [ $status = 77 ]; } && echo "$json" | perl -MJSON::PP -0777 -ne '
		exit(decode_json($_)->{backends}{prefetchers}{using} ne "off")'; then
	echo "ok 1 - caches_are_measured_without_prefetchers"
else
	echo "not ok 1 - caches_are_measured_without_prefetchers"
	echo "# exit status $status"
fi
