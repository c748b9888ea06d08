# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# TAP of commands, for tests that are shell scripts. Whoever sources it has a folder
# of its own, $dir, and ends with `exit $failed`.
count=0 failed=0

check() { # NAME COMMAND...: it exits 0, or what it said is shown
	name=$1
	shift
	count=$((count + 1))
	if "$@" >"$dir/log" 2>&1; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		tail -n 40 "$dir/log" | sed 's/^/# /'
		failed=1
	fi
}

skip() { # NAME WHY
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}
