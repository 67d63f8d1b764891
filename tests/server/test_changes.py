# SPDX-License-Identifier: MIT OR Apache-2.0
"""Traces that grow, change, are cut or disappear while they are served."""
import fcntl
import glob
import http.client
import json
import os
import shutil
import unittest

from client import TestCase
from model import Model



class Changes(TestCase):
    def setUp(self):
        self.good = self.example("good.dat")
        self.trace = self.random_trace("changing.dat", 1, 2000, "c")
        self.identity = "0123456789abcdef000000000000000c"
        self.server = self.serve(self.trace, self.good)

    def gone(self, why):
        status, _, body = self.server.ask(f"/data/{self.identity}/peak")
        self.assertEqual((status, why in body.decode()), (410, True), body)
        self.assertIn("changing.dat", body.decode())
        self.assertEqual(self.server.data("peak")["size"], 220)
        entry = next(entry for entry in self.server.json("/list") if entry["id"] == self.identity)
        self.assertIn(why, entry["problem"])

    def test_a_trace_that_disappears(self):
        before = self.server.data("peak", self.identity)
        os.rename(self.trace, self.path("elsewhere"))
        self.gone("gone")
        os.rename(self.path("elsewhere"), self.trace)
        self.assertEqual(self.server.data("peak", self.identity), before)

    def test_a_trace_that_changes(self):
        self.server.data("peak", self.identity)
        with open(self.trace, "ab") as file:
            file.write(bytes(64))
        self.gone("changed")

    def test_a_trace_that_is_cut(self):
        os.truncate(self.trace, 5000)
        self.gone("changed")

    def test_another_trace_in_its_place(self):
        self.random_trace("changing.dat", 2, 2000, "d")
        self.gone("changed")

    def test_a_store_that_is_cut(self):
        before = self.server.data("allocations", self.identity)
        for column in glob.glob(self.trace + ".store/*"):
            os.truncate(column, 0)
        # It is made again from the trace, which is whole.
        self.assertEqual(self.server.data("allocations", self.identity, lifetime="all"), before)
        self.assertEqual(self.server.data("peak")["size"], 220)

    def test_a_store_that_is_cut_and_cannot_be_made_again(self):
        for column in glob.glob(self.trace + ".store/*"):
            os.truncate(column, 0)
        with open(self.trace, "r+b") as file:
            file.write(bytes(4096))
        status, _, body = self.server.ask(f"/data/{self.identity}/tree")
        self.assertEqual(status, 410, body)
        self.assertEqual(self.server.data("peak")["size"], 220)

    def test_a_store_that_is_removed(self):
        before = self.server.data("tree", self.identity)
        shutil.rmtree(self.trace + ".store")
        self.assertEqual(self.server.data("tree", self.identity, size_min=0), before)


class Killed(TestCase):
    def test_a_trace_of_a_killed_process(self):
        about, = self.serve(self.random_trace("killed.dat", 7, 500, "d", killed=True)).json("/list")
        self.assertFalse(about["growing"])
        path = self.random_trace("locked.dat", 7, 500, "c", killed=True)
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            server = self.serve(path)
            self.assertTrue(server.json("/list")[0]["growing"])
        self.assertFalse(server.json("/list")[0]["growing"])


