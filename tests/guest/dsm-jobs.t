#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Jobs of libsonde-dsm on the module: see dsm-jobs.sh. SONDE_LONG=1: more processes and units.
set -eu

here=$(cd "$(dirname "$0")" && pwd -P)
O=$(realpath "${O:-$here/../../build}")
if [ ! -x "$O/mpich/dsm/apps/apps" ]; then
	echo "1..0 # SKIP no MPICH: install libmpich-dev and mpich"
	exit 0
fi
# The module lets segments come to three quarters of memory: each promises 512 MiB.
how=short timeout=900 mem=2048
[ -z "${SONDE_LONG:-}" ] || { how=long timeout=7200 mem=4096; }
exec "$here/run" --name dsm-jobs --mem $mem --timeout $timeout "$@" -- "$here/dsm-jobs.sh" "$O" $how
