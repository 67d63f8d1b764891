#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Adds up JUnit files of ctest: names what failed, ends with one line of totals, exits 1 when anything failed."""
import sys
import xml.etree.ElementTree as ElementTree

passed = failed = skipped = 0
for path in sys.argv[1:]:
    try:
        suite = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        print(f"failed: {path} cannot be read: {error}")
        failed += 1
        continue
    for case in suite.iter("testcase"):
        status = case.get("status")
        if status == "run":
            passed += 1
        elif status in ("notrun", "disabled") and case.find("skipped") is not None:
            skipped += 1
            reason = case.find("skipped").get("message", "")
            print(f"skipped: {case.get('name')} {reason}".rstrip())
        else:
            failed += 1
            print(f"failed: {case.get('name')} ({path})")
print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
sys.exit(1 if failed else 0)
