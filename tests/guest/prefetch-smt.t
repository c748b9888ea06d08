#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The same where both CPUs are threads of one core, which prefetchers belong to.
exec "$(dirname "$0")/prefetch.t" --smt --name prefetch-smt
