# SPDX-License-Identifier: MIT OR Apache-2.0
"""`heapsonde run --on`: the machine here is a shell of this one, a busybox's, or another user's."""
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time
import unittest

from running import COMMAND, PATIENCE, PROGRAMS, Folder, has_ended

PLAIN = os.path.join(PROGRAMS, "plain")
SHELL = "exec:sh -c {}"
# A child that is forked, and one that is another program; each makes blocks of a size of its own.
FAMILY = """import os, subprocess, sys
kept = [bytearray(50000) for _ in range(100)]
child = os.fork()
if child == 0:
    kept = [bytearray(60000) for _ in range(50)]
    os._exit(0)
os.waitpid(child, 0)
subprocess.run([sys.executable, "-c", "kept = [bytearray(70000) for _ in range(20)]"], check=True)
"""


MAY_MOUNT = os.getuid() == 0 and not subprocess.run(
    ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False).returncode


class Board(Folder):
    """What is made on the board is made in a folder that is looked at afterwards."""
    way = SHELL

    def setUp(self):
        super().setUp()
        self.there = os.path.join(self.folder, "there")
        os.mkdir(self.there)
        os.chmod(self.folder, 0o755)
        os.chmod(self.there, 0o777)
        # A busy machine answers late.
        self.environment = {"TMPDIR": self.there, "HEAPSONDE_BOARD_PATIENCE": str(PATIENCE)}

    def run_on(self, *words, way=None, options=(), **more):
        return self.command("run", "--on", way or self.way, "-o", "t.dat", *options, "--", *words, **more)

    def assert_nothing_left(self):
        self.assertEqual(os.listdir(self.there), [])

    def wait_until(self, is_so):
        until = time.monotonic() + PATIENCE
        while not is_so():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)

    @staticmethod
    def descendants(ancestor, name):
        """The processes whose names begin like this that came of a process."""
        parents, found = {}, []
        for number in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as file:
                    before, behind = file.read().rsplit(")", 1)
            except OSError:
                continue
            parents[int(number)] = int(behind.split()[1])
            if before.split("(", 1)[1].startswith(name):
                found.append(int(number))

        def came_of(number):
            return number == ancestor or number in parents and came_of(parents[number])
        return list(filter(came_of, found))

    def kill_behind(self, command, name):
        """As if they were killed at once: the command sees nothing of it before all have ended."""
        command.send_signal(signal.SIGSTOP)
        numbers = self.descendants(command.pid, name)
        for number in numbers:
            try:
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has ended with another one
        for number in numbers:
            self.wait_until(lambda number=number: has_ended(number))
        command.send_signal(signal.SIGCONT)

    def check_terminal(self):
        master, slave = pty.openpty()
        program = "test -t 0 && test -t 1 && echo up && read x && echo got $x"
        process = subprocess.Popen([COMMAND, "run", "-q", "--on", self.way, "-o", "t.dat", "--", "sh", "-c", program],
                                   cwd=self.folder, env=self.variables({}), stdin=slave, stdout=slave, stderr=slave,
                                   start_new_session=True)
        os.close(slave)
        shown = b""
        for awaited, typed in ((b"up", b"this\n"), (b"got this", None)):
            while awaited not in shown:
                select.select([master], [], [])
                shown += os.read(master, 1000)
            if typed:
                os.write(master, typed)
        self.assertEqual(process.wait(), 0)
        os.close(master)
        self.report("t.dat")
        self.assert_nothing_left()

    def wait_for_traces(self, count=1):
        """Until all have more than a header, so that they can be read whatever happens from now on."""
        self.wait_until(lambda: [os.path.getsize(os.path.join(self.folder, trace)) > 4096 for trace in self.traces()] == [True] * count)

    def start(self, *words, options=(), **more):
        process = subprocess.Popen([COMMAND, "run", "--on", self.way, "-o", "t.dat", *options, "--", *words],
                                   cwd=self.folder, env=self.variables({}), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   **more)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        return process

    def traces(self):
        return sorted(name for name in os.listdir(self.folder) if ".dat" in name and not name.endswith(".store"))

    def made(self, trace):
        """How many blocks of each size of FAMILY it has."""
        for word in ("damaged", "missed", "dropped"):
            self.assertNotIn(word, self.report(trace))
        sizes = [["--size-min", str(size), "--size-max", str(size + 1)] for size in (50000, 60000, 70000)]
        return tuple(json.loads(self.report(trace, "--json", *words))["allocations"] for words in sizes)

    def check_family(self, python="/usr/bin/python3", **more):
        """All three traces come back, each under its own name."""
        done = self.run_on(python, "-c", FAMILY, options=["--follow-children", "-o", "%e.%p.dat"], **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 more by child processes, the largest ", done.stderr)
        traces = self.traces()
        self.assertEqual(len(traces), 3, traces)
        name = os.path.basename(os.path.realpath(python))
        self.assertEqual({trace.rsplit(".", 2)[0] for trace in traces}, {name})
        self.assertEqual(sorted(self.made(trace) for trace in traces), [(0, 0, 20), (0, 50, 0), (100, 0, 0)])
        self.assert_nothing_left()

    def check_plain(self, **more):
        done = self.run_on(PLAIN, **more)
        self.assertEqual((done.returncode, done.stdout.split(":")[-1]), (0, " 1000 blocks\n"), done.stderr)
        self.assertIn("plain ended with exit status 0", done.stderr)
        self.assert_plain("t.dat")
        self.assert_nothing_left()


class Here(Board):
    def test_as_on_this_machine(self):
        self.check_plain()

    def test_busybox(self):
        tools = os.path.join(self.folder, "tools")
        os.mkdir(tools)
        subprocess.run(["busybox", "--install", "-s", tools], check=True)
        self.check_plain(way=f"exec:env -i PATH={tools} TMPDIR={self.there} {tools}/sh -c {{}}")

    def without_pipes(self):
        """A busybox that cannot make any."""
        tools = os.path.join(self.folder, "tools")
        os.mkdir(tools)
        subprocess.run(["busybox", "--install", "-s", tools], check=True)
        os.remove(os.path.join(tools, "mkfifo"))
        os.remove(os.path.join(tools, "mknod"))
        return f"exec:env -i PATH={tools} TMPDIR={self.there} {tools}/sh -c {{}}"

    @unittest.skipUnless(shutil.which("mksh"), "no mksh")
    def test_korn_shell(self):
        """Android's: it keeps to itself what exec opens, and the trace must stay open until the program opens it."""
        os.symlink(shutil.which("mksh"), os.path.join(self.folder, "sh"))
        way = f"exec:PATH={self.folder}:$PATH sh -c {{}}"
        done = self.run_on("/bin/sh", "-c", "[ -e /proc/$$/fd/9 ]", way=way)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_plain(way=way)

    def test_without_pipes(self):
        """What all processes recorded is kept in a file there, and comes at the end."""
        way = self.without_pipes()
        self.check_plain(way=way)
        os.remove(os.path.join(self.folder, "t.dat"))
        self.check_family(way=way)
        done = self.run_on("sh", "-c", "kill -9 $$", way=way)
        self.assertEqual(done.returncode, 137)
        self.assertIn("no pipe can be created", done.stderr)
        self.report("t.dat")
        done = self.command("doctor", "--on", way, "--", PLAIN)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("kept in a file until the program ends", done.stdout)
        self.assert_nothing_left()

    def test_folder_with_pipes_is_preferred(self):
        way = self.without_pipes()
        path = os.path.join(self.folder, "tools/mkfifo")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\ncase $1 in {self.there}/*) exit 1 ;; esac\nexec {shutil.which('busybox')} mkfifo \"$@\"\n")
        os.chmod(path, 0o755)
        done = self.run_on(PLAIN, way=way)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("no pipe", done.stderr)
        self.assert_plain("t.dat")
        self.assert_nothing_left()

    def test_file_has_a_bound(self):
        """The program goes on, and what fitted is read."""
        program = "for i in range(300000):\n    kept = bytearray(600 + i % 9)\nprint('done')"
        done = self.run_on("/usr/bin/python3", "-c", program, way=self.without_pipes(), options=["--spill-size", "65536"])
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)
        self.assertLess(os.path.getsize(os.path.join(self.folder, "t.dat")), 80000)
        self.report("t.dat")
        self.assert_nothing_left()

    @unittest.skipUnless(os.getuid() == 0, "only root becomes somebody else")
    def test_without_root(self):
        user = "exec:setpriv --reuid=65534 --regid=65534 --clear-groups "
        self.check_plain(way=user + "sh -c {}")
        shutil.copy(PLAIN, self.folder)
        os.chmod(os.path.join(self.folder, "plain"), 0o4755)
        done = self.run_on(os.path.join(self.folder, "plain"), way=user + "sh -c {}")
        self.assert_one_line(done, 126, "set-uid")
        self.assert_nothing_left()

    def test_streams_status_and_words(self):
        done = self.run_on("sh", "-c", "sed s/a/b/; echo \"$1\" >&2; exit 7", "x", "it's $HOME\n\"so\"", options=["-q"])
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, "", "it's $HOME\n\"so\"\n"))
        with open(os.path.join(self.folder, "input"), "w+", encoding="ascii") as file:
            file.write("a line\n" * 400000)
            file.flush()
            file.seek(0)
            done = self.run_on("sed", "s/a/b/", stdin=file)
        self.assertEqual((done.returncode, done.stdout), (0, "b line\n" * 400000), done.stderr)
        self.assert_nothing_left()

    def test_shells_could_do_it_themselves(self):
        done = self.run_on("echo", "-n", "a", options=["-q"])
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "a", ""))
        self.report("t.dat")

    def test_wrapped(self):
        done = self.run_on("env", "A=b c", "nice", "sh", "-c", "echo $A", options=["-q"])
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "b c\n", ""))
        self.assertIn("sh -c", self.report("t.dat").splitlines()[0])

    def test_killed(self):
        done = self.run_on("sh", "-c", "kill -9 $$")
        self.assertEqual(done.returncode, 137)
        self.assertIn("sh was ended by signal 9 SIGKILL", done.stderr.splitlines()[0])
        self.report("t.dat")
        self.assert_nothing_left()

    def test_name_of_trace(self):
        done = self.command("run", "--on", self.way, "-o", "%e-%%-%n.dat", "--", PLAIN)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.command("run", "--on", self.way, "-o", "%e-%%-%n.dat", "--", PLAIN)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_plain("plain-%-0.dat")
        self.assert_plain("plain-%-1.dat")

    def test_two_at_once(self):
        first = self.start("sh", "-c", "echo up; read x", stdin=subprocess.PIPE)
        self.addCleanup(first.stdin.close)
        self.assertEqual(first.stdout.readline(), "up\n")
        path = os.path.join(self.folder, "t.dat")
        self.wait_until(lambda: os.path.exists(path) and os.path.getsize(path))
        done = self.run_on(PLAIN)
        self.assertEqual(done.returncode, 0, done.stderr)
        second = [name for name in os.listdir(self.folder) if name.startswith("t.dat.") and "store" not in name]
        self.assertEqual(len(second), 1)
        self.assertIn(f"wrote {self.folder}/{second[0]} ", done.stderr)
        self.assertIn("another run writes", done.stderr)
        self.assert_plain(second[0])
        first.communicate("\n")
        self.assertEqual(first.returncode, 0)
        self.assertIn("sh -c", self.report("t.dat").splitlines()[0])

    def test_family(self):
        self.check_family()

    def test_forked_child(self):
        """Without %p its trace is named as the recorder names it; programs that are executed are not recorded."""
        done = self.run_on("/usr/bin/python3", "-c", FAMILY)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 more by a child process: ", done.stderr)
        own, child = self.traces()
        self.assertEqual((own, child.rsplit(".", 1)[0]), ("t.dat", "t.dat"))
        self.assertEqual(self.made("t.dat"), (100, 0, 0))
        self.assertEqual(self.made(child), (0, 50, 0))

    def test_many_children(self):
        """More than may be open at once, side by side."""
        program = ("import os, sys\nprint(flush=True)\n"
                   "children = [os.fork() for _ in range(7)]\n"
                   "kept = [bytearray(50000) for _ in range(3)]\n"
                   "for child in filter(None, children):\n    os.waitpid(child, 0)\n")
        done = self.run_on("/usr/bin/python3", "-c", program, options=["-q", "-o", "%p.dat"])
        self.assertEqual(done.returncode, 0, done.stderr)
        traces = self.traces()
        self.assertEqual(len(traces), 128)
        for trace in traces[:8]:
            self.assertEqual(self.made(trace), (3, 0, 0))

    def test_executes_itself(self):
        """The same process has a trace for each program, one after another."""
        done = self.run_on("sh", "-c", f"kept=$(echo x); exec {PLAIN}", options=["--follow-children", "-o", "%p.dat"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 more of the programs before, which the same process executed", done.stderr)
        names = [name for name in self.traces() if name.count(".") == 2]
        self.assertEqual(len(names), 1)
        self.assert_plain(names[0])

    def test_child_that_stays(self):
        """A program that is killed while a child goes on; what the child does is recorded to its end."""
        sign = os.path.join(self.folder, "sign")
        program = (f"import os, signal, time\nkept = [bytearray(50000) for _ in range(10)]\n"
                   "if os.fork():\n    os.kill(os.getpid(), signal.SIGKILL)\n"
                   f"while not os.path.exists('{sign}'):\n    time.sleep(0.01)\n"
                   "kept = [bytearray(60000) for _ in range(10)]\n")
        process = self.start("/usr/bin/python3", "-c", program)
        self.wait_until(lambda: len(self.traces()) == 2 or process.poll() is not None)
        with open(sign, "w", encoding="ascii"):
            pass
        self.assertEqual((process.stdout.read(), process.wait()), ("", 137))
        own, child = self.traces()
        self.assertEqual(self.made(own), (10, 0, 0))
        self.assertEqual(self.made(child), (0, 10, 0))
        self.assert_nothing_left()

    def test_cut_with_children(self):
        sign = os.path.join(self.folder, "sign")
        program = ("import os, signal, time\nkept = [bytearray(50000) for _ in range(10)]\n"
                   "os.fork()\nkept = [bytearray(60000) for _ in range(10)]\nos.write(1, b'up\\n')\n"
                   f"while not os.path.exists('{sign}'):\n    time.sleep(0.01)\n")
        process = self.start("/usr/bin/python3", "-c", program)
        self.assertEqual(process.stdout.readline() + process.stdout.readline(), "up\nup\n")
        self.wait_for_traces(2)
        process.kill()
        process.wait()
        self.wait_until(lambda: not os.listdir(self.there))
        with open(sign, "w", encoding="ascii"):
            pass
        for trace in self.traces():
            self.report(trace)

    def test_what_is_no_trace(self):
        """Something on the board writes into the connection, or it wants to have files that it must not have."""
        header = "\\0".join(["x" * 8, ""])
        for junk in ("head -c 9000 /dev/zero", "head -c 9000 /dev/zero | tr '\\0' x", f"printf '{header}'; head -c 9000 /dev/zero",
                     "printf '12345678\\020\\0\\0\\0'; head -c 9000 /dev/zero"):
            way = "exec:case {} in *'cat pid'*) " + f"exec sh -c \"echo ready; echo 1; {junk}\" ;; *) exec sh -c {{}} ;; esac"
            done = self.run_on(PLAIN, way=way)
            self.assertEqual(done.returncode, 255, done.stderr)
            self.assertIn("is not a trace", done.stderr)
            self.assertEqual(self.traces(), [])
            self.assert_nothing_left()

    def test_signal(self):
        process = self.start("sh", "-c", "trap 'echo got; exit 4' TERM; echo up; while :; do sleep 0.05; done")
        self.assertEqual(process.stdout.readline(), "up\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual((process.stdout.read(), process.wait()), ("got\n", 4))
        self.assert_nothing_left()

    def test_signal_at_once(self):
        """The program has started, and the command does not know it yet."""
        self.way = (f"exec:case {{}} in *'cat pid'*) until [ -s {self.there}/*/pid ]; do sleep 0.01; done; kill -STOP $PPID ;; esac; "
                    "exec sh -c {}")
        process = self.start("sh", "-c", "trap 'echo got; exit 4' TERM; echo up; while :; do sleep 0.05; done")
        self.assertEqual(process.stdout.readline(), "up\n")
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        self.assertEqual((process.stdout.read(), process.wait()), ("got\n", 4))
        self.assert_nothing_left()

    def test_cut(self):
        sign = os.path.join(self.folder, "sign")
        process = self.start("sh", "-c", f"trap 'echo up >{sign}; exit 4' HUP; echo up; while :; do sleep 0.05; done")
        self.assertEqual(process.stdout.readline(), "up\n")
        self.wait_for_traces()
        process.kill()
        process.wait()
        self.wait_until(lambda: os.path.exists(sign))
        self.wait_until(lambda: not os.listdir(self.there))
        self.report("t.dat")

    def test_written_meanwhile(self):
        """A recorder makes a file in the folder while that is removed."""
        tools = os.path.join(self.folder, "tools")
        os.mkdir(tools)
        path = os.path.join(tools, "rm")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n[ \"$1\" = -rf ] || exec {shutil.which('rm')} \"$@\"\nshift\n{shutil.which('rm')} -rf \"$1\"/*\n"
                       "{ echo >\"${1%.old}/late\"; } 2>/dev/null\nrmdir \"$1\"\n")
        os.chmod(path, 0o755)
        self.check_plain(way=f"exec:PATH={tools}:$PATH sh -c {{}}")

    def test_receiver_cut(self):
        """No session is started after that: it would connect anew."""
        self.way = "exec:echo x >>calls; case {} in *'cat pid'*) echo $$ >r; mv r receiver ;; esac; exec sh -c {}"
        sign = os.path.join(self.folder, "sign")
        process = self.start("sh", "-c", f"echo up; while [ ! -e {sign} ]; do sleep 0.05; done", options=["--fetch-binaries", "binaries"])
        self.assertEqual(process.stdout.readline(), "up\n")
        self.wait_for_traces()
        with open(os.path.join(self.folder, "receiver"), encoding="ascii") as file:
            os.kill(int(file.read()), signal.SIGKILL)
        with open(sign, "w", encoding="ascii"):
            pass
        process.wait()
        with open(os.path.join(self.folder, "calls"), encoding="ascii") as file:
            self.assertEqual(file.read(), "x\n" * 3)
        self.assert_nothing_left()

    def test_silent(self):
        """A board that takes the signal and never answers; the program there goes on until its shell is ended."""
        os.mkfifo(os.path.join(self.folder, "hold"))
        self.way = ("exec:case {} in *'kill -'*' \"$k\"') echo $$ >s; mv s sign; exec sleep 10000 ;; "
                    "*) exec sh -c {} ;; esac")
        self.environment = {**self.environment, "HEAPSONDE_BOARD_PATIENCE": "2"}
        sign = os.path.join(self.folder, "sign")
        process = self.start("sh", "-c", "echo up; read x <hold", options=["--junit", "%e.xml"])
        self.assertEqual(process.stdout.readline(), "up\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=PATIENCE), 255)
        self.assertIn("was cut", process.stderr.read())
        if os.path.exists(sign):  # On a busy machine the shell may have been ended before it wrote that.
            with open(sign, encoding="ascii") as file:
                number = file.read().strip()
            self.wait_until(lambda: has_ended(number))
        self.wait_until(lambda: not os.listdir(self.there))
        self.assert_failure("sh.xml", "was cut")

    def assert_failure(self, name, words):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            written = file.read()
        self.assertIn('failures="1"', written)
        self.assertIn(words, written)

    def test_failures_are_published(self):
        for program, way, words in ((PLAIN, "exec:exit 1; {}", "was cut"), ("no-such-program", SHELL, "not found"),
                                    (self.folder, SHELL, "cannot be recorded")):
            self.run_on(program, way=way, options=["--junit", "t.xml"])
            self.assert_failure("t.xml", words)
            os.remove(os.path.join(self.folder, "t.xml"))

    def check_interrupted(self, way):
        """The way says with a number of a process that it has come to where it does not answer."""
        self.way = way
        sign = os.path.join(self.folder, "sign")
        process = self.start(PLAIN)
        self.wait_until(lambda: os.path.exists(sign))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=PATIENCE), 128 + signal.SIGTERM)
        self.assertEqual(process.stdout.read(), "")
        self.assertEqual(process.stderr.read(), f"heapsonde run: interrupted before {PLAIN} was started\n")
        with open(sign, encoding="ascii") as file:
            number = file.read().strip()
        self.wait_until(lambda: has_ended(number))
        self.wait_until(lambda: not os.listdir(self.there))

    def test_interrupted_without_an_answer(self):
        self.check_interrupted("exec:echo $$ >s; mv s sign; exec sleep 10000; : {}")

    def test_interrupted_while_sending(self):
        self.check_interrupted("exec:if mkdir first 2>/dev/null; then exec sh -c {}; fi; echo $$ >s.$$; mv s.$$ sign; exec sleep 10000")

    def test_refusals(self):
        script = os.path.join(self.folder, "script")
        for first, status, words in ((script, 126, "name the program that runs it"), ("/no/such -x", 127, "/no/such, which the #! line of ")):
            with open(script, "w", encoding="ascii") as file:
                file.write(f"#!{first}\n")
            os.chmod(script, 0o644)
            self.assert_one_line(self.run_on(script), 126, "chmod +x")
            os.chmod(script, 0o755)
            self.assert_one_line(self.run_on(script), status, words)
        self.assert_one_line(self.run_on("no-such-program"), 127, "was not found on exec:")
        self.assert_one_line(self.run_on(self.folder), 126, "is a folder")
        with open("/bin/true", "rb") as file:
            program = bytearray(file.read())
        program[18] = 0xf3
        with open(script, "wb") as file:
            file.write(program)
        self.assert_one_line(self.run_on(script), 126, "64-bit RISC-V")
        self.assert_one_line(self.run_on(PLAIN, way="exec:sh"), 255, "has no {}")
        self.assert_one_line(self.run_on(PLAIN, way="exec:echo no such board >&2 # {}"), 255, "no such board")
        self.assert_one_line(self.run_on(PLAIN, way="exec:true {}"), 255, "no shell script ran there")
        self.assert_one_line(self.run_on(PLAIN, way="exec:echo other; exec >/dev/null; cat; : {}"), 255, "no shell script ran")
        self.assert_one_line(self.run_on(PLAIN, way="telnet:board"), 255, "ssh://")
        shutil.copy(PLAIN, os.path.join(self.folder, "a=b"))
        self.assert_one_line(self.run_on("./a=b"), 126, "another name")
        self.assert_one_line(self.run_on("nice", "./a=b"), 126, "another name")
        self.assert_one_line(self.command("run", "nice", "./a=b"), 126, "another name")
        self.assertEqual(self.command("run", "-q", "-o", "t.dat", "./a=b").returncode, 0)
        self.assert_nothing_left()

    def test_scripts(self):
        """What the kernel runs for them is recorded, found by PATH or not."""
        os.mkdir(os.path.join(self.folder, "tools"))
        made = "made = [bytearray(50000 + i) for i in range(100)]"
        for first, body, fails in (("/usr/bin/python3", f"import sys; {made}; print(sys.argv)", True),
                                   ("/usr/bin/env python3", f"import sys; {made}; print(sys.argv)", True),
                                   ("/usr/bin/env -S python3 -E", f"import sys; {made}; print(sys.argv)", False),
                                   ("/bin/sh -e", "echo \"['$0', '$1']\"", False)):
            script = os.path.join(self.folder, "tools", "a script")
            with open(script, "w", encoding="ascii") as file:
                file.write(f"#!{first}\n{body}\n")
            os.chmod(script, 0o755)
            for name in (script, "a script", "tools/a script"):
                done = self.run_on(name, "x y", way=f"exec:PATH={self.folder}/tools:/usr/bin:/bin sh -c {{}}")
                self.assertEqual((done.returncode, done.stdout.split("/")[-1]), (0, "a script', 'x y']\n"), done.stderr)
                if fails:
                    self.report("t.dat", "--fail-if", "allocated_count(size_min=50000, size_max=50200) < 100")
        self.assert_nothing_left()

    def test_doctor(self):
        def doctor(*words):
            done = self.command("doctor", "--json", "--on", *words)
            found = json.loads(done.stdout)
            self.assertEqual((done.returncode, done.stderr), (0 if found["recording"] else 1, ""))
            self.assert_nothing_left()
            return found["recording"], {check["name"]: check["state"] for check in found["checks"]}

        def all_but(**others):
            return {**dict.fromkeys(("connection", "program", "library", "folder", "stream"), "works"), **others}
        self.assertEqual(doctor(SHELL, "--", PLAIN), (True, all_but()))
        self.assertEqual(doctor(SHELL), (True, all_but()))
        self.assertEqual(doctor(SHELL, "--", "no-such-program"), (False, all_but(program="fails", library="unasked")))
        self.assertEqual(doctor(SHELL, "--board-folder", "/no/such", "--", PLAIN),
                         (False, all_but(folder="fails", stream="unasked")))
        # Of a kernel with another kind of machine.
        other = "armv7l" if os.uname().machine == "x86_64" else "x86_64"
        with open(self.folder + "/uname", "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\necho {other}\n")
        os.chmod(self.folder + "/uname", 0o755)
        way = f"exec:PATH={self.folder}:/usr/bin:/bin sh -c {{}}"
        self.assertEqual(doctor(way, "--", PLAIN), (True, all_but(program="limited")))
        os.remove(self.folder + "/uname")
        works, states = doctor("exec:false {}", "--", PLAIN)
        self.assertEqual((works, states["connection"]), (False, "fails"))

    def test_fetch_binaries(self):
        done = self.run_on(PLAIN, options=["--fetch-binaries", "root"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("next: heapsonde report --sysroot root ", done.stderr)
        with open(PLAIN, "rb") as file, open(self.folder + "/root" + os.path.realpath(PLAIN), "rb") as copy:
            self.assertEqual(file.read(), copy.read())
        names = {name for _, _, files in os.walk(self.folder + "/root") for name in files}
        self.assertIn("libc.so.6", names)
        self.assertNotIn("libheapsonde-trace.so", names)
        self.assert_nothing_left()

    def test_no_folder(self):
        for folder, reason in (("/no/such", "/no/such does not exist"), ("/proc", "/proc is not writable")):
            done = self.run_on(PLAIN, options=["--board-folder", folder])
            self.assert_one_line(done, 126, reason)
        for folder in ("there", self.folder + "/a b", self.folder + "/a:b", self.folder + "/it's", ""):
            done = self.run_on(PLAIN, options=["--board-folder", folder])
            self.assert_one_line(done, 255, "absolute path")
        # One that nobody named is left out.
        folder = self.folder + "/it's a:b"
        os.mkdir(folder)
        self.check_plain(way=f"exec:TMPDIR=\"{folder}\" sh -c {{}}")
        self.assertEqual(os.listdir(folder), [])

    @unittest.skipUnless(MAY_MOUNT, "no namespaces here")
    def test_namespace_of_its_own(self):
        """Its processes end with the script, whatever they have still to send: of a program that ended, and of one that was killed."""
        self.way = "exec:unshare -pf sh -c {}"
        program = "kept = [bytearray(50000 + i % 2) for i in range(20000)]"
        self.check_plain()
        done = self.run_on("/usr/bin/python3", "-c", program)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.report("t.dat", "--fail-if", "allocated_count(size_min=50000, size_max=50002) != 20000")
        done = self.run_on("/usr/bin/python3", "-c", program + "\nimport os\nos.kill(os.getpid(), 9)")
        self.assertEqual(done.returncode, 137, done.stderr)
        self.report("t.dat", "--fail-if", "allocated_count(size_min=50000, size_max=50002) != 20000")
        self.assert_nothing_left()

    @unittest.skipUnless(MAY_MOUNT, "nothing may be mounted here")
    def test_folders_that_will_not_do(self):
        for options, reason in (("noexec", "(noexec)"), ("ro", "is not writable"), ("size=64k", "KiB free")):
            way = f"exec:unshare -m sh -c 'mount -t tmpfs -o {options} none \"$0\" && exec sh -c \"$1\"' {self.there} {{}}"
            done = self.run_on(PLAIN, way=way, options=["--board-folder", self.there])
            self.assert_one_line(done, 126, reason)

    @unittest.skipUnless(MAY_MOUNT, "nothing may be mounted here")
    def test_no_room_for_trace(self):
        full = os.path.join(self.folder, "full")
        os.mkdir(full)
        script = ('mount -t tmpfs -o size=16k none "$0" && head -c 12288 /dev/zero >"$0/rest" && '
                  'exec "$@"')
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, full, COMMAND, "run", "--on", self.way, "-o",
                               full + "/t.dat", "--", PLAIN], env=self.variables({}), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=PATIENCE, check=False, start_new_session=True)
        self.assertEqual((done.returncode, done.stdout.split(":")[-1]), (1, " 1000 blocks\n"), done.stderr)
        self.assertIn("cannot be written on this machine: No space left", done.stderr)
        self.assertIn("its end is missing", done.stderr)
        self.assert_nothing_left()


