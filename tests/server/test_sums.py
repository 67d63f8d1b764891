# SPDX-License-Identifier: MIT OR Apache-2.0
"""Totals, summaries, trees as columns and parts of trees, against what single blocks and nested trees say."""
import collections
import unittest

from client import TestCase, seeded

COSTS = ("live", "peak", "allocated", "temporary")
KEYS = {"function": lambda frame: frame.get("function"), "library": lambda frame: frame.get("library"),
        "source": lambda frame: frame.get("source"),
        "line": lambda frame: frame.get("source") and (frame["source"], frame.get("line", 0))}


def power(value):
    return value.bit_length()


class Sums(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.serve(cls.random_trace("random.dat", 11, 3000))
        cls.blocks = cls.server.data("allocations", count=10**9)["allocations"]
        cls.at_peak = {block["id"] for block in cls.server.data("allocations", at="peak", count=10**9)["allocations"]}

    def costs_of(self, block):
        yield "allocated"
        if "deallocation" not in block:
            yield "live"
        if block["id"] in self.at_peak:
            yield "peak"

    def expected(self, key):
        self_sums = collections.defaultdict(lambda: [0, 0])
        total_sums = collections.defaultdict(lambda: [0, 0])
        for block in self.blocks:
            names = [key(frame) for frame in block["backtrace"]]
            for cost in self.costs_of(block):
                for name in set(names) - {None}:
                    total_sums[name, cost][0] += block["size"]
                    total_sums[name, cost][1] += 1
                if names and names[-1] is not None:
                    self_sums[names[-1], cost][0] += block["size"]
                    self_sums[names[-1], cost][1] += 1
        return self_sums, total_sums

    def test_frames(self):
        for by, key in KEYS.items():
            answer = self.server.data("totals", by=by)
            self_sums, total_sums = self.expected(key)
            rows = {(row["key"], row["line"]) if by == "line" else row["key"]: row for row in answer["rows"]
                    if by != "function" or not row["key"].startswith(("0x", "["))}
            self.assertEqual(answer["total_count"], len(answer["rows"]))
            if by != "function":
                self.assertEqual(set(rows), {name for name, _ in total_sums})
            for (name, cost), sums in total_sums.items():
                if by == "function" and name not in rows:
                    continue
                with self.subTest(by=by, name=name, cost=cost):
                    self.assertEqual(rows[name]["total"][cost], sums)
                    self.assertEqual(rows[name]["self"][cost], self_sums.get((name, cost), [0, 0]))

    def test_sites(self):
        sums = collections.defaultdict(lambda: [0, 0])
        for block in self.blocks:
            innermost = block["backtrace"][-1] if block["backtrace"] else {}
            for cost in self.costs_of(block) if "function" in innermost else ():
                site = innermost["function"], innermost.get("line", 0)
                sums[site, cost][0] += block["size"]
                sums[site, cost][1] += 1
        rows = {(row["key"], row["line"]): row for row in self.server.data("totals", by="site")["rows"]}
        self.assertGreater(len(sums), 3)
        for (site, cost), expected in sums.items():
            self.assertEqual((rows[site]["self"][cost], rows[site]["total"][cost]), (expected, expected))

    def test_requesters(self):
        """Without a standard library: of every site, the function; and its library."""
        sites = self.server.data("totals", by="site")
        for by, key in (("requester", lambda row: (row["key"], row["library"], row["source"])),
                        ("requester_library", lambda row: row["library"]),
                        ("requester_line", lambda row: (row["key"], row["library"], row["source"], row["line"]))):
            answer, sums = self.server.data("totals", by=by), {}
            for row in sites["rows"]:
                if key(row) is not None:
                    for cost in COSTS:
                        to = sums.setdefault(key(row), {}).setdefault(cost, [0, 0])
                        sums[key(row)][cost] = [a + b for a, b in zip(to, row["self"][cost])]
            self.assertEqual({key(row): row["self"] for row in answer["rows"]}, sums, by)
            self.assertEqual([row["total"] for row in answer["rows"]], [row["self"] for row in answer["rows"]])
            self.assertEqual(answer["sum"], sites["sum"])

    def test_blocks(self):
        def lifetime(block):
            if "deallocation" not in block:
                return None
            ends = [time["secs"] * 10**9 + time["fract_nsecs"] for time in
                    (block["timestamp"], block["deallocation"]["timestamp"])]
            return (1 << power(ends[1] - ends[0]) >> 1)
        for by, key, name in (("size", lambda block: 1 << power(block["size"]) >> 1, "from"),
                              ("lifetime", lifetime, "from"), ("thread", lambda block: block["thread"], "thread")):
            sums = collections.defaultdict(lambda: [0, 0])
            for block in self.blocks:
                for cost in self.costs_of(block):
                    sums[key(block), cost][0] += block["size"]
                    sums[key(block), cost][1] += 1
            got = collections.defaultdict(lambda: [0, 0])
            for row in self.server.data("totals", by=by)["rows"]:
                for cost in ("allocated", "live", "peak"):
                    got[row[name], cost][0] += row["total"][cost][0]
                    got[row[name], cost][1] += row["total"][cost][1]
            self.assertEqual({key: value for key, value in got.items() if value[1]}, dict(sums), by)

    def test_one_number_everywhere(self):
        for asked in ({}, {"size_min": 100}, {"lifetime": "only_leaked"}):
            summary = self.server.data("summary", **asked)
            tree = {cost: self.server.data("call_tree", cost=cost, **asked) for cost in COSTS}
            for by in ("function", "library", "site", "thread", "size", "lifetime", "kind"):
                sums = self.server.data("totals", by=by, **asked)["sum"]
                for cost in COSTS:
                    self.assertEqual(sums[cost], [tree[cost]["size"], tree[cost]["count"]], (by, cost))
            self.assertEqual(summary["live_bytes"], tree["live"]["size"])
            self.assertEqual(summary["allocated_bytes"], tree["allocated"]["size"])
            self.assertEqual(summary["temporary_count"], tree["temporary"]["count"])
            self.assertEqual(summary["peak_bytes"], self.server.data("peak", **asked)["size"])
            timeline = self.server.data("timeline", **asked)
            self.assertEqual(timeline["end_size"][-1], tree["live"]["size"])
            self.assertEqual(sum(timeline["bytes_in"]), tree["allocated"]["size"])

    def test_order_and_pages(self):
        whole = self.server.data("totals", by="function", sort_by="total.live.bytes", order="dsc")
        sizes = [row["total"]["live"][0] for row in whole["rows"]]
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        depths = {}

        def enter(node, depth):
            for child in node["children"]:
                depths[child["function"]] = min(depth, depths.get(child["function"], depth))
                enter(child, depth + 1)
        enter(self.server.data("call_tree", cost="allocated", least=0, depth=1000), 0)
        for part, other in (("total", "self"), ("self", "total")):
            rows = self.server.data("totals", by="function", sort_by=part + ".live.bytes", order="dsc")["rows"]
            wanted = sorted(rows, key=lambda row: (-row[part]["live"][0], -row[other]["live"][0], depths[row["key"]],
                                                   row["key"]))
            self.assertEqual([row["key"] for row in rows], [row["key"] for row in wanted])
        part = self.server.data("totals", by="function", sort_by="total.live.bytes", order="dsc", skip=2, count=3)
        self.assertEqual((part["rows"], part["total_count"]), (whole["rows"][2:5], whole["total_count"]))
        one = self.server.data("totals", by="function", cost="live", sort_by="total.live.bytes", order="dsc")
        self.assertEqual([row["total"] for row in one["rows"]],
                         [{"live": row["total"]["live"]} for row in whole["rows"] if row["total"]["live"][1]])
        word = whole["rows"][0]["key"][1:4].upper()
        found = self.server.data("totals", by="function", contains=word)["rows"]
        self.assertEqual(sorted(row["key"] for row in found),
                         sorted(row["key"] for row in whole["rows"] if word in row["key"].upper()))

    def test_series_add_up(self):
        def ns(time):
            return time["secs"] * 10**9 + time["fract_nsecs"]
        for by, key in (("function", KEYS["function"]), ("library", KEYS["library"]), ("thread", None)):
            for top in (1, 3, 100):
                answer = self.server.data("timeline_by", by=by, top=top, width=37)
                self.assertLessEqual(len(answer["series"]), top)
                whole = self.server.data("timeline", width=37, size_min=0)
                self.assertEqual(answer["interval_ns"], whole["interval_ns"])
                for name, wanted in (("size", "end_size"), ("count", "end_count")):
                    sums = [sum(values) for values in
                            zip(answer["rest"][name], *(series[name] for series in answer["series"]))]
                    self.assertEqual(sums, whole[wanted][:len(sums)], (by, top, name))
            for series in answer["series"][:3]:
                if key and not series["key"].startswith(("0x", "[")) and "+0x" not in series["key"]:
                    blocks = [block for block in self.blocks
                              if block["backtrace"] and key(block["backtrace"][-1]) == series["key"]]
                elif not key:
                    blocks = [block for block in self.blocks if block["thread"] == series["thread"]]
                else:
                    continue
                start = ns(self.blocks[0]["timestamp"]) - ns(self.blocks[0]["timestamp_relative"])
                for i, size in enumerate(series["size"]):
                    end = answer["start_ns"] + (i + 1) * answer["interval_ns"]
                    live = sum(block["size"] for block in blocks if ns(block["timestamp"]) - start < end and
                               ("deallocation" not in block or ns(block["deallocation"]["timestamp"]) - start >= end))
                    if end < answer["end_ns"]:
                        self.assertEqual(size, live, (by, series["key"], i))
        part = self.server.data("timeline_by", **{"from": "25%", "to": "50%"})
        self.assertEqual(sum(series["size"][-1] for series in part["series"]) + part["rest"]["size"][-1],
                         self.server.data("timeline", **{"from": "25%", "to": "50%"}, size_min=0)["end_size"][-1])

    def test_series_are_rows_of_totals(self):
        """Under each kind of frames a series ends at what the row of the same name has live at the end."""
        for by in ("function", "library", "source", "line", "site", "requester", "requester_library", "requester_line"):
            def key(row):
                return row["key"], row.get("library"), row.get("source") if "line" in row else None, row.get("line")
            wanted = collections.Counter()
            for row in self.server.data("totals", by=by, cost="live")["rows"]:
                wanted[key(row)[:2] + key(row)[2:]] += row["self"]["live"][0]
            answer = self.server.data("timeline_by", by=by, top=100, width=7)
            found = collections.Counter()
            for series in answer["series"]:
                found[key(series)] += series["size"][-1]
            self.assertEqual(+found, +wanted, by)
            self.assertTrue(found or by in ("source", "line"), by)

    def test_address_map(self):
        for asked in ({}, {"lifetime": "only_leaked"}, {"at": "peak", "width": 7}):
            regions = self.server.data("regions", **{key: value for key, value in asked.items() if key != "width"})
            answer = self.server.data("address_map", **asked)
            if regions["main_heap_end"]:
                self.assertEqual((answer["start"], answer["end"], answer["is_main_heap"]),
                                 (regions["main_heap_start"], regions["main_heap_end"], True))
            start, end = answer["start"], answer["end"]
            spans = [(max(start, first), min(end, last)) for first, last in regions["regions"]
                     if first < end and last > start]
            self.assertEqual(answer["used_size"], sum(last - first for first, last in spans))
            self.assertEqual(answer["runs"], len(spans))
            gaps = [b - a for a, b in zip([start] + [last for _, last in spans], [first for first, _ in spans] + [end])]
            self.assertEqual(answer["largest_gap"], max(gaps))
            used = [sum(max(0, min(last, begin + answer["piece"]) - max(first, begin)) for first, last in spans)
                    for begin in range(start, end, answer["piece"])]
            self.assertEqual(answer["used"], used)
        part = self.server.data("address_map", from_address=start, to_address=start + 1000, width=10)
        self.assertEqual((part["piece"], len(part["used"]), part["is_main_heap"]), (100, 10, False))

    def test_rows_by_library(self):
        for by in "function", "library", "thread":
            for order in "asc", "dsc":
                rows = self.server.data("totals", by=by, sort_by="library", order=order)["rows"]
                libraries = [row.get("library") or "" for row in rows]
                self.assertEqual(libraries, sorted(libraries, reverse=order == "dsc"), by)
            self.assertGreater(len(set(libraries)), by == "function", by)

    # ---- trees

    def nested(self, columns):
        """What the columns say, as nested objects without what was left out."""
        nodes = []
        for at, parent in enumerate(columns["parent"]):
            node = {name: columns[name][at] for name in ("size", "count", "self_size", "self_count")}
            if columns["name"][at] >= 0:
                node["function"] = columns["strings"][columns["name"][at]]
                library = columns["library"][at]
                node["library"] = None if library < 0 else columns["strings"][library].rsplit("/", 1)[-1]
                if columns["declared"][at] >= 0:
                    node["declared"] = columns["strings"][columns["declared"][at]]
            node["children"] = []
            nodes.append(node)
            if parent >= 0:
                self.assertLess(parent, at)
                nodes[parent]["children"].append(node)
        return nodes[0]

    def plain(self, tree):
        return {**{name: value for name, value in tree.items() if not name.startswith("left_out")},
                "children": [self.plain(child) for child in tree["children"]]}

    def test_columns_are_the_same_tree(self):
        for what in ("call_tree", "inverted_tree"):
            for asked in ({}, {"least": 0}, {"cost": "live", "nodes": 7}, {"depth": 2}):
                columns = self.server.data(what, format="columns", **asked)
                nested = self.server.data(what, **asked)
                self.assertEqual(self.nested(columns), self.plain(nested))
                self.assertEqual(columns["nodes"], len(columns["parent"]))
        halves = self.server.data("sandwich", function="main", format="columns")
        nested = self.server.data("sandwich", function="main")
        for half in ("callers", "callees"):
            self.assertEqual(self.nested(halves[half]), self.plain(nested[half]))

    def sizes(self, tree):
        yield tree["size"]
        for child in tree["children"]:
            yield from self.sizes(child)

    def sums(self, tree):
        """The numbers of each node that one tree of one cost shows, by the names that lead to it."""
        def visit(node, way):
            key = way + ((node.get("function"), node.get("declared"), node.get("library")),)
            yield key, [node[name] for name in ("size", "count", "self_size", "self_count")]
            for child in node["children"]:
                yield from visit(child, key)
        return dict(visit(tree, ()))

    def check_costs(self, what, costs, halves, asked):
        answer = self.server.data(what, cost=",".join(costs), **asked)
        self.assertEqual({name: self.without_costs(answer[name]) if name else self.without_costs(answer)
                          for name in halves},
                         {name: tree[name] if name else tree for name in halves
                          for tree in [self.server.data(what, cost=costs[0], **asked)]})
        for cost in costs:
            whole = self.server.data(what, cost=cost, least=0, nodes=1000000, **{
                name: value for name, value in asked.items() if name not in ("least", "nodes", "children", "below")})
            for half in halves:
                there = self.sums(whole[half] if half else whole)
                for way, values in self.sums_of(answer[half] if half else answer, cost).items():
                    self.assertEqual(values, there.get(way, [0, 0, 0, 0]), (what, cost, way))

    def without_costs(self, tree):
        return {**{name: value for name, value in tree.items() if name not in ("costs", "children")},
                "children": [self.without_costs(child) for child in tree["children"]]}

    def sums_of(self, tree, cost):
        def chosen(node):
            return {**node, **node["costs"][cost], "children": [chosen(child) for child in node["children"]]}
        return self.sums(chosen(tree))

    def test_several_costs_at_once(self):
        every = ["allocated", "live", "peak", "temporary"]
        random = seeded()
        for what, halves, more in (("call_tree", [None], {}), ("inverted_tree", [None], {}),
                                   ("sandwich", ["callers", "callees"], {"function": "main"}),
                                   ("sandwich", ["callers", "callees"], {"function": "f"})):
            for asked in ({}, {"least": 0}, {"least": 0, "nodes": 9}, {"depth": 2}, {"size_min": 100}, {"children": 1}):
                costs = random.sample(every, random.randint(2, 4))
                with self.subTest(what, costs=costs, **asked, **more):
                    self.check_costs(what, costs, halves, {**asked, **more})
        path = {"below": "0", "least": 0}
        self.check_costs("call_tree", ["peak", "allocated"], [None], path)
        self.check_costs("inverted_tree", ["allocated", "live"], [None], path)

    def test_columns_of_several_costs(self):
        for what in ("call_tree", "inverted_tree"):
            columns = self.server.data(what, cost="peak,live", format="columns")
            self.assertEqual(list(columns["costs"]), ["peak", "live"])
            nested = self.server.data(what, cost="peak,live")
            for cost in ("peak", "live"):
                chosen = self.nested({**columns, **columns["costs"][cost]})
                self.assertEqual(self.sums(chosen), self.sums_of(nested, cost))
            self.assertNotIn("costs", self.server.data(what, cost="peak", format="columns"))

    def test_lists_of_costs_that_are_wrong(self):
        for cost, said in (("peak,", "'' is none of"), ("peak,peak", "'peak' is given twice"),
                           ("peak,price", "'price' is none of"), (",", "'' is none of")):
            status, _, body = self.server.ask("/data/last/call_tree", cost=cost)
            self.assertEqual((status, said in body.decode()), (400, True), (cost, body))

    def test_the_largest_nodes(self):
        whole = sorted(self.sizes(self.server.data("call_tree", least=0)), reverse=True)
        for nodes in (1, 2, 10, 50, len(whole), len(whole) + 5):
            part = self.server.data("call_tree", least=0, nodes=nodes)
            self.assertEqual(sorted(self.sizes(part), reverse=True), whole[:nodes])

    def test_the_tree_of_addresses_is_bounded(self):
        def sizes(node):
            for child in node["children"]:
                yield child["size"], child["value"]["is_inline"]
                yield from sizes(child)
        whole = self.server.data("tree")
        self.assertNotIn("left_out", whole)
        count = sum(not inline for _, inline in sizes(whole))
        for nodes in (1, 5, count - 1, count, count + 1):
            part = self.server.data("tree", nodes=nodes)
            kept = sorted((size for size, inline in sizes(part) if not inline), reverse=True)
            self.assertEqual(kept, sorted((size for size, inline in sizes(whole) if not inline), reverse=True)[:nodes])
            self.assertEqual(part.get("left_out", 0), max(0, count - nodes))
            self.assertEqual(part["size"], whole["size"])

    def test_below_one_node(self):
        for what in ("call_tree", "inverted_tree"):
            tree = self.plain(self.server.data(what, least=0))
            path, node = [], tree
            while node["children"]:
                path.append(len(node["children"]) // 2)
                node = node["children"][path[-1]]
                part = self.plain(self.server.data(what, least=0, below=".".join(map(str, path))))
                for _ in path:
                    self.assertEqual(len(part["children"]), 1)
                    part = part["children"][0]
                self.assertEqual(part, node)
            self.assertGreater(len(path), 1)
            self.assertEqual(self.server.ask(f"/data/last/{what}", below="99999")[0], 404)
            for wrong in ("a", "1.", ".1", "1..2", "-1", "99999999999999999999"):
                self.assertEqual(self.server.ask(f"/data/last/{what}", below=wrong)[0], 400, wrong)

    def test_light_frames(self):
        for what in ("allocations", "allocation_groups"):
            full = self.server.data(what, count=20)["allocations"]
            short = self.server.data(what, count=20, frames="short")["allocations"]
            none = self.server.data(what, count=20, frames="none")["allocations"]
            for one, other, empty in zip(full, short, none):
                self.assertEqual(other["backtrace"], one["backtrace"][-len(other["backtrace"]):])
                self.assertEqual(empty["backtrace"], [])
                self.assertEqual(empty["backtrace_id"], one["backtrace_id"])

    def test_recording(self):
        answer = self.server.data("recording")
        self.assertIn("missing_symbols", answer)
        self.assertIn("cut_stacks", answer)


if __name__ == "__main__":
    unittest.main()
