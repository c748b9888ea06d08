#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
exec "$(dirname "$0")/selftest" warn plan process events