# A root folder as boards have them, in a mount namespace of its own, which lasts until the input ends: nothing in it can be written but
# what is mounted there, and there is no /tmp.
BOARD_ROOT = """set -e
mount --bind "$0" "$0"
mount --rbind /proc "$0/proc"
mount -t tmpfs -o noexec none "$0/var/tmp"
mount --bind /dev/null "$0/dev/null"
mount -t tmpfs "$@" none "$0/run"
mount -o remount,bind,ro "$0"
echo $$
read line
"""


@unittest.skipUnless(MAY_MOUNT, "nothing may be mounted here")
class SmallBoard(Board):
    """Busybox is its shell and all its commands, the root folder is read-only, /tmp is missing, and /var/tmp is noexec."""

    def setUp(self):
        super().setUp()
        self.root = os.path.join(self.folder, "root")
        for name in ("bin", "dev", "proc", "run", "var/tmp"):
            os.makedirs(os.path.join(self.root, name))
        open(os.path.join(self.root, "dev/null"), "wb").close()
        programs = (os.path.realpath(shutil.which("busybox")), PLAIN)
        for path in programs:
            shutil.copy(path, os.path.join(self.root, "bin"))
            needed = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
            for library in re.findall(r"(/\S+) \(", needed):
                os.makedirs(self.root + os.path.dirname(library), exist_ok=True)
                shutil.copy(library, self.root + library)
        applets = subprocess.run(["busybox", "--list"], capture_output=True, text=True, check=True).stdout.split()
        for name in applets:
            if name != "busybox":
                os.symlink("busybox", os.path.join(self.root, "bin", name))

    def enter(self, *options):
        """Makes the board; the rest are options of the mount of /run."""
        holder = subprocess.Popen(["unshare", "-m", "sh", "-c", BOARD_ROOT, self.root, *options], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(holder.communicate)
        number = int(holder.stdout.readline())
        self.enter_root = f"nsenter -t {number} -m chroot {self.root} /bin/"
        self.way = f"exec:env -i PATH=/usr/sbin:/usr/bin:/bin {self.enter_root}sh -c {{}}"

    def assert_nothing_left(self):
        words = (self.enter_root + "find /run /var/tmp -mindepth 1").split()
        self.assertEqual(subprocess.run(words, capture_output=True, text=True, check=True).stdout, "")

    def test_one_folder_will_do(self):
        self.enter()
        done = self.run_on("plain")
        self.assertEqual((done.returncode, done.stdout.split(":")[-1]), (0, " 1000 blocks\n"), done.stderr)
        self.report("t.dat", "--sysroot", self.root, "--fail-if",
                    'allocated_count(size_min=100, size_max=1099, function=~"outer") != 1000')
        self.assert_nothing_left()

    def test_no_folder_will_do(self):
        self.enter("-o", "ro")
        done = self.run_on("plain")
        self.assert_one_line(done, 126, "/var/tmp")
        for words in ("(noexec)", "/run is not writable", "--board-folder"):
            self.assertIn(words, done.stderr)
        self.assertIn("(noexec)", self.command("doctor", "--on", self.way, "--", "plain").stdout)
        self.assert_nothing_left()


# As adb 1.0.36 and later with a device that has the shell protocol: the words are joined for the device's shell, and the
# streams and the exit status come back each by itself.
ADB = """#!/bin/sh
case "$1 $2 $3 $4" in
"-s board shell -T") shift 4 && exec sh -c "$*" ;;
"-s old shell -T") echo 'error: device only supports allocating a pty' >&2 ;;
*) echo "adb: device '$2' not found" >&2 ;;
esac
exit 1
"""
PODMAN = """#!/bin/sh
case "$1 $2 $3" in
"exec -i board") shift 3 && exec "$@" ;;
"exec -i stopped") echo 'Error: can only create exec sessions on running containers: container state improper' >&2 ;;
*) echo "Error: no container with name or ID \\"$3\\" found: no such container" >&2 ;;
esac
exit 125
"""
# As 20.10.
DOCKER = """#!/bin/sh
case "$1 $2 $3" in
"exec -i board") shift 3 && exec "$@" ;;
"exec -i stopped") echo 'Error response from daemon: Container 4f1d2c is not running' >&2 ;;
*) echo "Error: No such container: $3" >&2 ;;
esac
exit 1
"""


class OtherWays(Board):
    """With commands that do what adb, podman and docker say of themselves."""

    def setUp(self):
        super().setUp()
        for name, script in (("adb", ADB), ("podman", PODMAN), ("docker", DOCKER)):
            path = os.path.join(self.folder, name)
            with open(path, "w", encoding="ascii") as file:
                file.write(script)
            os.chmod(path, 0o755)
        self.environment["PATH"] = self.folder + ":" + os.environ["PATH"]

    def test_as_on_this_machine(self):
        for way in ("adb:board", "podman:board", "docker:board"):
            self.check_plain(way=way)
            done = self.run_on("sh", "-c", "cat; echo \"$1\" >&2; exit 7", "x", "it's", way=way, options=["-q"])
            self.assertEqual((done.returncode, done.stdout, done.stderr), (7, "", "it's\n"))
        self.assert_nothing_left()

    def test_refusals(self):
        for way, words in (("adb:other", "'adb devices' lists them"), ("adb:old", "too old"),
                           ("podman:other", "'podman ps' lists them"), ("podman:stopped", "is not running"),
                           ("docker:other", "'docker ps' lists them"), ("docker:stopped", "is not running")):
            self.assert_one_line(self.run_on(PLAIN, way=way), 255, words)


if __name__ == "__main__":
    unittest.main(verbosity=2)
