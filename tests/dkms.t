#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What `make install-dkms` lays down is what DKMS needs: add, build and install
# in private trees, for a kernel whose headers are here. Nothing of the machine's
# own DKMS or module trees is touched.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd -P)
PATH=$PATH:/usr/sbin:/sbin
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' "$top/dkms.conf")
n=0 failed=0

skip_all() {
	echo "1..0 # SKIP $*"
	exit 0
}

# is NAME GOT WANT
is() {
	n=$((n + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		printf '# got:  %s\n# want: %s\n' "$2" "$3"
		failed=1
	fi
}

# runs NAME CMD...: it exits 0, or its output is shown.
runs() {
	local name=$1
	shift
	n=$((n + 1))
	if "$@" >"$tmp/log" 2>&1; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		sed 's/^/# /' "$tmp/log" "$tmp"/dkms/sonde/*/build/make.log 2>/dev/null || :
		failed=1
	fi
}

# The newest kernel whose headers are installed.
installed_kernel() {
	local k
	for k in /lib/modules/*/build/Makefile; do
		[ ! -e "$k" ] || basename "${k%/build/Makefile}"
	done | sort -V | tail -n 1
}

# shellcheck disable=SC2317 # by way of `runs`
# Private trees; an unsigned module, as a key would be made in the machine's.
dkms_private() {
	local cmd=$1
	shift
	env -u MAKEFLAGS sign_file=/nonexistent dkms "$cmd" sonde/"$version" \
		--dkmstree "$tmp/dkms" --sourcetree "$tmp/root/usr/src" \
		--installtree "$tmp/modules" -k "$kernel" "$@"
}

listing() {
	find /var/lib/dkms /lib/modules/*/updates /usr/src/sonde-* 2>/dev/null |
		sort
	find /lib/modules/"$kernel" -maxdepth 1 -printf '%p %T@\n' | sort
}

command -v dkms >/dev/null || skip_all 'no dkms'
[ "$(id -u)" -eq 0 ] || skip_all 'dkms wants root'
kernel=$(installed_kernel)
[ -n "$kernel" ] || skip_all 'no kernel headers are installed'

tmp=$(mktemp -d "${TMPDIR:-/tmp}/sonde-dkms.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM HUP
mkdir -p "$tmp/dkms" "$tmp/modules/$kernel"
before=$(listing)

echo 1..11
runs 'make install-dkms lays down the source' \
	env -u MAKEFLAGS make -C "$top" O="$tmp/build" install-dkms DESTDIR="$tmp/root"
is 'with a udev rule and a sysusers entry beside it' \
	"$(cd "$tmp/root" && find usr/lib -type f | sort | tr '\n' ' ')" \
	'usr/lib/sysusers.d/sonde.conf usr/lib/udev/rules.d/60-sonde.rules '
is 'the source is only source' "$(find "$tmp/root/usr/src" -type f \
	! -name '*.[ch]' -printf '%f\n' | sort | tr '\n' ' ')" \
	'Kbuild Makefile README.md dkms.conf '
runs 'dkms takes it' dkms_private add
runs 'dkms builds it' dkms_private build
runs 'dkms installs it' dkms_private install --no-depmod

ko=$(find "$tmp/modules" -name 'sonde.ko*')
is 'one module is installed' "$(wc -w <<<"$ko")" 1
is 'it is for that kernel' "$(modinfo -F vermagic "$ko" | cut -d' ' -f1)" "$kernel"
is 'it has the version of dkms.conf' "$(modinfo -F version "$ko")" "$version"
runs 'dkms removes it' dkms_private remove --no-depmod
is 'the machine is as before' "$(listing)" "$before"
exit "$failed"
