#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The table of qemu/matrix, out of ctest's JUnit files.

Usage: results.py [--second-column NAME] LOG_FOLDER SHARE ENFORCED ROW...   a ROW is ARCHITECTURE:LIBC:FILE

Writes each test's output to LOG_FOLDER/matrix/ARCHITECTURE-LIBC/TEST.log, names what failed and why what was skipped
was, says for each real program how many of its stacks are whole, and ends with the table. With ENFORCED "yes" a program
fails when a smaller share of its stacks than SHARE per cent is whole; LOG_FOLDER/tests-whole-stacks.xml says so in
ctest's words. The exit status is 1 when something failed."""
import collections
import json
import os
import re
import sys
import xml.etree.ElementTree as ElementTree

STACKS = re.compile(r"^stacks: (\d+) allocations, (\d+) cut (\{.*\}), (\d+) with a guessed frame, (\d+) show the start")
TARGET_TESTS = re.compile(r"^(recorder\.|profiled\.|aggregate\.|prof\.|stream\.|target\.|unwind_|runtime_|sampler_|format_|wire_|system\.|board\.|perf\.|inject\.|doctor_command|said_elsewhere)")


class Row:
    def __init__(self, architecture, libc, path):
        self.architecture, self.libc, self.path = architecture, libc, path
        self.passed = self.failed = self.skipped = 0
        self.programs = []
        self.skips = {}

    def add(self, case, folder):
        name = case.get("name")
        output = case.findtext("system-out") or ""
        with open(os.path.join(folder, f"{name}.log"), "w", encoding="utf-8") as log:
            log.write(output)
        status = case.get("status")
        if status == "run":
            self.passed += 1
            self.add_program(name, output)
        elif status in ("notrun", "disabled") and case.find("skipped") is not None:
            self.skipped += 1
            reason = re.search(r"^SKIPPED: (.*)", output, re.MULTILINE)
            self.skips[name] = reason.group(1) if reason else "no reason given"
        else:
            self.failed += 1
            wrong = re.search(r"^(WRONG|FAILED): (.*)", output, re.MULTILINE)
            why = wrong.group(2) if wrong else f"ctest says {status}"
            print(f"failed: {self.architecture} {self.libc} {name}: {why[:160]}")
            self.add_program(name, output)

    def add_program(self, name, output):
        for line in output.splitlines():
            match = STACKS.match(line)
            if match:
                allocations, cut, guessed, begun = (int(match.group(i)) for i in (1, 2, 4, 5))
                self.programs.append((name.removeprefix("recorder.real."), allocations, cut, match.group(3), guessed, begun))


def read(row, folder):
    os.makedirs(folder, exist_ok=True)
    try:
        suite = ElementTree.parse(row.path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        print(f"failed: {row.architecture} {row.libc}: {row.path} cannot be read: {error}")
        row.failed += 1
        return
    for case in suite.iter("testcase"):
        if TARGET_TESTS.match(case.get("name")):
            row.add(case, folder)


def print_skips(rows):
    where = collections.defaultdict(list)
    for row in rows:
        for name, reason in row.skips.items():
            where[(name, reason)].append(f"{row.architecture} {row.libc}")
    together = collections.defaultdict(list)
    for (name, reason), places in where.items():
        together[(reason, ", ".join(places))].append(name)
    print()
    for (reason, places), names in sorted(together.items()):
        print(f"skipped ({places}): {reason}: {' '.join(names)}")


def print_programs(rows, share, results):
    below = []
    print()
    print(f"{'real programs':24} {'stacks':>10} {'whole':>9} {'to main':>9} {'guessed':>9}  cut by reason")
    for row in rows:
        for name, allocations, cut, reasons, guessed, begun in row.programs:
            whole = 100 * max(0, allocations - cut) / allocations if allocations else 100
            named = 100 * begun / allocations if allocations else 100
            case = ElementTree.SubElement(results, "testcase", name=f"whole-stacks.{row.architecture}.{row.libc}.{name}", status="run")
            if whole < share:
                below.append(case)
            print(f"{row.architecture + ' ' + row.libc:15} {name:8} {allocations:10} {whole:8.2f}% {named:8.2f}% "
                  f"{100 * guessed / max(1, allocations):8.2f}%  {', '.join(f'{k} {v}' for k, v in json.loads(reasons).items())}")
    if below:
        print(f"{len(below)} of these programs have less than {share} % whole stacks")
    return below


def main():
    second = "libc"
    words = sys.argv[1:]
    if words[0] == "--second-column":
        second, words = words[1], words[2:]
    folder, share, enforced = words[0], float(words[1]), words[2] == "yes"
    rows = [Row(*word.split(":", 2)) for word in words[3:]]
    for row in rows:
        read(row, os.path.join(folder, "matrix", f"{row.architecture}-{row.libc}"))
    print_skips(rows)
    results = ElementTree.Element("testsuite")
    below = print_programs(rows, share, results)
    for case in below if enforced else []:
        case.set("status", "fail")
    ElementTree.ElementTree(results).write(os.path.join(folder, "tests-whole-stacks.xml"))
    print()
    print(f"{'architecture':14} {second:8} {'passed':>7} {'failed':>7} {'skipped':>8}")
    for row in rows:
        print(f"{row.architecture:14} {row.libc:8} {row.passed:7} {row.failed:7} {row.skipped:8}")
    return 1 if any(row.failed for row in rows) or (below and enforced) else 0


sys.exit(main())
