#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Debian's packages build from a copy of the tree, hold all that `make install`
# lays down, and work. Not in `make check`: everything is compiled once more.
# shellcheck disable=SC2317 # check calls the functions
set -u
cd "$(dirname "$0")/../.." || exit

dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT
tree=$dir/sonde root=$dir/root
# shellcheck source=tests/tap.sh
. tests/tap.sh

same_version() {
	local ours
	ours=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
	[ "$(dpkg-parsechangelog -l debian/changelog -S Version)" = "$ours-1" ]
}

copy() {
	mkdir "$tree" && git ls-files -co --exclude-standard -z |
		tar c --null -T - | tar x -C "$tree"
}

# What is in no package fails here: debhelper 13.
build() {
	copy && (cd "$tree" && dpkg-buildpackage -b -us -uc)
}

no_errors() {
	lintian --allow-root --fail-on error --suppress-tags bogus-mail-host "$dir"/*.changes
}

unpack() {
	local deb
	mkdir "$root" && for deb in "$dir"/*.deb; do
		dpkg-deb -x "$deb" "$root" || return
	done
}

libraries() {
	dirname "$root"/usr/lib/*/libsonde.so.0
}

command_works() {
	LD_LIBRARY_PATH=$(libraries) "$root/usr/bin/sonde" info
}

program_builds() {
	local libs
	libs=$(libraries)
	echo '#include <sonde/clock.h>
	int main(void) { struct sonde_clock *c; return sonde_clock_open(&c, SONDE_CLOCK_AUTO); }' \
		>"$dir/program.c"
	gcc -o "$dir/program" -I"$root/usr/include" "$dir/program.c" -L"$libs" -lsonde &&
		LD_LIBRARY_PATH=$libs "$dir/program"
}

waiting_ranks_find_their_library() {
	[ -e "$(libraries)/libsonde-yield.so" ] &&
		grep -q "usr/lib/$(basename "$(libraries)")" "$root/usr/bin/sonde"
}

group_is_made() {
	dpkg-deb --ctrl-tarfile "$dir"/sonde-dkms_*.deb | tar xO ./postinst | grep systemd-sysusers
}

echo 1..8
check "the changelog's version is the one of dkms.conf" same_version
check "the packages build, and nothing that is installed is in none" build
check "lintian finds no error" no_errors
check "they unpack" unpack
check "the command works with the library" command_works
check "a program builds with what libsonde-dev has" program_builds
check "libsonde-yield is where the command looks for it" waiting_ranks_find_their_library
check "the module's package makes the group that may probe" group_is_made
exit $failed
