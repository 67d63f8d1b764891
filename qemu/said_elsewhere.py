#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a build or a guest leaves out because another one says it (said_elsewhere.txt).

said_elsewhere.py pattern ROW < TESTS      a regular expression for `ctest -E`: those of the tests that the row leaves out
said_elsewhere.py add ROW FILE < TESTS     adds them to ctest's JUnit file of the row, as skipped, with the reason"""
import os
import re
import sys
import xml.etree.ElementTree as ElementTree

TABLE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "said_elsewhere.txt")


def patterns(words):
    return re.compile("|".join(words.split()) or "$^")


def lines_of(row):
    """What the row leaves out and what of it stays, as patterns, and why, for each of its lines of the table."""
    with open(TABLE, encoding="utf-8") as table:
        for line in table:
            if line.startswith("#") or not line.strip():
                continue
            rows, tests, why = (field.strip() for field in line.split(" | "))
            if row in rows.split():
                out, _, stays = tests.partition(" but ")
                yield patterns(out), patterns(stays), why


def left_out(row, names):
    """(test, why) of what the row leaves out."""
    lines = list(lines_of(row))
    for name in names:
        reasons = [why for out, stays, why in lines if out.fullmatch(name) and not stays.fullmatch(name)]
        if reasons:
            yield name, reasons[0]


def add(path, tests):
    tree = ElementTree.parse(path)
    for name, why in tests:
        case = ElementTree.SubElement(tree.getroot(), "testcase", name=name, status="notrun", time="0")
        ElementTree.SubElement(case, "skipped", message="said elsewhere")
        ElementTree.SubElement(case, "system-out").text = f"SKIPPED: {why}"
    tree.write(path)


def main():
    tests = list(left_out(sys.argv[2], sys.stdin.read().split()))
    if sys.argv[1] == "pattern":
        print("|".join(f"^{name.replace('.', '[.]')}$" for name, _ in tests) or "^$")
    else:
        add(sys.argv[3], tests)


if __name__ == "__main__":
    main()
