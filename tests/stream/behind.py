#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""behind.py WRITTEN STREAMED: whether the trace in a file, of which these are two reports as JSON, lacks events that the stream
has. What a busy machine did not come to write when the program was killed was in memory, and only the stream has it."""
import json
import sys

COUNTED = ('allocations', 'deallocations', 'duration_ns')  # the last event may be a free, or of another thread


def is_behind(written, streamed):
    of_both = [tuple(one[key] for key in COUNTED) for one in (written, streamed)]
    return of_both[0] != of_both[1] and all(less <= more for less, more in zip(*of_both))


def main():
    reports = []
    for path in sys.argv[1:3]:
        with open(path, encoding='utf-8') as file:
            reports.append(json.load(file))
    return 0 if is_behind(*reports) else 1


if __name__ == '__main__':
    sys.exit(main())
