# SPDX-License-Identifier: MIT OR Apache-2.0
"""What `heapsonde ask` writes is what the server answers, byte for byte."""
import subprocess
import unittest

from client import COMMAND, TestCase, seeded
from endpoints import Endpoints, QUESTIONS
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
            if what == path or what == "live" or what.endswith("{name}"):
                continue
            if "{format}" not in path:
                self.same(self.filled(path).removeprefix("/data/last/"), **QUESTIONS.get(path, {}))
        self.same("export/collapsed", cost="live")

    def test_filters(self):
        model, random = Model(self.server), seeded()
        for _ in range(12):
            parameters = model.random_filter(random)
            for question in "summary", "totals", "peak", "timeline", "call_tree":
                self.same(question, **parameters)

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
            if path.startswith("/data/{id}/") and not path.endswith(("/live", "/{name}")):
                self.assertIn(path.removeprefix("/data/{id}/").encode(), listed.stderr)


if __name__ == "__main__":
    unittest.main()
