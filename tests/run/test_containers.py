# SPDX-License-Identifier: MIT OR Apache-2.0
"""`heapsonde run --on podman:NAME` and docker:NAME, with a real container: run by hand, as root. The image is made of this machine's
busybox and of what a test program needs; nothing is fetched. Usage: test_containers.py podman|docker BUILD_FOLDER"""
import os
import re
import shutil
import subprocess
import sys
import unittest

TOOL = sys.argv[1] if len(sys.argv) > 2 else "podman"
BUILD = os.path.realpath(sys.argv[2] if len(sys.argv) > 2 else "build/host")
os.environ.update(HEAPSONDE_TEST_COMMAND=os.path.join(BUILD, "bin/heapsonde"), HEAPSONDE_TEST_PROGRAMS=os.path.join(BUILD, "tests/programs"))
from test_on import PLAIN, Board  # noqa: E402

NAME = f"heapsonde-test-{os.getpid()}"
PLACE = "/opt/plain"


class Container(Board):
    way = f"{TOOL}:{NAME}"

    @classmethod
    def tool(cls, *words, **more):
        return subprocess.run([TOOL, *words], check=True, capture_output=True, text=True, **more).stdout

    def setUp(self):
        super().setUp()
        self.make_image()
        # With limits that need no right to raise them, as in a container in which this runs.
        self.tool("run", "-d", "--name", NAME, "--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000", NAME,
                  "/bin/sleep", "100000")
        self.addCleanup(subprocess.run, [TOOL, "rm", "-f", NAME], capture_output=True, check=False)

    def make_image(self):
        root = os.path.join(self.folder, "image")
        for folder in ("bin", "tmp", "opt"):
            os.makedirs(os.path.join(root, folder))
        busybox = shutil.which("busybox")
        shutil.copy(busybox, os.path.join(root, "bin/busybox"))
        shutil.copy(PLAIN, root + PLACE)
        for name in subprocess.run([busybox, "--list"], check=True, capture_output=True, text=True).stdout.split():
            if not os.path.exists(os.path.join(root, "bin", name)):
                os.symlink("busybox", os.path.join(root, "bin", name))
        needed = subprocess.run(["ldd", busybox, PLAIN], check=True, capture_output=True, text=True).stdout
        for library in set(re.findall(r"(/\S+\.so\S*) \(", needed)):
            os.makedirs(root + os.path.dirname(library), exist_ok=True)
            shutil.copy(library, root + library)
        image = os.path.join(self.folder, "image.tar")
        subprocess.run(["tar", "-C", root, "-cf", image, "."], check=True)
        self.tool("import", image, NAME)
        self.addCleanup(subprocess.run, [TOOL, "rmi", NAME], capture_output=True, check=False)

    def assert_nothing_left(self):
        self.assertEqual(self.tool("exec", NAME, "ls", "-A", "/tmp"), "")

    def test_all(self):
        done = self.run_on(PLACE)
        self.assertEqual((done.returncode, done.stdout.split(":")[-1]), (0, " 1000 blocks\n"), done.stderr)
        self.report("t.dat", "--fail-if", "allocated_count(size_min=100, size_max=1099) != 1000")
        done = self.run_on("sh", "-c", "cat; echo \"$1\" >&2; exit 7", "x", "it's", options=["-q"])
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, "", "it's\n"))
        self.assertEqual(self.run_on("sh", "-c", "kill -9 $$").returncode, 137)
        done = self.run_on("sh", "-c", f"{PLACE} & {PLACE}; wait", options=["--follow-children", "-o", "%e.%p.dat"])
        self.assertEqual(done.returncode, 0, done.stderr)
        plain = [trace for trace in self.traces() if trace.startswith("plain.")]
        self.assertEqual(len(plain), 2)
        for trace in plain:
            self.report(trace, "--fail-if", "allocated_count(size_min=100, size_max=1099) != 1000")
        self.assertEqual(self.command("doctor", "--on", self.way, "--", PLACE).returncode, 0)
        self.assert_nothing_left()
        self.tool("stop", "-t", "0", NAME)
        self.assert_one_line(self.run_on(PLACE), 255, "is not running")
        self.assert_one_line(self.run_on(PLACE, way=f"{TOOL}:no-such-container"), 255, f"'{TOOL} ps' lists them")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
