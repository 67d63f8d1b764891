#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Adds up JUnit files of ctest: says what was passed over and why, where the time went, then what failed with what its output says
of that, and ends with one line of totals. Exits 1 when anything failed."""
import collections
import os
import re
import sys
import textwrap
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True
from failed_lines import failed_lines  # noqa: E402

SLOWEST = 15  # tests that are named
NAMED = 12  # of the tests that are passed over for one reason

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
passed = 0
skips = collections.defaultdict(list)  # (name, why) -> builds
seconds = collections.defaultdict(float)  # build -> of its tests
slowest = []  # (seconds, name, build)
failures = []  # what and lines of its output, last, since the end of a long log is what people see


def add(path, build):
    global passed
    try:
        suite = ElementTree.parse(path).getroot()
        cases = [(case, float(case.get("time") or 0)) for case in suite.iter("testcase")]
    except (OSError, LookupError, ValueError, ElementTree.ParseError) as error:
        failures.append((f"{path} cannot be read: {error}", ""))
        return
    for case, took in cases:
        status, name = case.get("status"), case.get("name") or "(a test without a name)"
        output = case.findtext("system-out") or ""
        seconds[build] += took
        slowest.append((took, name, build))
        if status == "run":
            passed += 1
        elif status in ("notrun", "disabled") and case.find("skipped") is not None:
            reason = re.search(r"^SKIPPED: (.*)", output, re.MULTILINE)
            why = reason.group(1) if reason else case.find("skipped").get("message", "")
            why = re.sub(r"build/sysroots/[^/]+/", "", why.replace(root + "/", ""))
            skips[(name, why)].append(build)
        else:
            failures.append((f"{name} ({build})", "\n".join(failed_lines(output))))


# What the terminal's encoding lacks does not end this before the last line.
sys.stdout.reconfigure(errors="backslashreplace")
for path in sys.argv[1:]:
    add(path, os.path.basename(path).removeprefix("tests-").removesuffix(".xml"))

together = collections.defaultdict(list)  # what is passed over for one reason in the same builds
for (name, why), builds in skips.items():
    together[(why, ", ".join(builds))].append(name)
for (why, builds), names in sorted(together.items()):
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    print(textwrap.fill(f"skipped ({builds}): {why}: {' '.join(names[:NAMED])}{more}", width=200, subsequent_indent="    "))
by_build = ", ".join(f"{build} {took:.0f}" for build, took in sorted(seconds.items(), key=lambda pair: -pair[1]))
print(textwrap.fill(f"seconds of tests, some beside others: {by_build}", width=200, subsequent_indent="    "))
by_test = ", ".join(f"{name} ({build}) {took:.0f}" for took, name, build in sorted(slowest, reverse=True)[:SLOWEST])
print(textwrap.fill(f"seconds of the slowest tests: {by_test}", width=200, subsequent_indent="    "))
for what, output in failures:
    print(f"failed: {what}")
    print(textwrap.indent(output, "    | "))
count = sum(map(len, skips.values()))
print(f"{passed} passed, {len(failures)} failed" + (f", {count} skipped" if count else ""))
sys.exit(1 if failures else 0)
