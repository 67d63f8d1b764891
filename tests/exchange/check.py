#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Two commands, built for different machines, over the same traces and heap dumps: the stores that they make have to have the same
bytes, and so do the answers to all questions, the exports and the traces that `strip` writes. Then each reads the other's stores.

Usage: check.py COMMAND OTHER_COMMAND SHIMS SYSROOT. SHIMS has the libraries for the machine of the other command, and SYSROOT its
programs; COMMAND records one of them. HEAPSONDE_TEST_MAKE_TRACE writes one more trace."""

import concurrent.futures
import filecmp
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCES = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ["golden-1.0", "golden-1.0-killed", "golden-1.4-packed"]
# These need another file, or the number of something.
PARAMETERS = {
    "diff": ["base={file}"],
    "backtrace/{number}": None,
    "map/{map}": None,
    "export/{format}": None,
}
# One for each kind of answer, for all but the first trace: what decides is the code, which is the same.
FEW = ["summary", "totals", "timeline", "allocations", "tree", "recording"]


def run(command, arguments, folder):
    """Exit status, output and messages."""
    done = subprocess.run([command, *arguments], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


def must(command, arguments, folder, **more):
    done = subprocess.run([command, *arguments], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False, **more)
    if done.returncode:
        sys.exit(f"{command} {arguments}: status {done.returncode}\n{done.stderr.decode()}")
    return done.stdout


class Exchange:
    def __init__(self, work, commands):
        self.work = work
        self.folders = [work / "one", work / "two"]
        self.commands = commands
        self.faults = []
        for folder in [*self.folders, work / "root"]:
            folder.mkdir()

    def fault(self, text):
        self.faults.append(text)
        print(text)

    def compare(self, arguments, written=None):
        """Both run it; with `written`, a file that it writes is compared as well."""
        with concurrent.futures.ThreadPoolExecutor() as pool:
            one, two = pool.map(run, self.commands, [arguments] * 2, self.folders)
        if one != two:
            self.fault(f"heapsonde {' '.join(arguments)}: {describe(one, two)}")
        if written and (self.folders[0] / written).exists():
            first, second = ((folder / written).read_bytes() for folder in self.folders)
            if first != second:
                self.fault(f"heapsonde {' '.join(arguments)} writes other bytes: {describe([first], [second])}")
        return one[0] == 0

    def compare_stores(self, name):
        one, two = (folder / f"{name}.store" for folder in self.folders)
        files = sorted(path.name for path in one.iterdir())
        if files != sorted(path.name for path in two.iterdir()):
            self.fault(f"the stores of {name} have different files")
        _, different, missing = filecmp.cmpfiles(one, two, files, shallow=False)
        if different or missing:
            self.fault(f"the stores of {name} differ in: {' '.join(different + missing)}")

    def add(self, file):
        for folder in self.folders:
            shutil.copy2(file, folder / file.name)
        return file.name

    def questions(self, name):
        _, _, said = run(self.commands[0], ["ask", name], self.folders[0])
        return [line.split()[0] for line in said.decode().splitlines()[1:] if line]

    def formats(self):
        said = must(self.commands[0], ["export", "--help"], self.work).decode()
        said = " ".join(said.split())
        return said.split("; one of: ")[1].split(" -o, --output")[0].split()

    def check(self, file, whole, symbols):
        """Report, answers, exports, and the store."""
        name = self.add(file)
        good = self.compare(["report", *symbols, name])
        self.compare(["report", *symbols, "--json", name])
        is_trace = (self.folders[0] / f"{name}.store").exists()
        if is_trace:
            self.compare_stores(name)
        if is_trace and not good:
            self.fault(f"{name} cannot be read")
        for question in self.questions(name) if whole and is_trace else FEW if is_trace else []:
            words = PARAMETERS.get(question, [])
            if words is not None:
                self.compare(["ask", *symbols, name, question, *(word.format(file=name) for word in words)])
        for form in self.formats() if whole else ["json", "pprof", "parquet"]:
            self.compare(["export", *symbols, "--format", form, "-o", f"{name}.{form}", name], f"{name}.{form}")
        if is_trace:
            self.compare(["strip", "-o", f"{name}.stripped", name], f"{name}.stripped")
        return name if is_trace else None

    def exchange(self, name, symbols):
        """Each opens what the other has made, and makes nothing anew."""
        stores = [folder / f"{name}.store" for folder in self.folders]
        aside = self.work / "aside"
        stores[0].rename(aside)
        stores[1].rename(stores[0])
        aside.rename(stores[1])
        before = [state(store) for store in stores]
        self.compare(["report", *symbols, name])
        self.compare(["ask", *symbols, name, "allocations"])
        if before != [state(store) for store in stores]:
            self.fault(f"a store of {name} that the other command has made is made again")


def state(folder):
    return sorted((path.name, path.stat().st_ino, path.stat().st_mtime_ns) for path in folder.iterdir())


def describe(one, two):
    if len(one) == 3 and one[0] != two[0]:
        return f"exit status {one[0]} and {two[0]}\n  {one[2].decode()}  {two[2].decode()}"
    for first, second in zip(one, two):
        if isinstance(first, bytes) and first != second:
            at = next((i for i, (a, b) in enumerate(zip(first, second)) if a != b), min(len(first), len(second)))
            return f"byte {at} of {len(first)} and {len(second)}\n  {first[at - 40 if at > 40 else 0:at + 80]!r}\n  {second[at - 40 if at > 40 else 0:at + 80]!r}"
    return "different"


def recorded(work, command, shims, sysroot):
    """A trace of each machine."""
    program = ["/bin/busybox", "sh", "-c", "for i in 1 2 3; do echo $i | sort; done"]
    must(command, ["run", "-q", "-o", "this.dat", "--", "/bin/sh", "-c", "ls / | sort"], work)
    other = work / "other.dat"
    must(command, ["run", "-q", "-o", str(other), "--sysroot", sysroot, "--", sysroot + program[0], *program[1:]], work,
         env={**os.environ, "HEAPSONDE_SHIMS": shims})
    return [path for path in (work / "this.dat", other) if path.exists()]


def main():
    command, other, shims, sysroot = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="heapsonde-exchange-") as folder:
        work = pathlib.Path(folder)
        exchange = Exchange(work, [command, other])
        symbols = ["--sysroot", str(work / "root"), "--sysroot", sysroot]
        written = work / "written.dat"
        must(os.environ["HEAPSONDE_TEST_MAKE_TRACE"], [str(written)], work)
        files = [written, *(SOURCES / "tests/format" / f"{name}.dat" for name in GOLDEN)]
        files += recorded(work, command, shims, sysroot)
        traces = [exchange.check(file, file == written, symbols) for file in files]
        for dump in sorted((SOURCES / "tests/fuzz/dump").iterdir()):
            exchange.check(dump, False, symbols)
        for name in traces:
            exchange.exchange(name, symbols)
        print(f"{len(traces)} traces, {len(exchange.faults)} faults")
        sys.exit(1 if exchange.faults else 0)


if __name__ == "__main__":
    main()
