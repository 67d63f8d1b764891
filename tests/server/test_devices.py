# SPDX-License-Identifier: MIT OR Apache-2.0
"""Gathered devices: who is connected, commands over the connection that gather has, traces that come; and a process of this
machine that is sampled."""
import glob
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest

from client import COMMAND, SHIM, TestCase, until

SAMPLER = SHIM and os.path.join(os.path.dirname(SHIM), "libheapsonde-prof.so")
# Allocates for each line, and answers.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    int byte;
    setvbuf(stdin, NULL, _IONBF, 0);
    setvbuf(stdout, NULL, _IONBF, 0);
    puts("ready");
    while ((byte = getchar()) != EOF)
        if (byte == '\n') {
            void *volatile block = malloc(100000);
            (void)block;
            puts("done");
        }
    return 0;
}
"""

NOBODY = 65534
STRANGER = r"""
import socket
listener = socket.socket(socket.AF_UNIX)
listener.bind(".heapsonde-gather.socket")
listener.listen()
__import__("os").chmod(".heapsonde-gather.socket", 0o777)
print("ready", flush=True)
while True:
    guest = listener.accept()[0]
    try:
        if guest.recv(4096):
            guest.sendall(b"ok\nstatus 0\nlength 2\n\n[]")
    except OSError:
        pass
    guest.close()
