# SPDX-License-Identifier: MIT OR Apache-2.0
"""`heapsonde run --python`: each block that program.py allocates has the functions, files and lines that the interpreter itself
says, with every version of CPython that is here. Usage: test_python.py"""
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

COMMAND = os.environ["HEAPSONDE_TEST_COMMAND"]
LOADER = os.environ.get("HEAPSONDE_TEST_LOADER")
SHIM = os.environ.get("HEAPSONDE_TEST_SHIM")
EMULATOR = os.environ.get("HEAPSONDE_TEST_EMULATOR", "").split()
PYTHON = os.environ.get("HEAPSONDE_TEST_PYTHON") or "/usr/bin/python3"
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "program.py")
PATIENCE = 300
# What pyenv installs, and other packages of the system.
OTHERS = [os.path.expanduser("~/.pyenv/versions/*/bin/python3.*"), "/usr/bin/python3.*", "/usr/local/bin/python3.*"]
KNOWN = range(8, 16)


def interpreters():
    """By version, this machine's first. Links and scripts are no programs of their own."""
    if EMULATOR:
        return [PYTHON]
    found = {os.path.realpath(PYTHON): None}
    for pattern in OTHERS:
        for path in sorted(glob.glob(pattern)):
            number = re.search(r"/python3\.(\d+)$", path)
            if number and int(number[1]) in KNOWN:
                found[os.path.realpath(path)] = None
    return list(found)


