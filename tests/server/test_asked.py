# SPDX-License-Identifier: MIT OR Apache-2.0
"""What `heapsonde ask` writes is what the server answers, byte for byte."""
import subprocess
import unittest

from client import COMMAND, TestCase, seeded
from endpoints import Endpoints, OF_A_SERVER, QUESTIONS
from model import Model


class Asked(Endpoints, TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.trace = cls.random_trace("random.dat", seeded().randint(1, 10**6), 2000)
        cls.server = cls.serve(cls.trace)
        cls.description = cls.server.json("/openapi.json")

    def ask(self, question, **parameters):
        words = [f"{name}={value}" for name, value in parameters.items()]
        return subprocess.run([COMMAND, "ask", self.trace, question, *words], capture_output=True, timeout=150)

    def same(self, question, **parameters):
        with self.subTest(question, **parameters):
            status, _, body = self.server.ask(f"/data/last/{question}", **parameters)
            asked = self.ask(question, **parameters)
            self.assertEqual((status, asked.returncode, asked.stderr), (200, 0, b""))
            self.assertEqual(asked.stdout, body)

    def test_every_question(self):
        for path in self.description["paths"]:
            what = path.removeprefix("/data/{id}/")
            if what == path or what in OF_A_SERVER or what.endswith("{name}"):
                continue
            if "{format}" not in path:
                self.same(self.filled(path).removeprefix("/data/last/"), **QUESTIONS.get(path, {}))
        self.same("export/collapsed", cost="live")

    def text(self, question, *words):
        asked = subprocess.run([COMMAND, "ask", "--text", self.trace, question, *words], capture_output=True, timeout=150)
        self.assertEqual((asked.returncode, asked.stderr), (0, b""), question)
        return asked.stdout.decode()

    def test_text_of_every_question(self):
        for path in self.description["paths"]:
            what = path.removeprefix("/data/{id}/")
            if what == path or what in OF_A_SERVER or what.endswith("{name}") or "{format}" in path:
                continue
            words = [f"{name}={value}" for name, value in QUESTIONS.get(path, {}).items()]
            text = self.text(self.filled(path).removeprefix("/data/last/"), *words)
            self.assertTrue(text, what)
            self.assertNotIn(text[0], "{[", what)
        self.assertEqual(self.text("export/collapsed"), self.ask("export/collapsed").stdout.decode())

    def test_text_has_the_rows_of_the_answer(self):
        words = "by=function", "cost=live", "sort_by=self.live.bytes", "order=dsc", "count=6"
        lines = self.text("totals", *words).split("\nrows\n")[1].splitlines()
        rows = self.server.data("totals", **dict(word.split("=") for word in words))["rows"]
        self.assertEqual(len(lines), len(rows) + 1)
        self.assertEqual(lines[0].split(), ["key", "library", "source", "self.live", "total.live"])
        for line, row in zip(lines[1:], rows):
            self.assertTrue(line.startswith(row["key"]), line)
            self.assertIn(f" in {row['total']['live'][1]}", line)

        def names(node, depth):
            yield depth, node.get("function", "everything")
            for child in node["children"]:
                yield from names(child, depth + 1)
        tree = [line[25:] for line in self.text("call_tree", "least=0").splitlines()]
        expected = list(names(self.server.data("call_tree", least=0), 0))
        self.assertEqual([((len(line) - len(line.lstrip())) // 2, line.lstrip()) for line in tree], expected)
        series = self.text("timeline", "width=7").splitlines()
        self.assertEqual(len([line for line in series if line[:1].isdigit()]), len(self.server.data("timeline", width=7)["xs"]))

    def test_filters(self):
        model, random = Model(self.server), seeded()
        for _ in range(12):
            parameters = model.random_filter(random)
            for question in "summary", "totals", "peak", "timeline", "call_tree":
                self.same(question, **parameters)

    def test_another_trace(self):
        other = self.random_trace("another trace & more.dat", seeded().randint(1, 10**6) + 1, 2000, identity="2")
        server = self.serve(other, self.trace)
        itself = server.data("summary")["trace_id"]
        [of_other] = [row["id"] for row in server.json("/list") if row["id"] != itself]
        for more in ({}, {"at": "peak", "base_at": "50%"}, {"size_min": "100", "sort_by": "count_delta", "count": "3"}):
            expected = server.ask("/data/last/diff", base=of_other, **more)
            asked = self.ask("diff", base=other, **more)
            self.assertEqual((expected[0], asked.returncode, asked.stderr), (200, 0, b""))
            self.assertEqual(asked.stdout, expected[2])
        self.assertNotEqual(asked.stdout, self.ask("diff", **more).stdout)
        quoted = other.replace(" ", "%20").replace("&", "%26")
        self.assertEqual(self.ask(f"diff?base={quoted}&count=2").stdout, self.ask("diff", base=other, count=2).stdout)
        for itself in (self.trace, "last"):
            self.assertEqual(self.ask("diff", base=itself, at="50%").stdout, self.ask("diff", at="50%").stdout)

    def test_another_trace_that_is_none(self):
        for base in self.path("nowhere.dat"), __file__, "":
            asked = self.ask("diff", base=base)
            self.assertEqual((asked.returncode, asked.stdout), (1, b""), base)
            self.assertIn(base.encode(), asked.stderr)

    def test_queries_and_words_are_one(self):
        parts = self.ask("totals?by=size&cost=live", count=2, where="size>=8 and not thread=main")
        self.assertEqual(parts.stdout, self.server.ask("/data/last/totals", by="size", cost="live", count=2,
                                                       where="size>=8 and not thread=main")[2])

    def test_what_is_wrong(self):
        for question, parameters, status, said in (
                ("totals", {"by": "colour"}, 2, b"by: 'colour' is none of"), ("total", {}, 1, b"did you mean 'totals'?"),
                ("backtrace/99999999", {}, 1, b"there is no backtrace"), ("live", {}, 1, b"no such question")):
            with self.subTest(question):
                asked = self.ask(question, **parameters)
                self.assertEqual((asked.returncode, asked.stdout), (status, b""))
                self.assertIn(said, asked.stderr)
        listed = subprocess.run([COMMAND, "ask", self.trace], capture_output=True, timeout=150)
        self.assertEqual(listed.returncode, 2)
        for path in self.description["paths"]:
            if path.startswith("/data/{id}/") and not path.endswith("/{name}") and path.removeprefix("/data/{id}/") not in OF_A_SERVER:
                self.assertIn(path.removeprefix("/data/{id}/").encode(), listed.stderr)


if __name__ == "__main__":
    unittest.main()
