# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a failed test's output says of the failure, wherever that is, and how the output ends."""
import re

MOST_LINES = 60  # of an output
LAST_LINES = 25  # when nothing in it is known to say what failed
LEAST_LAST_LINES = 15
MOST_HEADS = 20
BLOCK_LINES = 36
LINE_LENGTH = 400

# How the lines about a failure begin, and the line that ends them.
BLOCKS = [(re.compile(begin), re.compile(end), end_belongs) for begin, end, end_belongs in (
    # TAP, of node --test and others. What is expected to fail is no failure.
    (r"\s*not ok\b(?!.*# (TODO|SKIP))", r"\s*(not ok|ok|\.\.\.$|# |1\.\.)", False),
    # node --test of versions whose output is not TAP
    (r"\s*✖ ", r"\s*[✔✖▶ℹ﹣] |test at ", False),
    # Python's unittest
    (r"(FAIL|ERROR|UNEXPECTED SUCCESS): \w+ \(", r"={20}|Ran \d+ test", False),
    (r"Traceback \(most recent call last\):", r"\S", True),
    (r".*\b(ERROR|WARNING): \w+Sanitizer\b", r"SUMMARY: ", True),
)]
# Single lines, also of Check
CERTAIN = re.compile(r"(WRONG|FAILED)\b|\w*AssertionError\b|.*\b[Aa]ssertion\b|.*:\d+(:\d+: runtime error: |:[FE]:)")
PROBABLE = re.compile(r".*\b[Ee]rror: ")
OF_WHAT_PASSED = re.compile(r"\s*(ok \d|# |✔ |not ok\b|.* \.\.\. ok$)")
HEAD, BODY, CERTAIN_LINE, PROBABLE_LINE = range(4)


def end_of_block(lines, at, end, end_belongs):
    for number in range(at + 1, min(len(lines), at + BLOCK_LINES)):
        if end.match(lines[number]):
            return number + end_belongs
    return min(len(lines), at + BLOCK_LINES)


def marks(lines):
    """(kind, number) of each line that speaks of a failure."""
    number = 0
    while number < len(lines):
        line, after = lines[number], number + 1
        block = next((block for block in BLOCKS if block[0].match(line)), None)
        if block:
            after = end_of_block(lines, number, *block[1:])
            yield HEAD, number
            yield from ((BODY, inside) for inside in range(number + 1, after))
        elif not OF_WHAT_PASSED.match(line):
            if CERTAIN.match(line):
                yield CERTAIN_LINE, number
            elif PROBABLE.match(line):
                yield PROBABLE_LINE, number
        number = after


def failed_lines(output):
    """At most MOST_LINES lines of the text, and for each gap in it one that says how many are left out."""
    lines = [line if len(line) <= LINE_LENGTH else line[:LINE_LENGTH] + " ..." for line in output.rstrip().splitlines()]
    marked = sorted(marks(lines))
    last = range(max(0, len(lines) - max(LEAST_LAST_LINES, LAST_LINES - len(marked))), len(lines))
    heads = [number for kind, number in marked if kind == HEAD][:MOST_HEADS]
    others = [number for kind, number in marked if kind != HEAD]
    chosen = [number for number in heads + others if number not in last][:MOST_LINES - len(last)]
    shown, before = [], -1
    for number in sorted(chosen) + list(last):
        if number > before + 1:
            shown.append(f"[{number - before - 1} lines]")
        shown.append(lines[number])
        before = number
    return shown
