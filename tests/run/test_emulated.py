# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs for another machine, which `heapsonde run` hands to QEMU's user mode by itself."""
import json
import os
import subprocess
import unittest

from running import ROOT, SHIM, Folder, PROGRAMS
from test_on import Board

PLAIN = os.path.join(PROGRAMS, "plain")
COMPILER = os.environ.get("HEAPSONDE_TEST_COMPILER")

# Takes its memory from the kernel itself.
BARE = """#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifndef SYS_mmap2
#define SYS_mmap2 SYS_mmap
#endif
enum { SIZE = 64 << 20 };
int main(void)
{
    char *block = (char *)syscall(SYS_mmap2, 0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(block, 1, SIZE);
    return block[SIZE - 1] - 1;
}
"""


class Emulated(Folder):
    environment = {"HEAPSONDE_LIBRARY": SHIM}

    def test_as_on_this_machine(self):
        done = self.command("run", "--sysroot", ROOT, "-o", "t.dat", "--", PLAIN)
        self.assertEqual((done.returncode, done.stdout.split(":")[-1]), (0, " 1000 blocks\n"), done.stderr)
        self.assertIn(f"next: heapsonde report --sysroot {ROOT} ", done.stderr)
        self.assert_plain("t.dat")

    def test_status_and_words(self):
        program = os.path.join(PROGRAMS, "no-such-program")
        done = self.command("run", "--sysroot", ROOT, "--", program)
        self.assertEqual(done.returncode, 127)
        done = self.command("run", "--sysroot", ROOT, "-o", "t.dat", "--", "env", "A=1", PLAIN)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_plain("t.dat")

    @unittest.skipUnless(COMPILER, "no compiler for programs with this C library")
    def test_memory_of_the_emulator(self):
        """What the kernel counts of an emulated program says nothing about its allocator."""
        source = os.path.join(self.folder, "bare.c")
        with open(source, "w", encoding="ascii") as file:
            file.write(BARE)
        subprocess.run([COMPILER, "-o", source[:-2], source], check=True)
        done = self.command("run", "--sysroot", ROOT, "-o", "t.dat", "--", source[:-2])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("that no recorded allocation explains", done.stderr)
        done = self.command("report", "--sysroot", ROOT, "--json", "t.dat")
        self.assertEqual(json.loads(done.stdout)["unseen_bytes"], 0)

    def test_wrapper(self):
        options = f"-o '{self.folder}/w w.dat' --sysroot {ROOT}"
        done = self.command("run", "--wrapper", PLAIN, HEAPSONDE_RUN_OPTIONS=options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assert_plain("w w.dat")
        for wrong in ("-- true", "--no-such-option", "'"):
            done = self.command("run", "--wrapper", PLAIN, HEAPSONDE_RUN_OPTIONS=wrong)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)

    def test_what_is_missing(self):
        done = self.command("run", "--sysroot", ROOT, "--", PLAIN, PATH="/nonexistent")
        self.assert_one_line(done, 126, "install QEMU's user mode")
        done = self.command("run", "--sysroot", self.folder, "--", PLAIN)
        self.assert_one_line(done, 126, "is not below")
        done = self.command("run", "--sysroot", ROOT, "--", PLAIN, HEAPSONDE_LIBRARY="", HEAPSONDE_SHIMS=self.folder)
        self.assert_one_line(done, 126, "HEAPSONDE_SHIMS")
        # Before tests what cannot be recorded is run all the same.
        done = self.command("run", "--wrapper", "--sysroot", ROOT, PLAIN, HEAPSONDE_LIBRARY="",
                            HEAPSONDE_SHIMS=self.folder)
        self.assertEqual((done.returncode, done.stdout.split(":")[-1]), (0, " 1000 blocks\n"), done.stderr)


# env starts the program on a board. This one has QEMU for a kernel that runs programs of another machine.
ENV = """#!/bin/sh
count=$#
while [ "$count" -gt 0 ]; do
    word=$1 count=$((count - 1))
    shift
    case $over:$word in
    :*=*) set -- "$@" -E "$word" ;;
    *) over=yes && set -- "$@" "$word" ;;
    esac
done
exec EMULATOR "$@"
"""


class EmulatedBoard(Board):
    """The library that is sent is the one for the program's machine, whatever runs the shell."""

    def test_as_on_this_machine(self):
        os.mkdir(os.path.join(self.folder, "tools"))
        env = os.path.join(self.folder, "tools/env")
        with open(env, "w", encoding="ascii") as file:
            file.write(ENV.replace("EMULATOR", os.environ["HEAPSONDE_TEST_EMULATOR"]))
        os.chmod(env, 0o755)
        self.check_plain(way=f"exec:PATH={self.folder}/tools:$PATH sh -c {{}}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
