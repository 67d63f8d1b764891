# SPDX-License-Identifier: MIT OR Apache-2.0
"""Three blocks whose answers can be worked out by hand: A0 of 100 bytes at 0.5 s by main, f, never freed; A1 of 50 bytes
at 1 s by main, g, freed at 3 s; A2 of 70 bytes at 2 s by main, f, freed at 4 s. The trace begins at second 1000 and ends
at 1010."""
import json
import unittest

from client import TestCase


class Example(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.serve(cls.example())

    def blocks(self, **parameters):
        return ["A%d" % block["id"] for block in self.server.data("allocations", **parameters)["allocations"]]

    def test_list(self):
        about, = self.server.json("/list")
        self.assertEqual(list(about)[:10], ["id", "executable", "cmdline", "architecture", "final_allocated",
                                            "final_allocated_count", "runtime", "unique_backtrace_count",
                                            "maximum_backtrace_depth", "timestamp"])
        self.assertEqual((about["final_allocated"], about["final_allocated_count"]), (100, 1))
        self.assertEqual((about["runtime"], about["timestamp"]),
                         ({"secs": 10, "fract_nsecs": 0}, {"secs": 1000, "fract_nsecs": 0}))
        self.assertEqual((about["unique_backtrace_count"], about["maximum_backtrace_depth"]), (2, 2))
        self.assertEqual(about["id"], "abcdef0123456789fedcba9876543210")
        for name in (about["id"], about["id"].upper(), "last"):
            self.assertEqual(self.server.data("peak", trace=name)["size"], 220)

    def test_biggest_block(self):
        answer = self.server.data("allocations", sort_by="size", order="dsc", count=1)
        self.assertEqual(([block["id"] for block in answer["allocations"]], answer["total_count"]), ([0], 3))
        block = answer["allocations"][0]
        self.assertEqual((block["address"], block["address_s"]), (0x1000, "0000000000001000"))
        self.assertEqual((block["size"], block["extra_space"], block["usable_size"]), (100, 4, 104))
        self.assertEqual(block["timestamp"], {"secs": 1000, "fract_nsecs": 500000000})
        self.assertEqual(block["timestamp_relative"], {"secs": 0, "fract_nsecs": 500000000})
        self.assertAlmostEqual(block["timestamp_relative_p"], 0.05)
        self.assertNotIn("deallocation", block)
        self.assertEqual([frame["function"] for frame in block["backtrace"]], ["main", "f"])
        self.assertEqual([frame["address"] for frame in block["backtrace"]], [0x401010, 0x401110])
        self.assertEqual([frame["count"] for frame in block["backtrace"]], [3, 2])
        self.assertEqual(list(block["backtrace"][0]),
                         ["address", "address_s", "count", "library", "function", "raw_function", "is_inline"])

    def test_keys_are_in_their_order(self):
        text = self.server.text("/data/last/allocations", count=1, skip=1)
        self.assertNotIn(" ", text.replace("two words", ""))
        self.assertEqual(list(json.loads(text)["allocations"][0]), [
            "id", "address", "address_s", "timestamp", "timestamp_relative", "timestamp_relative_p", "thread", "size",
            "backtrace_id", "deallocation", "backtrace", "is_mmaped", "is_jemalloc", "in_main_arena", "extra_space",
            "position_in_chain", "chain_length", "usable_size"])
        group = self.server.data("allocation_groups")["allocations"][0]
        self.assertEqual(list(group), ["all", "only_matched", "backtrace_id", "backtrace"])
        self.assertEqual(list(group["all"])[:12], [
            "size", "min_size", "max_size", "min_timestamp", "min_timestamp_relative", "min_timestamp_relative_p",
            "max_timestamp", "max_timestamp_relative", "max_timestamp_relative_p", "interval", "leaked_count",
            "allocated_count"])

    def test_times(self):
        self.assertEqual(self.blocks(**{"from": 1001, "to": 1001}), ["A1"])
        self.assertEqual(self.blocks(**{"from": 1001000, "to": 1001999}), ["A1"])
        self.assertEqual(self.blocks(**{"from": "15%"}), ["A2"])
        self.assertEqual(self.blocks(to="10%"), ["A0", "A1"])
        self.assertEqual(self.blocks(alive_at="25%"), ["A0", "A1", "A2"])
        self.assertEqual(self.blocks(at="35%"), ["A0", "A2"])
        self.assertEqual(self.blocks(at="peak"), ["A0", "A1", "A2"])

    def test_times_of_an_era(self):
        for era, time in (("0.1", 1002500), ("0.7", "1002.5"), ("0.1", "1002.5"), ("0.7", 1002500)):
            there = self.blocks(alive_at=time, era=era)
            self.assertEqual(self.blocks(at=time, era=era), there)
            self.assertEqual(self.server.data("diff", base_at=time, era=era)["base"]["count"], len(there))
        self.assertEqual((self.blocks(at="1002.5", era="0.1"), self.blocks(at="1002.5", era="0.7")),
                         (["A0", "A1", "A2"], []))
        part = self.server.data("timeline_maps", width=2, era="0.7", to="1002.5")
        self.assertEqual(part["xs"][-1], 1000000)

    def test_the_unit_of_times_is_part_of_the_question(self):
        # timeline_maps takes no filter, but times.
        asked = [self.server.data("timeline_maps", width=2, to=2, time_unit=unit)["xs"][-1] for unit in ("start", "s")]
        self.assertEqual(asked, [1002000, 1000000])

    def test_wrong_times_are_told_by_their_own_names(self):
        for name in ("from", "to"):
            status, _, body = self.server.ask("/data/last/timeline", **{name: "x"})
            self.assertEqual((status, body.decode().partition(" cannot use 'x'")[0]), (400, name))
        status, _, body = self.server.ask("/data/last/timeline", **{"from": "11s"})
        self.assertEqual((status, body.decode()), (400, "from: is later than the end of the recording\n"))

    def test_a_bare_percent_sign(self):
        for query in ("from=15%", "from=15%25"):
            status, _, body = self.server.ask("/data/last/allocations?" + query)
            self.assertEqual((status, json.loads(body)["total_count"]), (200, 1))

    def test_lifetimes(self):
        self.assertEqual(self.blocks(lifetime="only_leaked"), ["A0"])
        self.assertEqual(self.blocks(lifetime="only_temporary"), ["A1", "A2"])
        self.assertEqual(self.blocks(lifetime="only_whole_group_leaked"), [])
        self.assertEqual(self.blocks(lifetime_min="2s"), ["A0", "A1", "A2"])
        self.assertEqual(self.blocks(lifetime_max="2s"), ["A1", "A2"])
        self.assertEqual(self.blocks(lifetime_max="20s"), ["A0", "A1", "A2"])
        self.assertEqual(self.blocks(lifetime_max="20s", era="0.1"), ["A1", "A2"])
        self.assertEqual(self.blocks(lifetime="only_not_deallocated_in_current_range", to=1003, era="0.1"), ["A0", "A2"])
        self.assertEqual(self.blocks(lifetime="only_deallocated_in_current_range", to=1003, era="0.1"), ["A1"])

    def groups(self, **parameters):
        return [(group["backtrace_id"], group["only_matched"]["size"])
                for group in self.server.data("allocation_groups", **parameters)["allocations"]]

    def test_groups(self):
        group, = self.server.data("allocation_groups", group_allocations_min=2)["allocations"]
        for half in ("only_matched", "all"):
            self.assertEqual((group[half]["allocated_count"], group[half]["leaked_count"]), (2, 1))
            self.assertEqual(group[half]["interval"], {"secs": 1, "fract_nsecs": 500000000})
        self.assertEqual(self.groups(group_leaked_allocations_min="50%"), [(2, 170), (3, 50)])
        self.assertEqual(self.groups(group_leaked_allocations_min="51%"), [(2, 170), (3, 50)])
        self.assertEqual(self.groups(group_leaked_allocations_min="1"), [(2, 170)])
        self.assertEqual(self.groups(sort_by="only_matched.size", order="dsc"), [(2, 170), (3, 50)])

    def test_filters_that_are_joined(self):
        self.assertEqual(self.blocks(where="size_min=60 and lifetime=only_temporary or function=~^g$"), ["A1", "A2"])
        self.assertEqual(self.blocks(where="not (size>=60 OR size<=40)", thread=4711), ["A1"])
        self.assertEqual(self.blocks(where="NOT (from=15% or to=6%)"), ["A1"])
        self.assertEqual(self.groups(where="lifetime=only_leaked or function=~'^g$'"), [(2, 100), (3, 50)])
        status, _, body = self.server.ask("/data/last/peak", where="size>=60 and sise<=70")
        self.assertEqual((status, body.decode().split(";")[0]), (400, "where: at position 14: no such filter"))

    def test_functions(self):
        self.assertEqual(self.blocks(function_regex="^g$"), ["A1"])
        self.assertEqual(self.blocks(function_regex="main", source_regex="x.c"), [])
        self.assertEqual(self.blocks(negative_function_regex="f"), ["A1"])

    def test_flame_graph(self):
        self.assertEqual(self.server.text("/data/last/export/flamegraph.pl"),
                         "main [program];f [program] 170\nmain [program];g [program] 50\n")
        self.assertEqual(self.server.text("/data/last/export/flamegraph.pl/any.folded", lifetime="only_leaked"),
                         "main [program];f [program] 100\n")
        self.assertIn("<svg", self.server.text("/data/last/export/flamegraph/leaks.svg", lifetime="only_leaked"))

    def test_timeline_of_the_first_era(self):
        self.assertEqual(self.server.data("timeline", era="0.1"), {
            "xs": [1000, 1001, 1002, 1003, 1004], "size_delta": [100, 50, 70, -50, -70],
            "count_delta": [1, 1, 1, -1, -1], "allocated_size": [100, 150, 220, 170, 100],
            "allocated_count": [1, 2, 3, 2, 1], "leaked_size": [100] * 5, "leaked_count": [1] * 5})

    def test_timeline(self):
        # An interval begins every 0.3 seconds or a little later.
        answer = self.server.data("timeline", width=33)
        self.assertEqual(sorted(set(answer["allocated_size"])), [0, 100, 150, 170, 220])
        self.assertEqual((answer["xs"][0], answer["xs"][-1]), (1000000, 1010000))
        self.assertEqual(answer["allocated_size"][:4], [0, 100, 100, 150])
        self.assertEqual([delta for delta in answer["size_delta"] if delta], [100, 50, 70, -50, -70])
        self.assertEqual((sum(answer["allocations"]), sum(answer["deallocations"])), (3, 2))
        self.assertEqual(set(self.server.data("timeline_leaked", width=33)["allocated_size"]), {0, 100})
        axis = {"axis_from": "25%", "axis_to": "45%"}
        part = self.server.data("timeline", width=2, **axis)
        self.assertEqual((part["xs"], part["allocated_size"]), ([1002500, 1003500, 1004500], [220, 170, 100]))
        # With an axis, from and to are about the blocks, as everywhere else.
        part = self.server.data("timeline", width=2, **axis, **{"from": "15%", "to": "45%"})
        self.assertEqual((part["xs"], part["allocated_size"]), ([1002500, 1003500, 1004500], [70, 70, 0]))
        part = self.server.data("timeline_by", width=2, **axis, to="15%")
        self.assertEqual([series["size"] for series in part["series"]], [[100, 100]])
        for what in "timeline_maps", "timeline":
            status, _, body = self.server.ask("/data/last/" + what, axis_from="50%", axis_to="20%")
            self.assertEqual((status, body), (400, b"axis_from: is later than 'axis_to'\n"))
        status, _, body = self.server.ask("/data/last/timeline_maps", axis_from="20%", to="50%")
        self.assertEqual((status, body.split(b":")[0]), (400, b"axis_from"))
        part = self.server.data("timeline", width=2, **{"from": "25%", "to": "45%"})
        self.assertEqual((part["xs"], part["allocated_size"]), ([1002500, 1003500, 1004500], [220, 170, 100]))

    def test_leak_tree(self):
        self.assertEqual(self.server.text("/data/last/allocation_ascii_tree", lifetime="only_leaked"),
                         "SIZE    COUNT FIRST LAST SOURCE\n"
                         "    100 1     00s   00s  ▒\n"
                         "    100 1     00s   00s  └main\n"
                         "    100 1     00s   00s   └f\n\n")
        self.assertEqual(self.server.text("/data/last/allocation_ascii_tree", size_min=1000),
                         "SIZE COUNT FIRST LAST SOURCE\n\n")
        self.assertEqual(self.server.text("/data/last/allocation_ascii_tree"),
                         "SIZE    COUNT FIRST LAST SOURCE\n"
                         "    220 3     00s   02s  ▒\n"
                         "    220 3     00s   02s  └main\n"
                         "    170 2     00s   02s   ├f\n"
                         "     50 1     01s   01s   └g\n\n")

    def test_tree(self):
        tree = self.server.data("tree")
        self.assertEqual((tree["size"], tree["count"], tree["first"], tree["last"]), (220, 3, 1000, 1002))
        main, = tree["children"]
        self.assertEqual([(child["value"]["function"], child["size"], child["count"], child["first"], child["last"])
                          for child in main["children"]], [("f", 170, 2, 1000, 1002), ("g", 50, 1, 1001, 1001)])
        empty = self.server.data("tree", size_min=1000)
        self.assertEqual(empty, {"size": 0, "count": 0, "first": 2**64 - 1, "last": 0, "children": []})

    def test_first_things_that_people_ask(self):
        """The leak flame graph, the leak tree, the three biggest, call sites with many allocations that half leak."""
        self.assertEqual(self.blocks(sort_by="size", order="dsc", count=3), ["A0", "A2", "A1"])
        answer = self.server.data("allocation_groups", group_allocations_min=2, group_leaked_allocations_min="50%")
        self.assertEqual([group["backtrace_id"] for group in answer["allocations"]], [2])
        answer = self.server.data("allocation_groups", group_allocations_min=10, group_leaked_allocations_min="50%")
        self.assertEqual(answer, {"allocations": [], "total_count": 0})

    def test_heaptrack(self):
        lines = self.server.text("/data/last/export/heaptrack/any.heaptrack").splitlines()
        events = [line for line in lines if line[0] in "+-c"]
        steps = [(line[0], int(line[2:], 16)) for line in events if line[0] == "c"]
        self.assertEqual([step[1] for step in steps], sorted(step[1] for step in steps))
        self.assertEqual([line[0] for line in events if line[0] != "c"], ["+", "+", "+", "-", "-"])
        self.assertIn("c 1f4", events)


if __name__ == "__main__":
    unittest.main()
