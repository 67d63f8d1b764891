# SPDX-License-Identifier: MIT OR Apache-2.0
"""explain=1: which indexes answer a question, and that an index changes what is read but not the answer."""
import json
import subprocess
import unittest

import jsonschema

from client import COMMAND, TestCase
from endpoints import Endpoints, OF_A_SERVER, QUESTIONS


class Explain(Endpoints, TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.trace = cls.random_trace("random.dat", 11, 3000)

    def setUp(self):
        # One that keeps nothing of what other cases have asked.
        self.server = self.serve(self.trace)
        self.description = self.server.json("/openapi.json")
        self.schema = {"$ref": "#/components/schemas/Explanation", "components": self.description["components"]}

    def explained(self, question, **parameters):
        status, headers, body = self.server.ask(question, explain=1, **parameters)
        self.assertEqual((status, headers["Content-Type"]), (200, "application/json"), body[:200])
        answer = json.loads(body)
        jsonschema.Draft202012Validator(self.schema).validate(answer)
        return [(part["asked"], part["answered_by"]) for part in answer["parts"]]

    def ask(self, question, **parameters):
        return self.explained(f"/data/last/{question}", **parameters)

    def wait_for_indexes(self):
        # The last one that is made.
        while ("page", "sorted_index") not in self.ask("allocations", sort_by="lifetime"):
            pass

    def test_every_endpoint_of_a_trace_explains(self):
        for path, operations in self.description["paths"].items():
            named = [parameter["name"] for parameter in self.parameters(operations["get"])]
            with self.subTest(path):
                self.assertEqual("explain" in named, path.startswith("/data/") and path.removeprefix("/data/{id}/") not in OF_A_SERVER)
                if "explain" in named and not ("{map}" in path and self.first_map() == "none"):
                    filled, more = self.filled(path), QUESTIONS.get(path, {})
                    plain = self.server.ask(filled, **more)
                    if plain[0] == 200:
                        self.explained(filled, **more)
                        self.assertEqual(self.server.ask(filled, explain=0, **more)[2], plain[2])

    def test_the_index_that_answers(self):
        self.wait_for_indexes()
        for question, parameters, parts in (
                ("allocation_groups", {}, {("totals", "stack_totals")}),
                ("allocation_groups", {"size_min": 9}, {("totals", "rollups")}),
                ("allocation_groups", {"from": "10%", "to": "80%"}, {("totals", "rollups")}),
                ("allocation_groups", {"lifetime_min": "3ns"}, {("totals", "lifetime_rollups")}),
                ("allocation_groups", {"where": "size>=9 or lifetime>=3ns"}, {("totals", "scan")}),
                ("timeline", {}, {("timeline", "pyramid")}), ("timeline", {"size_min": 9}, {("timeline", "event_log")}),
                ("timeline", {"lifetime_min": "3ns"}, {("timeline", "scan")}),
                ("peak", {}, {("peak", "summary")}), ("peak", {"size_min": 9}, {("peak", "event_log")}),
                ("allocations", {"sort_by": "size", "size_min": 9}, {("count", "dictionary"), ("page", "rank_counts")}),
                ("allocations", {"sort_by": "size", "lifetime_min": "3ns"}, {("count", "sorted_index")}),
                ("allocations", {"size_min": 10}, {("count", "dictionary"), ("page", "page_scan")}),
                ("allocations", {"where": "size>=11 or lifetime>=3ns"}, {("count", "scan"), ("page", "row_set")})):
            with self.subTest(question, **parameters):
                self.assertLessEqual(parts, set(self.ask(question, **parameters)))

    def test_what_is_kept(self):
        first = self.ask("allocation_groups", where="size>=12 or lifetime>=3ns")
        self.assertIn(("totals", "scan"), first)
        self.assertNotIn("cache", [by for _, by in first])
        self.assertIn("cache", [by for _, by in self.ask("allocation_groups", where="size>=12 or lifetime>=3ns")])

    def test_the_command(self):
        asked = subprocess.run([COMMAND, "ask", self.trace, "peak", "explain=1"], capture_output=True, check=True)
        self.assertEqual([(part["asked"], part["answered_by"]) for part in json.loads(asked.stdout)["parts"]],
                         [("peak", "summary")])
        wrong = subprocess.run([COMMAND, "ask", self.trace, "peak", "explain=2"], capture_output=True)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn(b"explain", wrong.stderr)


if __name__ == "__main__":
    unittest.main()
