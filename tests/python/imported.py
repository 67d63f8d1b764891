# SPDX-License-Identifier: MIT OR Apache-2.0
"""Allocates while it is imported, and when it is called from elsewhere."""
import program

loaded = program.block()


def called():
    return program.block()
