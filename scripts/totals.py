#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Adds up JUnit files of ctest: names what failed, ends with one line of totals, exits 1 when anything failed."""
import collections
import os
import re
import sys
import xml.etree.ElementTree as ElementTree

passed = failed = 0
skipped = collections.defaultdict(list)  # why -> where
for path in sys.argv[1:]:
    build = os.path.basename(path).removeprefix("tests-").removesuffix(".xml")
    try:
        suite = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        print(f"failed: {path} cannot be read: {error}")
        failed += 1
        continue
    for case in suite.iter("testcase"):
        status, name = case.get("status"), case.get("name")
        if status == "run":
            passed += 1
        elif status in ("notrun", "disabled") and case.find("skipped") is not None:
            reason = re.search(r"^SKIPPED: (.*)", case.findtext("system-out") or "", re.MULTILINE)
            why = reason.group(1) if reason else case.find("skipped").get("message", "")
            skipped[f"{name}: {why}"].append(build)
        else:
            failed += 1
            print(f"failed: {name} ({path})")
for why, builds in sorted(skipped.items()):
    print(f"skipped: {why} ({', '.join(builds)})")
skips = sum(len(builds) for builds in skipped.values())
print(f"{passed} passed, {failed} failed" + (f", {skips} skipped" if skips else ""))
sys.exit(1 if failed else 0)
