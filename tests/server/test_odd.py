# SPDX-License-Identifier: MIT OR Apache-2.0
"""Traces, and a machine, that are not as one would expect."""
import unittest

from client import TestCase


class Odd(TestCase):
    def test_deep_chains_by_turns(self):
        """Nodes whose neighbours are deep in another stack take no longer than others."""
        server = self.serve(self.example("chains.dat", "chains"))
        facts = server.json("/list")[0]
        self.assertEqual((facts["unique_backtrace_count"], facts["maximum_backtrace_depth"]), (2, 200000))
        [block] = server.data("allocations", count=1)["allocations"]
        self.assertEqual({frame["count"] for frame in block["backtrace"]}, {1})

    def test_a_clock_that_is_set_back(self):
        """What ends in an earlier second than it began in was there in neither."""
        server = self.serve(self.example("clock.dat", "clock"))
        points = server.data("fragmentation_timeline")
        self.assertTrue(all(0 <= value <= 100 for value in points["fragmentation"]), points["fragmentation"][:50])

    def test_culled_sums_of_nothing(self):
        server = self.serve(self.example("culled.dat", "culled"))
        for parameters in {}, {"size_min": 1}:
            self.assertEqual(server.data("backtraces", count=0, **parameters)["total_count"], 1998, parameters)

    def test_no_place_for_temporary_files(self):
        trace = self.random_trace("random.dat", 3, 4000)
        without = self.serve(trace, environment={"TMPDIR": "/nonexistent"})
        with_place = self.serve(trace)
        for what in "allocation_groups", "backtraces", "tree", "call_tree", "inverted_tree", "allocation_ascii_tree":
            for parameters in {"size_min": 100}, {"lifetime_min": "1us"}:
                expected = with_place.text(f"/data/last/{what}", **parameters)
                self.assertEqual(without.text(f"/data/last/{what}", **parameters), expected, what)
        self.assertEqual(without.data("diff", base_at="50%"), with_place.data("diff", base_at="50%"))


if __name__ == "__main__":
    unittest.main()
