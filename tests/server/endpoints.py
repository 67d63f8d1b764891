# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every endpoint of the OpenAPI file, asked as the file says. For test cases with a `server` and its `description`."""
import json

import jsonschema

# Of a server alone: what goes on, or is not about the contents of the trace.
OF_A_SERVER = {"live", "control", "devices"}
# What is asked for with more than the bare path.
QUESTIONS = {
    "/data/{id}/sandwich": {"function": "main"},
    "/data/{id}/maps": {"with_regions": "true", "with_usage_history": "true"},
    "/data/{id}/source": {"file": "none.c"},
    "/data/{id}/diff": {"at": "50%"},
    "/data/{id}/diff_tree": {"at": "50%"},
    "/devices/control": {"file": "none"},
}
# What a trace has only when the kernel sampled for it.
SAMPLED = {f"/data/{{id}}/{name}" for name in ("cpu", "off_cpu", "faults", "touched", "touched_mappings", "resident")}
VALUES = {"id": "last", "number": "3", "format": "json", "name": "any.name"}


class Endpoints:
    def parameters(self, operation):
        for parameter in operation["parameters"]:
            if "$ref" in parameter:
                parameter = self.description["components"]["parameters"][parameter["$ref"].rsplit("/", 1)[-1]]
            yield parameter

    def validate(self, operation, body):
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        schema = {**schema, "components": self.description["components"]}
        jsonschema.Draft202012Validator(schema).validate(json.loads(body))

    def first_map(self):
        """The number of a mapping, as text; what is no number when there is none."""
        maps = self.server.data("maps", count=1)["maps"]
        return str(maps[0]["id"]) if maps else "none"

    def filled(self, pattern):
        if "{map}" in pattern:
            pattern = pattern.replace("{map}", self.first_map())
        for name, value in VALUES.items():
            pattern = pattern.replace("{" + name + "}", value)
        return pattern

    def answers(self, sampled=True):
        """(path, body) of every endpoint, whose answer is as the description says; of what was not sampled, that."""
        for pattern, operations in self.description["paths"].items():
            with self.subTest(path=pattern):
                operation = operations["get"]
                if pattern.startswith("/fleet/"):  # of a server with a database: tests/fleet/test_rest.py
                    status, _, body = self.server.ask(self.filled(pattern), **{"firmware": "a", "than": "b"})
                    self.assertEqual(status, 404, body[:200])
                    yield pattern, body
                    continue
                status, headers, body = self.server.ask(self.filled(pattern), **QUESTIONS.get(pattern, {}))
                if pattern in SAMPLED and not sampled:
                    self.assertEqual(status, 404, body[:200])
                    self.assertIn(b"; record with --events heap,", body)
                    continue
                if "{map}" in pattern and self.first_map() == "none":
                    self.assertEqual(status, 404, body[:200])
                    continue
                self.assertEqual(status, 200, body[:200])
                types = operation["responses"]["200"]["content"]
                if "{format}" not in pattern:
                    self.assertEqual([headers["Content-Type"]], list(types))
                if "application/json" in types:
                    self.validate(operation, body)
                yield pattern, body
