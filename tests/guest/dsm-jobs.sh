#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whole jobs of libsonde-dsm on segments of the module, in a guest:
# dsm-jobs.sh O short|long. The eight programs give the same as by SIGSEGV; a page of this node
# comes without a message; the tests of the API and of the back ends pass.
# shellcheck disable=SC2317 # check calls the functions
set -u
O=$1 how=$2
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# shellcheck source=tests/tap.sh
. tests/tap.sh
# shellcheck source=tests/mpi/jobs.sh
. tests/mpi/jobs.sh
apps=$O/mpich/dsm/apps/apps

job 1 env SONDE_DSM_FAULT=sigsegv "$apps" >"$dir/expected" 2>"$dir/err"
eight() { [ "$(grep -cE '^[a-z]+ [0-9a-f]{16}$' "$dir/expected")" = 8 ] || { cat "$dir/err"; false; }; }
check "the eight programs run in one process by SIGSEGV" eight

same() { # PROCESSES UNIT [SETTING]
	job "$1" env SONDE_DSM_UNIT="$2" SONDE_DSM_FAULT=module SONDE_DSM_DEBUG=1 ${3:+"$3"} \
		"$apps" 2>&1 | diff "$dir/expected" -
}
processes='2' units='4096'
[ "$how" = short ] || { processes='1 2 3 4' units='4096 16384 65536'; }
for n in $processes; do
	for unit in $units; do
		check "module: checksums of $n processes, $unit bytes a page" same "$n" "$unit"
	done
done
[ "$how" = short ] || check "so they are where all pages come by messages" same 2 4096 SONDE_DSM_PEERS=0

stats() { # FILE SETTING
	job 2 env SONDE_DSM_FAULT=module SONDE_DSM_STATS=json "$2" "$apps" sor >"$dir/out" 2>"$1" ||
		{ cat "$1"; false; }
}
# Of a page that its home has a process of this node never has to ask by a message.
silent() {
	stats "$dir/with" SONDE_DSM_DEBUG=0 && stats "$dir/without" SONDE_DSM_PEERS=0 &&
		python3 - "$dir/with" "$dir/without" "$dir/figures" <<'END'
import json, sys

def total(path, what):
    return sum(what(p) for p in json.load(open(path))["processes"])

fetches = [total(f, lambda p: p["messages_by_kind"]["fetch"]) for f in sys.argv[1:3]]
copies = [total(f, lambda p: p["copies"]) for f in sys.argv[1:3]]
messages = [total(f, lambda p: p["messages"]) for f in sys.argv[1:3]]
print(f"# messages that ask for a page: {fetches[0]}, without copies {fetches[1]}; copies: "
      f"{copies[0]}, {copies[1]}; messages: {messages[0]}, {messages[1]}", file=open(sys.argv[3], "w"))
sys.exit(not (fetches[0] == 0 < fetches[1] and copies[0] > 0 == copies[1]))
END
}
check "a page of this node comes without a message" silent
cat "$dir/figures"

quiet() { "$@" >"$dir/out" 2>&1 || { cat "$dir/out"; false; }; }
check "the tests of the API pass" quiet "$O/tests/dsm/api"
[ "$how" = short ] || check "so do those of the back ends" quiet "$O/tests/dsm/fault"
echo "1..$count"
exit $failed
