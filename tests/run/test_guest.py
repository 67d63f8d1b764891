# SPDX-License-Identifier: MIT OR Apache-2.0
"""`heapsonde run --on ssh://...` and `attach --on` into a guest of qemu/system, which starts this: the sshd is dropbear, the shell busybox's, and
the kernel and the processor are other ones. With HEAPSONDE_TEST_WHOLE=yes all that takes long, too."""
import json
import os
import signal
import subprocess
import sys
import time
import unittest

from test_on import PLAIN, Board
from running import COMMAND, PATIENCE, PROGRAMS, ROOT

BOX = os.environ["HEAPSONDE_TEST_BOX"]
PROXY = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../qemu/guest/ssh_proxy")
PYTHON = os.path.join(ROOT, "usr/bin/python3.11")
WHOLE = os.environ.get("HEAPSONDE_TEST_WHOLE") == "yes"
BUILD = os.path.normpath(os.path.join(PROGRAMS, "../.."))
# The build for AArch64 leaves attaching to the one of the command for it (qemu/host).
TARGET = os.path.join(BUILD + "-host" if os.path.basename(BUILD) == "aarch64" else BUILD, "bin/attach_dynamic")


class Guest(Board):
    way = "ssh://root@guest"

    def setUp(self):
        super().setUp()
        self.connections = 0
        self.log = self.path("log")
        self.key = os.path.join(BOX, "user")
        if not os.path.exists(self.key):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key], check=True)
        self.connect_by(f"{sys.executable} {PROXY} {BOX} {self.key}.pub {self.log} {2 * PATIENCE}")
        self.write("ssh", f"#!/bin/sh\nexec /usr/bin/ssh -F {self.path('ssh_config')} -o ServerAliveInterval=0 "
                   "-o ConnectTimeout=0 \"$@\"\n")
        os.chmod(self.path("ssh"), 0o755)
        self.environment = {"PATH": self.folder + ":" + os.environ["PATH"]}

    def connect_by(self, proxy):
        self.write("ssh_config", f"UserKnownHostsFile {BOX}/known_hosts\nGlobalKnownHostsFile /dev/null\n"
                   f"IdentityFile {self.key}\nIdentitiesOnly yes\nIdentityAgent none\nStrictHostKeyChecking accept-new\n"
                   f"ProxyCommand {proxy}\n")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)

    def said(self):
        if not os.path.exists(self.log):
            return ""
        with open(self.log, encoding="ascii", errors="replace") as file:
            return file.read()

    def assert_nothing_left(self):
        """Each connection's job ends when what was made in the guest is gone, and says what else is there."""
        self.connections += 1
        self.wait_until(lambda: self.said().count("\n") >= self.connections)
        self.assertEqual(self.said(), "ended 0\n" * self.connections)

    def test_one_after_the_other(self):
        """Two at once: the second waits for its turn."""
        logins = [subprocess.Popen([self.path("ssh"), "root@guest", f"echo {word}"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, text=True) for word in ("one", "two")]
        self.assertEqual([login.communicate()[0] for login in logins], ["one\n", "two\n"])
        self.connections += 1
        self.assert_nothing_left()

    def test_short_program(self):
        self.check_plain()

    def test_family(self):
        self.check_family(PYTHON)

    def test_killed(self):
        done = self.run_on("sh", "-c", "kill -9 $$")
        self.assertEqual(done.returncode, 137, done.stderr)
        self.assertIn("sh was ended by signal 9 SIGKILL", done.stderr.splitlines()[0])
        self.report("t.dat")
        self.assert_nothing_left()

    def test_cut(self):
        process = self.start("sh", "-c", "echo up; while :; do sleep 0.1; done")
        self.assertEqual(process.stdout.readline(), "up\n")
        self.wait_for_traces()
        self.kill_behind(process, "ssh")
        self.assertEqual(process.wait(), 255)
        self.assertIn("was cut", process.stderr.read())
        self.report("t.dat")
        self.assert_nothing_left()

    def started(self):
        """A process in the guest, and its number. One connection at a time is served there: the others go through its one."""
        mux = self.path("mux")
        target = subprocess.Popen([self.path("ssh"), "-M", "-S", mux, "root@guest", f"echo $$; exec {TARGET}"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True, bufsize=1)
        self.addCleanup(target.stdout.close)
        self.addCleanup(target.stdin.close)
        self.addCleanup(target.kill)
        pid = target.stdout.readline().strip()
        self.assertEqual(target.stdout.readline(), "ready\n")
        self.connect_by(f"/usr/bin/ssh -F /dev/null -S {mux} -W 127.0.0.1:22 root@guest")
        return target, pid

    def attach(self, target, pid, name, end):
        """Until end() ends it. Everything between the two is recorded."""
        process = subprocess.Popen([COMMAND, "attach", "--on", self.way, "-o", name, "--stream-policy", "block", pid], cwd=self.folder,
                                   env=self.variables({}), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        self.addCleanup(process.stderr.close)
        line = "."
        while line and " is recorded: " not in line:
            line = process.stderr.readline()
        self.assertTrue(line, "it has ended")
        target.stdin.write("work 20\n")
        allocated = int(target.stdout.readline())
        end(process)
        errors = process.stderr.read()
        self.assertEqual(process.wait(), 0, errors)
        self.assertEqual(json.loads(self.report(name, "--json"))["allocations"], allocated)
        return errors

    @unittest.skipUnless(os.path.exists(TARGET), "nothing to attach to is built")
    def test_attached(self):
        target, pid = self.started()
        self.attach(target, pid, "t.dat", lambda process: process.send_signal(signal.SIGINT))
        if WHOLE:
            detach = "detach", "--on", self.way, pid
            errors = self.attach(target, pid, "again.dat", lambda _: self.assertEqual(self.command(*detach).returncode, 0))
            self.assertIn("another command has detached", errors)
        target.stdin.write("leave\n")
        self.assertEqual(target.wait(), 3)
        self.assert_nothing_left()

    @unittest.skipUnless(WHOLE, "HEAPSONDE_TEST_WHOLE=yes runs it")
    def test_daemon(self):
        program = ("import signal, sys\nkept = [bytearray(1000 + i) for i in range(1000)]\n"
                   "signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\nprint('up', flush=True)\n"
                   "while True:\n    signal.pause()\n")
        process = self.start(PYTHON, "-c", program)
        self.assertEqual(process.stdout.readline(), "up\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(), 5, process.stderr.read())
        self.report("t.dat", "--fail-if", "allocated_count(size_min=1001, size_max=2100) < 1000")
        self.assert_nothing_left()

    @unittest.skipUnless(WHOLE, "HEAPSONDE_TEST_WHOLE=yes runs it")
    def test_megabytes(self):
        with open(self.path("input"), "w+", encoding="ascii") as file:
            file.write("a line\n" * 400000)
            file.flush()
            file.seek(0)
            done = self.run_on("sed", "s/a/b/", stdin=file)
        self.assertEqual((done.returncode, done.stdout == "b line\n" * 400000), (0, True), done.stderr)
        self.report("t.dat")
        self.assert_nothing_left()

    @unittest.skipUnless(WHOLE, "HEAPSONDE_TEST_WHOLE=yes runs it")
    def test_terminal(self):
        self.check_terminal()

    @unittest.skipUnless(WHOLE, "HEAPSONDE_TEST_WHOLE=yes runs it")
    def test_without_root(self):
        self.check_plain(way="ssh://user@guest")
        done = self.run_on("id", "-u", options=["-q"], way="ssh://user@guest")
        self.assertEqual((done.returncode, done.stdout), (0, "1000\n"), done.stderr)
        self.assert_nothing_left()

    @unittest.skipUnless(WHOLE, "HEAPSONDE_TEST_WHOLE=yes runs it")
    def test_clock_in_1970(self):
        def set_clock(seconds):
            done = self.run_on("date", "-u", "-s", f"@{seconds}", options=["-q"])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assert_nothing_left()
        set_clock(600)
        try:
            self.check_plain()
        finally:
            set_clock(int(time.time()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
