# SPDX-License-Identifier: MIT OR Apache-2.0
"""`heapsonde run --on ssh://...` with a real sshd, which ssh starts for itself: no port is taken."""
import os
import shutil
import signal
import subprocess
import unittest

from running import PATIENCE
from test_attach_on import Attached
from test_on import PLAIN, Board

SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin")


class Ssh(Attached, Board):
    way = "ssh://board:2222"

    def setUp(self):
        super().setUp()
        if os.getuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path(name)], check=True)
        self.configure_server("PasswordAuthentication no")
        with open(self.path("host.pub"), encoding="ascii") as file:
            self.write("known_hosts", "[board]:2222 " + file.read())
        self.write("ssh_config", f"UserKnownHostsFile {self.path('known_hosts')}\nGlobalKnownHostsFile /dev/null\n"
                   f"IdentityFile {self.path('user')}\nIdentitiesOnly yes\nIdentityAgent none\n"
                   f"ProxyCommand {SSHD} -i -f {self.path('sshd_config')}\n")
        self.write("ssh", f"#!/bin/sh\necho x >>{self.path('calls')}\nfor word; do :; done\n"
                   f"printf %s \"$word\" >>{self.path('scripts')}\nexec /usr/bin/ssh -F {self.path('ssh_config')} \"$@\"\n")
        os.chmod(self.path("ssh"), 0o755)
        self.environment = {"PATH": self.folder + ":" + os.environ["PATH"], "HEAPSONDE_BOARD_PATIENCE": str(PATIENCE)}

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)

    def configure_server(self, way_in):
        self.write("sshd_config", f"HostKey {self.path('host')}\nAuthorizedKeysFile {self.path('user.pub')}\n"
                   f"StrictModes no\nUsePAM no\n{way_in}\nKbdInteractiveAuthentication no\n"
                   f"PermitRootLogin yes\nLogLevel QUIET\nSetEnv TMPDIR={self.there}\n")

    def test_as_on_this_machine(self):
        """One connection, with three sessions in it: to look and to clean up, for the library and the trace, for the program.
        Beside the library at most 8 KiB are sent, of which ssh's own messages are 3,965 bytes (OpenSSH 9.2)."""
        self.check_plain()
        with open(self.path("calls"), encoding="ascii") as file:
            self.assertEqual(file.read(), "x\n" * 3)
        with open(self.path("scripts"), encoding="ascii") as file:
            scripts = file.read().replace(self.there, "/tmp").replace(PLAIN, "/usr/bin/plain")
        self.assertLessEqual(len(scripts), 8192 - 3965)

    def test_family(self):
        self.check_family()

    def test_status_and_streams(self):
        done = self.run_on("sh", "-c", "cat; echo \"$1\" >&2; exit 255", "x", "it's", options=["-q"])
        self.assertEqual((done.returncode, done.stdout, done.stderr), (255, "", "it's\n"))
        self.assert_nothing_left()

    def test_signal(self):
        process = self.start("sh", "-c", "trap 'echo got; exit 4' USR1; echo up; while :; do sleep 0.05; done")
        self.assertEqual(process.stdout.readline(), "up\n")
        process.send_signal(signal.SIGUSR1)
        self.assertEqual((process.stdout.read(), process.wait()), ("got\n", 4))
        self.assert_nothing_left()

    def test_terminal(self):
        self.check_terminal()

    def test_cut(self):
        sign = self.path("sign")
        process = self.start("sh", "-c", f"trap 'echo up >{sign}; exit 4' HUP; echo up; while :; do sleep 0.05; done")
        self.assertEqual(process.stdout.readline(), "up\n")
        self.wait_for_traces()
        self.kill_behind(process, "sshd")
        errors = process.stderr.read()
        self.assertEqual(process.wait(), 255)
        self.assertIn("was cut", errors)
        self.wait_until(lambda: os.path.exists(sign))
        self.wait_until(lambda: not os.listdir(self.there))
        self.report("t.dat")

    def test_attach(self):
        """One connection, with four sessions in it: to look and to clean up, two for what is sent, one to attach."""
        target = self.target()
        self.check_interrupted(target)
        with open(self.path("calls"), encoding="ascii") as file:
            self.assertEqual(file.read(), "x\n" * 4)
        done = self.command("detach", "--on", self.way, str(target.pid))
        self.assertEqual((done.returncode, "is neither recorded nor sampled" in done.stderr), (1, True), done.stderr)
        target.leave()

    def test_attach_cut(self):
        target = self.target()
        before = target.state()
        command = self.attach(target)
        target.ask("work 20")
        self.wait_for_traces()
        self.kill_behind(command, "sshd")
        self.check_cut(target, before, command)

    def test_refusals(self):
        os.rename(self.path("user.pub"), self.path("other.pub"))
        self.assert_one_line(self.run_on(PLAIN), 255, "refuses this user")
        self.configure_server("PasswordAuthentication yes\nPubkeyAuthentication no")
        self.assert_one_line(self.run_on(PLAIN), 255, "run heapsonde at a terminal and type the password")
        shutil.copy(self.path("other.pub"), self.path("user.pub"))
        with open(self.path("user.pub"), encoding="ascii") as file:
            self.write("known_hosts", "[board]:2222 " + file.read())
        self.assert_one_line(self.run_on(PLAIN), 255, "host key has changed")
        done = self.command("doctor", "--on", self.way, "--", PLAIN)
        self.assertRegex(done.stdout, r"no +connection .*host key has changed.*\n- +program +there is no connection\n")
        self.write("known_hosts", "")
        self.assert_one_line(self.run_on(PLAIN), 255, "is not known")
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
