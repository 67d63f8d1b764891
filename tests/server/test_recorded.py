# SPDX-License-Identifier: MIT OR Apache-2.0
"""A program that was recorded on the machine of this build, of whatever architecture and byte order: every endpoint
answers, and names functions and lines."""
import os
import struct
import unittest

from client import TestCase
from endpoints import Endpoints
from model import Row
from slow_trees import check_tree

PROGRAM = os.path.join(os.environ["HEAPSONDE_TEST_PROGRAMS"], "plain")
ROOT = os.environ.get("HEAPSONDE_TEST_ROOT")
FUNCTIONS = ("main", "outer", "allocate")  # allocate is called by outer, that by main
NAMES_FUNCTIONS = {f"/data/{{id}}/{name}" for name in (
    "allocations", "allocation_groups", "backtraces", "tree", "allocation_ascii_tree", "call_tree", "inverted_tree",
    "sandwich", "export/flamegraph.pl", "export/flamegraph.pl/{name}", "export/{format}", "export/{format}/{name}", "diff")}
NAMES_LINES = {f"/data/{{id}}/{name}" for name in (
    "allocations", "allocation_groups", "backtraces", "tree", "allocation_ascii_tree", "export/{format}",
    "export/{format}/{name}", "diff")}
BLOCKS, LEFT = 1000, 10


def architecture(program):
    """As its ELF header says."""
    with open(program, "rb") as file:
        header = file.read(20)
    big = header[5] == 2
    machine = struct.unpack(">H" if big else "<H", header[18:20])[0]
    return {8: "mips64" if big else "mips64el", 40: "arm", 62: "x86_64", 183: "aarch64"}[machine]


class Recorded(Endpoints, TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        trace = cls.recorded_trace("recorded.dat", PROGRAM)
        cls.server = cls.serve(trace, *(["--sysroot", ROOT] if ROOT else []))
        cls.description = cls.server.json("/openapi.json")

    def test_every_endpoint_answers(self):
        for path, body in self.answers(sampled=False):
            with self.subTest(path=path):
                # The sandwich's own function is not in it.
                for function in FUNCTIONS[path.endswith("sandwich"):] if path in NAMES_FUNCTIONS else ():
                    self.assertIn(function.encode(), body)
                if path in NAMES_LINES:
                    self.assertIn(b"plain.c", body)

    def test_what_was_allocated(self):
        entry, = self.server.json("/list")
        self.assertEqual(entry["architecture"], architecture(PROGRAM))
        self.assertEqual(entry["executable"], PROGRAM)
        blocks = self.server.data("allocations", function="outer", count=2 * BLOCKS)
        self.assertEqual(blocks["total_count"], BLOCKS)
        self.assertEqual({block["size"] for block in blocks["allocations"]}, set(range(100, 100 + BLOCKS)))
        for block in blocks["allocations"]:
            functions = [frame.get("function") for frame in block["backtrace"]]
            self.assertEqual([name for name in functions if name in FUNCTIONS], list(FUNCTIONS))
        left = self.server.data("allocations", function="outer", lifetime="only_leaked")
        self.assertEqual(left["total_count"], LEFT)

    def test_differences_by_line(self):
        def blocks(**when):
            return [Row(block) for block in self.server.data("allocations", count=10**9, **when)["allocations"]]
        sides = blocks(to="50%"), blocks(**{"from": "50%"})
        for by in ("function", "line", "library"):
            for inverted in ("false", "true"):
                answer = self.server.data("diff_tree", base_to="50%", **{"from": "50%"}, by=by, inverted=inverted, nodes=100000)
                check_tree(self, answer, by, inverted == "true", sides)
                lines = {node["line"] for node in answer["nodes"] if by == "line" and (node["source"] or "").endswith("/plain.c")}
                self.assertEqual(len(lines) > 1, by == "line", lines)

    def test_sandwich_by_file(self):
        blocks = self.server.data("allocations", count=10**9)["allocations"]
        for wanted in ("plain.c", "no such.c"):
            through = [block for block in blocks
                       if any((frame.get("source") or "").rsplit("/", 1)[-1] == wanted for frame in block["backtrace"])]
            self.assertEqual(bool(through), wanted == "plain.c")
            answer = self.server.data("sandwich", by="source", function=wanted, least=0)
            for half in ("callers", "callees"):
                self.assertEqual([answer[half]["size"], answer[half]["count"]],
                                 [sum(block["size"] for block in through), len(through)])
            names = {child["function"] for child in answer["callers"]["children"]}
            self.assertFalse(names & set(FUNCTIONS))


class Sums(TestCase):
    """Of HEAPSONDE_MODE=aggregate: there are no single blocks."""
    OF_BLOCKS = ("heaptrack", "firefox", "dhat", "massif", "jsonl", "csv", "parquet", "replay")
    OF_STACKS = ("collapsed", "flamegraph", "flamegraph.pl", "json", "speedscope", "heapprofile", "callgrind", "perfetto")

    def test_exports(self):
        trace = self.recorded_trace("sums.dat", PROGRAM, mode="aggregate")
        server = self.serve(trace, *(["--sysroot", ROOT] if ROOT else []))
        for name in self.OF_BLOCKS:
            status, _, body = server.ask(f"/data/last/export/{name}")
            self.assertEqual((status, b"sums per stack" in body), (422, True), (name, body))
        for name in self.OF_STACKS:
            self.assertIn("outer", server.ask(f"/data/last/export/{name}")[2].decode(errors="replace"), name)


if __name__ == "__main__":
    unittest.main()
