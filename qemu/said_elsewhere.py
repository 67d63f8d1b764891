#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a build or a guest leaves out because another one says it (said_elsewhere.txt).

said_elsewhere.py pattern ROW < TESTS      a regular expression for `ctest -E`: those of the tests that the row leaves out
said_elsewhere.py add ROW FILE < TESTS     adds them to ctest's JUnit file of the row, as skipped, with the reason; and, as a
                                           failure, what of the row's patterns matches none of the tests (any more)"""
import os
import re
import sys
import xml.etree.ElementTree as ElementTree

TABLE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "said_elsewhere.txt")


def patterns(words):
    return re.compile("|".join(words) or "$^")


def words_of(row):
    """What the row leaves out and what of it stays, as lists of expressions, and why, for each of its lines of the table."""
    with open(TABLE, encoding="utf-8") as table:
        for line in table:
            if line.startswith("#") or not line.strip():
                continue
            rows, tests, why = (field.strip() for field in line.split(" | "))
            if row in rows.split():
                out, _, stays = tests.partition(" but ")
                yield out.split(), stays.split(), why


def lines_of(row):
    """The same as patterns."""
    for out, stays, why in words_of(row):
        yield patterns(out), patterns(stays), why


def left_out(row, names):
    """(test, why) of what the row leaves out."""
    lines = list(lines_of(row))
    for name in names:
        reasons = [why for out, stays, why in lines if out.fullmatch(name) and not stays.fullmatch(name)]
        if reasons:
            yield name, reasons[0]


def alternatives(word):
    """The expression with only one alternative of one of its groups, for each of them; without groups, itself."""
    found, begins = [], []
    for at, character in enumerate(word):
        if character == "(":
            begins.append([at])
        elif character == "|" and begins:
            begins[-1].append(at)
        elif character == ")":
            places = [*begins.pop(), at]
            found += [word[:places[0] + 1] + word[begin + 1:end] + word[at:] for begin, end in zip(places, places[1:])]
    return found or [word]


def unmatched(row, names):
    """What of the row's lines matches none of the tests."""
    for out, stays, why in words_of(row):
        for word in out + stays:
            for one in alternatives(word):
                if not any(map(re.compile(one).fullmatch, names)):
                    yield f"{row}: no test is {one}, in the line: ... {word} ... | {why}"


def add(path, tests, wrong=()):
    tree = ElementTree.parse(path)
    if wrong:
        case = ElementTree.SubElement(tree.getroot(), "testcase", name="said_elsewhere.txt", status="fail", time="0")
        ElementTree.SubElement(case, "system-out").text = "WRONG: qemu/said_elsewhere.txt: " + "\n".join(wrong)
    for name, why in tests:
        case = ElementTree.SubElement(tree.getroot(), "testcase", name=name, status="notrun", time="0")
        ElementTree.SubElement(case, "skipped", message="said elsewhere")
        ElementTree.SubElement(case, "system-out").text = f"SKIPPED: {why}"
    tree.write(path)


def main():
    names = sys.stdin.read().split()
    tests = list(left_out(sys.argv[2], names))
    if sys.argv[1] == "pattern":
        print("|".join(f"^{name.replace('.', '[.]')}$" for name, _ in tests) or "^$")
    else:
        # Of a row that is whole, no tests are told.
        add(sys.argv[3], tests, list(unmatched(sys.argv[2], names)) if names else ())


if __name__ == "__main__":
    main()
