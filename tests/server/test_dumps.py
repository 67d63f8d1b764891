# SPDX-License-Identifier: MIT OR Apache-2.0
"""Heap dumps, and folders of them, against what the report and the exports say."""
import json
import os
import subprocess
import unittest

from client import COMMAND, TestCase

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../dump/data")
FIRST = 1700000000


def run(*words, status=0):
    done = subprocess.run([COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != status:
        raise AssertionError(f"{words}: {done.returncode} {done.stderr}")
    return done.stdout if not status else done.stderr


class Dumps(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.names = sorted(os.listdir(DATA))
        cls.server = cls.serve(*(os.path.join(DATA, name) for name in cls.names))
        cls.ids = {os.path.basename(row["path"]): row["id"] for row in cls.server.json("/list")}

    def test_every_dump_that_the_report_opens(self):
        self.assertEqual(sorted(self.ids), self.names)
        rows = {row["id"]: row for row in self.server.json("/list")}
        for name, trace in self.ids.items():
            with self.subTest(name=name):
                said = json.loads(run("report", "--json", os.path.join(DATA, name)))
                summary = self.server.data("summary", trace)
                costs = summary["events"][0]["costs"]
                self.assertEqual((summary["holds"], summary["dumps"]), ("sums", "1"))
                self.assertEqual(rows[trace]["file_size"], os.path.getsize(os.path.join(DATA, name)))
                self.assertEqual(rows[trace]["allocations"], summary["allocations"] if "allocated" in costs else None)
                # The report rounds the sum of all stacks, the server each stack.
                for cost in {"live", "allocated"} & set(costs):
                    self.assertAlmostEqual(summary[cost + "_bytes"], said[cost + "_bytes"], delta=said["stacks"])
                self.assertEqual("allocated" in costs, "allocated_bytes" in said)
                if "live" in costs:
                    timeline = self.server.data("timeline", trace, width=1)
                    self.assertEqual({summary["peak_bytes"], timeline["end_size"][-1]}, {summary["live_bytes"]})
                self.assertEqual(summary["estimate"] is None, not (said.get("sample_period") or 0) > 1)

    def test_stacks_and_names(self):
        for name, trace in self.ids.items():
            for cost in {"live", "allocated"} & set(self.server.data("summary", trace)["events"][0]["costs"]):
                with self.subTest(name=name, cost=cost):
                    served = self.server.text(f"/data/{trace}/export/collapsed/stacks", cost=cost)
                    written = run("export", "--format", "collapsed", "--cost", cost, os.path.join(DATA, name))
                    self.assertEqual(sorted(served.splitlines()), sorted(written.splitlines()))
                    tree = self.server.data("call_tree", trace, cost=cost)
                    totals = self.server.data("totals", trace, by="library", cost=cost)
                    self.assertEqual(tree["size"], totals["sum"][cost][0])
                    self.assertEqual(tree["size"], sum(int(line.rsplit(" ", 1)[1]) for line in served.splitlines()))

    def test_what_a_dump_does_not_know(self):
        trace = self.ids["threads.heap"]
        self.assertEqual(self.server.ask(f"/data/{trace}/allocations")[0], 422)
        status, _, body = self.server.ask(f"/data/{trace}/call_tree", cost="temporary")
        self.assertEqual((status, b"is not known" in body), (400, True))

    def test_it_is_asked_and_written_as_a_page(self):
        path = os.path.join(DATA, "threads.heap")
        self.assertEqual(json.loads(run("ask", path, "summary"))["live_bytes"],
                         self.server.data("summary", self.ids["threads.heap"])["live_bytes"])
        if "text/html" in self.server.ask("/", {"Accept": "text/html"})[1]["Content-Type"]:
            self.assertIn('/summary":"', run("report", "--html", path))


class Series(TestCase):
    SIZES = {"dump.2.heap": 3000, "dump.10.heap": 9000, "dump.11.heap": 4000}

    @classmethod
    def write(cls, name, size, seconds=None, address=0x10000):
        os.makedirs(os.path.dirname(cls.path(name)), exist_ok=True)
        with open(cls.path(name), "w") as dump:
            dump.write("heap_v2/1\n")
            if seconds is not None:
                dump.write(f"# time: 2023-11-14T22:13:{20 + seconds:02}.500000Z\n")
            dump.write(f"  t*: 2: {size} [0: 0]\n@ 0x{address:x} 0x20000\n  t*: 1: {size - 1000} [0: 0]\n"
                       "@ 0x30000 0x20000\n  t*: 1: 1000 [0: 0]\n\nMAPPED_LIBRARIES:\n"
                       "00010000-00040000 r-xp 00000000 00:00 0  /bin/x\n")

    def write_series(self, folder):
        for place, (name, size) in enumerate(sorted(self.SIZES.items(), key=lambda item: len(item[0]))):
            self.write(f"{folder}/{name}", size, 10 * place)
        return self.path(folder)

    def test_a_folder_is_one_series(self):
        self.write_series("series")
        with open(self.path("series/.hidden"), "w") as other:
            other.write("heap_v2/1\n  t*: nonsense\n")
        server = self.serve(self.path("series"))
        summary = server.data("summary")
        self.assertEqual((summary["dumps"], summary["sums"]["ticks"]), ("3", 3))
        self.assertEqual((summary["live_bytes"], summary["peak_bytes"]), (4000, 9000))
        self.assertEqual((summary["duration_ns"], summary["peak_time_ns"]), (20 * 10**9, 10 * 10**9))
        self.assertEqual(summary["start_realtime_ns"], FIRST * 10**9 + 5 * 10**8)
        for width in (20, 4, 1000):
            timeline = server.data("timeline", width=width)
            ends = [size for at, size in enumerate(timeline["end_size"])
                    if not at or size != timeline["end_size"][at - 1]]
            self.assertEqual((ends[-1], max(timeline["allocated_size"])), (4000, 9000))
            if width > 4:
                self.assertEqual(ends, [3000, 9000, 4000])
        sums = {cost: server.data("call_tree", cost=cost)["size"] for cost in ("live", "peak")}
        self.assertEqual(sums, {"live": 4000, "peak": 9000})

    def test_a_series_is_of_one_process(self):
        """That of the last dump, by its contents or by its name as jemalloc gives it. Others are counted."""
        def write(name, size, seconds, pid=None, host="one"):
            self.write(f"processes/{name}", size, seconds)
            with open(self.path(f"processes/{name}")) as dump:
                lines = dump.read()
            with open(self.path(f"processes/{name}"), "w") as dump:
                dump.write(lines.replace("heap_v2/1\n", f"heap_v2/1\n# pid: {pid}\n" + (f"# host: {host}\n" if host else "")) if pid else lines)

        def check(pid, dumps, peak, left_out):
            summary = self.serve(self.path("processes")).data("summary")
            self.assertEqual((summary["pid"], summary["dumps"], summary["peak_bytes"]), (pid, dumps, peak))
            self.assertEqual(summary["incomplete"], f"the folder also has {left_out} left out: this is process {pid}, which wrote the "
                             "last dump; for another one, put its dumps into a folder of their own")
        write("a.heap", 3000, 0, 70)
        write("b.heap", 9000, 1, 71)
        write("c.heap", 4000, 2, 70)
        write("nobody.heap", 5000, 3)
        check(70, "3", 5000, "1 dump of other processes, which is")
        write("d.heap", 2000, 4, 70, "other")
        write("e.heap", 2000, 5, 70, "other")
        check(70, "3", 5000, "3 dumps of other processes, which are")
        write("f.heap", 8000, 4, 70, None)
        check(70, "4", 8000, "3 dumps of other processes, which are")
        for name in os.listdir(self.path("processes")):
            os.remove(self.path(f"processes/{name}"))
        write("jeprof.70.0.i0.heap", 7000, 0)
        write("jeprof.71.0.i0.heap", 2000, 1)
        write("jeprof.71.1.f.heap", 3000, 2)
        write("2026.11.30.heap", 4000, 1)
        check(71, "3", 4000, "1 dump of other processes, which is")
        said = subprocess.run([COMMAND, "diff", "--base-at", "0%", "--at", "peak", self.path("processes")], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        self.assertIn("1 dump of other processes", said.stderr)

    def test_two_instants_of_a_series(self):
        folder = self.write_series("instants")
        server = self.serve(folder)
        # Each instant has what the last dump up to it says, as the timeline does.
        for at, size in (("0%", 3000), ("9.9s", 3000), ("10s", 9000), ("peak", 9000), ("99%", 9000), ("100%", 4000), ("1h", 4000)):
            with self.subTest(at=at):
                self.assertEqual(server.data("summary", at=at)["live_bytes"], size)
                self.assertEqual(server.data("call_tree", at=at, cost="live")["size"], size)
                grew = server.data("diff", base_at="0%", at=at)
                self.assertEqual((grew["base"]["size"], grew["now"]["size"]), (3000, size))
                self.assertEqual([row["size_delta"] for row in grew["stacks"]], [size - 3000] if size != 3000 else [])
                for by in ("function", "library"):
                    self.assertEqual(server.data("diff_tree", base_at="0%", at=at, by=by)["nodes"][0]["size_delta"], size - 3000)
        self.assertEqual(server.data("diff", base_at="peak", at="0%")["size_delta"], -6000)
        self.assertEqual(server.ask("/data/last/diff", base_at="50%", size_min="8")[0], 422)

        said = json.loads(run("diff", "--format", "json", "--base-at", "0%", "--at", "peak", folder))
        dumps = [os.path.join(folder, name) for name in ("dump.2.heap", "dump.10.heap")]
        self.assertEqual(said, json.loads(run("diff", "--format", "json", *dumps)))
        self.assertIn("difference    none", run("diff", "--base-at", "15s", "--at", "peak", folder))
        self.assertIn("--base-at 1x", run("diff", "--base-at", "1x", folder, status=2))
        self.assertIn("shows one instant only", run("diff", "--base-at", "1s", dumps[0], status=2))

    @staticmethod
    def allocated(size):
        """A profile of pprof's with allocated bytes of two stacks only."""
        def field(number, content):
            return bytes([number << 3 | 2, len(content)]) + content
        samples = ((1, size), (2, 50))
        return (field(1, b"\x08\x01\x10\x02")
                + b"".join(field(2, field(1, bytes([place])) + field(2, bytes([value]))) for place, value in samples)
                + b"".join(field(4, bytes([8, place]) + field(4, bytes([8, place]))) for place, _ in samples)
                + b"".join(field(5, bytes([8, place, 16, 2 + place])) for place, _ in samples)
                + b"".join(field(6, text) for text in (b"", b"alloc_space", b"bytes", b"a", b"b")))

    def test_instants_of_dumps_without_memory_in_use(self):
        for name, write in (("collapsed", lambda size: f"main;a {size}\nmain;b 50\n".encode()), ("allocated", self.allocated)):
            os.makedirs(self.path(name))
            for number, size in ((1, 20), (2, 120)):
                with open(self.path(f"{name}/{number}"), "wb") as dump:
                    dump.write(write(size))
                os.utime(self.path(f"{name}/{number}"), (FIRST + number, FIRST + number))
            server = self.serve(self.path(name))
            for at in ("100%", "peak"):  # of what was allocated the last dump has most
                with self.subTest(name=name, at=at):
                    grew = server.data("diff", base_at="0%", at=at)
                    self.assertEqual((grew["base"]["size"], grew["size_delta"], len(grew["stacks"])), (70, 100, 1))

    def test_modules_that_move_stay_the_same(self):
        for number in range(4):
            self.write(f"moved/{number}.heap", 3000 + number, number, 0x10000 + 0x100 * (number % 2))
        server = self.serve(self.path("moved"))
        self.assertEqual(server.data("summary")["stacks"], 2)
        self.assertEqual(server.data("summary")["live_bytes"], 3003)

    def test_times_of_files_count_where_dumps_have_none(self):
        for number, seconds in ((1, 30), (2, 10), (3, 20)):
            self.write(f"files/{number}.heap", 1000 * (number + 1))
            os.utime(self.path(f"files/{number}.heap"), (FIRST + seconds, FIRST + seconds))
        summary = self.serve(self.path("files")).data("summary")
        self.assertEqual((summary["live_bytes"], summary["peak_time_ns"]), (2000, 10 * 10**9))

    def test_equal_times_are_apart(self):
        for number in (1, 2):
            self.write(f"equal/{number}.heap", 1000 * (number + 1), 0)
        summary = self.serve(self.path("equal")).data("summary")
        self.assertEqual((summary["live_bytes"], summary["duration_ns"]), (3000, 10**6))

    def test_what_is_wrong_is_said(self):
        os.makedirs(self.path("empty"))
        self.assertIn("empty", run("ask", self.path("empty"), "summary", status=1))
        self.write("broken/1.heap", 3000, 1)
        with open(self.path("broken/2.heap"), "w") as dump:
            dump.write("heap_v2/1\n  t*: 1: x\n")
        self.assertIn("2.heap", run("ask", self.path("broken"), "summary", status=1))
        with open(self.path("huge.heap"), "w") as dump:
            dump.write(f"heap_v2/1\n  t*: 1: {1 << 61} [0: 0]\n@ 0x1000\n  t*: 1: {1 << 61} [0: 0]\n")
        self.assertIn("1 EiB", run("ask", self.path("huge.heap"), "summary", status=1))


if __name__ == "__main__":
    unittest.main()
