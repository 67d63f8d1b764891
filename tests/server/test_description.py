# SPDX-License-Identifier: MIT OR Apache-2.0
"""The OpenAPI file against the server: every endpoint is in it, every parameter is taken, every answer is as it says."""
import json
import subprocess
import unittest

import jsonschema

from client import COMMAND, TestCase
from endpoints import Endpoints, QUESTIONS

# A value that each kind of parameter takes; what is here by name goes first.
BY_NAME = {"from": "10%", "to": "90%", "alive_at": "50%", "alive_at_2": "60%", "at": "peak", "base_at": "peak", "base_from": "10%", "base_to": "90%",
           "lifetime_min": "1ms", "lifetime_max": "1h", "chain_lifetime_min": "1ms", "chain_lifetime_max": "1h",
           "group_interval_min": "1%", "group_interval_max": "99%", "group_max_total_usage_first_seen_min": "1%",
           "group_max_total_usage_first_seen_max": "99%", "thread": "main", "custom_filter": "", "from_map": None,
           "base": "last", "suppress": "leak:a", "size_min": "8", "marker": "1", "below": "0", "axis_from": "5%", "axis_to": "95%", "where": "to=90% or not thread=main"}


class Description(Endpoints, TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.serve(cls.random_trace("random.dat", 4, 1500))
        cls.description = cls.server.json("/openapi.json")

    def test_the_command_writes_the_same(self):
        text = subprocess.run([COMMAND, "server", "--openapi"], check=True, stdout=subprocess.PIPE).stdout
        self.assertEqual(json.loads(text), self.description)

    def test_it_is_openapi(self):
        self.assertEqual(self.description["openapi"], "3.1.0")
        for schema in self.description["components"]["schemas"].values():
            jsonschema.Draft202012Validator.check_schema(schema)
        used = json.dumps(self.description["paths"])
        for path, operations in self.description["paths"].items():
            self.assertEqual(list(operations), ["get", "post"] if path in ("/data/{id}/control", "/devices/control") else ["get"])
            for operation in operations.values():
                for part in operation["responses"].values():
                    self.assertTrue("content" in part or "$ref" in part)
            names = [(parameter["in"], parameter["name"]) for parameter in self.parameters(operations["get"])]
            self.assertEqual(len(names), len(set(names)), path)
            for name in path.split("{")[1:]:
                self.assertIn(("path", name.split("}")[0]), names)
        for kind in ("schemas", "parameters", "responses"):
            for reference in used.split(f"#/components/{kind}/")[1:]:
                self.assertIn(reference.split('"')[0], self.description["components"][kind])

    def test_every_endpoint_answers_as_it_says(self):
        self.assertEqual([path for path, _ in self.answers()], list(self.description["paths"]),
                         "each new endpoint needs a schema in host/rest/schemas.json and, if it has required parameters, an entry in QUESTIONS of endpoints.py")

    def test_every_endpoint_names_unknown_parameters(self):
        said = "unknown parameter 'colour' was ignored"
        for pattern, operations in self.description["paths"].items():
            if pattern.startswith("/fleet/"):  # of a server with a database
                continue
            with self.subTest(path=pattern):
                asked = QUESTIONS.get(pattern, {})
                status, headers, plain = self.server.ask(self.filled(pattern), **asked)
                self.assertNotIn("X-Heapsonde-Warning", headers)
                warned_status, warned_headers, warned = self.server.ask(self.filled(pattern), colour="blue", **asked)
                self.assertEqual(warned_status, status)
                if status != 200:
                    self.assertEqual(warned, plain)
                    continue
                self.assertEqual(warned_headers["X-Heapsonde-Warning"], said)
                self.assertEqual(warned_headers.get("ETag"), headers.get("ETag"))
                types = operations["get"]["responses"]["200"]["content"]
                if "application/json" not in types or not plain.startswith(b"{"):
                    self.assertEqual(warned, plain)
                    continue
                self.validate(operations["get"], warned)
                self.assertEqual(warned, b'{"warnings":["' + said.encode() + b'"],' + plain[1:])

    def test_answers_with_nothing_in_them(self):
        for pattern, operations in self.description["paths"].items():
            names = [parameter["name"] for parameter in self.parameters(operations["get"])]
            if "size_min" not in names:
                continue
            with self.subTest(path=pattern):
                status, _, body = self.server.ask(self.filled(pattern), size_min=2**60, **QUESTIONS.get(pattern, {}))
                self.assertEqual(status, 200, body[:200])
                if "application/json" in operations["get"]["responses"]["200"]["content"]:
                    self.validate(operations["get"], body)

    def value_of(self, parameter):
        if parameter["name"] in BY_NAME:
            return BY_NAME[parameter["name"]]
        schema = parameter["schema"]
        if "size_m" in parameter["name"] or "leaked" in parameter["name"]:
            return "8"
        if "enum" in schema.get("items", {}):
            self.assertIs(parameter["explode"], False)
            return ",".join(schema["items"]["enum"])
        if "enum" in schema:
            return schema["enum"][-1]
        return {"integer": str(schema.get("minimum", 1) or 1), "number": "0.5", "boolean": "true"}.get(
            schema["type"], "a")

    def test_every_parameter_is_taken(self):
        for pattern, operations in self.description["paths"].items():
            if pattern.endswith("{name}") or pattern.startswith("/fleet/"):
                continue
            for parameter in self.parameters(operations["get"]):
                value = self.value_of(parameter)
                if parameter["in"] == "path" or value is None:
                    continue
                if parameter["name"] in ("address_min", "address_max"):
                    value = "0x1000"
                with self.subTest(path=pattern, parameter=parameter["name"], value=value):
                    asked = {**QUESTIONS.get(pattern, {}), parameter["name"]: value}
                    status, _, body = self.server.ask(self.filled(pattern), **asked)
                    self.assertEqual(status, 200, body[:200])

    def test_every_choice_is_taken(self):
        for pattern, operations in self.description["paths"].items():
            for parameter in self.parameters(operations["get"]):
                if "$ref" in parameter or "enum" not in parameter["schema"] or pattern.endswith("{name}") or pattern.startswith("/fleet/"):
                    continue
                for value in parameter["schema"]["enum"]:
                    with self.subTest(path=pattern, parameter=parameter["name"], value=value):
                        asked = {**QUESTIONS.get(pattern, {}), parameter["name"]: value}
                        self.assertEqual(self.server.ask(self.filled(pattern), **asked)[0], 200)

    def test_the_overview_lists_the_same(self):
        lines = self.server.text("/").splitlines()
        listed = [line.split()[0] for line in lines if line.startswith("/")]
        self.assertEqual(listed, [path for path in self.description["paths"] if not path.endswith("/{name}")])


if __name__ == "__main__":
    unittest.main()
