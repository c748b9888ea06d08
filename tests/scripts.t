#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every shell script of the tree is clean, every file names its licence, and scripts that measure
# say what is wrong before they do.
set -eu
cd "$(dirname "$0")/.."
echo 1..3

sources() {
	find . -path ./.git -prune -o -path "./${O:-build}" -prune -o -path ./build -prune -o -type f -print
}

failed=0
scripts=$(sources | xargs grep -lE '^#!/bin/(ba)?sh' | xargs -r grep -LE '^#!.*bats' || :)
# shellcheck disable=SC2086 # a list of names without spaces
if out=$(shellcheck -x $scripts 2>&1); then
	echo "ok 1 - shell scripts are clean"
else
	echo "not ok 1 - shell scripts are clean"
	echo "$out" | sed 's/^/# /'
	failed=1
fi

nameless=$(sources | grep -E '\.(c|h|sh|mk|bats|t|[1-9])$|Makefile$|Kbuild$' | while read -r f; do
	head -n 3 "$f" | grep -q SPDX-License-Identifier || echo "$f"
done)
if [ -z "$nameless" ]; then
	echo "ok 2 - every source file names its licence"
else
	echo "not ok 2 - every source file names its licence"
	echo "$nameless" | sed 's/^/# /'
	failed=1
fi

# shellcheck disable=SC2013 # names without spaces
for script in $(grep -l 'type=given.program' bench/*); do
	status=0
	out=$("$script" --sonde none/sonde 2>&1) || status=$?
	case $status:$out in
	2:*"there is no program none/sonde; build it"*) ;;
	*) bad="${bad:-}$script ended with $status: $out
" ;;
	esac
done
if [ -z "${bad:-}" ]; then
	echo "ok 3 - scripts of bench/ that are given no program say so"
else
	echo "not ok 3 - scripts of bench/ that are given no program say so"
	echo "$bad" | sed 's/^/# /'
	failed=1
fi
exit $failed
