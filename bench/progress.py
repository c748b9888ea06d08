# SPDX-License-Identifier: GPL-2.0-or-later
"""How far a script came, for a person at a terminal."""
import os
import sys


def runs(n, of=""):
    """Counts from 0 to n - 1, and says which run it is (and what of) until the last is over."""
    is_shown = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    try:
        for i in range(n):
            if is_shown:
                print(f"\r\033[K{of}{': ' if of else ''}run {i + 1} of {n}", end="", file=sys.stderr, flush=True)
            yield i
    finally:
        if is_shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