class Recorded(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="heapsonde-python-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    @staticmethod
    def environment():
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HEAPSONDE_", "PYTHON"))}
        if SHIM:
            kept["HEAPSONDE_LIBRARY"] = SHIM
        return {**kept, "PYTHONDONTWRITEBYTECODE": "1"}

    def ran(self, *words, **variables):
        done = subprocess.run([*words], cwd=self.folder, env={**self.environment(), **variables},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8", timeout=PATIENCE,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        return done.stdout

    def recorded(self, python, *words, options=("--python",), **variables):
        """What the program says of its blocks, by process, and the stacks of the trace, by process."""
        return self.said(self.ran(COMMAND, "run", *options, "-o", "t.%p.dat", "--", *EMULATOR, python, *words, **variables))

    @staticmethod
    def said(output):
        said = {}
        for line in output.splitlines():
            process, _, rest = line.partition(" ")
            size, stack = json.loads(rest)
            said.setdefault(int(process), {})[size] = [tuple(frame) for frame in stack]
        return said

    def stacks(self, process):
        """Of blocks, by size: the frames of run-time code, innermost first."""
        traces = glob.glob(os.path.join(self.folder, "t.*.dat"))
        (trace,) = [trace for trace in traces if re.search(rf"\.{process}\.", os.path.basename(trace))]
        frames, found = {}, {}
        for line in self.ran(COMMAND, "export", "--format", "jsonl", "--size-min", "100000", trace).splitlines():
            entry = json.loads(line)
            if entry["type"] == "stack":
                frames[entry["stack"]] = [(frame["function"], frame.get("file"), frame.get("line")) for frame in entry["frames"]
                                          if frame.get("module") == "[jit]"]
            elif entry["type"] == "block":
                found.setdefault(entry["size"], []).append(frames[entry["stack"]])
        return found

    def assert_same(self, said, found, note):
        self.assertGreater(len(said), 20)
        for size, stack in said.items():
            self.assertIn(stack, found.get(size, []), f"{note}: block of {size} bytes")

    def test_all_versions(self):
        for python in interpreters():
            with self.subTest(python=python):
                said = self.recorded(python, PROGRAM)
                self.assertEqual(len(said), 1)
                for process, blocks in said.items():
                    self.assertGreater(len(blocks), 300)
                    self.assert_same(blocks, self.stacks(process), python)

    def test_child(self):
        said = self.recorded(PYTHON, PROGRAM, "fork")
        self.assertEqual(len(said), 2)
        for process, blocks in said.items():
            self.assert_same(blocks, self.stacks(process), process)

    @unittest.skipIf(EMULATOR, "as on any machine")
    def test_without_memory_of_stacks(self):
        said = self.recorded(PYTHON, PROGRAM, options=("--python", "--no-memo", "--inline-writer"))
        for process, blocks in said.items():
            self.assert_same(blocks, self.stacks(process), process)

    @unittest.skipIf(EMULATOR, "as on any machine")
    def test_small_trace(self):
        """A trace without the program's name for anything still has Python's."""
        (process,) = self.recorded(PYTHON, PROGRAM)
        (trace,) = glob.glob(os.path.join(self.folder, "t.*.dat"))
        self.ran(COMMAND, "strip", "-o", "small.dat", trace)
        report = self.ran(COMMAND, "report", "--full-stacks", "--sort", "allocated", "small.dat")
        self.assertIn(f"({PROGRAM}:", report)
        self.assertTrue(process)

    def library_of(self, python):
        said = "import sys, sysconfig as s; print(s.get_config_var('LIBDIR'), s.get_config_var('INSTSONAME'), sys.base_prefix)"
        return self.ran(python, "-c", said).split()

    @unittest.skipIf(EMULATOR or not LOADER, "as on any machine")
    def test_loaded_later(self):
        """A libpython that the program loads is found when it runs."""
        _, library, prefix = self.library_of(PYTHON)
        if subprocess.run([LOADER, library, "--version"], stdout=subprocess.DEVNULL, check=False).returncode == 77:
            self.skipTest(f"there is no {library}")
        for process, blocks in self.recorded(LOADER, library, PROGRAM, PYTHONHOME=prefix).items():
            self.assertGreater(len(blocks), 300)
            self.assert_same(blocks, self.stacks(process), library)

    @unittest.skipIf(EMULATOR or not LOADER, "as on any machine")
    def test_unloaded(self):
        """While another thread may be inside a libpython, it is not unloaded. Without --python it is, if it lets itself be
        unloaded."""
        def how_it_ends(*words):
            done = subprocess.run([*words, LOADER, os.path.join(folder, library), "-c", "x = [bytearray(1000 + i) for i in range(1000)]"],
                                  cwd=self.folder, env={**self.environment(), "PYTHONHOME": prefix}, stdin=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True, encoding="utf-8", timeout=PATIENCE, check=False)
            return done.returncode, done.stderr

        seen = 0
        for python in interpreters():
            folder, library, prefix = self.library_of(python)
            if how_it_ends() == (0, "unloaded\n"):
                seen += 1
                run = [COMMAND, "run", "-q", "-o", "t.dat"]
                self.assertEqual(how_it_ends(*run, "--"), (0, "unloaded\n"), python)
                self.assertEqual(how_it_ends(*run, "--python", "--"), (0, "loaded\n"), python)
        if not seen:
            self.skipTest("there is no libpython that can be unloaded")

    def attached(self, python):
        trace = os.path.join(self.folder, "t.%p.dat")
        with subprocess.Popen([python, PROGRAM, "wait"], cwd=self.folder, env=self.environment(), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, encoding="utf-8") as program:
            try:
                self.assertEqual(program.stdout.readline(), "ready\n")
                self.ran(COMMAND, "attach", "--python", "-o", trace, str(program.pid))
                output, _ = program.communicate("\n", timeout=PATIENCE)
            finally:
                program.kill()
        self.assertEqual(program.returncode, 0)
        return self.said(output)

    @unittest.skipIf(EMULATOR, "attach needs a processor of its own kind")
    def test_attached(self):
        """Where frames do not say which code runs them, up to 3.9, that is looked up while the program runs."""
        for python in interpreters():
            if python == os.path.realpath(PYTHON) or re.search(r"3\.[89]$", python):
                with self.subTest(python=python):
                    for process, blocks in self.attached(python).items():
                        self.assert_same(blocks, self.stacks(process), python)

    def test_without_the_option(self):
        said = self.recorded(PYTHON, PROGRAM, options=())
        for process, blocks in said.items():
            found = self.stacks(process)
            self.assertEqual({size: found.get(size) for size in blocks}, {size: [[]] for size in blocks})


if __name__ == "__main__":
    unittest.main()
