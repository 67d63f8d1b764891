# SPDX-License-Identifier: MIT OR Apache-2.0
"""Trees, texts, timelines and exports against the slow model, over random traces."""
import collections
import fnmatch
import itertools
import json
import re
import subprocess
import types
import unittest

from client import COMMAND, TestCase, seeded
from model import Model, NS, ns


def label(frame):
    if frame.get("source") and frame.get("line"):
        return (frame["source"], frame["line"])
    return frame.get("function") or frame["address"]


def text_of(frame):
    if "function" not in frame:
        return frame["address_s"] + (f" [{frame['library']}]" if "library" in frame else "")
    if frame.get("source") and frame.get("line"):
        return f"{frame['function']} [{frame['source'].rsplit('/', 1)[-1]}:{frame['line']}]"
    return frame["function"]


def bytes_text(size):
    if size < 1000:
        return f"{size:7}"
    unit, name = next((unit, name) for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "KB"))
                      if size >= unit)
    return f"{size // unit:3}.{size % unit * 1000 // unit:03} {name}"


def time_text(time):
    seconds = time // NS
    parts = [(seconds // 86400, "{} days "), (seconds // 3600 % 24, "{:02}h"), (seconds // 60 % 60, "{:02}m")]
    while parts and not parts[0][0]:
        del parts[0]
    return "".join(text.format(value) for value, text in parts) + f"{seconds % 60:02}s"


class Node:
    def __init__(self, frame=None):
        self.frame, self.size, self.count, self.first, self.last, self.children = frame, 0, 0, None, None, {}
        self.self_size = self.self_count = 0

    def add(self, row):
        self.size += row.size
        self.count += 1
        self.first = row.time if self.first is None else self.first
        self.last = row.time


def tree_of(rows, key, inverted=False):
    root = Node()
    for row in rows:
        at = root
        at.add(row)
        for frame in reversed(row.frames) if inverted else row.frames:
            at = at.children.setdefault(key(frame), Node(frame))
            at.add(row)
        at.self_size += row.size
        at.self_count += 1
    return root


class Trees(TestCase):
    ROUNDS = 25
    HUGE = False

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.serve(cls.random_trace("random.dat", seeded().randint(1, 10**6), 3000, huge=cls.HUGE))
        cls.model = Model(cls.server)

    def setUp(self):
        self.random = seeded()

    def filters(self):
        for i in range(self.ROUNDS):
            parameters = {} if i == 0 else self.model.random_filter(self.random)
            yield parameters, self.model.matching(parameters)

    def seconds(self, time):
        return (self.model.start + time) // NS

    def same_tree(self, answer, node):
        self.assertEqual((answer["size"], answer["count"]), (node.size, node.count))
        if node.count:
            self.assertEqual((answer["first"], answer["last"]), (self.seconds(node.first), self.seconds(node.last)))
        self.assertEqual(answer.get("value"), node.frame)
        # The first to allocate comes first.
        self.assertEqual([child["value"]["address"] for child in answer["children"]],
                         [child.frame["address"] for child in node.children.values()])
        for child, expected in zip(answer["children"], node.children.values()):
            self.same_tree(child, expected)

    def test_tree(self):
        for parameters, rows in self.filters():
            with self.subTest(**parameters):
                self.same_tree(self.server.data("tree", **parameters), tree_of(rows, lambda frame: frame["address"]))

    def lines(self, node, indent):
        children = list(node.children.values())
        for i, child in enumerate(children):
            last = i + 1 == len(children)
            yield child, indent + ("└" if last else "├") + text_of(child.frame)
            yield from self.lines(child, indent + (" " if last else "|"))

    def test_text_of_the_tree(self):
        for parameters, rows in self.filters():
            with self.subTest(**parameters):
                root = tree_of(rows, label)
                table = [("SIZE", "COUNT", "FIRST", "LAST", "SOURCE")]
                nodes = [(root, "▒")] + list(self.lines(root, "")) if rows else []
                table += [(bytes_text(node.size), str(node.count), time_text(node.first), time_text(node.last), text)
                          for node, text in nodes]
                widths = [max(len(cells[i]) for cells in table) for i in range(4)]
                expected = "".join(" ".join([cell.ljust(width) for cell, width in zip(cells, widths)] + [cells[4]]) +
                                   "\n" for cells in table) + "\n"
                self.assertEqual(self.server.text("/data/last/allocation_ascii_tree", **parameters), expected)

    def test_text_of_a_bounded_tree(self):
        whole = self.server.text("/data/last/allocation_ascii_tree").rstrip().splitlines()[2:]
        for most in (1, 5, len(whole) - 2, len(whole) - 1):
            lines = self.server.text("/data/last/allocation_ascii_tree", nodes=most).splitlines()
            shown, end = lines[2:], ""
            if not lines[-1].endswith("shows N"):
                self.assertEqual((most, [line for line in shown if line]), (len(whole) - 1, whole))
                continue
            end, shown = shown[-1], [line for line in shown[:-1] if line]
            self.assertEqual(len(shown), most)
            self.assertEqual(end, f"{len(whole) - len(shown)} more lines are left out, the smallest; nodes=N shows N")
            # Of the whole text, those with the largest numbers, in its order.
            cells = [line.split()[:4] for line in whole]
            self.assertTrue(all(line.split()[:4] in cells for line in shown))

    def test_a_tree_of_no_lines_is_refused(self):
        for endpoint in "tree", "allocation_ascii_tree":
            status, _, body = self.server.ask(f"/data/last/{endpoint}", nodes=0)
            self.assertEqual((status, b"nodes: '0' is not a whole number of at least 1" in body), (400, True), body)

    def test_folded_stacks(self):
        def text(frame):
            return (frame.get("function") or "0x" + frame["address_s"]) + f" [{frame.get('library', '???')}]"
        for parameters, rows in self.filters():
            with self.subTest(**parameters):
                expected = {}
                for row in rows:
                    key = tuple((frame["address"], text(frame)) for frame in row.frames)
                    expected[key] = expected.get(key, 0) + row.size
                lines = [line.rsplit(" ", 1) for line in
                         self.server.text("/data/last/export/flamegraph.pl", **parameters).splitlines()]
                self.assertEqual(sorted((stack, int(size)) for stack, size in lines),
                                 sorted((";".join(frame[1] for frame in key), size) for key, size in expected.items()))

    def same_functions(self, answer, node, least):
        self.assertEqual((answer["size"], answer["count"], answer["self_size"], answer["self_count"]),
                         (node.size, node.count, node.self_size, node.self_count))
        shown = sorted((child for child in node.children.values() if child.size >= least),
                       key=lambda child: (-child.size, -child.count))
        self.assertEqual([(child["size"], child["count"]) for child in answer["children"]],
                         [(child.size, child.count) for child in shown])
        self.assertEqual(answer["left_out_size"],
                         node.size - node.self_size - sum(child["size"] for child in answer["children"]))
        by_name = {name: child for name, child in node.children.items()}
        for child in answer["children"]:
            self.same_functions(child, by_name[child["function"]], least)

    def name(self, frame):
        return frame.get("function") or f"0x{frame['address'] + 1:x}"

    def test_call_trees(self):
        for parameters, rows in self.filters():
            if any("library" in frame and "function" not in frame for row in rows for frame in row.frames):
                continue
            for what in ("call_tree", "inverted_tree"):
                for least in (0, 5):
                    with self.subTest(what=what, least=least, **parameters):
                        root = tree_of(rows, self.name, what == "inverted_tree")
                        self.same_functions(self.server.data(what, least=least, **parameters), root,
                                            root.size * least // 100)

    def library(self, frame):
        return frame.get("library", "").rsplit("/", 1)[-1]

    def transformed(self, frames, transforms):
        """The frames that transforms leave of a stack; None: nothing of it is meant."""
        def function(name, frame):
            return name in transforms and re.search(transforms[name], self.name(frame))

        def library(name, frame):
            return name in transforms and any(fnmatch.fnmatchcase(self.library(frame), word)
                                              for word in transforms[name].split(","))
        if "root_function" in transforms:
            frames = list(itertools.dropwhile(lambda frame: not function("root_function", frame), frames))
            if not frames:
                return None
        kept = []
        for frame in frames:
            if function("merge_function", frame) or library("merge_library", frame):
                continue
            if library("collapse_library", frame) and kept and frame.get("library") == kept[-1].get("library"):
                continue
            names = [self.name(outer) for outer in kept]
            if "collapse_recursion" in transforms and self.name(frame) in names:
                del kept[names.index(self.name(frame)) + 1:]
            else:
                kept.append(frame)
            if function("collapse_function", frame):
                break
        return kept

    def random_transforms(self):
        names = sorted({self.name(frame) for row in self.model.rows for frame in row.frames if "function" in frame})
        libraries = sorted({self.library(frame) for row in self.model.rows for frame in row.frames} - {""})

        def function():
            return "^" + re.escape(self.random.choice(names)) + "$"

        def library():
            return self.random.choice([self.random.choice(libraries), "*o*", "no such one,*.so*"])
        choices = {"root_function": function, "merge_function": function, "merge_library": library,
                   "collapse_function": function, "collapse_library": library, "collapse_recursion": lambda: "true"}
        given = self.random.sample(sorted(choices), self.random.choice([1, 1, 2, 3]))
        return {name: choices[name]() for name in given}

    def test_transforms(self):
        changed = 0
        for parameters, rows in itertools.chain(self.filters(), self.filters()):
            if any("library" in frame and "function" not in frame for row in rows for frame in row.frames):
                continue
            transforms = self.random_transforms()
            left = [(row, self.transformed(row.frames, transforms)) for row in rows]
            left = [types.SimpleNamespace(frames=frames, size=row.size, time=row.time)
                    for row, frames in left if frames is not None]
            for what in ("call_tree", "inverted_tree"):
                with self.subTest(what=what, transforms=transforms, **parameters):
                    root = tree_of(left, self.name, what == "inverted_tree")
                    self.same_functions(self.server.data(what, least=0, **transforms, **parameters), root, 0)
                    changed += root.size != sum(row.size for row in rows) or \
                        any(a.frames != b.frames for a, b in zip(left, rows))
        self.assertGreater(changed, 4)

    def test_threads_within_trees(self):
        names = {entry["thread"]: f"{entry['name'] or 'thread'} {entry['thread']}"
                 for entry in self.server.data("summary")["thread_list"]}
        seen = set()
        for parameters, rows in self.filters():
            if any("library" in frame and "function" not in frame for row in rows for frame in row.frames):
                continue
            transforms = self.random.choice([{}, self.random_transforms()])
            left = [(row, self.transformed(row.frames, transforms)) for row in rows]
            left = [types.SimpleNamespace(frames=[{"function": names[row.thread]}] + frames, size=row.size, time=row.time)
                    for row, frames in left if frames is not None]
            seen |= {row.frames[0]["function"] for row in left}
            for what in ("call_tree", "inverted_tree"):
                with self.subTest(what=what, transforms=transforms, **parameters):
                    root = tree_of(left, self.name, what == "inverted_tree")
                    answer = self.server.data(what, split="thread", least=0, **transforms, **parameters)
                    self.same_functions(answer, root, 0)
        self.assertGreater(len(seen), 1)

    def test_transforms_of_a_sandwich(self):
        plain, merged = (self.server.data("sandwich", function="f", least=0, **more)
                         for more in ({}, {"merge_function": "^main$"}))
        self.assertIn("'function': 'main'", str(plain["callers"]))
        self.assertNotIn("'function': 'main'", str(merged["callers"]))
        for half in plain:
            self.assertEqual((plain[half]["size"], plain[half]["count"]), (merged[half]["size"], merged[half]["count"]))

    def test_transforms_of_several_costs(self):
        both = self.server.data("call_tree", least=0, cost="allocated,live", collapse_recursion="true",
                                merge_function="^g$")
        live = self.server.data("call_tree", least=0, cost="live", collapse_recursion="true", merge_function="^g$")
        self.assertEqual(both["costs"]["live"], {name: live[name] for name in both["costs"]["live"]})

        def sums(node, of, path=()):
            path += (node.get("function"),)
            yield path, of(node)
            for child in node["children"]:
                yield from sums(child, of, path)
        keys = both["costs"]["live"]
        found = sums(both, lambda node: node["costs"]["live"])
        self.assertEqual({path: costs for path, costs in found if costs["count"] or len(path) == 1},
                         dict(sums(live, lambda node: {key: node[key] for key in keys})))

    def test_a_transform_that_is_wrong(self):
        status, _, body = self.server.ask("/data/last/call_tree", merge_function="(")
        self.assertEqual(status, 400)
        self.assertIn(b"merge_function", body)

    def test_trees_are_cut(self):
        def depth(node):
            return max([1 + depth(child) for child in node["children"]], default=0)
        self.assertEqual(depth(self.server.data("call_tree", depth=2, least=0)), 2)
        one = self.server.data("call_tree", children=1, least=0)
        while one["children"]:
            self.assertEqual(len(one["children"]), 1)
            one = one["children"][0]

    def test_sandwich(self):
        for function in ("main", "f", "g"):
            through = [row for row in self.model.rows if function in [frame.get("function") for frame in row.frames]]
            answer = self.server.data("sandwich", function=function, least=0)
            for half in ("callers", "callees"):
                self.assertEqual((answer[half]["size"], answer[half]["count"]),
                                 (sum(row.size for row in through), len(through)))
            callers, callees = {}, {}
            for row in through:
                names = [self.name(frame) for frame in row.frames]
                at = names.index(function)
                if at:
                    callers[names[at - 1]] = callers.get(names[at - 1], 0) + row.size
                if at + 1 < len(names):
                    callees[names[at + 1]] = callees.get(names[at + 1], 0) + row.size
            for half, expected in (("callers", callers), ("callees", callees)):
                self.assertEqual({child["function"]: child["size"] for child in answer[half]["children"]}, expected)
        self.assertEqual(self.server.data("sandwich", function="no such one")["callers"]["count"], 0)

    def named(self, sums):
        return {name: size for name, size in sums.items() if not name.startswith(("0x", "[")) and "+0x" not in name}

    def test_sandwich_by_library(self):
        paths = sorted({frame["library"] for row in self.model.rows for frame in row.frames if frame.get("library")})
        self.assertTrue(paths)
        for wanted in paths + [path.rsplit("/", 1)[-1] for path in paths] + ["no such one"]:
            sums, callers, callees = [0, 0], {}, {}
            for row in self.model.rows:
                places = [i for i, frame in enumerate(row.frames)
                          if wanted in (frame.get("library"), frame.get("library", "").rsplit("/", 1)[-1])]
                if not places:
                    continue
                sums = [sums[0] + row.size, sums[1] + 1]
                for half, beside in ((callers, places[0] - 1), (callees, places[0] + 1)):
                    if 0 <= beside < len(row.frames):
                        neighbour = self.name(row.frames[beside])
                        half[neighbour] = half.get(neighbour, 0) + row.size
            answer = self.server.data("sandwich", function=wanted, by="library", least=0)
            for half, expected in (("callers", callers), ("callees", callees)):
                self.assertEqual([answer[half]["size"], answer[half]["count"]], sums, wanted)
                found = {child["function"]: child["size"] for child in answer[half]["children"]}
                self.assertEqual(self.named(found), self.named(expected), wanted)

    # ---- over time

    def check_timeline(self, answer, rows):
        """Where nothing happens near the edge of an interval, which is only known to the millisecond."""
        edges = [x * 10**6 - self.model.start for x in answer["xs"]]
        moments = sorted([(row.time, row.size, 1) for row in rows] +
                         [(row.freed, -row.size, -1) for row in rows if row.freed is not None])
        checked = 0
        for i in range(len(edges) - 1):
            start, end = edges[i], edges[i + 1]
            if any(-10**6 < time - edge < 2 * 10**6 for time, _, _ in moments for edge in (start, end)):
                continue
            checked += 1
            inside = [moment for moment in moments if start <= moment[0] < end]
            live, count = self.model.usage(rows, start)
            most_bytes, most_count = live, count
            for _, size, blocks in inside:
                live, count = live + size, count + blocks
                most_bytes, most_count = max(most_bytes, live), max(most_count, count)
            self.assertEqual((answer["allocated_size"][i], answer["allocated_count"][i]), (most_bytes, most_count))
            self.assertEqual((answer["allocations"][i], answer["deallocations"][i]),
                             (sum(b > 0 for _, _, b in inside), sum(b < 0 for _, _, b in inside)))
        for key in ("size", "count"):
            values = answer["allocated_" + key]
            self.assertEqual(answer[key + "_delta"], [b - a for a, b in zip([0] + values, values)])
        return checked

    def test_timelines(self):
        checked = 0
        for parameters, rows in self.filters():
            if {"from", "to"} & set(parameters):
                continue
            with self.subTest(**parameters):
                answer = self.server.data("timeline", width=self.random.choice([3, 20, 200]), **parameters)
                checked += self.check_timeline(answer, rows)
                self.assertEqual(answer["allocated_size"][-1], sum(row.size for row in rows if row.freed is None))
                self.assertEqual(sum(answer["allocations"]), len(rows))
                if rows:
                    self.assertEqual(max(answer["allocated_size"]), self.model.peak(rows)[0])
        self.assertGreater(checked, 0)

    def test_timeline_of_leaks(self):
        leaked = [row for row in self.model.rows if row.freed is None]
        answer = self.server.data("timeline_leaked", width=50)
        self.check_timeline(answer, leaked)
        self.assertEqual(answer["allocated_size"], sorted(answer["allocated_size"]))
        self.assertEqual(sum(answer["deallocations"]), 0)

    def test_seconds(self):
        answer = self.server.data("timeline", era="0.1")
        sums = {}
        for row in self.model.rows:
            sums.setdefault(self.seconds(row.time), [0, 0])
            sums[self.seconds(row.time)][0] += row.size
            sums[self.seconds(row.time)][1] += row.size if row.freed is None else 0
            if row.freed is not None:
                sums.setdefault(self.seconds(row.freed), [0, 0])
                sums[self.seconds(row.freed)][0] -= row.size
        live = leaked = 0
        points = {}
        for second in range(min(sums), max(sums) + 1):
            live, leaked = live + sums.get(second, (0, 0))[0], leaked + sums.get(second, (0, 0))[1]
            if any(near in sums for near in (second - 1, second, second + 1)):
                points[second] = (live, leaked)
        self.assertEqual(answer["xs"], list(points))
        self.assertEqual(list(zip(answer["allocated_size"], answer["leaked_size"])), list(points.values()))

    def test_fragmentation(self):
        answer = self.server.data("fragmentation_timeline")
        self.assertEqual(len(answer["xs"]), len(answer["fragmentation"]))
        for second, lost in zip(answer["xs"], answer["fragmentation"]):
            alive = [row for row in self.model.rows if self.seconds(row.time) <= second and
                     (row.freed is None or self.seconds(row.freed) > second) and row.block["in_main_arena"]]
            if not alive:
                self.assertEqual(lost, 0)
                continue
            lowest, highest = min(alive, key=lambda row: row.address), max(alive, key=lambda row: row.address)
            span = highest.address + highest.usable - (lowest.address - 8)
            self.assertEqual(lost, max(span - sum(row.usable + 8 for row in alive), 0))
        self.assertTrue(any(row.block["in_main_arena"] for row in self.model.rows))

    # ---- initialisers

    def test_initialisers(self):
        name = "__static_initialization_and_destruction_0"
        for what, constant in (("dynamic_constants", True), ("dynamic_statics", False)):
            through = [row for row in self.model.rows if row.freed is None and
                       any(name in frame.get("raw_function", "") and
                           (".constprop" in frame["raw_function"]) == constant for frame in row.frames)]
            answer = self.server.data(what)
            self.assertEqual((answer["count"], answer["size"]), (len(through), sum(row.usable for row in through)))
            self.assertEqual(sum(file["size"] for file in answer["per_file"].values()), answer["size"])
            text = self.server.text(f"/data/last/{what}_ascii_tree/any.txt")
            self.assertEqual(text.splitlines()[0].split(), ["SIZE", "COUNT", "SOURCE"])
            self.assertEqual(len(text.splitlines()) > 2, bool(through))

    # ---- exports

    def test_exports(self):
        answer = self.server.ask("/data/last/export/no_such_format")
        self.assertEqual(answer[0], 404)
        formats = answer[2].decode().split("there are ")[1].split()
        self.assertIn("flamegraph", formats)
        for name in formats:
            status, headers, body = self.server.ask(f"/data/last/export/{name}/any.file", size_min=16)
            self.assertEqual(status, 200, name)
            self.assertTrue(body, name)
            if headers["Content-Type"] == "application/json":
                json.loads(body)

    def test_transformed_exports(self):
        """Formats of stacks show the same stacks as the trees, from the server and from the command."""
        trace = self.server.json("/list")[0]["path"]
        for cost, unit in itertools.product(("allocated", "live", "peak"), ("bytes", "count")):
            transforms = self.random_transforms()
            with self.subTest(cost=cost, unit=unit, transforms=transforms):
                wanted = collections.Counter()

                def add(node, path):
                    path += (node["function"].replace(";", ":"),) if "function" in node else ()
                    wanted[path or ("[no stack]",)] += node["self_size" if unit == "bytes" else "self_count"]
                    for child in node["children"]:
                        add(child, path)
                add(self.server.data("call_tree", least=0, nodes=1000000, children=100000, depth=10000, cost=cost,
                                     **transforms), ())
                folded = self.server.text("/data/last/export/collapsed", cost=cost, unit=unit, **transforms)
                found = collections.Counter()
                for line in folded.splitlines():
                    path, value = line.rsplit(" ", 1)
                    found[tuple(path.split(";"))] += int(value)
                self.assertEqual(found, +wanted)
                options = [f"--{name.replace('_', '-')}" + (f"={value}" if name != "collapse_recursion" else "")
                           for name, value in transforms.items()]
                made = subprocess.run([COMMAND, "export", "--format=collapsed", f"--cost={cost}", f"--unit={unit}",
                                       *options, trace], check=True, stdout=subprocess.PIPE).stdout
                self.assertEqual(made.decode(), folded)
        transforms = {"collapse_recursion": "true", "merge_function": "^main$"}
        stacks = self.server.json("/data/last/export/json", **transforms)
        names = [[stacks["frames"][frame]["function"] for frame in stack["frames"]] for stack in stacks["stacks"]]
        self.assertTrue(names and all(len(stack) == len(set(stack)) and "main" not in stack for stack in names))
        self.assertEqual(sum(stack["live_bytes"] for stack in stacks["stacks"]),
                         self.server.data("call_tree", cost="live")["size"])
        self.assertEqual(stacks["transforms"], "merge_function=^main$, collapse_recursion")
        picture = self.server.text("/data/last/export/flamegraph", **transforms)
        self.assertIn("merge_function=^main$, collapse_recursion", picture)
        self.assertNotIn('data-n="main"', picture)
        for name in ("speedscope", "heapprofile", "callgrind", "perfetto"):
            self.assertNotEqual(*(self.server.ask(f"/data/last/export/{name}", **more)[2] for more in ({}, transforms)))

    def test_exports_of_blocks_have_their_own_stacks(self):
        for transforms, part in (({"merge_function": "a"}, b"merge_function=a: heaptrack contains"),
                                 ({"collapse_recursion": "true"}, b"collapse_recursion: heaptrack contains")):
            status, _, body = self.server.ask("/data/last/export/heaptrack", **transforms)
            self.assertEqual(status, 400)
            self.assertIn(part, body)
            self.assertIn(b"speedscope", body)
        trace = self.server.json("/list")[0]["path"]
        for word in ("csv", "pprof"):
            ended = subprocess.run([COMMAND, "export", f"--format={word}", "--merge-function=a", trace], check=False,
                                   capture_output=True)
            self.assertEqual((ended.returncode, ended.stdout), (1, b""))
            self.assertIn(b"merge_function=a: " + word.encode() + b" contains", ended.stderr)
        status, _, body = self.server.ask("/data/last/export/collapsed", merge_function="(")
        self.assertEqual(status, 400)
        self.assertIn(b"merge_function", body)

    def test_names_without_templates(self):
        frames = [frame for row in self.model.rows for frame in row.frames]
        self.assertTrue(any("<std" in frame.get("function", "") for frame in frames))
        stripped = [frame for block in self.server.data("allocations", strip_template_args="true")["allocations"]
                    for frame in block["backtrace"]]
        self.assertEqual({frame["function"] for frame in stripped if "List" in frame.get("function", "")},
                         {"List<...>::add(std::pair<...> const&)"})


class HugeTrees(Trees):
    """Of blocks whose sizes are too large to add up as the trace has them."""
    ROUNDS = 8
    HUGE = True


if __name__ == "__main__":
    unittest.main()
