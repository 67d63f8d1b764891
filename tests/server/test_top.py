# SPDX-License-Identifier: MIT OR Apache-2.0
"""heapsonde top on a terminal: what it shows, its keys, and terminals that are none."""
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import threading
import time
import unittest

from client import COMMAND, SHIM, TestCase

DEVICES = os.environ["HEAPSONDE_TEST_DEVICES"]  # plays devices that send a trace

GROWS = """$| = 1; my @kept; while (<STDIN>) { push @kept, "x" x 4000000; print "done\\n"; }"""
LINES, COLUMNS, NAMES = 24, 80, 53  # NAMES: where they begin


TOKENS = re.compile(r"\x1b\[([?>]?)([0-9;]*)([A-Za-z@])|\x1b[()].|\x1b.|[\x00-\x1f]|[^\x00-\x1f\x1b]+")


class Screen:
    """What a terminal like xterm shows, as far as curses needs it."""

    def __init__(self):
        self.line = [[" "] * COLUMNS for _ in range(LINES)]
        self.row = self.column = 0
        self.region = (0, LINES - 1)
        self.last = " "

    def scroll(self, count):
        first, last = self.region
        for _ in range(abs(count)):
            del self.line[first if count > 0 else last]
            self.line.insert(last if count > 0 else first, [" "] * COLUMNS)

    def write(self, text):
        for character in text:
            if self.row < LINES and self.column < COLUMNS:
                self.line[self.row][self.column] = self.last = character
            self.column += 1

    def erase(self, first, last):
        for column in range(first, min(last, COLUMNS)):
            self.line[self.row][column] = " "

    def take(self, found):
        kind, text = found[3], found[0]
        numbers = [int(number or 0) for number in (found[2] or "").split(";")]
        count = max(numbers[0], 1)
        if text[0] >= " ":
            self.write(text)
        elif text == "\r":
            self.column = 0
        elif text == "\b":
            self.column -= 1
        elif text == "\n" or text == "\x1bM":
            step, edge = (1, self.region[1]) if text == "\n" else (-1, self.region[0])
            if self.row == edge:
                self.scroll(step)
            else:
                self.row += step
        elif found[1] or not kind:
            return
        elif kind == "H":
            self.row, self.column = count - 1, max(numbers[1] if len(numbers) > 1 else 1, 1) - 1
        elif kind == "d":
            self.row = count - 1
        elif kind == "G":
            self.column = count - 1
        elif kind in "ABCD":
            self.row += {"A": -count, "B": count}.get(kind, 0)
            self.column += {"D": -count, "C": count}.get(kind, 0)
        elif kind in "ST":
            self.scroll(count if kind == "S" else -count)
        elif kind in "LM":
            region, self.region = self.region, (self.row, self.region[1])
            self.scroll(count if kind == "M" else -count)
            self.region = region
        elif kind == "r":
            self.region = (count - 1, (numbers[1] if len(numbers) > 1 else LINES) - 1)
        elif kind == "b":
            self.write(self.last * count)
        elif kind == "X":
            self.erase(self.column, self.column + count)
        elif kind == "P":
            line = self.line[self.row]
            self.line[self.row] = (line[:self.column] + line[self.column + count:] + [" "] * count)[:COLUMNS]
        elif kind == "@":
            line = self.line[self.row]
            self.line[self.row] = (line[:self.column] + [" "] * count + line[self.column:])[:COLUMNS]
        elif kind == "K":
            self.erase(0 if numbers[0] else self.column, self.column + 1 if numbers[0] == 1 else COLUMNS)
        elif kind == "J":
            whole = numbers[0] == 2
            self.erase(0 if whole else self.column, COLUMNS)
            for row in range(0 if whole else self.row + 1, LINES):
                self.line[row] = [" "] * COLUMNS


