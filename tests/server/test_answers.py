# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lists against the slow model: blocks, groups, stacks, regions, peaks, over random traces and a recorded one."""
import json
import os
import subprocess
import sys
import unittest

from client import COMMAND, TestCase, seeded
from model import Model, NS, ns

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "format"))
import trace_events  # noqa: E402
import trace_file  # noqa: E402

GROUP_KEYS = [f"{half}.{member}" for half in ("only_matched", "all") for member in (
    "min_timestamp", "max_timestamp", "interval", "allocated_count", "leaked_count", "leaked_size", "size")]
GROUP_KEYS.append("all.max_total_usage_first_seen_at")


def blocks_of_trace(path):
    """(address, size, usable, return addresses, whether it was freed) of every block in the order of time."""
    with open(path, "rb") as file:
        data = file.read()
    header = trace_file.Header(data)
    chunks = trace_file.use_slots(trace_file.read_chunks(data, header), header)
    nodes, blocks, live = trace_file.nodes_of(chunks), [], {}
    events = [c for c in chunks if c["kind"] == trace_file.EVENTS]
    for _, _, _, _, phase, event in trace_file.history(events, header):
        ended = None
        if event["kind"] == trace_events.FREE or phase == "end":
            ended = live.pop(event["address"] if event["kind"] == trace_events.FREE else event["old"], None)
        elif event["kind"] in (trace_events.MALLOC, trace_events.CALLOC, trace_events.ALIGNED, trace_events.REALLOC):
            stack = event["stack"] if event["stack"] in nodes else 0
            block = [event["address"], event["size"], event["usable"], trace_file.frames_of(stack, nodes), False]
            ended = live.pop(event["address"], None)
            live[event["address"]] = block
            blocks.append(block)
        if ended:
            ended[4] = True
    return [tuple(block) for block in blocks]


