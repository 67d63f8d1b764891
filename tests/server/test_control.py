# SPDX-License-Identifier: MIT OR Apache-2.0
"""Commands to the process that writes a trace: only with --control, only to the one that writes this trace."""
import ctypes
import glob
import json
import os
import subprocess
import unittest

from client import COMMAND, SHIM, TestCase, until

# Allocates as many bytes as each line says, and answers; "again" executes the program anew, with another trace; "hide" lets
# nobody without rights look at the process.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
static char line[4096];
int main(int count, char **words)
{
    (void)count;
    setvbuf(stdin, NULL, _IONBF, 0);
    setvbuf(stdout, NULL, _IONBF, 0);
    puts("ready");
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (!strcmp(line, "again"))
            execv("/proc/self/exe", words);
        if (!strcmp(line, "hide"))
            prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        void *volatile block = malloc(strtoul(line, NULL, 10));
        (void)block;
        puts("done");
    }
    return 0;
}
"""


def without_rights():
    """Root may look at all processes, but not without these: to trace, to administrate, to measure."""
    drop_from_bounding_set = 24
    for right in (19, 21, 38):
        ctypes.CDLL(None).prctl(drop_from_bounding_set, right, 0, 0, 0)


@unittest.skipUnless(SHIM, "nothing is recorded in this build")
class Control(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.binary = cls.path("program")
        subprocess.run(["gcc", "-x", "c", "-g", "-O1", "-", "-o", cls.binary], input=PROGRAM, text=True, check=True)

    def setUp(self):
        self.trace = self.path(self.id().rsplit(".", 1)[-1] + ".dat")

    def start(self, **more):
        environment = {**os.environ, "LD_PRELOAD": SHIM, "HEAPSONDE_OUTPUT": self.trace, **more}
        self.program = subprocess.Popen([self.binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=environment)
        self.addCleanup(self.end)
        self.assertEqual(self.program.stdout.readline(), "ready\n")
        self.until_readable(self.trace)

    def end(self):
        self.program.kill()
        self.program.wait()
        self.program.stdin.close()
        self.program.stdout.close()

    @staticmethod
    def until_readable(trace):
        until(lambda: subprocess.run([COMMAND, "report", "--json", trace], check=False, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL).returncode == 0)

    def say(self, line, answer="done"):
        self.program.stdin.write(line + "\n")
        self.assertEqual(self.program.stdout.readline(), answer + "\n")

    def command(self, server, action, headers=None, **more):
        """The connection to a process ends when one side says nothing for seconds: a command is given again then."""
        while True:
            status, _, body = server.ask("/data/last/control", headers, "POST", action=action, **more)
            if status != 409 or not any(word in body for word in (b"in time", b"closed the connection", b"broke", b"timed out")):
                return status, json.loads(body) if status == 200 else body.decode()

    def listening(self, server):
        return until(lambda: (state := server.data("control"))["absence"] is None and state)

    def test_marks_stop_start_flush(self):
        self.start(HEAPSONDE_ENABLE_SERVER="1")
        server = self.serve("--control", self.trace)
        self.assertEqual(self.listening(server), {"allowed": True, "absence": None, "recording": True, "sample_bytes": None, "answer": None})
        self.say("6666")
        status, said = self.command(server, "stop")
        self.assertEqual((status, said["recording"], said["answer"].split()[0]), (200, False, "paused"))
        self.say("7777")
        self.assertFalse(self.listening(server)["recording"])
        self.assertTrue(self.command(server, "start")[1]["recording"])
        self.assertEqual(self.command(server, "start")[1]["answer"], "recording already")
        self.say("8888")
        self.assertEqual(self.command(server, "mark", text="a mark, 50 % <b>")[1]["answer"], "marked")
        self.assertEqual(self.command(server, "flush")[0], 200)
        marks = until(lambda: (found := server.data("summary")["marks"])[-1:] and found[-1]["kind"] == "mark" and found)
        said = list(dict.fromkeys((mark["kind"], mark["text"]) for mark in marks))
        self.assertEqual(said, [("stop", ""), ("start", ""), ("mark", "a mark, 50 % <b>")])
        self.program.stdin.close()
        self.assertEqual(self.program.wait(), 0)

        def count(size):
            return server.data("allocations", size_min=size, size_max=size)["total_count"]
        until(lambda: count(8888))
        self.assertEqual([count(size) for size in (6666, 7777, 8888)], [1, 0, 1])

    def test_what_is_refused(self):
        self.start(HEAPSONDE_ENABLE_SERVER="1")
        server, silent = self.serve("--control", self.trace), self.serve(self.trace)
        self.listening(server)
        self.assertEqual(silent.data("control"), {"allowed": False, "absence": "the server was started without --control", "recording": None, "sample_bytes": None, "answer": None})
        self.assertEqual(self.command(silent, "stop")[0], 403)
        for headers in ({"Origin": "http://elsewhere.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
                        {"Host": "elsewhere.example"}, {"User-Agent": "Mozilla/5.0", "Referer": "http://elsewhere.example/"}):
            self.assertEqual(self.command(server, "stop", headers)[0], 403, headers)
        for asked in ({"action": "kill"}, {"action": "mark"}, {"action": "mark", "text": ""}, {"action": "mark", "text": "a\nb"},
                      {"action": "mark", "text": "x" * 401}, {"action": "stop", "text": "a"}, {}):
            self.assertEqual(server.ask("/data/last/control", method="POST", **asked)[0], 400, asked)
        self.assertEqual(server.ask("/data/last/control", action="stop")[0], 200)  # GET commands nothing
        self.assertEqual(server.ask("/data/last/control", method="HEAD", action="stop")[0], 200)
        self.assertEqual(server.ask("/data/last/summary", method="POST")[0], 405)
        self.assertEqual(server.ask("/data/unknown/control", method="POST", action="stop")[0], 404)
        guarded = self.serve("--control", "--token", "a-token", self.trace)
        self.assertEqual(self.command(guarded, "stop")[0], 401)
        self.assertEqual(self.command(guarded, "stop", {"Authorization": "Bearer another"})[0], 401)
        self.assertTrue(self.listening(server)["recording"])
        self.assertEqual(self.command(guarded, "stop", {"Authorization": "Bearer a-token"})[0], 200)
        self.assertFalse(self.listening(server)["recording"])

    def test_a_cookie_is_no_page_of_this_server(self):
        """Browsers send the cookie also for pages of other ports; what they say about them is not known of old browsers, and of
        servers on other machines that are reached without HTTPS."""
        self.start(HEAPSONDE_ENABLE_SERVER="1")
        server = self.serve("--control", "--token", "a-token", self.trace)
        cookie = {"Cookie": server.ask("/", {"Accept": "text/html"}, token="a-token")[1]["Set-Cookie"].split(";")[0]}
        here, board = f"{server.host}:{server.port}", f"board.example:{server.port}"
        for headers, wanted in (({}, 403), ({"Referer": f"http://{here}/"}, 403), ({"Origin": "null"}, 401), ({"Origin": f"http://{server.host}:1"}, 401),
                                ({"Origin": f"http://{server.host}"}, 401), ({"Origin": f"http://{here}1"}, 401),
                                ({"Origin": f"http://{board}"}, 401), ({"Sec-Fetch-Site": "same-site", "Origin": f"http://{here}"}, 401)):
            self.assertEqual(self.command(server, "stop", {**cookie, **headers})[0], wanted, headers)
        until(lambda: json.loads(server.ask("/data/last/control", cookie)[2])["recording"])
        for headers in ({"Origin": f"http://{here}"}, {"Origin": f"http://{board}", "Host": board},
                        {"Sec-Fetch-Site": "same-origin", "Origin": "https://proxy.example"}):
            self.assertEqual(self.command(server, "mark", {**cookie, **headers}, text="here")[0], 200, headers)
        self.assertEqual(self.command(server, "stop", {"Authorization": "Bearer a-token", "User-Agent": "Mozilla/5.0"})[0], 200)

    def test_other_machines_need_the_token(self):
        trace = self.random_trace("random.dat", 4, 100)
        refused = subprocess.run([COMMAND, "server", "--control", "--interface", "0.0.0.0", "--port", "0", trace], check=False, capture_output=True,
                                 text=True, env={name: value for name, value in os.environ.items() if name != "HEAPSONDE_TOKEN"})
        self.assertEqual(refused.returncode, 1)
        self.assertIn("token", refused.stderr)
        refused = subprocess.run([COMMAND, "server", "--key-file", trace, trace], check=False, capture_output=True, text=True)
        self.assertEqual((refused.returncode, "--control" in refused.stderr), (2, True))

    def test_processes_that_cannot_be_commanded(self):
        self.start()
        server = self.serve("--control", self.trace)
        self.assertIn("does not listen", server.data("control")["absence"])
        status, said = self.command(server, "stop")
        self.assertEqual((status, "run --listen" in said), (409, True))
        self.end()
        self.assertIn("does not run", server.data("control")["absence"])
        self.assertEqual(self.command(server, "stop")[0], 409)

    def test_a_process_that_may_not_be_looked_at(self):
        self.start(HEAPSONDE_ENABLE_SERVER="1")
        self.say("hide")
        looks = subprocess.run(["cat", f"/proc/{self.program.pid}/maps"], check=False, capture_output=True, preexec_fn=without_rights)
        if not looks.returncode:
            self.skipTest("this user may look at all processes")
        server = self.serve("--control", self.trace, before=without_rights)
        self.assertIn("another user", server.data("control")["absence"])
        status, said = self.command(server, "stop")
        self.assertEqual((status, "another user" in said), (409, True))

    def test_only_the_process_that_writes_the_trace(self):
        """After exec the number of the process and its port are those of another recording."""
        self.start(HEAPSONDE_ENABLE_SERVER="1", HEAPSONDE_TRACK_CHILD_PROCESSES="1")
        server = self.serve("--control", self.trace)
        self.listening(server)
        self.say("again", "ready")
        other, = (path for path in glob.glob(self.trace + ".*") if os.path.isfile(path))  # it is made before main
        self.until_readable(other)
        now = self.serve("--control", other)
        self.assertTrue(self.listening(now)["recording"])
        until(lambda: "another trace" in (server.data("control")["absence"] or ""))
        self.assertEqual(self.command(server, "stop")[0], 409)
        self.assertTrue(self.listening(now)["recording"])


if __name__ == "__main__":
    unittest.main()
