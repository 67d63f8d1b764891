# SPDX-License-Identifier: MIT OR Apache-2.0
"""Functions of one name in two files, or in two libraries without debug information: no tree, list or export takes them
for one."""
import json
import os
import subprocess
import unittest

from client import COMMAND, TestCase

LIBRARY = """
#include <stdlib.h>
static __attribute__((noinline)) void *helper(void)
{
    void *block = malloc(SIZE);
    __asm__ volatile("" ::: "memory");
    return block;
}
void *(*NAME(void))(void) { return helper; }
"""
PROGRAM = """
void *(*first(void))(void);
void *(*second(void))(void);
int main(void)
{
    return !(first()() && second()());
}
"""


def with_function(value, found):
    """All objects in an answer that are of the function."""
    if isinstance(value, dict):
        found.extend([value] * (value.get("function") == "helper"))
        value = list(value.values())
    for part in value if isinstance(value, list) else []:
        with_function(part, found)
    return found


class Names(TestCase):
    def compile(self, *arguments):
        subprocess.run(["gcc", "-O1", "-fno-builtin", *arguments], cwd=self.folder, check=True)

    def setUp(self):
        for name, text in ("main.c", PROGRAM), ("first.c", LIBRARY), ("second.c", "\n" + LIBRARY):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)

    def said(self, *arguments):
        return subprocess.run([COMMAND, *arguments], check=True, capture_output=True, text=True).stdout

    def told_apart(self, trace):
        server = self.serve(trace)
        for what in "call_tree", "inverted_tree":
            self.assertEqual(len(with_function(server.data(what, least=0), [])), 2, what)
        self.assertEqual(server.text("/data/last/allocation_ascii_tree").count("helper"), 2)
        sites = server.data("totals", by="site")["rows"]
        self.assertEqual(sorted(row["self"]["allocated"][0] for row in sites if row["key"] == "helper"), [1000, 3000])
        listed = self.said("report", trace).split("Call sites by memory allocated in total")[1]
        self.assertEqual([listed.count(size) for size in (" 2.93 KiB ", " 1000 B ")], [1, 1], listed)
        tree = self.said("report", "--bottom-up", trace)
        self.assertEqual(sum(line.endswith(" helper") for line in tree.splitlines()), 2, tree)
        profile = json.loads(self.said("export", "--format", "firefox", "-o", "-", trace))
        thread = profile["threads"][0]
        names = profile.get("shared", thread).get("stringArray") or thread["stringArray"]
        functions = [names[at] for at in profile.get("shared", thread).get("funcTable", thread.get("funcTable"))["name"]]
        self.assertEqual(functions.count("helper"), 2)

    def test_files(self):
        self.compile("-g", "-DSIZE=1000", "-DNAME=first", "-c", "first.c")
        self.compile("-g", "-DSIZE=3000", "-DNAME=second", "-c", "second.c")
        self.compile("-g", "-o", "files", "main.c", "first.o", "second.o")
        self.told_apart(self.recorded_trace("files.dat", self.path("files")))

    def test_without_a_name(self):
        self.compile("-g", "-DSIZE=1000", "-DNAME=first", "-c", "first.c")
        self.compile("-g", "-DSIZE=3000", "-DNAME=second", "-c", "second.c")
        self.compile("-s", "-o", "nameless", "main.c", "first.o", "second.o")
        server = self.serve(self.recorded_trace("nameless.dat", self.path("nameless")))
        answers = server.data("allocations")["allocations"] + server.data("allocation_groups")["allocations"]
        frames = [frame for answer in answers for frame in answer["backtrace"]]
        places = {frame["place"] for frame in frames if frame.get("library") == "nameless"}
        self.assertGreaterEqual(len(places), 4)
        for place in places:
            self.assertRegex(place, r"^nameless\+0x[0-9a-f]+$")
        self.assertFalse([frame for frame in frames if "place" in frame and "function" in frame])

        def names(node):
            return {node.get("function")}.union(*map(names, node["children"]))
        self.assertEqual({name for name in names(server.data("call_tree", least=0)) if name and name.startswith("nameless+")}, places)

    def test_libraries(self):
        for name, size in ("first", 1000), ("second", 3000):
            self.compile(f"-DSIZE={size}", f"-DNAME={name}", "-shared", "-fPIC", "-o", f"{name}.so", f"{name}.c")
        self.compile("-o", "libraries", "main.c", "./first.so", "./second.so", f"-Wl,-rpath,{self.folder}")
        os.chdir(self.folder)
        self.told_apart(self.recorded_trace("libraries.dat", self.path("libraries")))


if __name__ == "__main__":
    unittest.main()
