#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What `make install` lays down works by itself, and nothing of the build tree
# goes with it.
# shellcheck disable=SC2317 # check calls the functions
set -eu
cd "$(dirname "$0")/.."
O=${O:-build}
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT
root=$dir/root
export PKG_CONFIG_PATH="$root/usr/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"
export LD_LIBRARY_PATH="$root/usr/lib"

# shellcheck source=tests/tap.sh
. tests/tap.sh

cat >"$dir/program.c" <<'END'
#include <stdio.h>
#include <string.h>
#include <sonde/clock.h>
#include <sonde/device.h>
#include <sonde/frames.h>
#include <sonde/log.h>
#include <sonde/probe.h>
#include <sonde/profile.h>
#include <sonde/stats.h>
#include <sonde/topology.h>

int main(int argc, char **argv)
{
	struct sonde_cache_level cache;
	struct sonde_profile *profile;

	if (argc != 2 || sonde_profile_load(&profile, argv[1]) ||
	    sonde_profile_cache(profile, 1, &cache))
		return 1;
	sonde_profile_free(profile);
	printf("%s\n", cache.level == 1 ? "level 1" : "?");
	return 0;
}
END

compile() {
	# shellcheck disable=SC2046 # a list of flags
	${CC:-gcc} -o "$dir/program" "$dir/program.c" $(pkg-config --cflags --libs sonde)
}

report() {
	"$root/usr/bin/sonde" report --budget 0.5 --max-size 8M -o "$dir/report" &&
	[ "$("$dir/program" "$dir/report/profile.json")" = "level 1" ]
}

no_path() {
	! readelf -d "$root/usr/bin/sonde" "$root"/usr/lib/libsonde.so.* | grep -E 'R(UN)?PATH'
}

# jobs PROGRAM COMMAND...: where no MPI is there is nothing to be found.
jobs() {
	programs=$1
	shift
	for program in "$root/usr/lib/sonde/$programs"-*; do
		[ -e "$program" ] || continue
		! readelf -d "$program" | grep -E 'R(UN)?PATH' || return 1
		rank=PMI_RANK
		[ "${program##*-}" = mpich ] || rank=OMPI_COMM_WORLD_RANK
		# It starts, alone, and says that it is.
		env "$rank=0" "$root/usr/bin/sonde" "$@" 2>&1 |
			grep 'one rank has nobody' || return 1
	done
}

echo 1..7
# The machine's own packages are not below the root.
check "make install succeeds" env -u PKG_CONFIG_SYSROOT_DIR -u PKG_CONFIG_PATH make -s O="$O" DESTDIR="$root" prefix=/usr install
check "the installed command runs" "$root/usr/bin/sonde" --version
check "a program builds with pkg-config" compile
check "it reads a profile that the installed command wrote" report
check "no path of the build tree is left in what is installed" no_path
check "the installed command finds the programs that tune for each MPI" jobs sonde-tune tune alltoall --no-save
check "and those that measure communication" jobs sonde-comm comm
exit $failed
