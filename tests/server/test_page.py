# SPDX-License-Identifier: MIT OR Apache-2.0
"""What browsers need of the server: the page, logging in, answers that are packed and kept, file names."""
import gzip
import json
import re
import unittest

from client import TestCase, until

HTML = {"Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"}


class Page(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.trace = cls.random_trace("random.dat", 7, 2000)
        cls.server = cls.serve(cls.trace)
        cls.guarded = cls.serve("--token", "a sécret+", cls.trace)
        if "html" not in cls.server.ask("/", HTML)[1]["Content-Type"]:
            raise unittest.SkipTest("the page is not part of this build")

    def are_indexes_made(self):
        return "indexes" not in self.server.json("/list")[0]

    def cookie(self):
        status, headers, _ = self.guarded.ask("/", HTML, token="a sécret+")
        self.assertEqual(status, 303)
        return headers

    def test_browsers_get_a_page_and_others_text(self):
        status, headers, body = self.server.ask("/", HTML)
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        for word in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for"):
            self.assertIn(word, headers["Content-Security-Policy"])
        self.assertIn(b"<noscript>", body)
        self.assertNotIn(b"style=", body)
        for accept in ({}, {"Accept": "*/*"}, {"Accept": "text/plain"}):
            self.assertTrue(self.server.ask("/", accept)[1]["Content-Type"].startswith("text/plain"))

    def test_its_files_are_there_and_stay(self):
        shell = self.server.ask("/", HTML)[2].decode()
        paths = re.findall(r'(?:src|href)="(/(?:app|style)-[^"]+)"', shell)
        self.assertEqual(len(paths), 2)
        for path in paths:
            status, headers, plain = self.server.ask(path)
            self.assertEqual(status, 200)
            self.assertIn("immutable", headers["Cache-Control"])
            _, headers, packed = self.server.ask(path, {"Accept-Encoding": "br, gzip"})
            self.assertEqual(headers["Content-Encoding"], "gzip")
            self.assertEqual(gzip.decompress(packed), plain)
            self.assertEqual(self.server.ask(path, {"If-None-Match": headers["ETag"]})[::2], (304, b""))

    def test_answers_are_packed_for_whom_that_is(self):
        until(self.are_indexes_made)  # until then, the list changes
        for path in ("/data/last/call_tree", "/data/last/timeline", "/list", "/openapi.json",
                     "/data/last/export/collapsed"):
            plain = self.server.ask(path)
            self.assertNotIn("Content-Encoding", plain[1])
            for accepted in ("gzip", "gzip, deflate, br", "deflate;q=0.5, gzip;q=1.0", "*"):
                for _ in range(2):
                    status, headers, body = self.server.ask(path, {"Accept-Encoding": accepted})
                    self.assertEqual(status, 200)
                    if headers.get("Content-Encoding") == "gzip":
                        body = gzip.decompress(body)
                    elif path != "/data/last/export/collapsed":
                        self.assertLess(len(body), 1025)
                    self.assertEqual(body, plain[2])
            for refused in ("gzip;q=0", "identity", "br", "gzipped"):
                self.assertEqual(self.server.ask(path, {"Accept-Encoding": refused})[2], plain[2])

    def test_answers_are_known_again(self):
        path = "/data/last/call_tree?cost=live"
        status, headers, body = self.server.ask(path)
        self.assertEqual(headers["Cache-Control"], "private, no-cache")
        tag = headers["ETag"]
        for known in (tag, f'"other", {tag}'):
            status, headers, body = self.server.ask(path, {"If-None-Match": known})
            self.assertEqual((status, body, headers["ETag"]), (304, b"", tag))
        self.assertEqual(self.server.ask(path, {"If-None-Match": '"other"'})[0], 200)
        self.assertEqual(self.server.ask(path + "&size_min=9", {"If-None-Match": tag})[0], 200)
        self.assertNotEqual(self.guarded.ask("/data/last/call_tree", cost="live", token="a sécret+")[1]["ETag"], tag)
        self.assertEqual(self.server.ask("/list")[1]["Cache-Control"], "no-store")

    def test_a_growing_trace_is_not_kept(self):
        server = self.serve(self.random_trace("growing.dat", 8, 500, growing=True))
        _, headers, _ = server.ask("/data/last/timeline")
        self.assertEqual(headers["Cache-Control"], "no-store")
        self.assertNotIn("ETag", headers)

    def test_saved_answers_have_names(self):
        _, headers, _ = self.server.ask("/data/last/export/collapsed/my%20%22stacks%22.txt")
        self.assertEqual(headers["Content-Disposition"], 'attachment; filename="my__stacks_.txt"')
        _, headers, _ = self.server.ask("/data/last/export/flamegraph/flame.svg")
        self.assertNotIn("Content-Disposition", headers)
        self.assertTrue(headers["Content-Security-Policy"].startswith("sandbox"))

    def test_logging_in(self):
        self.assertEqual(self.guarded.ask("/list")[0], 401)
        self.assertEqual(self.guarded.ask("/")[0], 401)
        self.assertEqual(self.guarded.ask("/", HTML)[0], 200)
        self.assertEqual(self.guarded.ask("/", HTML, token="wrong")[0], 200)
        self.assertNotIn("Set-Cookie", self.guarded.ask("/", HTML, token="wrong")[1])
        headers = self.cookie()
        self.assertEqual(headers["Location"], "/")
        pair, *rest = headers["Set-Cookie"].split("; ")
        self.assertEqual(sorted(rest), ["HttpOnly", "Path=/", "SameSite=Strict"])
        self.assertIn(str(self.guarded.port), pair)
        for site in (None, "none", "same-origin"):
            asked = {"Cookie": f"a=b; {pair}; c=d", **({"Sec-Fetch-Site": site} if site else {})}
            self.assertEqual(self.guarded.ask("/list", asked)[0], 200)
        for site in ("same-site", "cross-site"):
            self.assertEqual(self.guarded.ask("/list", {"Cookie": pair, "Sec-Fetch-Site": site})[0], 401)
        for wrong in (pair[:-1], pair + "0", pair.split("=")[0] + "=", "x" + pair):
            self.assertEqual(self.guarded.ask("/list", {"Cookie": wrong})[0], 401)
        self.assertEqual(self.guarded.ask("/list", {"Cookie": pair, "Authorization": "Bearer wrong"})[0], 401)

    def test_other_sites_may_lead_here_and_no_more(self):
        foreign = {"Sec-Fetch-Site": "cross-site"}
        for server in (self.server, self.guarded):
            self.assertEqual(server.ask("/", {**HTML, **foreign, "Sec-Fetch-Mode": "navigate"})[0], 200)
            self.assertIn(server.ask("/", {**HTML, **foreign, "Sec-Fetch-Mode": "no-cors"})[0], (401, 403))
            self.assertIn(server.ask("/list", {**HTML, **foreign, "Sec-Fetch-Mode": "navigate"})[0], (401, 403))
        self.assertEqual(self.server.ask("/", {**HTML, "Host": "evil.example"})[0], 403)

    def test_the_list_says_what_is_read(self):
        self.assertEqual([row.get("progress") for row in json.loads(self.server.ask("/list")[2])], [None])


if __name__ == "__main__":
    unittest.main()
