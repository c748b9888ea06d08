#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What ranks of libsonde-coll ask of the kernel where the module is: 4 of them, on
# one processor that takes turns by the clock, so that they hardly wait.
set -eu

here=$(cd "$(dirname "$0")" && pwd -P)
O=$(realpath "${O:-$here/../../build}")
if [ ! -x "$O/mpich/tests/mpi/exchange" ]; then
	echo "1..0 # SKIP no MPICH: install libmpich-dev and mpich"
	exit 0
fi
exec "$here/run" --icount --name exchange "$@" -- \
	"$O/sonde" run --no-coll mpiexec.mpich -n 4 "$O/mpich/tests/mpi/exchange"