class Terminal:
    def __init__(self, *words, columns=COLUMNS, lines=LINES, environment=None):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.environ.update({"TERM": "xterm", "LC_ALL": "C.UTF-8", **(environment or {})})
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            os.execv(COMMAND, [COMMAND, "top", *words])
        self.bytes = b""
        self.size(columns, lines)

    def size(self, columns, lines):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read(self):
        """Whether there is more to come."""
        try:
            got = os.read(self.fd, 65536)
        except OSError:
            return False
        self.bytes += got
        return bool(got)

    def lines(self):
        screen = Screen()
        for found in TOKENS.finditer(self.bytes.decode(errors="replace")):
            screen.take(found)
        return ["".join(line).rstrip() for line in screen.line]

    def wait(self, pattern):
        """Until a line matches."""
        while not any(re.search(pattern, line) for line in self.lines()):
            select.select([self.fd], [], [])
            if not self.read():
                raise AssertionError(f"{pattern!r} is not in {self.lines()}")
        return self.lines()

    def press(self, keys, pattern):
        os.write(self.fd, keys.encode())
        return self.wait(pattern)

    def end(self):
        while self.read():
            pass
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


class Gate:
    """In front of a server: while it is closed, no connection gets an answer; while it is slow, an answer never ends."""

    def __init__(self, port):
        self.open, self.slow, self.holds, self.server = True, False, threading.Event(), port
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            with client:
                with contextlib.suppress(OSError):  # either side may end at any time
                    while self.slow:
                        self.holds.set()
                        client.sendall(b"H")  # a connection without a byte is given up after a while
                        time.sleep(0.5)
                    if self.open:
                        self.pass_on(client)

    def pass_on(self, client):
        """One request and its answer, after which both sides are closed."""
        question = b""
        while b"\r\n\r\n" not in question:
            received = client.recv(65536)
            if not received:
                return
            question += received
        with socket.create_connection(("127.0.0.1", self.server)) as server:
            server.sendall(re.sub(rb"(?im)^connection:.*\r\n", b"", question).replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            while answer := server.recv(65536):
                client.sendall(answer)

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class Top(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.trace = cls.random_trace("random.dat", 7, 2000)
        cls.server = cls.serve("--token", "a-token", cls.trace)
        cls.rows = cls.server.json("/data/last/totals?by=requester&sort_by=self.live.bytes&order=dsc&token=a-token")["rows"]
        cls.address = f"http://127.0.0.1:{cls.server.port}"

    def names(self, lines):
        return [line[NAMES:] for line in lines if re.match(r" +[-+\d]", line) and len(line) > NAMES]

    def check(self, target, **more):
        terminal = Terminal(target, **more)
        terminal.wait("q: quit")
        # Names are cut at the edge.
        known = {(f"{row['key']} ({row['library']})" if row["library"] else row["key"])[:COLUMNS - NAMES]
                 for row in self.rows}
        by_live = self.names(terminal.press("l", "by live memory"))
        self.assertGreater(len(by_live), 1)
        for name in by_live:
            self.assertIn(name, known)
        self.assertTrue(by_live[0].startswith(self.rows[0]["key"]))
        by_name = self.names(terminal.press("n", "by name"))
        self.assertEqual(by_name, sorted(by_name))
        chosen = by_name[-1][:4]
        left = self.names(terminal.press("/" + chosen + "\n", "by name, with " + re.escape(chosen)))
        self.assertTrue(left and all(chosen.lower() in name.lower() for name in left), left)
        self.assertEqual(self.names(terminal.press("/\x1b", "by name  ")), by_name)
        terminal.press(" ", "paused")
        terminal.press(" ", r"closed *$")
        terminal.press("bb", "LIBRARY$")
        os.write(terminal.fd, b"q")
        self.assertEqual(terminal.end(), 0)

    def test_a_trace(self):
        self.check(self.trace)

    def test_a_server(self):
        self.check(self.address, environment={"HEAPSONDE_TOKEN": "a-token"})

    def test_narrow_terminals(self):
        terminal = Terminal(self.trace)
        terminal.wait("q: quit")
        terminal.bytes = b""
        terminal.size(10, LINES)
        terminal.wait("Make this")
        terminal.bytes = b""
        terminal.size(COLUMNS, LINES)
        terminal.wait("q: quit")
        os.kill(terminal.pid, signal.SIGTERM)
        self.assertNotEqual(terminal.end(), -signal.SIGSEGV)

    def refused(self, *words, environment=None, on_terminal=True):
        if on_terminal:
            terminal = Terminal(*words, environment=environment)
            status = terminal.end()
            return status, [line for line in terminal.lines() if line]
        done = subprocess.run([COMMAND, "top", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return done.returncode, done.stderr.splitlines()

    def test_one_sentence_says_what_is_wrong(self):
        for words, environment, on_terminal, status, said in (
                ([self.trace], None, False, 2, "needs a terminal"),
                ([self.trace], {"TERM": "nonsense"}, True, 1, "nonsense"),
                ([self.path("none.dat")], None, True, 1, "none.dat"),
                (["--interval", "0", self.trace], None, True, 2, "--interval"),
                (["--device", "nobody", self.address + "/?token=a-token&a=b"], None, True, 1, "nobody"),
                (["http:///?token=a-token"], None, True, 1, "HOST:PORT"),
                ([self.address], {"HEAPSONDE_TOKEN": "wrong"}, True, 1, "401")):
            with self.subTest(said=said):
                got, lines = self.refused(*words, environment=environment, on_terminal=on_terminal)
                self.assertEqual((got, len(lines)), (status, 1), lines)
                self.assertIn(said, lines[0])
                self.assertNotIn("a-token", lines[0])

    def quit(self, terminal):
        os.write(terminal.fd, b"q")
        self.assertEqual(terminal.end(), 0)

    def turn_over(self, terminal, count):
        """Every trace of the list, and the first one again."""
        places = [*range(1, count + 1), 1]
        seen = [next(line for line in terminal.wait(f", {places[0]} of {count} ") if line.startswith("heapsonde top"))]
        for place in places[1:]:
            seen.append(next(line for line in terminal.press("d", f", {place} of {count} ") if line.startswith("heapsonde top")))
        return seen

    def started(self, *words, **more):
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **more)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def gathered(self, folder, count):
        gather = self.started(COMMAND, "gather", "--json", "--dir", folder, "--listen", "127.0.0.1:0")
        address = next(event["address"] for event in map(json.loads, gather.stdout) if event["event"] == "listening")
        subprocess.run([DEVICES, "--connect", address, "--count", str(count), "--file", self.trace], check=True,
                       stdout=subprocess.DEVNULL)

    def test_a_folder_of_gather(self):
        folder = self.path("gathered")
        self.gathered(folder, 3)
        terminal = Terminal(folder)
        seen = self.turn_over(terminal, 3)
        self.assertEqual({re.search(r" on (device-\d) ", line)[1] for line in seen},
                         {"device-0", "device-1", "device-2"})
        self.assertEqual(seen[0].split(" of ")[0], seen[3].split(" of ")[0])
        self.quit(terminal)
        terminal = Terminal("--device", "device-1", folder)
        self.assertNotIn(" of ", terminal.wait("^heapsonde top .* on device-1 ")[0])
        terminal.wait("q: quit")
        self.quit(terminal)
        status, lines = self.refused("--device", "nobody", folder)
        self.assertEqual((status, len(lines)), (1, 1), lines)
        self.assertIn("nobody", lines[0])

    def test_a_server_with_several(self):
        server = self.serve(self.trace, self.random_trace("other.dat", 8, 1000, "2"))
        terminal = Terminal(f"http://127.0.0.1:{server.port}")
        self.turn_over(terminal, 2)
        self.quit(terminal)
        pid = server.data("summary")["pid"]
        terminal = Terminal("--device", str(pid), f"http://127.0.0.1:{server.port}")
        terminal.wait("q: quit")
        self.quit(terminal)

    def test_a_server_that_is_away_for_a_while(self):
        gate = Gate(self.server.port)
        self.addCleanup(gate.close)
        terminal = Terminal(f"http://127.0.0.1:{gate.port}", environment={"HEAPSONDE_TOKEN": "a-token"})
        terminal.wait(r"closed *$")
        gate.open = False
        terminal.wait("no answer")
        self.assertTrue(self.names(terminal.press("l", "by live memory")))
        gate.open = True
        terminal.wait(r"closed *$")
        self.assertNotIn("no answer", "".join(terminal.lines()))
        self.quit(terminal)

    def test_keys_do_not_wait_for_answers(self):
        gate = Gate(self.server.port)
        self.addCleanup(gate.close)
        terminal = Terminal(f"http://127.0.0.1:{gate.port}", environment={"HEAPSONDE_TOKEN": "a-token"})
        terminal.wait(r"closed *$")
        gate.slow = True
        gate.holds.wait()
        self.assertTrue(self.names(terminal.press("n", "by name")))
        terminal.press("b", "LINE$")
        gate.slow = False
        terminal.wait(r"^ +[-+\d].*\S")  # rows of lines, in the end
        terminal.press("b", "LIBRARY$")
        gate.holds.clear()
        gate.slow = True
        gate.holds.wait()
        self.quit(terminal)
        self.assertIn(b"\x1b[?1049l", terminal.bytes[-100:])  # the screen that was there before
        gate.slow = False

    def listening_device(self, *more):
        devices = self.started(DEVICES, "--stay", "--file", self.trace, *more)
        return "127.0.0.1:" + devices.stdout.readline().split()[2]

    def test_a_device(self):
        folder = self.path("temporary")
        os.mkdir(folder)
        terminal = Terminal("--gather", self.listening_device(), environment={"TMPDIR": folder, "HEAPSONDE_KEY_FILE": ""})
        terminal.wait(" on device-0 ")
        self.assertTrue(any(self.rows[0]["key"] in line for line in terminal.press("l", "by live memory")))
        self.assertEqual(len(os.listdir(folder)), 1)
        self.quit(terminal)
        self.assertEqual(os.listdir(folder), [])

    def test_nothing_is_left_of_a_killed_one(self):
        folder = self.path("left")
        os.mkdir(folder)
        terminal = Terminal("--gather", self.listening_device(), environment={"TMPDIR": folder, "HEAPSONDE_KEY_FILE": ""})
        terminal.wait("q: quit")
        os.kill(terminal.pid, signal.SIGKILL)
        self.assertEqual(terminal.end(), -signal.SIGKILL)
        while os.listdir(folder):
            time.sleep(0.05)

    def test_a_device_with_a_key(self):
        with open(os.open(self.path("key"), os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write("sixteen bytes or more")
        device = self.listening_device("--key", self.path("key"))
        got, lines = self.refused("--gather", device, environment={"HEAPSONDE_KEY_FILE": ""})
        self.assertEqual(got, 1, lines)
        self.assertRegex(" ".join(lines), "refused 127.0.0.1:.* key")
        terminal = Terminal("--gather", "--key-file", self.path("key"), device)
        terminal.wait(" on device-0 ")
        self.quit(terminal)

    def test_devices_that_are_refused(self):
        for words, status, said in ((["--gather", "192.0.2.1:9"], 1, "--key-file"), (["--gather", "nowhere"], 1, "nowhere"),
                                    (["--device", "one", self.trace], 1, "--device"),
                                    (["--insecure", self.trace], 2, "--insecure is for --gather"),
                                    (["--gather", "--device", "one", "127.0.0.1:9"], 2, "--device has no effect with --gather")):
            with self.subTest(words=words):
                got, lines = self.refused(*words, environment={"HEAPSONDE_KEY_FILE": ""})
                self.assertEqual(got, status, lines)
                self.assertIn(said, " ".join(lines))

    @unittest.skipUnless(SHIM, "nothing is recorded in this build")
    def test_a_program_that_grows(self):
        program = subprocess.Popen(["/usr/bin/perl", "-e", GROWS], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True, bufsize=1, env={**os.environ, "LD_PRELOAD": SHIM,
                                                              "HEAPSONDE_OUTPUT": self.path("grows.dat")})
        self.addCleanup(program.kill)

        def grow():
            program.stdin.write("more\n")
            program.stdin.flush()
            self.assertEqual(program.stdout.readline(), "done\n")

        grow()
        terminal = Terminal(self.path("grows.dat"))
        terminal.wait("q: quit")
        grow()
        terminal.wait(r"^ +\+[34]\.\d+ MiB")
        os.write(terminal.fd, b"q")
        self.assertEqual(terminal.end(), 0)
        program.stdin.close()
        program.wait()


if __name__ == "__main__":
    subprocess_help = subprocess.run([COMMAND, "--version"], capture_output=True, text=True)
    if "ncursesw" in subprocess_help.stdout:
        raise SystemExit("skipped: this build has no ncursesw")
    unittest.main()
