# SPDX-License-Identifier: GPL-2.0-or-later
"""What a script was given, checked before anything is measured."""
import argparse
import shutil


def program(name):
    """The type of an argument that names a program."""
    if not shutil.which(name):
        raise argparse.ArgumentTypeError(f"there is no program {name}; build it with `make`, or name another")
    return name
