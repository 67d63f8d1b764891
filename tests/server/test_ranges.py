# SPDX-License-Identifier: MIT OR Apache-2.0
"""Differences of two ranges of one or two traces, worked out a second time from the list of blocks."""
import unittest

from client import TestCase, seeded
from endpoints import OF_A_SERVER, QUESTIONS, Endpoints
from model import Model
from slow_trees import check_tree, paths_of

ROUNDS = 12
# Which blocks of a range count, by the model and the time of the whole trace's peak.
COSTS = {"allocated": lambda row, peak: True, "live": lambda row, peak: row.freed is None,
         "peak": lambda row, peak: row.time <= peak and (row.freed is None or row.freed > peak)}


class Ranges(Endpoints, TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        seed = seeded().randint(1, 10**6)
        cls.server = cls.serve(cls.random_trace("one.dat", seed, 2500, "1"), cls.random_trace("two.dat", seed + 1, 1500, "2"))
        cls.traces = [entry["id"] for entry in cls.server.json("/list")]
        cls.models = {trace: Model(cls.server, trace) for trace in cls.traces}

    def setUp(self):
        self.random = seeded()

    def range(self):
        low, high = sorted(self.random.sample(range(101), 2))
        return f"{low}%", f"{high}%"

    def blocks(self, trace, cost, **filter):
        model = self.models[trace]
        peak = model.peak(model.rows)[1]
        return [row for row in model.matching({name: value for name, value in filter.items() if value is not None})
                if COSTS[cost](row, peak)]

    def test_of_two_ranges(self):
        for number in range(ROUNDS):
            now, base = self.random.choice(self.traces), self.random.choice(self.traces)
            cost, by = list(COSTS)[number % 3], ("function", "library", "line")[number // 3 % 3]
            (start, end), (base_start, base_end) = self.range(), self.range()
            inverted, size = self.random.random() < 0.5, self.random.choice([None, 100])
            ranges = {"from": start, "to": end, "base_from": base_start, "base_to": base_end}
            more = {"size_min": size} if size else {}
            with self.subTest(now=now, base=base, cost=cost, by=by, inverted=inverted, **ranges, **more):
                sides = (self.blocks(base, cost, **{"from": base_start, "to": base_end}, **more),
                         self.blocks(now, cost, **{"from": start, "to": end}, **more))
                asked = {"cost": cost, **ranges, **more, **({"base": base} if base != now else {})}
                tree = self.server.data("diff_tree", now, by=by, inverted=str(inverted).lower(), nodes=100000, **asked)
                check_tree(self, tree, by, inverted, sides)
                stacks = self.server.data("diff", now, **asked)
                for side, rows in zip(("base", "now"), sides):
                    self.assertEqual(stacks[side], {"size": sum(row.size for row in rows), "count": len(rows),
                                                    "usable_size": sum(row.usable for row in rows)})
                self.assertEqual(sum(stack["size_delta"] for stack in stacks["stacks"]), stacks["size_delta"])

    def test_one_end_of_the_base(self):
        """What is not given of the base is its whole time; without either, the range is for both."""
        trace = self.traces[0]
        for ranges, base in (({"base_from": "40%"}, {"from": "40%"}), ({"base_to": "40%"}, {"to": "40%"}), ({}, {"from": "70%"})):
            answer = self.server.data("diff", trace, **{"from": "70%"}, **ranges)
            for side, filter in (("base", base), ("now", {"from": "70%"})):
                rows = self.blocks(trace, "allocated", **filter)
                self.assertEqual((answer[side]["size"], answer[side]["count"]), (sum(row.size for row in rows), len(rows)))

    def test_with_itself_and_swapped(self):
        trace = self.traces[0]
        for cost in (*COSTS, "temporary"):
            for by in ("function", "library", "line"):
                (start, end), (base_start, base_end) = self.range(), self.range()
                here, there = {"from": start, "to": end}, {"from": base_start, "to": base_end}

                def asked(now, base, what="diff_tree", **more):
                    return self.server.data(what, trace, cost=cost, **now, **{f"base_{name}": value for name, value in base.items()}, **more)
                same = asked(here, here, by=by)
                self.assertEqual((len(same["nodes"]), same["nodes"][0]["size_delta"], same["left_out_nodes"]), (1, 0, 0))
                self.assertEqual(asked(here, here, "diff")["stacks"], [])
                nodes, back = (asked(*sides, by=by, nodes=100000)["nodes"] for sides in ((here, there), (there, here)))

                def described(nodes, sign, one, other):
                    return {path: (sign * node["size_delta"], sign * node["count_delta"], sign * node["self_delta"], node["moved_size"],
                                   node[one], node[other]) for path, node in zip(paths_of(nodes, by), nodes)}
                self.assertEqual(described(nodes, 1, "base", "now"), described(back, -1, "now", "base"))
                sums = self.server.data("totals", trace, count=0, cost=cost, **here)["sum"][cost]
                self.assertEqual([nodes[0]["now"]["size"], nodes[0]["now"]["count"]], sums)

    def test_wrong_ranges_and_costs(self):
        for name, value in (("base_from", "5x"), ("base_to", "peak"), ("cost", "all"), ("by", "source")):
            status, _, body = self.server.ask("/data/last/diff_tree", **{name: value})
            self.assertEqual((status, body.decode().split()[0].rstrip(":")), (400, name), body)

    def test_ranges_that_end_before_they_begin(self):
        one, two = self.traces
        for what in ("diff", "diff_tree"):
            for asked, said in (({"from": "60%", "to": "40%", "base_from": "0%"}, "from: is later than 'to'"),
                                ({"from": "60%", "to": "40%"}, "from: is later than 'to'"),
                                ({"from": "0%", "base_from": "60%", "base_to": "40%"}, "base_from: is later than 'base_to'"),
                                ({"base": two, "base_from": "60%", "base_to": "40%"}, "base_from: is later than 'base_to'"),
                                ({"base": two, "base_from": "1000h"}, "base_from: is later than the end of the recording")):
                with self.subTest(what=what, **asked):
                    status, _, body = self.server.ask(f"/data/{one}/{what}", **asked)
                    self.assertEqual((status, body.decode()), (400, said + "\n"))
            # An instant is a range, too.
            self.server.data(what, one, **{"from": "50%", "to": "50%", "base_from": "40%", "base_to": "40%"})

    def test_filters_that_end_before_they_begin(self):
        """One sentence for all that takes the filter."""
        self.description = self.server.json("/openapi.json")
        wrong = {}
        for path, operations in self.description["paths"].items():
            names = {parameter["name"] for parameter in self.parameters(operations["get"])} if "get" in operations else set()
            if "{id}" not in path or not {"from", "to"} <= names or path.rsplit("/", 1)[-1] in OF_A_SERVER:
                continue
            status, _, body = self.server.ask(self.filled(path), **{**QUESTIONS.get(path, {}), "from": "60%", "to": "40%"})
            if (status, body) != (400, b"from: is later than 'to'\n"):
                wrong[path] = status, body
        self.assertEqual(wrong, {})

    def test_which_trace_has_sums(self):
        server = self.serve(self.path("one.dat"), self.recorded_trace("sums.dat", "/bin/true", mode="aggregate"))
        traces = {entry["holds"]: entry["id"] for entry in server.json("/list")}
        for what in ("diff", "diff_tree"):
            for now, base, begin in (("events", "sums", "base: the trace holds sums"), ("sums", "events", "the trace holds sums")):
                status, _, body = server.ask(f"/data/{traces[now]}/{what}", base=traces[base], **{"base_from": "10%", "from": "50%"})
                self.assertEqual((status, body.decode()[:len(begin)]), (422, begin))


if __name__ == "__main__":
    unittest.main()
