#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Prefetchers need a processor that has switches for them: see prefetch.c.
set -eu

here=$(cd "$(dirname "$0")" && pwd -P)
O=${O:-$here/../../build}
exec "$here/run" --cpu core2duo --name prefetch "$@" -- "$O/tests/guest/prefetch" \
	:: "$here/prefetch-tool.sh" "$O/sonde"
