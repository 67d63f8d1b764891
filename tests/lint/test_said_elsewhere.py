# SPDX-License-Identifier: MIT OR Apache-2.0
"""qemu/said_elsewhere.txt: its rows and patterns, what becomes of tests that a row leaves out, and what is built for the others."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../..")
sys.path.insert(0, os.path.join(ROOT, "qemu"))
import said_elsewhere  # noqa: E402


def table():
    with open(said_elsewhere.TABLE, encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]


class Table(unittest.TestCase):
    def test_lines(self):
        with open(os.path.join(ROOT, "CMakePresets.json"), encoding="utf-8") as file:
            rows = {preset["name"] for preset in json.load(file)["configurePresets"]}
        rows |= {"system-" + name for name in ("amd64", "arm64", "armhf", "mips64el")}
        lines = table()
        self.assertEqual(len(lines), len(set(lines)))
        for line in lines:
            fields = line.split(" | ")
            self.assertEqual(len(fields), 3, line)
            self.assertLessEqual(set(fields[0].split()), rows, line)
            for pattern in fields[1].split():
                re.compile(pattern)

    def test_whole_rows(self):
        """What others leave out is said by these."""
        for row in ("host", "armhf"):
            self.assertEqual(list(said_elsewhere.lines_of(row)), [])

    def test_what_stays(self):
        names = ["recorder.plain", "recorder.real.python3", "single_step.O2", "single_step.Os_bare", "format_codec"]
        self.assertEqual([name for name, _ in said_elsewhere.left_out("armel", names)], ["single_step.O2", "format_codec"])

    def test_every_alternative_is_some_test(self):
        self.assertEqual(said_elsewhere.alternatives("a"), ["a"])
        self.assertEqual(said_elsewhere.alternatives(r"(a|b)\.(c(d|e)?)"), [r"(a)\.(c(d|e)?)", r"(b)\.(c(d|e)?)", r"(a|b)\.(c(d)?)",
                                                                            r"(a|b)\.(c(e)?)", r"(a|b)\.(c(d|e)?)"])
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("x y | a\\.(b|c) d but e | why\nz | f | why\n")
            file.flush()
            before, said_elsewhere.TABLE = said_elsewhere.TABLE, file.name
            self.addCleanup(setattr, said_elsewhere, "TABLE", before)
            self.assertEqual(list(said_elsewhere.unmatched("x", ["a.b", "a.c", "d", "e"])), [])
            missing = list(said_elsewhere.unmatched("y", ["a.b", "d", "f"]))
        self.assertEqual([line.split(",")[0] for line in missing], ["y: no test is a\\.(c)", "y: no test is e"])

    def test_what_matches_no_test_is_a_failure(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "results.xml")
            with open(path, "w", encoding="utf-8") as file:
                file.write("<testsuite/>")
            said_elsewhere.add(path, [], ["no test is a"])
            case, = ElementTree.parse(path).getroot()
        self.assertEqual((case.get("status"), case.find("skipped")), ("fail", None))
        self.assertIn("no test is a", case.findtext("system-out"))

    def test_they_count_as_skipped(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "results.xml")
            with open(path, "w", encoding="utf-8") as file:
                file.write('<testsuite><testcase name="a" status="run"/></testsuite>')
            said_elsewhere.add(path, [("b", "a says it")])
            case = ElementTree.parse(path).getroot()[1]
        self.assertEqual((case.get("name"), case.get("status"), case.find("skipped") is None), ("b", "notrun", False))
        self.assertEqual(case.findtext("system-out"), "SKIPPED: a says it")


class Needed(unittest.TestCase):
    def test_of_what_tests_name(self):
        """Their files and folders: not what they write to, and not what other tests name."""
        with tempfile.TemporaryDirectory() as build:
            with open(os.path.join(build, "build.ninja"), "w", encoding="ascii") as file:
                file.write("".join(f"build {name}: phony\n" for name in ("bin/one", "bin/two", "lib/a.so", "programs/all")))
            with open(os.path.join(build, "CTestTestfile.cmake"), "w", encoding="ascii") as file:
                file.write(f'add_test([=[a.one]=] "{build}/bin/one" "{build}/written")\nadd_test(two "{build}/bin/two")\n'
                           f'set_tests_properties([=[a.one]=] PROPERTIES  ENVIRONMENT "X={build}/lib/a.so;Y={build}/programs")\n')
            for names, targets in (("a.one\n", ["bin/one", "lib/a.so", "programs/all"]), ("two\n", ["bin/two"]), ("a", [])):
                done = subprocess.run([os.path.join(ROOT, "qemu/needed.py"), build], input=names, capture_output=True, text=True, check=True)
                self.assertEqual(done.stdout.split(), targets)


if __name__ == "__main__":
    unittest.main()