class Answers:
    """The tests, for classes that make a trace."""
    ROUNDS = 40

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.trace = cls.make()
        cls.server = cls.serve(cls.trace)
        cls.model = Model(cls.server)

    def setUp(self):
        self.random = seeded()

    def filters(self):
        for i in range(self.ROUNDS):
            parameters = {} if i == 0 else self.model.random_filter(self.random)
            yield parameters, self.model.matching(parameters)

    def test_blocks_are_those_of_the_second_reader(self):
        def addresses(row):
            return tuple(frame["address"] + 1 for frame in reversed(row.frames) if not frame["is_inline"])
        mine = [(row.address, row.size, row.usable, addresses(row), row.freed is not None) for row in self.model.rows]
        self.assertEqual(len(mine), len(blocks_of_trace(self.trace)))
        # Blocks of one instant may be in either order.
        self.assertEqual(sorted(mine), sorted(blocks_of_trace(self.trace)))
        times = [row.time for row in self.model.rows]
        self.assertEqual(times, sorted(times))
        self.assertEqual([row.id for row in self.model.rows], sorted(row.id for row in self.model.rows))

    def test_pages_of_blocks(self):
        for parameters, rows in self.filters():
            with self.subTest(**parameters):
                key = self.random.choice(["timestamp", "address", "size", "lifetime"])
                order = self.random.choice(["asc", "dsc"])
                skip, count = self.random.choice([(0, 5), (3, 10), (len(rows), 2), (1, 10**6)])
                answer = self.server.data("allocations", sort_by=key, order=order, skip=skip, count=count, **parameters)
                expected = self.model.sorted_rows(rows, key, order)[skip:skip + count]
                self.assertEqual(answer["total_count"], len(rows))
                self.assertEqual([block["id"] for block in answer["allocations"]], [row.id for row in expected])
                self.assertEqual(answer["allocations"], [row.block for row in expected])

    def test_every_order_of_blocks(self):
        for key in ("timestamp", "address", "size", "lifetime"):
            for order in ("asc", "dsc"):
                with self.subTest(key=key, order=order):
                    answer = self.server.data("allocations", sort_by=key, order=order, count=10**6)
                    self.assertEqual([block["id"] for block in answer["allocations"]],
                                     [row.id for row in self.model.sorted_rows(self.model.rows, key, order)])

    def check_half(self, half, group):
        self.assertEqual((half["size"], half["usable_size"], half["min_size"], half["max_size"]),
                         (group.size, group.usable, group.smallest, group.largest))
        self.assertEqual((half["allocated_count"], half["leaked_count"]), (group.count, group.leaked))
        self.assertEqual((ns(half["min_timestamp_relative"]), ns(half["max_timestamp_relative"]), ns(half["interval"])),
                         (group.first, group.last, group.interval))

    def test_pages_of_groups(self):
        for parameters, rows in self.filters():
            with self.subTest(**parameters):
                key, order = self.random.choice(GROUP_KEYS), self.random.choice(["asc", "dsc"])
                skip, count = self.random.choice([(0, 3), (2, 5), (0, 10**6)])
                answer = self.server.data("allocation_groups", sort_by=key, order=order, skip=skip, count=count,
                                          **parameters)
                stacks, matched = self.model.sorted_groups(rows, key, order)
                self.assertEqual(answer["total_count"], len(stacks))
                self.assertEqual([group["backtrace_id"] for group in answer["allocations"]], stacks[skip:skip + count])
                for group in answer["allocations"]:
                    stack = group["backtrace_id"]
                    self.check_half(group["only_matched"], matched[stack])
                    self.check_half(group["all"], self.model.groups[stack])
                    self.assertEqual(ns(group["all"]["max_total_usage_first_seen_at_relative"]),
                                     self.model.groups[stack].largest_usage_time())
                    self.assertEqual(group["backtrace"], matched[stack].rows[0].frames)

    def test_every_order_of_groups(self):
        for key in GROUP_KEYS:
            for order in ("asc", "dsc"):
                with self.subTest(key=key, order=order):
                    answer = self.server.data("allocation_groups", sort_by=key, order=order)
                    self.assertEqual([group["backtrace_id"] for group in answer["allocations"]],
                                     self.model.sorted_groups(self.model.rows, key, order)[0])

    def test_stacks(self):
        for parameters, rows in self.filters():
            with self.subTest(**parameters):
                answer = self.server.data("backtraces", **parameters)
                stacks = {row.stack: row.frames for row in rows}
                self.assertEqual(answer["total_count"], len(stacks))
                self.assertEqual(answer["backtraces"], [stacks[stack] for stack in sorted(stacks)])
                for skip, count in ((0, 3), (2, 5), (len(stacks), 1), (1, 0)):
                    page = self.server.data("backtraces", skip=skip, count=count, **parameters)
                    self.assertEqual(page, {"backtraces": answer["backtraces"][skip:skip + count],
                                            "total_count": len(stacks)})
        for row in self.random.sample(self.model.rows, 20):
            self.assertEqual(self.server.data(f"backtrace/{row.stack}"), {"frames": row.frames})

    def test_frames_count_allocations(self):
        passing = {}
        for row in self.model.rows:
            for address in {frame["address"] for frame in row.frames}:
                passing[address] = passing.get(address, 0) + 1
        for row in self.model.rows:
            for frame in row.frames:
                if frame["address"]:
                    self.assertEqual(frame["count"], passing[frame["address"]])

    def test_regions(self):
        for parameters, rows in self.filters():
            with self.subTest(**parameters):
                if any(row.block["is_mmaped"] for row in rows):
                    continue
                answer = self.server.data("regions", **parameters)
                self.assertEqual(answer["regions"], self.model.regions(rows, 8))
                self.assertEqual(answer["main_heap_start_s"], f"{answer['main_heap_start']:016X}")

    def test_peak(self):
        for parameters, rows in self.filters():
            with self.subTest(**parameters):
                answer = self.server.data("peak", **parameters)
                self.assertEqual((answer["size"], ns(answer["timestamp_relative"])), self.model.peak(rows))

    def test_peak_of_a_part_of_the_time(self):
        for parameters, rows in self.filters():
            low, high = sorted(self.random.choices(range(101), k=2))
            with self.subTest(low=low, high=high, **parameters):
                axis = {"axis_from": f"{low}%", "axis_to": f"{high}%"}
                start, end = map(self.model.percent, axis.values())
                answer = self.server.data("peak", **axis, **parameters)
                best = (*self.model.usage(rows, start), start)
                for time in sorted({row.time for row in rows if start < row.time <= end}):
                    size, count = self.model.usage(rows, time)
                    if size > best[0]:
                        best = size, count, time
                at = ns(answer["timestamp_relative"])
                self.assertEqual((answer["size"], answer["count"], at if best[0] else None), (*best[:2], best[2] if best[0] else None))
        self.assertEqual(self.server.data("peak", axis_from="0%", axis_to="100%"), self.server.data("peak"))
        status, _, body = self.server.ask("/data/last/peak", axis_from="60%", axis_to="40%")
        self.assertEqual((status, body), (400, b"axis_from: is later than 'axis_to'\n"))

    def test_at_the_peak(self):
        _, time = self.model.peak(self.model.rows)
        blocks = self.server.data("allocations", at="peak")["allocations"]
        self.assertEqual(sum(block["size"] for block in blocks), self.server.data("peak")["size"])
        self.assertEqual([block["id"] for block in blocks],
                         [row.id for row in self.model.rows
                          if row.time <= time and (row.freed is None or row.freed > time)])

    def test_raw(self):
        self.assertEqual(self.server.data("raw_allocations"),
                         [{"backtrace": [frame["address_s"] for frame in row.frames if not frame["is_inline"]]}
                          for row in self.model.rows])

    def test_generations(self):
        for parameters, rows in self.filters():
            with self.subTest(**parameters):
                parts = self.random.choice([1, 2, 7])
                for generation in self.server.data("generations", parts=parts, **parameters)["generations"]:
                    start, end = ns(generation["from_relative"]), ns(generation["to_relative"])
                    made = [row for row in rows if start <= row.time < end or (row.time == end == self.model.end)]
                    stayed = [row for row in made if row.freed is None or row.freed > end]
                    leaked = [row for row in made if row.freed is None]
                    for key, those in (("allocated", made), ("there_at_its_end", stayed), ("there_at_the_end", leaked)):
                        self.assertEqual(generation[key], {"size": sum(row.size for row in those), "count": len(those)})

    def test_difference(self):
        for at, base in (("50%", "20%"), ("peak", "90%"), ("30%", "30%")):
            answer = self.server.data("diff", at=at, base_at=base)
            sides = {}
            for key, instant in (("now", at), ("base", base)):
                blocks = self.server.data("allocations", at=instant, count=10**6)["allocations"]
                self.assertEqual(answer[key], {"size": sum(b["size"] for b in blocks),
                                               "usable_size": sum(b["usable_size"] for b in blocks),
                                               "count": len(blocks)})
                sides[key] = blocks
            self.assertEqual(sum(stack["size_delta"] for stack in answer["stacks"]), answer["size_delta"])
            self.assertEqual(sum(stack["count_delta"] for stack in answer["stacks"]), answer["count_delta"])
            changes = [abs(stack["size_delta"]) for stack in answer["stacks"]]
            self.assertEqual(changes, sorted(changes, reverse=True))

            def key(frames):
                return tuple((f.get("function") or (f.get("library", f["address"])), f.get("library")) for f in frames)
            for stack in answer["stacks"]:
                if any("function" not in frame for frame in stack["backtrace"]):
                    continue
                for side in ("now", "base"):
                    those = [b for b in sides[side] if key(b["backtrace"]) == key(stack["backtrace"])]
                    self.assertEqual(stack[side]["size"], sum(b["size"] for b in those))


