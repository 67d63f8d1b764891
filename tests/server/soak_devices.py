# SPDX-License-Identifier: MIT OR Apache-2.0
"""A server with its page and `top` beside gathered processes that come and go: soak_devices.py SECONDS [COUNT, default 20].

Every process that was started is in the list in the end, with what it counted itself; gather, server and top run to the end, and none of
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
# Allocates, frees and reallocates, which is both, for as many milliseconds as its second word says. Counts that and prints it under
# the names of `summary`. Its first word is the seed.
PROGRAM = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static uint64_t state, allocations, deallocations, reallocations, allocated, live_count, live;

static size_t random_below(size_t limit)
{
    state = state * 6364136223846793005 + 1442695040888963407;
    return (size_t)(state >> 33) % limit;
}

static void step(void **block, size_t *size)
{
    size_t wanted = 1 + random_below(2000), kind = random_below(4);
    if (*block && kind < 2) {
        free(*block);
        deallocations++, live_count--, live -= *size;
        *block = NULL;
        return;
    }
    if (*block) {
        *block = realloc(*block, wanted);
        allocations++, deallocations++, reallocations++, live -= *size;
    } else {
        *block = kind & 1 ? calloc(1, wanted) : malloc(wanted);
        allocations++, live_count++;
    }
    *size = wanted, allocated += wanted, live += wanted;
}

int main(int count, char **words)
{
    static void *blocks[500];
    static size_t sizes[500];
    (void)count;
    state = strtoul(words[1], NULL, 10);
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        for (int i = 0; i < 50; i++) {
            size_t at = random_below(500);
            step(&blocks[at], &sizes[at]);
        }
        usleep(10000);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < strtol(words[2], NULL, 10));
    char text[400];
    int length = snprintf(text, sizeof(text),
                          "{\"allocations\": %ju, \"deallocations\": %ju, \"reallocations\": %ju, \"allocated_bytes\": %ju, "
                          "\"live_count\": %ju, \"live_bytes\": %ju}",
                          (uintmax_t)allocations, (uintmax_t)deallocations, (uintmax_t)reallocations, (uintmax_t)allocated,
                          (uintmax_t)live_count, (uintmax_t)live);
    return write(1, text, (size_t)length) != length;
}
"""


def memory_of(pid):
    """KiB; 0 of a process that has ended."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next((int(line.split()[1]) for line in file if line.startswith("VmRSS")), 0)


class Crowd:
    """Twenty at a time, each for one to sixty seconds."""

    def __init__(self, binary, folder, address):
        self.binary, self.folder, self.address, self.random = binary, folder, address, random.Random(SEED)
        self.started, self.running = 0, []
        self.counted = {}  # by process id, which a later process may have again

    def keep(self, count=COUNT):
        for one in [one for one in self.running if one.poll() is not None]:
            self.take(one)
        while len(self.running) < count:
            self.started += 1
            words = [self.binary, str(self.random.randrange(1 << 31)), str(int(1000 * 60 ** self.random.random()))]
            self.running.append(subprocess.Popen(words, stdout=subprocess.PIPE, cwd=self.folder,
                                                 env={**os.environ, "LD_PRELOAD": SHIM, "HEAPSONDE_CONNECT": self.address}))

    def take(self, one):
        self.counted.setdefault(one.pid, []).append(json.loads(one.communicate()[0]))
        self.running.remove(one)

    def end(self):
        for one in list(self.running):
            self.take(one)


class Top:
    """With what it drew last, which is read so that it never waits."""

    def __init__(self, folder):
        self.drawn = b""
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            os.environ.update(TERM="xterm", LINES="24", COLUMNS="80")
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
    crowd = Crowd(binary, work, address)
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
        if len(samples) % 30 == 1:
            print(f"{len(samples)} {' '.join(f'{name} {value} KiB' for name, value in zip(MOST, samples[-1]))}", flush=True)

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
        counted, summary = crowd.counted[row["pid"]], server.data("summary", row["id"])
        said = {name: summary[name] for name in counted[0]}
        if said in counted:
            counted.remove(said)
            whole += 1
        else:
            print(f"{row['pid']} has counted {counted}, its trace says {said}")
        sample()
    print(f"seed {SEED}; {crowd.started} processes started, {len(seen)} seen as devices, {len(rows)} traces in the list, {whole} of them whole")
    third = coming // 3
    good = len(seen) == len(crowd.counted) and len(rows) == whole == crowd.started
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
