#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
exec "$(dirname "$0")/selftest" control crash hang still interrupt dirty pages budget
