#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""needed.py BUILD < TESTS    what has to be built for these of ctest's tests: the targets, one a line

That is what their commands and environments name of the build: files, and folders with all that is in there. CTest itself tells
no commands of programs that are not built yet, and so this reads CMake's files."""
import glob
import os
import re
import subprocess
import sys

# What the programs of the recorder's tests load by themselves.
ALWAYS = {"tests/counter/all"}
LINE = re.compile(r"^(?:add_test|set_tests_properties)\((?:\[=+\[(.*?)\]=+\]|(\S+)) (.*)\)$", re.MULTILINE)


def words(build, names):
    """Paths in the build that lines about the tests name, from its folder."""
    for file in glob.glob(f"{build}/**/CTestTestfile.cmake", recursive=True):
        with open(file, encoding="utf-8") as lines:
            for bracketed, plain, text in LINE.findall(lines.read()):
                if (bracketed or plain) in names:
                    yield from re.findall(re.escape(build) + r"/([^\s:;=,\"]+)", text)


def main():
    build = os.path.abspath(sys.argv[1])
    listed = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], capture_output=True, text=True, check=True).stdout
    known = {line.split(": ")[0] for line in listed.splitlines()}
    found = set(words(build, set(sys.stdin.read().split())))
    print("\n".join(sorted((found | {word + "/all" for word in found} | ALWAYS) & known)))


if __name__ == "__main__":
    main()