class Growing(TestCase):
    def test_a_trace_that_grows(self):
        path = self.random_trace("growing.dat", 7, 500, "e", growing=True)
        server = self.serve(path)
        about, = server.json("/list")
        self.assertTrue(about["growing"])
        before = Model(server)
        self.random_trace("growing.dat", 7, 5000, "e", growing=True)
        # It is read again, though not at every question.
        for _ in range(10**6):
            total = server.data("allocations", count=0)["total_count"]
            if total != len(before.rows):
                break
        after = Model(server)
        self.assertEqual(total, len(after.rows))
        self.assertGreater(len(after.rows), len(before.rows))
        self.assertEqual([row.address for row in after.rows[:len(before.rows)]], [row.address for row in before.rows])

    def events(self, answer):
        event = {}
        for line in answer:
            key, _, value = line.decode().rstrip("\n").partition(": ")
            if key:
                event[key] = value
            elif "event" in event:
                yield event["event"], json.loads(event["data"])
                event = {}

    def test_live(self):
        path = self.random_trace("live.dat", 9, 500, "f", growing=True)
        server = self.serve(path)
        connection = http.client.HTTPConnection(server.host, server.port, timeout=150)
        self.addCleanup(connection.close)
        connection.request("GET", "/data/last/live?interval=100")
        answer = connection.getresponse()
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "text/event-stream"))
        events = self.events(answer)
        kind, first = next(events)
        self.assertEqual((kind, first["growing"]), ("state", True))
        self.assertEqual(first["allocations"], server.data("allocations", count=0)["total_count"])
        self.random_trace("live.new", 9, 3000, "f", growing=True)
        os.rename(self.path("live.new"), path)
        kind, second = next(events)
        self.assertEqual(kind, "state")
        self.assertGreater(second["allocations"], first["allocations"])
        self.random_trace("live.new", 9, 4000, "f")
        os.rename(self.path("live.new"), path)
        kind, last = next(events)
        self.assertEqual((kind, last["growing"]), ("state", False))
        self.assertEqual(next(events)[0], "end")
        self.assertEqual(list(events), [])

    def test_live_beats_between_short_waits(self):
        server = self.serve(self.random_trace("still.dat", 9, 500, "c", growing=True))
        connection = http.client.HTTPConnection(server.host, server.port, timeout=150)
        self.addCleanup(connection.close)
        connection.request("GET", "/data/last/live?interval=100")
        answer = connection.getresponse()
        while not answer.readline().startswith(b": "):
            pass

    def test_live_ends_with_the_trace(self):
        path = self.random_trace("going.dat", 9, 500, "b", growing=True)
        server = self.serve(path)
        connection = http.client.HTTPConnection(server.host, server.port, timeout=150)
        self.addCleanup(connection.close)
        connection.request("GET", "/data/last/live?interval=100")
        events = self.events(connection.getresponse())
        self.assertEqual(next(events)[0], "state")
        os.unlink(path)
        kind, last = next(events)
        self.assertEqual((kind, "gone" in last["reason"]), ("end", True))


class Comparing(TestCase):
    def test_with_a_trace_that_grows_and_goes(self):
        path = self.random_trace("base.dat", 7, 500, "6", growing=True)
        server = self.serve(path, self.random_trace("now.dat", 2, 1500, "7"))
        base = server.json("/list")[0]["id"]
        before = server.data("diff", base=base)["base"]["count"]
        self.assertEqual(before, server.data("allocations", base, count=0)["total_count"])
        self.random_trace("base.dat", 7, 5000, "6", growing=True)
        for _ in range(10**6):
            total = server.data("allocations", base, count=0)["total_count"]
            if total != before:
                break
        self.assertEqual(server.data("diff", base=base)["base"]["count"], total)
        os.unlink(path)
        status, _, body = server.ask("/data/last/diff", base=base)
        self.assertEqual((status, "gone" in body.decode()), (410, True), body)

    def test_two_traces(self):
        server = self.serve(self.random_trace("one.dat", 1, 1500, "1"), self.random_trace("two.dat", 2, 2500, "2"))
        one, two = (entry["id"] for entry in server.json("/list"))
        answer = server.data("diff", two, base=one, lifetime="only_leaked")
        sides = {"now": server.data("allocations", two, lifetime="only_leaked")["allocations"],
                 "base": server.data("allocations", one, lifetime="only_leaked")["allocations"]}
        for key, blocks in sides.items():
            self.assertEqual(answer[key]["size"], sum(block["size"] for block in blocks))
            self.assertEqual(answer[key]["count"], len(blocks))
        self.assertEqual(sum(stack["size_delta"] for stack in answer["stacks"]), answer["size_delta"])
        self.assertEqual(answer["total_count"], len(answer["stacks"]))
        turned = server.data("diff", one, base=two, lifetime="only_leaked")
        self.assertEqual(turned["size_delta"], -answer["size_delta"])
        same = server.data("diff", one, base=one)
        self.assertEqual((same["stacks"], same["size_delta"]), ([], 0))


if __name__ == "__main__":
    unittest.main()
