#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
exec "$(dirname "$0")/all" debug --timeout 3000 --mem 1024 --append ''
