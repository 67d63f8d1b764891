# SPDX-License-Identifier: MIT OR Apache-2.0
"""The browser that is started, and what can be asked while traces are read."""
import gzip
import http.client
import json
import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
import unittest
import urllib.parse

from client import COMMAND, SHIM, TestCase

IS_ROOT = os.geteuid() == 0


def machine_of(path):
    with open(path, "rb") as file:
        header = file.read(20)
    return header[:4] == b"\x7fELF" and header[18:]


IS_NATIVE = machine_of(COMMAND) and machine_of(COMMAND) == machine_of(sys.executable)
PATIENCE = 150
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


class Open(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.trace = cls.random_trace("random.dat", 3, 1000)
        cls.browser = cls.path("browser")
        cls.fifo = cls.path("opened")
        os.mkfifo(cls.fifo, 0o666)
        with open(cls.browser, "w") as script:
            script.write(f'#!/bin/sh\necho "$LD_PRELOAD|$1" >{cls.fifo}\n')
        for path, mode in ((cls.folder, 0o777), (cls.browser, 0o755), (cls.trace, 0o644), (cls.fifo, 0o666)):
            os.chmod(path, mode)

    def start(self, *words, as_nobody=False):
        command = [*(NOBODY if as_nobody and IS_ROOT else []), COMMAND, *words]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   cwd=self.folder, env={**os.environ, "BROWSER": self.browser + ":other"})
        self.addCleanup(process.kill)
        return process

    def ask(self, address, path):
        parts = urllib.parse.urlsplit(address)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    def test_the_browser_gets_the_address(self):
        if IS_ROOT and not shutil.which("setpriv"):
            self.skipTest("there is no setpriv")
        if subprocess.run([*(NOBODY if IS_ROOT else []), COMMAND, "help"], stdout=subprocess.DEVNULL).returncode:
            self.skipTest("others cannot run the command here")
        for words, end in ((["--token", "a b"], "/?token=%61%20%62"), ([], "/")):
            process = self.start("server", "--open", "--port", "0", *words, self.trace, as_nobody=True)
            with open(self.fifo) as opened:
                preloaded, address = opened.readline().strip().split("|")
            self.assertTrue(address.startswith("http://127.0.0.1:") and address.endswith(end), address)
            self.assertEqual(preloaded, os.environ.get("LD_PRELOAD", ""))
            printed = process.stdout.readline().strip()
            self.assertEqual(address[:-len(end)], printed)
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=PATIENCE)
            self.assertEqual((process.returncode, errors), (0, ""))

    @unittest.skipUnless(IS_ROOT, "only root is refused")
    def test_root_gets_no_browser(self):
        process = self.start("server", "--open", "--port", "0", self.trace)
        address = process.stdout.readline().strip()
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=PATIENCE)
        self.assertIn(f"no browser is started as root; open {address}/", errors)
        self.assertEqual(process.returncode, 0)

    @unittest.skipUnless(SHIM, "nothing is recorded in this build")
    def test_run_and_open(self):
        process = self.start("run", "--open", "--output", self.path("run.dat"), "--", "/bin/sh", "-c", "echo out; exit 3")
        self.assertEqual(process.stdout.readline(), "out\n")
        address = ""
        while not address.startswith("http://"):
            address = process.stderr.readline().strip()
            self.assertTrue(address)
        if not IS_ROOT:
            with open(self.fifo) as opened:
                self.assertEqual(opened.readline().strip(), f"|{address}/")
        status, body = self.ask(address, "/list")
        self.assertEqual((status, len(json.loads(body))), (200, 1))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=PATIENCE)[0], "")
        self.assertEqual(process.returncode, 3)

    def test_the_list_while_traces_are_read(self):
        """On a terminal the address is said before; whatever is read by then, answers say how far that is."""
        traces = [self.random_trace(f"many{i}.dat", i, 20000, str(i + 2)) for i in range(3)]
        own, theirs = pty.openpty()
        process = subprocess.Popen([COMMAND, "server", "--port", "0", *traces], stdout=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        self.addCleanup(process.kill)
        said = b""
        while b"http://" not in said or b" shows" not in said:
            said += os.read(own, 4096)
        address = "http://" + said.split(b"http://")[1].split()[0].decode()
        while True:
            status, body = self.ask(address, "/list")
            self.assertEqual(status, 200)
            rows = json.loads(body)
            reading = [row for row in rows if row.get("progress")]
            self.assertEqual(len(rows), 3)
            self.assertEqual([row["path"] for row in rows], traces)
            for row in reading:
                self.assertEqual((row["id"], set(row["progress"])), ("", {"done", "total"}))
            status, body = self.ask(address, "/data/last/timeline?width=1")
            self.assertIn(status, (200, 503))
            if status == 503:
                self.assertIn(b"still being read", body)
            if not reading:
                break
        self.assertEqual(self.ask(address, "/data/last/timeline?width=1")[0], 200)
        self.assertEqual(process.stdout.readline().decode().strip(), address)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE), 0)
        os.close(own)

    def test_recordings_of_other_tools(self):
        """heaptrack's text, also compressed: opened without 'import', with the numbers of the trace of which it was made."""
        plain, packed = self.path("other.heaptrack"), self.path("other.heaptrack.gz")
        subprocess.run([COMMAND, "export", "--format", "heaptrack", "-o", plain, self.trace], check=True)
        with open(plain, "rb") as text, gzip.open(packed, "wb") as file:
            file.write(text.read())
        files = [plain, packed]
        if shutil.which("zstd"):
            files.append(self.path("other.heaptrack.zst"))
            subprocess.run(["zstd", "-q", plain, "-o", files[-1]], check=True)
        question = {name: json.loads(subprocess.run([COMMAND, "ask", self.trace, "summary"], check=True, capture_output=True).stdout)[name]
                    for name in ("allocations", "allocated_bytes", "live_bytes", "peak_bytes")}
        ids = []
        for file in files:
            server = self.serve(file)
            row = server.json("/list")[0]
            summary = server.data("summary")
            self.assertEqual({name: summary[name] for name in question}, question, file)
            self.assertEqual(server.data("call_tree", cost="live", nodes=10)["size"], question["live_bytes"])
            ids.append(row["id"])
            asked = subprocess.run([COMMAND, "ask", file, "summary"], check=True, capture_output=True)
            self.assertEqual(json.loads(asked.stdout)["trace_id"], row["id"], "links to it remain")
            page = subprocess.run([COMMAND, "report", "--html", file], check=True, capture_output=True)
            self.assertTrue(page.stdout.startswith(b"<!doctype html>"))
        self.assertEqual(len(set(ids)), len(files))
        self.assertEqual(len(both := self.serve(*files).json("/list")), len(files), both)
        same = json.loads(subprocess.run([COMMAND, "ask", packed, "diff_tree", f"base={plain}", "cost=live"], check=True, capture_output=True).stdout)
        self.assertEqual((same["nodes"][0]["now"], same["nodes"][0]["size_delta"]), (same["nodes"][0]["base"], 0))
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("heapsonde-")], [])

    def test_a_recording_that_is_cut_off(self):
        plain, cut = self.path("whole.heaptrack"), self.path("cut.gz")
        subprocess.run([COMMAND, "export", "--format", "heaptrack", "-o", plain, self.trace], check=True)
        with open(plain, "rb") as text:
            whole = gzip.compress(text.read())
        with open(cut, "wb") as file:
            file.write(whole[:len(whole) // 2])
        self.assertIn("heaptrack file ends", json.dumps(self.serve(cut).data("summary")))
        with open(cut, "wb") as file:
            file.write(whole[:20])
        failed = subprocess.run([COMMAND, "server", "--port", "0", cut], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(failed.returncode, 1)
        self.assertIn("compressed with gzip", failed.stderr)

    @unittest.skipUnless(IS_NATIVE and SHIM, "the limit is for an emulator or a sanitizer, too")
    def test_a_trace_larger_than_memory(self):
        """The store, which is larger than the limit, is read where it lies."""
        large = self.random_trace("large.dat", 5, 4 * 10**6, identity="3")
        whole = self.serve(large)
        asked = (("summary", {}), ("allocation_groups", {"count": 5}), ("allocations", {"count": 20, "skip": 10**6}),
                 ("allocations", {"count": 20, "sort_by": "size", "order": "dsc"}), ("call_tree", {}))
        expected = [whole.data(what, **parameters) for what, parameters in asked]
        store = sum(os.path.getsize(os.path.join(large + ".store", name)) for name in os.listdir(large + ".store"))
        self.assertGreater(store, 60 << 20)
        restricted = self.serve("--memory", "40M", large)
        self.assertEqual([restricted.data(what, **parameters) for what, parameters in asked], expected)

    @unittest.skipUnless(IS_NATIVE and SHIM, "the limit is for an emulator or a sanitizer, too")
    def test_more_clients_than_memory(self):
        """The stacks of threads count for the limit: clients for whom there is none wait, or are told."""
        server = self.serve("--memory", "40M", self.random_trace("small.dat", 6, 100, identity="4"))
        expected = server.text("/data/last/allocations?count=1")
        connections = []
        for _ in range(60):
            connections.append(connection := socket.create_connection((server.host, server.port), timeout=PATIENCE))
            self.addCleanup(connection.close)
            connection.sendall(b"GET /data/last/allocations?count=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        for connection in connections:
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            body = answer.read().decode()
            self.assertIn((answer.status, body), ((200, expected), (503, "there are too many connections\n"),
                                                  (503, "there is no memory for this answer now; --memory SIZE allows more\n"),
                                                  (503, "there is no memory for another connection; --memory SIZE allows more\n")))
        self.assertEqual(server.text("/data/last/allocations?count=1"), expected)

    @unittest.skipUnless(IS_NATIVE and SHIM, "the limit is for an emulator or a sanitizer, too")
    def test_debug_information_without_memory(self):
        """Where there is no memory to read it, names come from the symbols, and the server goes on."""
        trace = self.recorded_trace("command.dat", COMMAND, "help")
        lines = {}
        for size in (512, *range(14, 50, 4)):  # the first one imports
            server = self.serve("--memory", f"{size}M", trace)
            answers = [server.ask("/data/last/tree"), server.ask("/data/last/allocations", count=5)]
            self.assertTrue({status for status, _, _ in answers} <= {200, 503}, (size, answers))
            if answers[0][0] == 200:
                lines[size] = answers[0][2].count(b'"source"')
            server.stop()
        self.assertEqual(max(lines.values()), lines[512])

    @unittest.skipUnless(IS_NATIVE and SHIM, "the limit is for an emulator or a sanitizer, too")
    def test_followers_leave_connections_to_others(self):
        server = self.serve("--memory", "40M", self.random_trace("followed.dat", 7, 100, identity="5", growing=True))
        statuses = []
        for _ in range(16):
            follower = socket.create_connection((server.host, server.port), timeout=PATIENCE)
            self.addCleanup(follower.close)
            follower.sendall(b"GET /data/last/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = http.client.HTTPResponse(follower)
            answer.begin()
            statuses.append(answer.status)
        self.assertEqual((statuses[0], statuses[-1], set(statuses)), (200, 503, {200, 503}))
        self.assertEqual(len(server.json("/list")), 1)


if __name__ == "__main__":
    unittest.main()
