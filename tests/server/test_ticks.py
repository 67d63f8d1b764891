# SPDX-License-Identifier: MIT OR Apache-2.0
"""What was live at the ticks of a trace with sums: differences of two of them, by the command and the server."""
import itertools
import json
import os
import re
import subprocess
import time
import unittest

from client import COMMAND, SHIM, TestCase

# For each line: a block of 1 MB from one function, or frees it in favour of two from another.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
static void *volatile kept[64];
__attribute__((noinline)) static void grow(int i) { kept[i] = malloc(1000000); __asm__ volatile(""); }
__attribute__((noinline)) static void other(int i) { kept[i] = malloc(300000); __asm__ volatile(""); }
int main(void)
{
    int byte, count = 0;
    setvbuf(stdin, NULL, _IONBF, 0);
    setvbuf(stdout, NULL, _IONBF, 0);
    puts("ready");
    while ((byte = getchar()) != EOF && count < 60) {
        if (byte == 'g')
            grow(count++);
        if (byte == 'o')
            free(kept[0]), kept[0] = NULL, other(count++), other(count++);
        puts("done");
    }
    return 0;
}
"""


@unittest.skipUnless(SHIM, "nothing is recorded in this build")
class Ticks(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        binary, cls.trace = cls.path("program"), cls.path("ticks.dat")
        subprocess.run(["gcc", "-x", "c", "-g", "-O1", "-fno-optimize-sibling-calls", "-", "-o", binary], input=PROGRAM, text=True, check=True)
        program = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                                   env={**os.environ, "LD_PRELOAD": SHIM, "HEAPSONDE_OUTPUT": cls.trace, "HEAPSONDE_MODE": "aggregate", "HEAPSONDE_AGGREGATE_INTERVAL": "1"})
        program.stdout.readline()
        for letter, size in (("g", 1000000), ("g", 2000000), ("o", 1600000)):
            program.stdin.write(letter)
            program.stdin.flush()
            program.stdout.readline()
            cls.wait_for(size)
        program.stdin.close()
        program.wait()
        program.stdout.close()
        cls.server = cls.serve(cls.trace)

    @classmethod
    def wait_for(cls, size):
        """Until a tick says that so many bytes are live, and a few more."""
        live = -1
        while not size <= live < size + 200000:
            time.sleep(0.1)
            report = subprocess.run([COMMAND, "report", "--json", cls.trace], check=False, capture_output=True)
            live = json.loads(report.stdout)["live_bytes"] if not report.returncode else -1

    def diff(self, base_at, at, what="diff"):
        return self.server.data(what, base_at=base_at, at=at)

    def test_each_instant_is_that_of_the_timeline(self):
        sums = set()
        for size, count, at in self.states():
            now = self.diff("0", f"{at}ns")["now"]
            self.assertEqual((now["size"], now["count"]), (size, count), at)
            sums.add(size)
        self.assertGreaterEqual(len(sums), 3)

    def states(self):
        """(size, count, an instant in the middle) of each: a tick that came late is soon followed by another one."""
        line = self.server.data("timeline", width=100000)
        states = []
        for (size, count), slots in itertools.groupby(enumerate(zip(line["end_size"], line["end_count"])), lambda slot: slot[1]):
            slots = [i for i, _ in slots]
            states.append((size, count, line["start_ns"] + (slots[0] + slots[-1] + 1) * line["interval_ns"] // 2))
        return states

    def instants(self):
        """The last instants at which one block, two, and those of the other function were there."""
        found = {size // 100000 * 100000: at for size, _, at in self.states()}
        base = min(size for size in found if size >= 1000000)
        return [f"{found[size]}ns" for size in (base, base + 1000000, base + 600000)]

    def test_what_grew_between_two_ticks(self):
        one, two, three = self.instants()
        grew = self.diff(one, two)
        self.assertEqual((grew["size_delta"], grew["count_delta"], grew["stacks"][0]["size_delta"]), (1000000, 1, 1000000))
        self.assertEqual([frame["function"] for frame in grew["stacks"][0]["backtrace"]][-1:], ["grow"])
        later = self.diff(two, three)
        changes = {row["backtrace"][-1]["function"]: row["size_delta"] for row in later["stacks"]}
        self.assertEqual((changes["grow"], changes["other"]), (-1000000, 600000))
        # With itself it is empty, swapped it is negated; the tree says the same.
        self.assertEqual((self.diff(two, two)["stacks"], self.diff(two, two)["size_delta"]), ([], 0))
        swapped = {row["backtrace"][-1]["function"]: row["size_delta"] for row in self.diff(three, two)["stacks"]}
        self.assertEqual(swapped, {name: -delta for name, delta in changes.items()})
        self.assertEqual(self.diff(two, three, "diff_tree")["nodes"][0]["size_delta"], later["size_delta"])

    def test_the_peak_is_the_highest_tick(self):
        summary = self.server.data("summary")
        self.assertEqual(self.diff("peak", "peak")["now"]["size"], summary["peak_bytes"])
        self.assertEqual(self.diff("peak", "100%")["size_delta"], summary["live_bytes"] - summary["peak_bytes"])
        at = self.server.data("summary", at="peak")
        self.assertEqual((at["live_bytes"], at["peak_bytes"]), (summary["peak_bytes"], summary["peak_bytes"]))

    def test_the_command_says_the_same(self):
        one, two, _ = self.instants()
        said = json.loads(subprocess.run([COMMAND, "diff", "--format", "json", "--base-at", one, "--at", two, self.trace], check=True, stdout=subprocess.PIPE).stdout)
        self.assertIn("grow", json.dumps(said))
        self.assertIn("1000000", json.dumps(said))
        tree = [COMMAND, "diff", "--tree", "--base-at", "0%", "--at", "100%", self.trace]
        for more, by in (["--by", "line"], "line"), ([], "function"):
            said = subprocess.run(tree + more, check=True, stdout=subprocess.PIPE, text=True).stdout
            nodes = self.server.data("diff_tree", cost="live", base_at="0%", at="100%", by=by)["nodes"]
            wanted = sum(node["function"] == "main" for node in nodes)
            self.assertEqual((len(re.findall(r" main(?: \(.*)?$", said, re.MULTILINE)), wanted), (2, 2) if by == "line" else (1, 1), said)
        same = subprocess.run([COMMAND, "diff", "--base-at", two, "--at", two, self.trace], check=True, stdout=subprocess.PIPE, text=True).stdout
        self.assertIn("none", same)

    def test_what_is_not_known(self):
        for question in ("allocations", "generations"):
            self.assertEqual(self.server.ask(f"/data/last/{question}")[0], 422, question)
        self.assertEqual(self.server.ask("/data/last/diff", base_at="50%", size_min="8")[0], 422)


if __name__ == "__main__":
    unittest.main()