class RandomTrace(Answers, TestCase):
    @classmethod
    def make(cls):
        return cls.random_trace("random.dat", seeded().randint(1, 10**6), 3000)

    def test_marks_divide_generations(self):
        answer = self.server.data("generations")["generations"]
        self.assertEqual([generation["mark"] for generation in answer], [None, "mark", "mark", "mark"])
        self.assertEqual([generation["value"] for generation in answer], [0, 1, 2, 3])
        self.assertEqual(sum(generation["allocated"]["count"] for generation in answer), len(self.model.rows))

    def test_mappings(self):
        maps = self.server.data("maps")
        self.assertEqual(maps["total_count"], len(maps["maps"]))
        operations = self.server.data("mmaps")["operations"]
        made = [entry["mmap"] for entry in operations if "mmap" in entry]
        gone = [entry["munmap"] for entry in operations if "munmap" in entry]
        self.assertEqual(len(made), 40)
        self.assertTrue(gone)
        times = [ns(next(iter(entry.values()))["timestamp"]) for entry in operations]
        self.assertEqual(times, sorted(times))
        left = sum(entry["length"] for entry in made) - sum(entry["length"] for entry in gone)
        self.assertEqual(maps["total_count"], len(made))
        self.regions(made, left)
        for entry in made + gone:
            self.assertEqual(entry["pointer_s"], f"{entry['pointer']:016X}")
        for flag in ("readable", "writable", "executable"):
            chosen = self.server.data("maps", **{flag: "only_true"})["maps"]
            self.assertEqual([entry["id"] for entry in chosen],
                             [entry["id"] for entry in maps["maps"] if entry["is_" + flag]])
        # As clients of other recorders ask: nothing is jemalloc's here, or the recorder's own.
        for flag in ("jemalloc", "bytehound"):
            self.assertEqual(self.server.data("maps", **{flag: "only_true"})["maps"], [])
            self.assertEqual(self.server.data("maps", **{flag: "only_false"}), maps)
        self.assertEqual(self.server.data("maps", where="size>=8K and not size>=12K or to=50%")["maps"],
                         [entry for entry, whole in zip(maps["maps"], self.server.data("maps", with_regions="true")["maps"])
                          if any(8192 <= region["size"] < 12288
                                 or ns(region["timestamp_relative"]) <= self.model.end // 2
                                 for region in whole["regions"])])
        for entry in self.random.sample(maps["maps"], 5):
            whole = self.server.data(f"map/{entry['id']}")
            self.assertEqual({**entry, "regions": whole["regions"], "usage_history": whole["usage_history"],
                              "blocks": whole["blocks"]}, whole)
            listed = self.server.data("maps", id=entry["id"], with_regions="true", with_usage_history="true")["maps"]
            self.assertEqual(listed, [{key: value for key, value in whole.items() if key != "blocks"}])
            for cost, lifetime in (("allocated", "all"), ("live", "only_leaked")):
                blocks = self.server.data("allocations", from_map=entry["id"], lifetime=lifetime)["allocations"]
                self.assertEqual(whole["blocks"][cost], [sum(block["size"] for block in blocks), len(blocks)])
        for number in ("no", maps["maps"][0]["id"] + 10**9):
            self.assertEqual(self.server.ask(f"/data/last/map/{number}")[0], 404)
        one = maps["maps"][3]
        self.assertEqual(self.server.data("maps", id=one["id"])["maps"], [one])
        self.assertEqual([entry["size"] for entry in self.server.data("maps", sort_by="size", order="dsc")["maps"]],
                         sorted((entry["size"] for entry in maps["maps"]), reverse=True))
        self.check_orders_of_maps(maps["maps"])
        timeline = self.server.data("timeline_maps", width=10)
        self.assertEqual(timeline["address_space"][-1], left)
        began = self.server.data("summary")["start_realtime_ns"] + timeline["start_ns"]
        ends = [began + i * timeline["interval_ns"] for i in range(10)] + [began + timeline["end_ns"]]
        self.assertEqual(timeline["xs"], [end // 10**6 for end in ends])
        # The first recorders had no such timeline: it has no other form for them.
        self.assertEqual(self.server.data("timeline_maps", width=10, era="0.1"), timeline)

    def check_orders_of_maps(self, maps):
        flags = "is_readable", "is_writable", "is_executable", "is_shared"
        keys = {"name": lambda entry: entry["name"], "rights": lambda entry: [entry[flag] for flag in flags],
                "lifetime": lambda entry: ns(entry["deallocation"]["timestamp"]) - ns(entry["timestamp"])
                if "deallocation" in entry else float("inf")}
        for sort_by, key in keys.items():
            expected = sorted(maps, key=lambda entry: (key(entry), entry["id"]))
            self.assertEqual(self.server.data("maps", sort_by=sort_by)["maps"], expected, sort_by)
            self.assertEqual(self.server.data("maps", sort_by=sort_by, order="dsc")["maps"], expected[::-1], sort_by)

    def regions(self, made, left):
        """A part that is unmapped ends a region, and what is left is another one of the same map."""
        parts, split = 0, 0
        for entry in self.server.data("maps", with_regions="true")["maps"]:
            regions, all_ended = entry["regions"], True
            self.assertEqual((regions[0]["address"], regions[0]["size"]), (entry["address"], entry["size"]))
            for region in regions:
                if "deallocation" not in region:
                    parts += region["size"]
                    all_ended = False
                    continue
                ended = region["deallocation"]
                gone = sum(source["length"] for source in ended["sources"])
                rest = sum(other["size"] for other in regions[1:] if other["timestamp"] == ended["timestamp"]
                           and region["address"] <= other["address"] < region["address"] + region["size"]
                           and other is not region)
                self.assertEqual(gone + rest, region["size"])
            self.assertEqual("deallocation" in entry, all_ended)
            if all_ended:
                self.assertEqual(ns(entry["deallocation"]["timestamp"]),
                                 max(ns(region["deallocation"]["timestamp"]) for region in regions))
            split += len(regions) > 1
        self.assertEqual(parts, left)
        self.assertTrue(split)

    def test_pages_of_what_is_listed(self):
        for what, key in (("regions", "regions"), ("mmaps", "operations"), ("maps", "maps"), ("mallopts", None),
                          ("raw_allocations", None)):
            whole = self.server.data(what, count=10**9)
            whole = whole[key] if key else whole
            for skip, count in ((0, 2), (1, 3), (len(whole) - 1, 5), (len(whole) + 1, 1), (2, 0)):
                with self.subTest(what, skip=skip, count=count):
                    page = self.server.data(what, skip=skip, count=count)
                    if key:
                        self.assertEqual(page["total_count"], len(whole))
                        self.assertNotIn("next_skip", page)
                        page = page[key]
                    self.assertEqual(page, whole[skip:skip + count])

    def test_options_of_malloc(self):
        options = self.server.data("mallopts")
        self.assertEqual([(option["raw_param"], option.get("param")) for option in options],
                         [(0, None), (-2, "M_TOP_PAD"), (-4, "M_MMAP_MAX"), (-6, "M_PERTURB"), (-8, "M_ARENA_MAX")])
        self.assertEqual({(option["value"], option["result"]) for option in options}, {(7, 1)})


class BareArrays(TestCase):
    def follow(self, server, what):
        """All pages of a bare array, the lengths of their answers, and where they began."""
        entries, lengths, skip = [], [], 0
        while skip is not None:
            page = server.text(f"/data/last/{what}", skip=skip)
            lengths.append(len(page))
            page = json.loads(page)
            self.assertTrue(page)
            self.assertFalse(any("next_skip" in entry for entry in page[:-1]))
            skip = page[-1].pop("next_skip", None)
            entries += page
            self.assertIn(skip, (None, len(entries)))
        return entries, lengths

    def test_bare_arrays_are_bounded(self):
        server = self.serve(self.random_trace("many.dat", 3, 120000))
        for what in ("raw_allocations", "mallopts"):
            whole = server.data(what, count=10**9)
            entries, lengths = self.follow(server, what)
            self.assertEqual(entries, whole)
            self.assertLessEqual(max(lengths), 4 << 20)
            if what == "raw_allocations":
                self.assertGreater(len(lengths), 1)
                self.assertNotIn("next_skip", server.text(f"/data/last/{what}", count=3))


class HugeTrace(RandomTrace):
    """Of blocks whose sizes are too large to add up as the trace has them."""
    ROUNDS = 10

    @classmethod
    def make(cls):
        return cls.random_trace("huge.dat", seeded().randint(1, 10**6), 3000, huge=True)

    def test_blocks_are_those_of_the_second_reader(self):
        said = blocks_of_trace(self.trace)
        sizes, said_sizes = sorted(row.size for row in self.model.rows), sorted(block[1] for block in said)
        self.assertEqual(len(sizes), len(said))
        self.assertTrue(all(size <= most for size, most in zip(sizes, said_sizes)))
        self.assertEqual([size for size in sizes if size < 1 << 26], [size for size in said_sizes if size < 1 << 26])
        self.assertGreater(sum(said_sizes), 1 << 64)
        self.assertLessEqual(sum(row.usable for row in self.model.rows), 1 << 62)

    def test_report(self):
        words = [COMMAND, "report", self.trace]
        report = json.loads(subprocess.run(words + ["--json"], check=True, capture_output=True).stdout)
        sizes = [block[1] for block in blocks_of_trace(self.trace)]
        self.assertGreaterEqual(report["capped_numbers"], sum(size > 1 << 62 for size in sizes))
        self.assertEqual(report["allocated_bytes"], sum(row.size for row in self.model.rows))
        self.assertEqual(report["allocated_usable_bytes"], sum(row.usable for row in self.model.rows))
        self.assertEqual(report["live_bytes"], sum(row.size for row in self.model.rows if row.freed is None))
        text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        self.assertRegex(text, r"capped +\S+ numbers of the trace")


class LongList(TestCase):
    """Pages at the beginning and further in are found in different ways."""
    MOST = 4 << 20

    def test_no_list_is_long_unless_asked_for(self):
        server = self.serve(self.random_trace("long.dat", seeded().randint(1, 10**6), 40000))
        asked = {"allocations": ("allocations", {}), "allocation_groups": ("allocations", {}),
                 "backtraces": ("backtraces", {}), "diff": ("stacks", {"base_at": "10%"}), "totals": ("rows", {}),
                 "maps": ("maps", {"with_regions": "true"}), "mmaps": ("operations", {}), "regions": ("regions", {})}
        cut = 0
        for what, (key, parameters) in asked.items():
            with self.subTest(what):
                whole = server.data(what, count=10**9, **parameters)
                self.assertNotIn("next_skip", whole)
                self.assertEqual(len(whole[key]), whole["total_count"])
                parts, skip = [], 0
                while skip is not None:
                    body = server.text(f"/data/last/{what}", skip=skip, **parameters)
                    self.assertLessEqual(len(body), self.MOST)
                    part = json.loads(body)
                    self.assertEqual(part["total_count"], whole["total_count"])
                    parts += part[key]
                    skip, before = part.get("next_skip"), skip
                    self.assertEqual(skip is None, len(parts) == whole["total_count"])
                    if skip is not None:
                        cut += 1
                        self.assertGreater(skip, before)
                        self.assertEqual(skip, len(parts))
                self.assertEqual(parts, whole[key])
        self.assertGreater(cut, 1)

    def test_pages_are_parts_of_the_list(self):
        server = self.serve(self.random_trace("long.dat", seeded().randint(1, 10**6), 24000))
        for order in ({"sort_by": "size", "order": "dsc"}, {"sort_by": "lifetime"}):
            whole = [block["id"] for block in server.data("allocations", count=10**6, **order)["allocations"]]
            self.assertGreater(len(whole), 9000)
            for skip, count in ((0, 10), (1020, 10), (1023, 1024), (100, 3000), (8191, 100), (8192, 100),
                                (len(whole) - 3, 10), (len(whole) + 5, 3)):
                page = server.data("allocations", skip=skip, count=count, **order)["allocations"]
                self.assertEqual([block["id"] for block in page], whole[skip:skip + count], (order, skip, count))


class RecordedTrace(Answers, TestCase):
    ROUNDS = 15

    @classmethod
    def make(cls):
        statement = ("create table t(a, b); with recursive c(x) as (values(1) union all select x + 1 from c "
                     "where x < 300) insert into t select x, hex(x) from c; select count(*) from t order by b;")
        return cls.recorded_trace("recorded.dat", "sqlite3", ":memory:", statement)


if __name__ == "__main__":
    unittest.main()
