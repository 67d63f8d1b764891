# SPDX-License-Identifier: MIT OR Apache-2.0
"""`heapsonde run` in a folder of its own, and what its traces hold."""
import os
import shutil
import subprocess
import tempfile
import unittest

COMMAND = os.environ["HEAPSONDE_TEST_COMMAND"]
SHIM = os.environ.get("HEAPSONDE_TEST_SHIM")
PROGRAMS = os.environ["HEAPSONDE_TEST_PROGRAMS"]
ROOT = os.environ.get("HEAPSONDE_TEST_ROOT") or "/"
PATIENCE = int(os.environ.get("HEAPSONDE_TEST_SECONDS", "300"))  # qemu/system's --seconds


def has_ended(number):
    """Of a process that nobody may have waited for: where this runs, the first process may not do that for others."""
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


class Folder(unittest.TestCase):
    """Each test has a folder, in which it runs the command."""
    environment = {}

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="heapsonde-run-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def variables(self, more):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HEAPSONDE_")}
        return {**kept, **self.environment, **more}

    def command(self, *words, stdin=subprocess.DEVNULL, **variables):
        """In a session of its own: no terminal is asked for anything."""
        return subprocess.run([COMMAND, *words], cwd=self.folder, env=self.variables(variables), stdin=stdin,
                              capture_output=True, text=True, timeout=PATIENCE, check=False, start_new_session=True)

    def report(self, trace, *words):
        done = self.command("report", trace, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def assert_plain(self, trace):
        """What tests/programs/plain.c allocates: a thousand blocks of 100 to 1099 bytes, ten of which stay."""
        fails = ('allocated_count(size_min=100, size_max=1099, function=~"outer") != 1000 or '
                 'live_count(function=~"outer") != 10')
        self.report(trace, "--sysroot", ROOT, "--fail-if", fails)

    def assert_one_line(self, done, status, words):
        self.assertEqual((done.returncode, done.stderr.count("\n")), (status, 1), done.stderr)
        self.assertIn(words, done.stderr)
