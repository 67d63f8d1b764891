# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the cases of walk and harsh are made of: runs programs under the sampling shim, reads dumps.

The environment says where things are: HEAPSONDE_TEST_PROGRAMS (a folder), HEAPSONDE_TEST_PROF (the shim),
HEAPSONDE_TEST_RUNNER ("qemu-arm -L FOLDER", for programs of other machines), HEAPSONDE_TEST_TOOLS (the prefix of that
machine's binutils), HEAPSONDE_TEST_TRAITS (words: musl, qemu), HEAPSONDE_TEST_SCALE (by which large numbers are divided).
A failing case says what is wrong and keeps its folder; status 77 means that it cannot run here, and why is said.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import patience  # noqa: E402

SOURCE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.environ.get("HEAPSONDE_TEST_PROGRAMS", "")
SHIM = os.environ.get("HEAPSONDE_TEST_PROF", "")
RUNNER = os.environ.get("HEAPSONDE_TEST_RUNNER", "").split()
TOOLS = os.environ.get("HEAPSONDE_TEST_TOOLS", "")
TRAITS = os.environ.get("HEAPSONDE_TEST_TRAITS", "").split()
SCALE = int(os.environ.get("HEAPSONDE_TEST_SCALE", "1"))
LEAK, STEPS = os.path.join(PROGRAMS, "leak"), os.path.join(PROGRAMS, "steps")
LIKE_GO = os.path.join(PROGRAMS, "like_go")
LEAKED = "<jemalloc>: Leak approximation summary: ~6926352 bytes, ~120 objects, >= 2 contexts\n"
EVERYTHING = "prof:true,lg_prof_sample:0,experimental_hs_size_model:jemalloc"

CASES = {}


class Wrong(Exception):
    pass


class Skipped(Exception):
    pass


def case(function):
    CASES[function.__name__.replace("__", ".").replace("_", "-")] = function
    return function


def check(condition, what):
    if not condition:
        raise Wrong(what)


def equal(left, right, what):
    check(left == right, f"{what}: {left!r} instead of {right!r}")


def scaled(number):
    return max(1, number // SCALE)


# ---- programs and tools ---------------------------------------------------------------------------------------------

class Result:
    def __init__(self, done, pid):
        self.status, self.out, self.error, self.pid = done.returncode, done.stdout, done.stderr, pid


def preloaded(behind=None):
    return SHIM + (":" + behind if behind else "")


def environment(conf, behind=None):
    kept = {name: os.environ[name] for name in ("PATH", "LC_ALL") if name in os.environ}
    kept.update(HOME=os.getcwd(), PPROF_TMPDIR=os.getcwd())
    if conf is not None:
        kept["MALLOC_CONF"] = conf
        if not RUNNER:
            kept["LD_PRELOAD"] = preloaded(behind)
    return kept


def run(conf, *command, status=0, behind=None):
    """Runs a program with the shim and a library behind it; without the shim where conf is None."""
    runner = RUNNER + (["-E", "LD_PRELOAD=" + preloaded(behind)] if RUNNER and conf is not None else [])
    process = subprocess.Popen(runner + list(command), env=environment(conf, behind), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, error = process.communicate()
    if status is not None:
        check(process.returncode == status, f"{' '.join(command)} ended with {process.returncode}: {out}{error}")
    return Result(subprocess.CompletedProcess(command, process.returncode, out, error), process.pid)


def run_silently(conf, *command):
    result = run(conf, *command)
    equal(result.out + result.error, "", "output")
    return result


def tool(*command):
    done = subprocess.run(command, env=environment(None), capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    check(done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def go_pprof():
    """The program behind `go tool pprof`, which itself first builds for seconds in a new home."""
    found = glob.glob("/usr/lib/go-*/pkg/tool/linux_*/pprof")
    if not found:
        raise Skipped("go's pprof is not installed")
    return sorted(found)[-1]


def needs_tools():
    for name in ("jeprof", "google-pprof"):
        if not shutil.which(name):
            raise Skipped(f"{name} is not installed")
    go_pprof()


def jeprof(*words):
    return tool("jeprof", *(["--tools=" + TOOLS] if TOOLS else []), *words)


def rows(text):
    """jeprof's table: {name: (flat, flat per cent, cumulative, cumulative per cent)}, and the total."""
    total = re.search(r"^Total: (.*)$", text, re.MULTILINE)
    table = {}
    for line in text.splitlines():
        match = re.match(r"\s*(-?[\d.]+)\s+(-?[\d.]+)%\s+-?[\d.]+%\s+(-?[\d.]+)\s+(-?[\d.]+)%\s+(.*)", line)
        if match:
            table[match.group(5)] = tuple(match.group(i) for i in range(1, 5))
    return table, total.group(1) if total else None


def files(pattern):
    return sorted(glob.glob(pattern), key=lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)])


def only(pattern):
    found = files(pattern)
    check(len(found) == 1, f"{pattern}: {found}")
    return found[0]


def nothing_left():
    equal(files(".heapsonde-dump*"), [], "temporary files that are left")


# ---- dumps ----------------------------------------------------------------------------------------------------------

COUNTS = re.compile(r"  t(\*|\d+): (\d+): (\d+) \[(\d+): (\d+)\](?: (.*))?$")


class Dump:
    """A heap_v2 file, held against its grammar; sums have to agree, which they do when everything is sampled."""

    def __init__(self, path, exact=True):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        check("\n\nMAPPED_LIBRARIES:\n" in text and text.endswith("\n"), f"{path} has no end")
        self.path, (body, self.map) = path, text.split("\n\nMAPPED_LIBRARIES:\n")
        lines = body.split("\n")
        match = re.fullmatch(r"heap_v2/(\d+)", lines[0])
        check(match, f"{path} begins with {lines[0]!r}")
        self.rate = int(match.group(1))
        self.facts = [line[2:] for line in lines if line.startswith("# ")]
        self.header, self.stacks = {}, {}
        place = self.header
        for line in [line for line in lines[1:] if not line.startswith("# ")]:
            if line.startswith("@"):
                check(re.fullmatch(r"@( 0x[0-9a-f]+)+", line), f"{path}: {line!r}")
                check(line not in self.stacks, f"{path}: {line!r} twice")
                place = self.stacks.setdefault(line, {})
                continue
            match = COUNTS.fullmatch(line)
            check(match, f"{path}: {line!r}")
            place[match.group(1)] = tuple(int(match.group(i)) for i in range(2, 6))
        if exact:
            self.check_sums()

    def check_sums(self):
        for number, what in enumerate(("objects", "bytes", "objects ever", "bytes ever")):
            stacks = sum(counts["*"][number] for counts in self.stacks.values())
            equal(stacks, self.header["*"][number], f"{self.path}: {what} of all stacks")
            for counts in [self.header, *self.stacks.values()]:
                threads = sum(value[number] for name, value in counts.items() if name != "*")
                equal(threads, counts["*"][number], f"{self.path}: {what} of all threads")

    def total(self):
        return self.header["*"]

    def fact(self, key):
        values = [fact[len(key) + 2:] for fact in self.facts if fact.startswith(key + ": ")]
        return values[0] if values else None


def line_of(program, text):
    with open(os.path.join(SOURCE, "programs", program + ".c"), encoding="utf-8") as source:
        return [number for number, line in enumerate(source, 1) if text in line]


# ---- one case -------------------------------------------------------------------------------------------------------

def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(CASES))
        return 0
    if len(sys.argv) != 2 or sys.argv[1] not in CASES:
        print(f"usage: {os.path.basename(sys.argv[0])} CASE | --list", file=sys.stderr)
        return 2
    name = sys.argv[1]
    folder = tempfile.mkdtemp(prefix="heapsonde-prof-")
    os.chdir(folder)
    patience.begin()
    try:
        CASES[name]()
    except (Wrong, TimeoutError) as wrong:
        print(f"FAILED: {name}: {wrong}\nits folder: {folder}")
        patience.end_all_of(folder)
        if isinstance(wrong, TimeoutError):
            raise
        return 1
    except Skipped as why:
        print(f"SKIPPED: {why}")
        shutil.rmtree(folder)
        return 77
    shutil.rmtree(folder)
    return 0

