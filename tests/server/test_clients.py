# SPDX-License-Identifier: MIT OR Apache-2.0
"""Clients that are wrong, slow, stuck, too many, or have no business here."""
import json
import os
import socket
import subprocess
import sys
import threading
import unittest

from client import Server, TestCase, seeded

PATIENCE = 150


class Clients(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.trace = cls.random_trace("random.dat", 1, 3000)
        cls.server = cls.serve(cls.trace)

    def connect(self, text=None):
        connection = socket.create_connection((self.server.host, self.server.port), timeout=PATIENCE)
        self.addCleanup(connection.close)
        if text is not None:
            connection.sendall(text)
        return connection

    def status(self, connection):
        """Of the answer that comes; 0 when the connection is closed without one."""
        data = b""
        while b"\r\n" not in data:
            try:
                piece = connection.recv(4096)
            except ConnectionResetError:
                piece = b""
            if not piece:
                return 0
            data += piece
        return int(data.split()[1])

    def works(self):
        self.assertEqual(self.server.ask("/list")[0], 200)

    # ---- wrong questions

    def test_wrong_values_are_named(self):
        wrong = {
            "allocations": [("count", "x"), ("count", "-1"), ("count", ""), ("skip", "1.5"), ("sort_by", "colour"),
                            ("order", "up"), ("strip_template_args", "yes"), ("size_min", "many"), ("from", "12 o'clock"),
                            ("from", "x%"), ("lifetime", "sometimes"), ("lifetime_min", "3 parsecs"), ("mmaped", "maybe"),
                            ("backtraces", "first"), ("at", "noon"), ("count", "99999999999999999999"),
                            ("group_leaked_allocations_min", "half")],
            "allocation_groups": [("sort_by", "only_matched"), ("sort_by", "size"), ("generate_graphs", "1")],
            "timeline": [("width", "0"), ("width", "100001"), ("from", "y")],
            "call_tree": [("depth", "0"), ("least", "-1"), ("cost", "money")],
            "maps": [("readable", "true"), ("id", "first")],
            "generations": [("parts", "0")],
            "diff": [("base_at", "never"), ("base", "0123")],
            "live": [("interval", "1")],
        }
        for what, values in wrong.items():
            for name, value in values:
                with self.subTest(what=what, name=name, value=value):
                    status, _, body = self.server.ask(f"/data/last/{what}", **{name: value})
                    self.assertEqual(status, 400)
                    self.assertIn(name, body.decode())
                    self.assertGreater(len(body), len(name) + 12)
        for field in ("function_regex", "source_regex", "negative_function_regex", "negative_source_regex"):
            status, _, body = self.server.ask("/data/last/allocations", **{field: "("})
            self.assertEqual(status, 400)
            self.assertIn(f"invalid '{field}'", body.decode())
        status, _, body = self.server.ask("/data/last/sandwich")
        self.assertEqual((status, b"function" in body), (400, True))
        self.works()

    def test_long_values_leave_room_for_the_reason(self):
        for name, value, reason in (("count", "9" * 5000, "is not a whole number"), ("order", "\u00e9" * 5000, "is none of: asc dsc"),
                                    ("strip_template_args", "x" * 5000, "is neither true nor false")):
            status, _, body = self.server.ask("/data/last/allocations", **{name: value})
            self.assertEqual(status, 400)
            self.assertRegex(body.decode(), f"^{name}: '{value[:32]}[^']*\\.\\.\\.' {reason}")

    def test_repeated_parameters(self):
        for query in ("count=1&count=2", "size_min=1&size_min=2", "from=1%&from=2%"):
            status, _, body = self.server.ask("/data/last/allocations?" + query)
            self.assertEqual(status, 400, query)
            self.assertIn(query.split("=")[0], body.decode())

    def test_unknown_parameters_are_left_alone(self):
        warning = "unknown parameter 'colour' was ignored"
        self.assertEqual(self.server.data("peak", colour="blue"), {"warnings": [warning], **self.server.data("peak")})

    def warned(self, parameters):
        _, headers, body = self.server.ask("/data/last/peak?" + parameters)
        warnings = json.loads(body)["warnings"]
        self.assertEqual(headers["X-Heapsonde-Warning"], "; ".join(warnings))
        return warnings

    def test_hostile_unknown_parameters_are_named_without_harm(self):
        said = "unknown parameter '{}' was ignored".format
        self.assertEqual(self.warned('%3Cscript%3E"%5C=1'), [said('<script>"\\')])
        self.assertEqual(self.warned("a%0D%0ASet-Cookie:b%E2%80%AE%FF%7F=1"), [said("a??Set-Cookie:b?????")])
        self.assertEqual(self.warned("z" * 10000), [said("z" * 40 + "...")])
        self.assertEqual(self.warned("z" * 40), [said("z" * 40)])
        self.assertEqual(self.warned("&".join(f"{'z' * 50}{i}" for i in range(200))),
                         [said("z" * 40 + "...")] * 3 + ["197 more unknown parameters were ignored"])
        self.assertEqual(self.warned("=1"), [said("")])

    def test_mistyped_parameters_are_refused(self):
        for what, typed, meant in (("allocations", "sise_min", "size_min"), ("allocations", "sort_bye", "sort_by"),
                                   ("call_tree", "dept", "depth"), ("timeline", "widht", "width"),
                                   ("peak", "functon_regex", "function_regex"), ("maps", "readble", "readable"),
                                   ("mallopts", "strip_template_arg", "strip_template_args")):
            status, _, body = self.server.ask(f"/data/last/{what}", **{typed: "1"})
            self.assertEqual(status, 400, typed)
            self.assertIn(f"{typed}: is not a parameter; did you mean {meant}?", body.decode())
        # What others take is left alone, as is what is like nothing.
        for what, name in (("peak", "width"), ("timeline", "depth"), ("mallopts", "size_min"), ("list", "colour"),
                           ("peak", "x"), ("allocations", "callback"), ("allocations", "token")):
            path = "/list" if what == "list" else f"/data/last/{what}"
            self.assertEqual(self.server.ask(path, **{name: "1"})[0], 200, name)

    def test_what_is_not_there(self):
        for path in ("/data/0123456789abcdef0123456789abcdef/timeline", "/data/xyz/timeline", "/data/last/backtrace/x",
                     "/data/last/backtrace/999999999", "/data/last/backtrace/-1",
                     "/data/last/backtrace/99999999999999999999999", "/data/last/export/nothing", "/data/last/nothing",
                     "/data", "/data/last", "/data//timeline", "/list/", "/nothing"):
            self.assertEqual(self.server.ask(path)[0], 404, path)
        self.assertEqual(self.server.ask("/data/xyz/timeline")[2].strip(), b"data not found")

    def test_other_methods(self):
        for method in ("POST", "PUT", "DELETE"):
            self.assertEqual(self.server.ask("/list", method=method)[0], 405)
        status, _, body = self.server.ask("/list", method="HEAD")
        self.assertEqual((status, body), (200, b""))
        self.assertEqual(self.server.ask("/list", method="POST", body=b"x" * 100000)[0], 413)

    def test_head_sends_no_byte_of_a_body(self):
        for path in ("/list", "/data/last/tree", "/openapi.json", "/data/last/nothing"):
            with socket.create_connection((self.server.host, self.server.port), timeout=PATIENCE) as connection:
                connection.sendall(f"HEAD {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
                with connection.makefile("rb") as answer:
                    headers, _, body = answer.read().partition(b"\r\n\r\n")
            self.assertTrue(headers.startswith(b"HTTP/1."), path)
            self.assertEqual(body, b"", path)

    def test_odd_requests(self):
        for text, statuses in ((b"GET /a%00b HTTP/1.1\r\nHost: localhost\r\n\r\n", (400,)),
                               (b"GET list HTTP/1.1\r\nHost: localhost\r\n\r\n", (400,)),
                               (b"GET /list?" + b"a=b&" * 300 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", (400,)),
                               (b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", (0, 413, 414, 431)),
                               (b"GET /list HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 100000, (0, 413, 431)),
                               (b"GET /list HTTP/1.1\r\n\r\n", (400,)),
                               (b"GET /list HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", (400,)),
                               (b"GET /list HTTP/1.1\r\nHost: localhost\r\nhost: evil.example\r\n\r\n", (400,)),
                               (b"GET /list HTTP/1.0\r\nHost: localhost\r\nHost: localhost\r\n\r\n", (400,)),
                               (b"GET /list HTTP/1.0\r\n\r\n", (200,)),
                               (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200), (0, 400)),
                               (b"\r\n" * 1000 + b"nonsense\r\n\r\n", (0, 400))):
            connection = self.connect()
            try:
                connection.sendall(text)
                connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # it was turned away before it had said everything
            self.assertIn(self.status(connection), statuses, text[:40])
        self.works()

    def test_absolute_targets(self):
        """As a client asks that takes us for a proxy: the authority of the target counts, not the Host header."""
        port = self.server.port
        for target, host, status in ((f"http://127.0.0.1:{port}/list", f"127.0.0.1:{port}", 200),
                                     (f"HTTP://localhost:{port}/list?count=1", "localhost", 200),
                                     ("http://[::1]/data/last/timeline?width=10#part", "localhost", 200),
                                     ("http://localhost/list", "evil.example", 200),
                                     ("http://localhost?a=b", "localhost", 200),
                                     ("http://localhost", "localhost", 200),
                                     ("http://localhost/data/last/nothing", "localhost", 404),
                                     ("http://evil.example/list", "localhost", 403),
                                     ("http://evil.example:80/list", "evil.example", 403),
                                     ("http://localhost@evil.example/list", "localhost", 403),
                                     ("http://localhost:80@evil.example/list", "localhost", 403),
                                     ("http://evil.example?/@localhost/list", "localhost", 403),
                                     ("http://localhost.evil.example/list", "localhost", 403),
                                     ("http://localhost:123456/list", "localhost", 403),
                                     ("http:///list", "localhost", 403),
                                     ("http://", "localhost", 403),
                                     ("https://localhost/list", "localhost", 400),
                                     ("http:/list", "localhost", 400)):
            connection = self.connect(f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            self.assertEqual(self.status(connection), status, target)
        for headers, status in (("", 400), ("Host: localhost\r\nHost: localhost\r\n", 400),
                                ("Host: localhost\r\nOrigin: http://evil.example\r\n", 403),
                                ("Host: localhost\r\nSec-Fetch-Site: cross-site\r\n", 403)):
            connection = self.connect(f"GET http://localhost/list HTTP/1.1\r\n{headers}\r\n".encode())
            self.assertEqual(self.status(connection), status, headers)
        connection = self.connect(b"GET http://localhost/list HTTP/1.0\r\n\r\n")
        self.assertEqual(self.status(connection), 200)
        connection = self.connect(b"GET http://evil.example/list HTTP/1.0\r\n\r\n")
        self.assertEqual(self.status(connection), 403)

    def test_random_requests(self):
        random = seeded()
        for _ in range(300):
            length = random.randint(1, 60)
            path = "".join(random.choice("/datlst%=&?+0123456789.{}") for _ in range(length))
            connection = self.connect(f"GET /{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            self.assertIn(self.status(connection), (200, 400, 404), path)
        self.works()

    # ---- slow and stuck ones

    def test_half_open_clients_make_room(self):
        halves = [self.connect(b"GET /list HTTP/1.1\r\nHost: localhost\r\nX: ") for _ in range(200)]
        self.works()
        halves[-1].sendall(b"now\r\n\r\n")
        self.assertEqual(self.status(halves[-1]), 200)

    def test_silent_clients_make_room(self):
        for _ in range(200):
            self.connect()
        self.works()

    def test_clients_that_never_read(self):
        for _ in range(60):
            self.connect(b"GET /data/last/allocations HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3)
        for _ in range(5):
            self.works()
            self.assertEqual(self.server.data("allocations", count=1)["total_count"],
                             len(self.server.data("allocations")["allocations"]))

    def test_clients_that_go_away(self):
        for _ in range(50):
            connection = self.connect(b"GET /data/last/allocations HTTP/1.1\r\nHost: localhost\r\n\r\n")
            connection.recv(10)
            connection.close()
        self.works()

    def test_followers_leave_room(self):
        server = self.serve(self.random_trace("growing.dat", 2, 100, "a", growing=True))
        followers = []
        for _ in range(16):
            connection = socket.create_connection((server.host, server.port), timeout=PATIENCE)
            self.addCleanup(connection.close)
            connection.sendall(b"GET /data/last/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertEqual(self.status(connection), 200)
            followers.append(connection)
        self.assertEqual(server.ask("/data/last/live")[0], 503)
        self.assertEqual(server.ask("/list")[0], 200)

    # ---- many

    def test_32_at_once(self):
        questions = [("allocations", {"sort_by": key, "order": order, "count": 20, "skip": skip})
                     for key in ("timestamp", "size", "address") for order in ("asc", "dsc") for skip in (0, 100)]
        questions += [("allocation_groups", {"sort_by": "all.size", "order": "dsc"}), ("tree", {}), ("peak", {}),
                      ("timeline", {}), ("timeline", {"lifetime": "only_leaked"}), ("backtraces", {}),
                      ("allocations", {"function_regex": "f|g"}), ("call_tree", {}), ("regions", {})]
        fresh = self.serve(self.trace)
        expected = {i: self.server.data(what, **parameters) for i, (what, parameters) in enumerate(questions)}
        wrong = []

        def ask(number):
            try:
                for i in range(len(questions)):
                    k = (i * 7 + number) % len(questions)
                    what, parameters = questions[k]
                    if fresh.data(what, **parameters) != expected[k]:
                        wrong.append(questions[k])
            except Exception as problem:  # pylint: disable=broad-except
                wrong.append(problem)
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_the_server_ends_while_it_is_asked(self):
        server = Server(self.trace)
        connections = []
        for _ in range(10):
            connection = socket.create_connection((server.host, server.port), timeout=PATIENCE)
            self.addCleanup(connection.close)
            connection.sendall(b"GET /data/last/allocations HTTP/1.1\r\nHost: localhost\r\n\r\n")
            connections.append(connection)
        server.stop()


class Strangers(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.trace = cls.example()

    def test_other_names_and_other_sites(self):
        server = self.serve(self.trace)
        port = server.port
        for headers, status in (({"Host": "localhost"}, 200), ({"Host": f"127.0.0.1:{port}"}, 200),
                                ({"Host": "evil.example"}, 403), ({"Host": f"evil.example:{port}"}, 403),
                                ({"Host": "localhost.evil.example"}, 403), ({"Host": "127.0.0.1.evil.example"}, 403),
                                ({"Host": "LOCALHOST:1"}, 200), ({"Host": "127.1.2.3:65535"}, 200), ({"Host": "[::1]:80"}, 200),
                                ({"Host": "localhost:abc"}, 403), ({"Host": "localhost:80:80"}, 403),
                                ({"Host": "localhost:65536"}, 403), ({"Host": "localhost:+1"}, 403), ({"Host": "[::1"}, 403),
                                ({"Host": "[::1]x"}, 403), ({"Host": "127."}, 403), ({"Host": "127.0.0.1.1"}, 403),
                                ({"Host": "128.0.0.1"}, 403), ({"Host": "user@localhost"}, 403), ({"Host": ""}, 403),
                                ({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403),
                                ({"Origin": f"http://localhost:{port}"}, 200), ({"Sec-Fetch-Site": "cross-site"}, 403),
                                ({"Sec-Fetch-Site": "same-site"}, 403), ({"Sec-Fetch-Site": "same-origin"}, 200),
                                ({"Sec-Fetch-Site": "none"}, 200)):
            self.assertEqual(server.ask("/list", headers=headers)[0], status, headers)

    @unittest.skipIf(os.geteuid(), "only root can become another user")
    def test_other_users(self):
        ask = ("import http.client, os, sys; os.setgid(65534); os.setuid(65534); "
               "connection = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]), timeout=100); "
               "connection.request('GET', '/list' + sys.argv[2]); print(connection.getresponse().status)")

        def status_of(server, query):
            return int(subprocess.run([sys.executable, "-c", ask, str(server.port), query], check=True, cwd="/",
                                      stdout=subprocess.PIPE).stdout)

        server = self.serve(self.trace)
        self.assertEqual(status_of(server, ""), 403)
        self.assertEqual(server.ask("/list")[0], 200)
        server = self.serve(self.trace, "--token", "sesame")
        self.assertEqual((status_of(server, ""), status_of(server, "?token=sesame")), (401, 200))

    def test_token(self):
        server = self.serve(self.trace, "--token", "sesame")
        for headers, status in (({}, 401), ({"Authorization": "Bearer wrong"}, 401), ({"Authorization": "Basic sesame"}, 401),
                                ({"Authorization": "Bearer sesame"}, 200), ({"Authorization": "bearer sesame"}, 200)):
            self.assertEqual(server.ask("/list", headers=headers)[0], status, headers)
        self.assertEqual(server.ask("/list?token=sesame")[0], 200)
        self.assertEqual(server.ask("/list?token=sesam")[0], 401)
        self.assertEqual(server.ask("/list", token="sesame ")[0], 401)
        self.assertEqual(server.ask("/nothing")[0], 401)
        self.assertEqual(json.loads(server.ask("/data/last/peak?token=sesame")[2])["size"], 220)

    def test_token_from_the_environment(self):
        server = self.serve(self.trace, environment={"HEAPSONDE_TOKEN": "sesame"})
        self.assertEqual(server.ask("/list")[0], 401)
        self.assertEqual(server.ask("/list", token="sesame")[0], 200)

    def test_other_machines_need_a_token(self):
        with self.assertRaisesRegex(RuntimeError, "token"):
            Server("--interface", "0.0.0.0", self.trace)
        server = self.serve("--interface", "0.0.0.0", "--token", "sesame", self.trace)
        server.host = "127.0.0.1"
        self.assertEqual(server.ask("/list")[0], 401)
        self.assertEqual(server.ask("/list", headers={"Host": "board.example"}, token="sesame")[0], 200)

    def test_ipv6(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            self.skipTest("there is no IPv6 here")
        server = self.serve("--interface", "::1", self.trace)
        self.assertEqual(server.ask("/list")[0], 200)


class CommandLine(TestCase):
    def test_what_cannot_be_served(self):
        with self.assertRaisesRegex(RuntimeError, "needs a trace"):
            Server()
        with self.assertRaisesRegex(RuntimeError, "nothing.dat"):
            Server(self.path("nothing.dat"))
        with self.assertRaisesRegex(RuntimeError, "port"):
            Server("--port", "70000", self.example())

    def test_the_same_trace_twice(self):
        server = Server(self.example(), self.random_trace("other.dat", 3, 100), self.path("example.dat"))
        self.assertEqual(len(server.json("/list")), 2)
        self.assertEqual(server.data("peak")["size"], server.data("peak", server.json("/list")[1]["id"])["size"])
        self.assertIn("served already", server.stop())


if __name__ == "__main__":
    unittest.main()
