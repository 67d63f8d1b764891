# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the kernel sampled: the answers against sums over the lines of every sample and every block."""
import json
import unittest
from collections import defaultdict

from client import TestCase
from model import ns

FIELDS = {"cpu": ("ns", "cpu_ns"), "off_cpu": ("ns", "off_cpu_ns"), "faults": ("faults", "faults")}
OF_SAMPLES = [{}, {"thread": "worker"}, {"thread": "9001"}, {"from": "20%", "to": "70%"}, {"function_regex": "^f"},
              {"negative_function_regex": "^main$"}, {"marker": "2"}, {"backtrace_depth_min": "3"}]
OF_BLOCKS = [{"size_min": "4"}, {"lifetime": "only_leaked"}, {"at": "peak"}, {"alive_at": "50%"},
             {"chain_length_min": "2"}, {"group_allocations_min": "2"}, {"address_min": "0x10"}]
ASKED_OF_SAMPLES = [("cpu", {}), ("off_cpu", {}), ("faults", {}), ("call_tree", {"events": "cpu"}), ("export/csv", {"events": "cpu"})]


class Samples(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.serve(cls.random_trace("random.dat", 7, 3000), cls.example())
        cls.id = cls.server.json("/list")[0]["id"]

    def data(self, what, **parameters):
        return self.server.data(what, self.id, **parameters)

    def lines(self, events, kind, **filters):
        text = self.server.text(f"/data/{self.id}/export/jsonl", events=events, **filters)
        return [line for line in map(json.loads, text.splitlines()) if line["type"] == kind]

    def check_stacks(self, endpoint, field, column, filters):
        sums = defaultdict(lambda: [0, 0])
        for line in self.lines(endpoint, "sample", **filters):
            sums[line["stack"]][0] += line[column]
            sums[line["stack"]][1] += 1
        answer = self.data(endpoint, **filters)
        self.assertEqual({stack["backtrace_id"]: [stack[field], stack["samples"]] for stack in answer["stacks"]},
                         dict(sums))
        self.assertTrue(sums)
        self.assertEqual([answer[field], answer["samples"]], [sum(values) for values in zip(*sums.values())])
        self.assertEqual(answer["total_count"], len(sums))
        values = [stack[field] for stack in answer["stacks"]]
        self.assertEqual(values, sorted(values, reverse=True))
        self.assertEqual(self.data(endpoint, skip=1, count=2, **filters)["stacks"], answer["stacks"][1:3])

    def test_samples_by_stack(self):
        for endpoint, (field, column) in FIELDS.items():
            for filters in OF_SAMPLES:
                with self.subTest(endpoint=endpoint, **filters):
                    self.check_stacks(endpoint, field, column, filters)

    def test_filters_of_samples(self):
        every = self.lines("cpu", "sample")
        self.assertEqual(self.lines("cpu", "sample", thread="9001"), [line for line in every if line["thread"] == 9001])
        self.assertEqual(self.lines("cpu", "sample", thread="worker"),
                         [line for line in every if line["thread_name"] == "worker"])
        limit = every[len(every) // 3]["time_ns"]
        self.assertEqual(self.lines("cpu", "sample", **{"from": f"{limit}ns"}),
                         [line for line in every if line["time_ns"] >= limit])
        self.assertTrue(0 < len(self.lines("cpu", "sample", function_regex="^f")) < len(every))

    def test_what_samples_do_not_have(self):
        for filters in OF_BLOCKS:
            for what, more in ASKED_OF_SAMPLES:
                with self.subTest(what=what, **filters):
                    status, _, body = self.server.ask(f"/data/{self.id}/{what}", **filters, **more)
                    self.assertEqual(status, 400)
                    self.assertIn(next(iter(filters)) + ": is a property of blocks", body.decode())

    def test_a_trace_without(self):
        for what in ("cpu", "off_cpu", "faults", "touched", "touched_mappings", "resident", "call_tree?events=cpu", "export/json?events=touched"):
            status, _, body = self.server.ask(f"/data/last/{what}")
            self.assertEqual(status, 404, what)
            self.assertIn("record with --events heap,", body.decode())
        usage = self.server.data("timeline_usage")
        self.assertEqual({usage[name] for name in ("cpu_ns", "cpu_samples", "resident_size", "faulted_size")}, {None})
        self.assertEqual(usage["heap_size"], self.server.data("timeline")["allocated_size"])

    def check_touched(self, filters):
        names = ("touched_bytes", "allocated_bytes", "allocations", "live_touched_bytes", "live_bytes", "live_count")
        sums = defaultdict(lambda: dict.fromkeys(names, 0))
        for line in self.lines("touched", "block", **filters):
            own = sums[line["stack"]]
            own["touched_bytes"] += line["touched_size"]
            own["allocated_bytes"] += line["size"]
            own["allocations"] += 1
            if line["free_time_ns"] is None:
                own["live_touched_bytes"] += line["touched_size"]
                own["live_bytes"] += line["size"]
                own["live_count"] += 1
        answer = self.data("touched", **filters)
        self.assertEqual({stack["backtrace_id"]: {name: stack[name] for name in names} for stack in answer["stacks"]},
                         dict(sums))
        self.assertTrue(0 < answer["touched_bytes"] <= answer["allocated_bytes"] - (not filters))

    def test_touched(self):
        for filters in ({}, {"size_min": "64"}, {"lifetime": "only_leaked"}, {"thread": "main"}, {"function_regex": "^g"}):
            with self.subTest(**filters):
                self.check_touched(filters)

    def test_trees(self):
        for events, column, kind in (("cpu", "cpu_ns", "sample"), ("touched", "touched_size", "block")):
            lines = self.lines(events, kind)
            for tree in ("call_tree", "inverted_tree", "tree"):
                with self.subTest(events=events, tree=tree):
                    answer = self.data(tree, events=events)
                    self.assertEqual(answer["size"], sum(line[column] for line in lines))
                    self.assertEqual(answer["count"], len(lines))
        self.assertEqual(self.server.ask(f"/data/{self.id}/call_tree", events="cpu", cost="live")[0], 400)
        self.assertEqual(self.server.ask(f"/data/{self.id}/export/massif", events="cpu")[0], 400)

    def test_usage(self):
        lines = self.lines("cpu", "sample")
        for width in (1, 7, 300):
            with self.subTest(width=width):
                usage, timeline = (self.data(what, width=width) for what in ("timeline_usage", "timeline"))
                self.assertEqual(sum(usage["cpu_ns"]), sum(line["cpu_ns"] for line in lines))
                self.assertEqual(sum(usage["cpu_samples"]), len(lines))
                self.assertEqual(usage["heap_size"], timeline["allocated_size"])
                self.assertEqual(usage["xs"], timeline["xs"])
                self.assertEqual(max(usage["resident_size"]), max(self.data("timeline_maps", width=width)["rss"]))
                lengths = {len(values) for values in usage.values() if isinstance(values, list)}
                self.assertEqual(lengths, {len(usage["xs"])})
        part = self.data("timeline_usage", width=10, **{"from": "30%", "to": "60%"})
        self.assertTrue(0 < sum(part["cpu_ns"]) < sum(line["cpu_ns"] for line in lines))

    def test_parts_of_resident_memory(self):
        resident, usage, summary = (self.data(what) for what in ("resident", "timeline_usage", "summary"))
        for at, size in ((resident["peak"], max(usage["resident_size"])), (resident["end"], usage["resident_size"][-1])):
            parts = {part["id"]: part["bytes"] for part in at["parts"]}
            self.assertEqual(sum(parts.values()), at["resident_bytes"])
            self.assertEqual(at["resident_bytes"], size)
            self.assertEqual(at["live_bytes"], parts["live_touched"] + at["live_untouched_bytes"])
        self.assertEqual(resident["end"]["live_bytes"], summary["live_bytes"])
        self.assertEqual(resident["end"]["time_ns"], summary["duration_ns"])
        self.assertEqual(self.data("resident", size_min="1000"), resident)  # it takes no filter

    def test_what_was_live_at_the_resident_peak(self):
        at = self.data("resident")["peak"]
        summary = self.data("summary")
        self.assertNotEqual(at["time_ns"], summary["peak_time_ns"])
        for what, more in (("totals", {}), ("call_tree", {"size_min": "64"}), ("allocations", {"count": 5})):
            self.assertEqual(self.data(what, at="peak_rss", **more), self.data(what, at=f"{at['time_ns']}ns", **more), what)
        self.assertEqual(self.data("summary", at="peak_rss")["allocated_bytes"], at["live_bytes"])
        grew = self.data("diff", base_at="peak_rss", at="peak")
        self.assertEqual((grew["base"]["size"], grew["now"]["size"]), (at["live_bytes"], summary["peak_bytes"]))
        # Without page faults.
        status, _, body = self.server.ask("/data/last/call_tree", at="peak_rss")
        self.assertEqual((status, b"at: the trace has no page faults; record with" in body), (404, True), body)
        self.assertEqual(self.server.ask("/data/last/diff", base_at="peak_rss")[0], 404)

    def test_usage_of_maps(self):
        maps = self.data("maps", with_usage_history="true", with_regions="true")["maps"]
        page = 4096
        for number, entry in enumerate(maps):
            # As make_trace touches them, before it unmaps some.
            self.assertEqual(entry["peak_rss"], (1 + number % (entry["size"] // page)) * page)
            history = entry["usage_history"]
            self.assertEqual(entry["peak_rss"], max([point["rss"] for point in history], default=0))
            times = [ns(point["timestamp"]) for point in history]
            self.assertEqual(times, sorted(times))
            self.assertTrue(not times or ns(entry["timestamp"]) <= times[0])
            if times and "deallocation" in entry:
                self.assertLessEqual(times[-1], ns(entry["deallocation"]["timestamp"]))
                self.assertEqual((history[-1]["rss"], history[-1]["address_space"]), (0, 0))
            for point in history:
                self.assertEqual(point["rss"], point["anonymous"] + point["private_clean"] + point["shared_clean"])
                self.assertLessEqual(point["rss"], point["address_space"])
        peaks = [entry["peak_rss"] for entry in self.data("maps", sort_by="peak_rss", order="dsc")["maps"]]
        self.assertEqual(peaks, sorted(peaks, reverse=True))
        least = peaks[0] // 2
        self.assertEqual([entry["peak_rss"] for entry in
                          self.data("maps", sort_by="peak_rss", order="dsc", peak_rss_min=least)["maps"]],
                         [peak for peak in peaks if peak > least])
        self.assertEqual([entry["peak_rss"] for entry in
                          self.data("maps", sort_by="peak_rss", peak_rss_max=least)["maps"]],
                         [peak for peak in reversed(peaks) if peak < least])
        self.assertEqual([entry["peak_rss"] for entry in self.server.data("maps")["maps"]],
                         [None] * len(self.server.data("maps")["maps"]))

    def test_usage_of_a_part(self):
        lines = self.lines("cpu", "sample", thread="worker")
        usage = self.data("timeline_usage", width=9, thread="worker")
        self.assertEqual(sum(usage["cpu_ns"]), sum(line["cpu_ns"] for line in lines))
        self.assertIsNone(usage["resident_size"])
        usage = self.data("timeline_usage", width=9, size_min="10")
        self.assertIsNone(usage["cpu_ns"])
        self.assertEqual(usage["heap_size"], self.data("timeline", width=9, size_min="10")["allocated_size"])


if __name__ == "__main__":
    unittest.main()
