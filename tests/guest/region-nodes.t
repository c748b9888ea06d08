#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Regions where memory can be moved to another node: see region_stale.c.
set -eu

here=$(cd "$(dirname "$0")" && pwd -P)
O=${O:-$here/../../build}
exec "$here/run" --nodes 2 --name region-nodes "$@" -- "$O/tests/guest/region_stale"
