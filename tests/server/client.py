# SPDX-License-Identifier: MIT OR Apache-2.0
"""A server under test, the traces it is asked about, and the one way to ask it."""
import fcntl
import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import patience  # noqa: E402

COMMAND = os.environ["HEAPSONDE_TEST_COMMAND"]
MAKE_TRACE = os.environ.get("HEAPSONDE_TEST_MAKE_TRACE")
PROGRAM = os.environ.get("HEAPSONDE_TEST_PROGRAM")
SHIM = os.environ.get("HEAPSONDE_TEST_SHIM")
RUNNER = os.environ.get("HEAPSONDE_TEST_RUNNER", "").split()  # an emulator of the target and its options
SEED = int(os.environ.get("HEAPSONDE_TEST_SEED", "1"))


def seeded():
    print("seed", SEED, file=sys.stderr)
    return random.Random(SEED)


def until(condition):
    """What is tried again until it holds; the limit of the test case ends what never does."""
    while not (found := condition()):
        time.sleep(0.05)
    return found


class Server:
    def __init__(self, *arguments, environment=None, before=None):
        self.process = subprocess.Popen([COMMAND, "server", "--port", "0", *arguments], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})}, preexec_fn=before)
        line = self.process.stdout.readline().strip()
        if not line.startswith("http://"):
            self.process.wait()
            raise RuntimeError(self.process.stderr.read())
        self.address = urllib.parse.urlsplit(line)
        self.host, self.port = self.address.hostname, self.address.port

    def stop(self):
        """What the server wrote to standard error; it has to end well."""
        self.process.send_signal(signal.SIGTERM)
        _, errors = self.process.communicate(timeout=150)
        if self.process.returncode:
            raise RuntimeError(f"the server ended with {self.process.returncode}: {errors}")
        return errors

    def ask(self, path, headers=None, method="GET", body=None, **parameters):
        """(status, headers, body) of an answer. Values may be lists, for parameters that are given several times."""
        query = urllib.parse.urlencode(parameters, doseq=True)
        connection = http.client.HTTPConnection(self.host, self.port, timeout=150)
        try:
            connection.request(method, path + ("?" + query if query else ""), body=body, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def text(self, path, **parameters):
        status, _, body = self.ask(path, **parameters)
        if status != 200:
            raise AssertionError(f"{path} {parameters}: {status} {body[:300]!r}")
        return body.decode()

    def json(self, path, **parameters):
        return json.loads(self.text(path, **parameters))

    def data(self, what, trace="last", **parameters):
        return self.json(f"/data/{trace}/{what}", **parameters)


class TestCase(unittest.TestCase):
    """Has a folder of its own, which goes in the end, and a limit."""
    maxDiff = 600
    writer = None

    def run(self, result=None):
        patience.begin()
        try:
            return super().run(result)
        finally:
            patience.end()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="heapsonde-server-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    @classmethod
    def example(cls, name="example.dat", kind="example"):
        subprocess.run([MAKE_TRACE, kind, cls.path(name), PROGRAM], check=True)
        return cls.path(name)

    @classmethod
    def random_trace(cls, name, seed, events, identity="1", growing=False, huge=False, killed=False):
        if growing and cls.writer is None:  # as `gather` does while it writes traces there
            cls.writer = os.open(cls.folder, os.O_RDONLY)
            fcntl.flock(cls.writer, fcntl.LOCK_EX)
            cls.addClassCleanup(os.close, cls.writer)
        words = [MAKE_TRACE, "random", cls.path(name), PROGRAM, str(seed), str(events), identity]
        subprocess.run(words + ["growing"] * (growing or killed) + ["huge"] * huge, check=True)
        return cls.path(name)

    @classmethod
    def recorded_trace(cls, name, *command, mode=None):
        if not SHIM:
            raise unittest.SkipTest("nothing is recorded in this build")
        environment = {**os.environ, "HEAPSONDE_OUTPUT": cls.path(name)}
        if mode:
            environment["HEAPSONDE_MODE"] = mode
        if RUNNER:
            command = [*RUNNER, "-E", f"LD_PRELOAD={SHIM}", *command]
        else:
            environment["LD_PRELOAD"] = SHIM
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        return cls.path(name)

    @classmethod
    def serve(cls, *arguments, **options):
        server = Server(*arguments, **options)
        cls.addClassCleanup(server.stop)
        return server