"""


@unittest.skipUnless(SHIM, "nothing is recorded in this build")
class Devices(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.binary = cls.path("program")
        subprocess.run(["gcc", "-x", "c", "-g", "-O1", "-", "-o", cls.binary], input=PROGRAM, text=True, check=True)

    def started(self, library, **environment):
        program = subprocess.Popen([self.binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                                   env={**os.environ, "LD_PRELOAD": library, **environment})
        self.addCleanup(self.end, program)
        self.assertEqual(program.stdout.readline(), "ready\n")
        return program

    def say(self, program):
        program.stdin.write("\n")
        self.assertEqual(program.stdout.readline(), "done\n")

    @staticmethod
    def end(program):
        program.kill()
        program.wait()
        for file in (program.stdin, program.stdout):
            if file:
                file.close()

    def gather(self, folder):
        gather = subprocess.Popen([COMMAND, "gather", "--json", "--listen", "127.0.0.1:0", "--dir", folder], stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end, gather)
        return gather, json.loads(gather.stdout.readline())["address"]

    @staticmethod
    def rows(server, **select):
        """At least one; on a busy machine, gather may say once that it was not asked in time."""
        return {row["pid"]: row for row in until(lambda: server.json("/devices", **select)["folders"][0]["devices"])}

    def row(self, server, program, wanted):
        return until(lambda: (row := self.rows(server).get(str(program.pid))) and wanted(row) and row)

    def command(self, server, action, path="/devices/control", headers=None, **more):
        """Given again if the connection was lost or busy, which on a busy machine it may be for seconds."""
        while True:
            status, _, body = server.ask(path, headers, "POST", action=action, **more)
            again = b"not connected", b"another request", b"in time", b"not available", b"does not answer", b"connection broke", b"too many connections"
            if status not in (409, 503, 504) or not any(word in body for word in again):
                return status, json.loads(body) if status == 200 else body.decode()
            time.sleep(0.05)

    def state(self, server, file):
        return until(lambda: (state := server.json("/devices/control", file=file)) and not state["absence"] and state)

    def test_gathered_processes(self):
        folder = self.path("gathered")
        _, address = self.gather(folder)
        recorded = self.started(SHIM, HEAPSONDE_CONNECT=address, HEAPSONDE_LABELS="site=north")
        sampled = self.started(SAMPLER, HEAPSONDE_CONNECT=address, MALLOC_CONF="prof:true,lg_prof_sample:0")
        server, silent = self.serve("--control", folder), self.serve(folder)
        row, other = (self.row(server, program, lambda row: row["state"] == "running") for program in (recorded, sampled))
        self.assertEqual((row["samples"], row["labels"], row["program"], other["samples"], row["address"]),
                         (False, "site=north", "program", True, "127.0.0.1"))
        self.assertEqual(list(self.rows(server, select='labels.site == "north"')), [str(recorded.pid)])
        self.assertEqual(server.ask("/devices", select="labels.site ==")[0], 400)
        # The recorded one: stop, start, a mark, and all that was recorded.
        file = f"{folder}/{row['file']}"
        self.assertEqual((self.state(server, file)["recording"], self.state(server, file)["sample_bytes"]), (True, None))
        self.assertEqual(self.command(server, "stop", file=file)[1]["recording"], False)
        self.assertFalse(self.state(server, file)["recording"])
        self.assertEqual(self.command(server, "start", file=file)[1]["recording"], True)
        self.say(recorded)
        self.assertEqual(self.command(server, "mark", file=file, text="a b")[1]["answer"], "marked")
        self.assertEqual(self.command(server, "flush", file=file)[0], 200)
        self.assertEqual((self.command(server, "dump", file=file)[0], self.command(server, "rate", file=file, bytes=1)[0]), (409, 409))
        trace = until(lambda: [one["id"] for one in server.json("/list") if one.get("path") == file and not one.get("progress")])[0]
        until(lambda: "a b" in [mark["text"] for mark in server.data("summary", trace)["marks"]])
        until(lambda: server.data("allocations", trace, size_min=100000, size_max=100000)["total_count"] == 1)
        # The same by the name of its trace.
        until(lambda: server.data("control", trace)["recording"])
        self.assertEqual(self.command(server, "flush", f"/data/{trace}/control")[0], 200)
        # The sampled one: rate, stop, start, and dumps, which appear in the series.
        file = f"{folder}/{other['file']}"
        self.assertEqual(self.state(server, file)["sample_bytes"], 1)
        self.assertEqual(self.command(server, "rate", file=file, bytes=4096)[1]["sample_bytes"], 4096)
        self.assertEqual(self.state(server, file)["sample_bytes"], 4096)
        self.assertEqual(self.command(server, "stop", file=file)[1]["recording"], False)
        self.assertFalse(self.state(server, file)["recording"])
        self.assertEqual(self.command(server, "start", file=file)[1]["recording"], True)
        self.assertEqual((self.command(server, "mark", file=file, text="a")[0], self.command(server, "flush", file=file)[0]), (409, 409))
        self.assertEqual(self.command(server, "dump", file=file)[0], 200)
        series = until(lambda: [one for one in server.json("/list") if one.get("path") == file and not one.get("progress")])[0]
        before = series["dumps"]
        self.assertEqual(self.command(server, "dump", f"/data/{series['id']}/control")[0], 200)
        until(lambda: [one for one in server.json("/list") if one["id"] == series["id"]][0]["dumps"] > before)
        # A server without the option shows them, and commands none.
        self.assertEqual(self.rows(silent).keys(), self.rows(server).keys())
        self.assertEqual(silent.json("/devices/control", file=file)["absence"], "the server was started without --control")
        self.assertEqual(silent.ask("/devices/control", method="POST", action="stop", file=file)[0], 403)
        # They end.
        for program in (recorded, sampled):
            program.stdin.close()
            program.wait()
            self.row(server, program, lambda row: row["state"] == "ended")
        # The connection goes on for as long as something is left to say on it.
        until(lambda: "not connected" in (server.json("/devices/control", file=file)["absence"] or ""))

    def test_what_is_refused(self):
        folder = self.path("refused")
        gather, address = self.gather(folder)
        recorded = self.started(SHIM, HEAPSONDE_CONNECT=address)
        server = self.serve("--control", folder)
        file = f"{folder}/{self.row(server, recorded, lambda row: row['state'] == 'running')['file']}"
        for headers in ({"Origin": "http://elsewhere.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "elsewhere.example"}):
            self.assertEqual(self.command(server, "stop", headers=headers, file=file)[0], 403, headers)
        for asked in ({"action": "stop"}, {"action": "rate", "file": file}, {"action": "rate", "file": file, "bytes": 0},
                      {"action": "stop", "file": file, "bytes": 1}, {"action": "get-dump", "file": file}):
            self.assertEqual(server.ask("/devices/control", method="POST", **asked)[0], 400, asked)
        for other in ("/etc/passwd", f"{folder}/../x", folder, folder + "/", file + " stop", file + "x"):
            self.assertEqual(server.ask("/devices/control", method="POST", action="stop", file=other)[0], 409, other)
        self.assertTrue(self.state(server, file)["recording"])
        # The socket is the user's alone, and takes nothing that has no text as its answer.
        path = os.path.join(folder, ".heapsonde-gather.socket")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        name = os.path.basename(file).encode()
        for line, wanted in ((b"ask " + name + b" get-dump heap_v2\n", b"error request "), (b"ask nothing status\n", b"error busy "), (b"ask\n", b"error request "),
                             (b"hello\n", b"error request "), (b"devices (\n", b"error request "), (b"devices\n", b"ok\n")):
            self.assertTrue(self.say_to_socket(path, line).startswith(wanted), line)
        gather.terminate()
        gather.wait()
        self.assertFalse(os.path.exists(path))
        self.assertIn("no 'heapsonde gather' receives", server.json("/devices")["folders"][0]["absence"])
        self.assertIn("no 'heapsonde gather' receives", server.json("/devices/control", file=file)["absence"])

    @unittest.skipIf(os.geteuid(), "only root can be two users")
    def test_the_socket_of_another_user(self):
        """Where others may write, they can listen: they are not asked, and what they say is not shown."""
        folder = self.path("planted")
        os.mkdir(folder)
        os.chmod(folder, 0o777)
        with open(os.path.join(folder, ".heapsonde-gather"), "w", encoding="ascii"):
            pass
        try:
            stranger = subprocess.Popen([sys.executable, "-I", "-c", STRANGER], stdout=subprocess.PIPE, text=True, cwd=folder, user=NOBODY)
        except (OSError, subprocess.SubprocessError) as problem:
            self.skipTest(f"no other user can run here: {problem}")
        self.addCleanup(self.end, stranger)
        self.assertEqual(stranger.stdout.readline(), "ready\n")
        server = self.serve("--control", folder)
        planted, = server.json("/devices")["folders"]
        self.assertIsNone(planted["devices"])
        self.assertIn("belongs neither to the owner of the folder", planted["absence"])
        self.assertIn("belongs neither to the owner of the folder", server.json("/devices/control", file=folder + "/x.dat")["absence"])

    @staticmethod
    def say_to_socket(path, line):
        folder = os.open(os.path.dirname(path), os.O_PATH)  # the whole path may be too long for a socket
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
            client.sendall(line)
            os.close(folder)
            return client.recv(100)

    def test_a_sampled_process_of_this_machine(self):
        runtime = tempfile.mkdtemp(prefix="hs-")  # a path that is short enough for a socket
        self.addCleanup(shutil.rmtree, runtime, True)
        os.chmod(runtime, 0o700)
        dumps = self.path("dumps")
        os.mkdir(dumps)
        sampled = self.started(SAMPLER, XDG_RUNTIME_DIR=runtime, MALLOC_CONF=f"prof:true,lg_prof_sample:0,prof_prefix:{dumps}/one")
        self.say(sampled)

        def dump():
            made = subprocess.run([COMMAND, "ctl", str(sampled.pid), "dump"], check=False, capture_output=True, text=True,
                                  env={**os.environ, "XDG_RUNTIME_DIR": runtime})
            return not made.returncode
        until(dump)
        server = self.serve("--control", dumps, environment={"XDG_RUNTIME_DIR": runtime})
        row, = server.json("/list")
        control = f"/data/{row['id']}/control"
        self.assertEqual(until(lambda: (state := server.json(control)) and not state["absence"] and state)["sample_bytes"], 1)
        before = row["dumps"]
        self.assertEqual(self.command(server, "dump", control)[0], 200)
        until(lambda: server.json("/list")[0]["dumps"] > before)
        self.assertEqual(self.command(server, "rate", control, bytes=512)[1]["sample_bytes"], 512)
        # Another process has the number, or another machine has: the dump is not its.
        with open(glob.glob(dumps + "/*.heap")[0], encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
        time_of_dump = re.search("# time: [0-9]{4}", text)[0]
        for pattern, other in ((f"# pid: {sampled.pid}", f"# pid: {os.getpid()}"), ("# host: ", "# host: not-"), (time_of_dump, "# time: 2001")):
            self.assertIn(pattern, text)
            foreign = self.path(f"foreign-{other[2]}.heap")
            with open(foreign, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text.replace(pattern, other, 1))
            strange = self.serve("--control", foreign, environment={"XDG_RUNTIME_DIR": runtime})
            self.assertIn("does not run", strange.data("control")["absence"])
            self.assertEqual(strange.ask("/data/last/control", method="POST", action="stop")[0], 409)
        self.assertTrue(server.json(control)["recording"])
        sampled.kill()
        sampled.wait()
        self.assertIn("does not run", server.json(control)["absence"])


if __name__ == "__main__":
    unittest.main()
