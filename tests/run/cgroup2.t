#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
cd "$(dirname "$0")/../.." || exit
exec tests/guest/run --name cgroup2 --timeout 600 -- tests/run/cgroup2
