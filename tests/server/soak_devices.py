# SPDX-License-Identifier: MIT OR Apache-2.0
"""A server with its page and `top` beside gathered processes that come and go: soak_devices.py SECONDS [COUNT, default 20].

Every process that was started is in the list in the end, with what it allocated; gather, server and top run to the end, and none of
them ever takes more memory than MOST says, also while each trace is asked for its blocks. Prints the numbers."""
import json
import os
import pty
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from client import COMMAND, SHIM, Server

SECONDS, COUNT = float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20
SEED = int(os.environ.get("HEAPSONDE_TEST_SEED", random.randrange(1 << 31)))
BROWSER = os.environ.get("HEAPSONDE_TEST_BROWSER", "/usr/bin/chromium")
# MiB of resident memory. The server's is 512 of answers, 512 of open traces and 512 of pages of files, and some for itself.
MOST = {"gather": 256, "server": 2048, "top": 256}
# Allocates a block of as many bytes as its number, which says that all of it has come.
PROGRAM = r"""
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **words)
{
    (void)count;
    for (int i = 0; i < 2000; i++)
        free(malloc(64));
    void *volatile block = malloc(strtoul(words[1], NULL, 10));
    (void)block;
    usleep((useconds_t)strtoul(words[2], NULL, 10));
    return 0;
}
"""


def memory_of(pid):
    """KiB; 0 of a process that has ended."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next((int(line.split()[1]) for line in file if line.startswith("VmRSS")), 0)


class Crowd:
    """Twenty at a time, each for one to ten seconds."""

    def __init__(self, binary, address):
        self.binary, self.address, self.random, self.started, self.running = binary, address, random.Random(SEED), 0, []
        self.sizes = {}

    def keep(self):
        self.running = [one for one in self.running if one.poll() is None]
        while len(self.running) < COUNT:
            self.started += 1
            size = 1000000 + self.started
            one = subprocess.Popen([self.binary, str(size), str(self.random.randrange(1000000, 10000000))],
                                   env={**os.environ, "LD_PRELOAD": SHIM, "HEAPSONDE_CONNECT": self.address})
            self.sizes[one.pid] = size
            self.running.append(one)

    def end(self):
        for one in self.running:
            one.wait()


class Top:
    """With what it drew last, which is read so that it never waits."""

    def __init__(self, folder):
        self.drawn = b""
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            os.environ["TERM"] = "xterm"
            os.execv(COMMAND, [COMMAND, "top", folder])
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        try:
            while part := os.read(self.terminal, 65536):
                self.drawn = (self.drawn + part)[-4096:]
        except OSError:
            pass

    def stop(self):
        """Whether it was still running."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            print(f"top has ended with {os.waitstatus_to_exitcode(status)}: {self.drawn.decode('utf-8', 'replace')}")
            return False
        os.kill(self.pid, 15)
        os.waitpid(self.pid, 0)
        return True


def middle(values):
    return sorted(values)[len(values) // 2] if values else 0


def main():
    work = tempfile.mkdtemp(prefix="heapsonde-soak-")
    binary, folder = os.path.join(work, "guest"), os.path.join(work, "traces")
    subprocess.run(["gcc", "-x", "c", "-g", "-O1", "-", "-o", binary], input=PROGRAM, text=True, check=True)
    gather = subprocess.Popen([COMMAND, "gather", "--json", "--listen", "127.0.0.1:0", "--dir", folder], stdout=subprocess.PIPE, text=True)
    address = json.loads(gather.stdout.readline())["address"]
    threading.Thread(target=gather.stdout.read, daemon=True).start()
    crowd = Crowd(binary, address)
    crowd.keep()
    server = Server("--control", folder)
    while not [row for row in server.json("/list") if "id" in row]:
        time.sleep(0.1)
    top = Top(folder)
    page = subprocess.Popen([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0",
                             "--user-data-dir=" + os.path.join(work, "browser"), urllib.parse.urlunsplit(server.address) + "/#/"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) if os.access(BROWSER, os.X_OK) else None
    samples, seen = [], set()

    def sample():
        samples.append([memory_of(pid) for pid in (gather.pid, server.process.pid, top.pid)])

    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        crowd.keep()
        one, = server.json("/devices")["folders"]
        seen.update(int(row["pid"]) for row in one["devices"])
        sample()
        time.sleep(1)
    crowd.end()
    print(f"{crowd.started} processes have ended; {len(seen)} were seen so far", flush=True)
    while True:
        one, = server.json("/devices")["folders"]
        seen.update(int(row["pid"]) for row in one["devices"])
        rows = [row for row in server.json("/list") if row.get("id")]
        print(f"{len(rows)} traces in the list", flush=True)
        if len(rows) >= crowd.started and all(row["state"] == "ended" for row in one["devices"]):
            break
        time.sleep(1)
    coming, whole = len(samples), 0
    for row in rows:
        size = crowd.sizes[row["pid"]]
        whole += server.data("allocations", row["id"], size_min=size, size_max=size)["total_count"]
        sample()
    print(f"seed {SEED}; {crowd.started} processes started, {len(seen)} seen as devices, {len(rows)} traces in the list, {whole} of them whole")
    third = coming // 3
    good = len(seen) == len(rows) == whole == crowd.started
    for (name, most), values in zip(MOST.items(), zip(*samples)):
        before, after = middle(values[third:2 * third]), middle(values[2 * third:coming])
        print(f"{name}: {before} KiB in the second third, {after} KiB in the last, {max(values[:coming])} KiB at most; "
              f"{max(values[coming:])} KiB at most while each trace was asked; {most * 1024} KiB are allowed")
        good = good and max(values) <= most * 1024
    if page:
        page.terminate()
        page.wait()
    good = top.stop() and good
    gather.terminate()
    gather.wait()
    server.stop()
    subprocess.run(["rm", "-rf", work], check=False)
    return 0 if good else 1


sys.exit(main())
