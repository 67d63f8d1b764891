# SPDX-License-Identifier: MIT OR Apache-2.0
"""Conditions that are checked when the program has ended, and the example for continuous integration."""
import os
import re
import subprocess
import unittest
import xml.etree.ElementTree as xml

from running import COMMAND, ROOT, SHIM, Folder

EXAMPLE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "examples/ci-matrix")
GROWING = """#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline))
NOINLINE static void *steady(size_t size) { return memset(malloc(size), 1, size); }
NOINLINE static void *grows(size_t size) { return memset(malloc(size), 1, size); }
int main(int count, char **words)
{
    steady(100000);
    for (int i = 0; i < atoi(words[count - 1]); i++)
        grows(1000);
    return 0;
}
"""
PROGRAM = """#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static void *planted(size_t size) { return memset(malloc(size), 1, size); }
int main(int count, char **words)
{
    planted(12345);
    return count > 1 ? atoi(words[1]) : 0;
}
"""


class Ci(Folder):
    def setUp(self):
        super().setUp()
        self.environment = {"HEAPSONDE_LIBRARY": SHIM} if SHIM else {}
        self.emulated = os.environ.get("HEAPSONDE_TEST_COMPILER")

    def test_example(self):
        """Fails exactly where the leak is, with the call site."""
        variables = self.variables({
            "HEAPSONDE_RUN_OPTIONS": f"-o {self.folder}/%e.%p.dat --fail-if-missing=ok "
                                     "--fail-if 'live_bytes(function=~\"^settings_\") > 0'"})
        options = [f"-DHEAPSONDE={COMMAND}"]
        if self.emulated:
            options += ["-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_C_COMPILER={self.emulated}",
                        f"-DCMAKE_CROSSCOMPILING_EMULATOR={COMMAND};run;--wrapper;--sysroot;{ROOT}"]
        for words in (["cmake", "-S", EXAMPLE, "-B", "build", *options], ["cmake", "--build", "build"]):
            subprocess.run(words, cwd=self.folder, env=variables, capture_output=True, check=True)
        done = subprocess.run(["ctest", "--test-dir", "build", "--output-on-failure"], cwd=self.folder, env=variables,
                              capture_output=True, text=True, check=False)
        states = dict(re.findall(r"Test +#\d+: (\w+) \.+[* ]*(Passed|Failed)", done.stdout))
        self.assertEqual(states, {"parse": "Passed", "merge": "Passed", "reload": "Failed"}, done.stdout)
        self.assertRegex(done.stdout, r"most of it by copy \(settings\.c:\d+\), called by parse_into")

    @unittest.skipIf(os.environ.get("HEAPSONDE_TEST_COMPILER"), "said on the host")
    def test_options_of_wrapper(self):
        # The option that lacks its value must not take the next word for it.
        for wrong, reason in (("-o", "needs a value"), ("-q --output", "needs a value"), ("-q --", "may contain only options"),
                              ("true", "may contain only options"), ("--help", "may contain only options"), ("-o 'a", "quote")):
            done = self.command("run", "--wrapper", "touch", "ran", HEAPSONDE_RUN_OPTIONS=wrong)
            self.assert_one_line(done, 2, reason)
        self.assertEqual(os.listdir(self.folder), [])

    @unittest.skipIf(os.environ.get("HEAPSONDE_TEST_COMPILER"), "said on the host")
    def test_option_without_its_value(self):
        done = self.command("run", "--wrapper", "--follow-children", "true", HEAPSONDE_RUN_OPTIONS=f"-q -o {self.folder}/%p.dat")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(os.listdir(self.folder)), 1)

    def record_growing(self, symbols):
        with open(os.path.join(self.folder, "growing.c"), "w", encoding="ascii") as file:
            file.write(GROWING)
        subprocess.run(["gcc", symbols, "-O1", "growing.c", "-o", "growing"], cwd=self.folder, check=True)
        self.assertEqual(self.command("run", "-q", "-o", "t.dat", "--", "./growing", "10").returncode, 0)

    @unittest.skipIf(os.environ.get("HEAPSONDE_TEST_COMPILER"), "said on the host")
    def test_baseline(self):
        self.record_growing("-g")
        # From the outermost function on; what comes before main is the C library's.
        lines = self.command("baseline", "t.dat").stdout.splitlines()
        self.assertEqual([line[line.index(";main;"):] for line in lines if ";main;" in line],
                         [";main;grows 10000", ";main;steady 100000"])
        self.assertEqual(lines[1:], sorted(lines[1:]))
        self.assertEqual(self.command("baseline", "-o", "base", "--least", "20K", "t.dat").returncode, 0)
        with open(os.path.join(self.folder, "base"), encoding="ascii") as file:
            self.assertNotIn("grows", file.read())
        self.command("baseline", "-o", "base", "t.dat")

        def blocks(count, *options):
            return self.command("run", "-q", "-o", "t.dat", "--baseline", "base", *options, "--", "./growing", str(count))
        for done in (blocks(10, "--tolerance", "0", "--slack", "0"), blocks(12), blocks(1),
                     blocks(20, "--tolerance", "100"), blocks(20, "--slack", "10K")):
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        for done in (blocks(11, "--tolerance", "0", "--slack", "999"), blocks(13)):
            self.assert_one_line(done, 3, "by grows")
        # The same for a trace that exists. Each case of JUnit has a name of its own.
        self.command("run", "-q", "-o", "t.dat", "--", "./growing", "20")
        self.command("baseline", "-o", "none", "--least", "1M", "t.dat")
        done = self.command("report", "--baseline", "none", "--junit", "report.xml", "t.dat")
        self.assertEqual((done.returncode, done.stderr.count("--baseline: ")), (3, 2), done.stderr)
        suite = xml.parse(os.path.join(self.folder, "report.xml")).getroot()
        self.assertEqual([case.get("name") for case in suite], ["baseline", "baseline (2)"])
        self.assertEqual(self.command("report", "--baseline", "base", "--slack", "10K", "t.dat").returncode, 0)
        self.assert_one_line(self.command("report", "--baseline", "none", "base"), 1, "heapsonde diff none base")
        self.assert_one_line(self.command("report", "--slack", "1K", "t.dat"), 2, "without --baseline")
        self.assert_one_line(blocks(10, "--baseline", "nothing"), 1, "heapsonde baseline")
        for option, value in (("--tolerance", "5"), ("--slack", "1K")):
            self.assert_one_line(self.command("run", option, value, "--", "touch", "ran"), 2, "without --baseline")
        self.assertNotIn("ran", os.listdir(self.folder))

    @unittest.skipIf(os.environ.get("HEAPSONDE_TEST_COMPILER"), "said on the host")
    def test_baseline_without_symbols(self):
        """Frames with offsets in place of functions, as those of the C library often are, are found again."""
        self.record_growing("-s")
        self.command("baseline", "-o", "base", "--least", "1", "t.dat")
        with open(os.path.join(self.folder, "base"), encoding="ascii") as file:
            self.assertRegex(file.read(), r";growing\+0x[0-9a-f]+;growing\+0x[0-9a-f]+ 10000\n")
        for count, status in ((10, 0), (11, 3)):
            done = self.command("run", "-q", "-o", "t.dat", "--baseline", "base", "--tolerance", "0", "--slack", "0", "--", "./growing", str(count))
            self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn("1000 B more in use at the end than in base: 9.77 KiB before, 10.7 KiB now", done.stderr)
        done = self.command("diff", "base", "t.dat")
        self.assertIn("difference    +1000 B in use\n\nCall sites that grew (+1000 B)\n", done.stdout)
        self.assertNotIn("shrank", done.stdout)

    @unittest.skipIf(os.environ.get("HEAPSONDE_TEST_COMPILER"), "said on the host")
    def test_baseline_of_nothing(self):
        with open(os.path.join(self.folder, "frees.c"), "w", encoding="ascii") as file:
            file.write("#include <stdlib.h>\nint main(int n, char **v) { void *volatile p = malloc(5000);"
                       " if (n < 2) free(p); return v[0] == p; }\n")
        subprocess.run(["gcc", "-g", "-O1", "frees.c", "-o", "frees"], cwd=self.folder, check=True)
        self.assertEqual(self.command("run", "-q", "-o", "t.dat", "--", "./frees").returncode, 0)
        self.assertEqual(self.command("baseline", "-o", "base", "t.dat").returncode, 0)
        with open(os.path.join(self.folder, "base"), encoding="ascii") as file:
            self.assertEqual(len(file.readlines()), 1)
        options = ["run", "-q", "-o", "t.dat", "--baseline", "base", "--", "./frees"]
        done = self.command(*options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assert_one_line(self.command(*options, "leak"), 3, "by main")
        done = self.command("diff", "base", "base")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipIf(os.environ.get("HEAPSONDE_TEST_COMPILER"), "said on the host")
    def test_baseline_that_is_none(self):
        self.assertEqual(self.command("run", "-q", "-o", "t.dat", "--", "true").returncode, 0)
        for path, content in (("t.dat", None), ("empty", ""), ("words", "of no use\n")):
            if content is not None:
                with open(os.path.join(self.folder, path), "w", encoding="ascii") as file:
                    file.write(content)
            done = self.command("run", "-o", "u.dat", "--baseline", path, "--", "touch", "ran")
            self.assert_one_line(done, 1, "heapsonde baseline TRACE")
        self.assertFalse(os.path.exists(os.path.join(self.folder, "ran")))

    @unittest.skipIf(os.environ.get("HEAPSONDE_TEST_COMPILER"), "said on the host")
    def test_conditions(self):
        source = os.path.join(self.folder, "a b,c.c")
        with open(source, "w", encoding="ascii") as file:
            file.write(PROGRAM)
        subprocess.run(["gcc", "-g", "-O1", source, "-o", os.path.join(self.folder, "program")], check=True)
        options = ["run", "-q", "-o", "t.dat", "--fail-if", "live_bytes >= 12345", "--fail-if", "live_count > 1",
                   "--junit", "%e.xml", "--annotate", "github"]
        done = self.command(*options, "--", "./program")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("most of it by planted (a b,c.c:3), called by main (a b,c.c:6)\n", done.stderr)
        notes = re.findall("^::error title=heapsonde,file=(.*),line=3::live_bytes >= 12345: ", done.stderr, re.MULTILINE)
        self.assertEqual(notes, [source.replace(",", "%2C")], done.stderr)
        suite = xml.parse(os.path.join(self.folder, "program.xml")).getroot()
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("3", "1"))
        cases = {case.get("name"): case for case in suite}
        self.assertEqual(set(cases), {"exit status", "live_bytes >= 12345", "live_count > 1"})
        leak = cases["live_bytes >= 12345"]
        self.assertEqual((leak.get("file"), leak.get("line")), (source, "3"))
        self.assertIn("planted", leak.find("failure").text)
        # Whatever is in a name, the file is XML.
        odd = os.path.join(os.fsencode(self.folder), b"odd\xff<\x01\"&")
        os.rename(os.path.join(self.folder, "program"), odd)
        done = self.command("run", "-q", "-o", "t.dat", "--junit", "odd.xml", "--", odd)
        self.assertEqual(done.returncode, 0, done.stderr)
        case, = xml.parse(os.path.join(self.folder, "odd.xml")).getroot()
        self.assertEqual(case.get("classname"), "heapsonde.odd?< \"&")
        os.rename(odd, os.path.join(self.folder, "program"))
        # The program's own failure goes before.
        done = self.command(*options, "--", "./program", "5")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertEqual(xml.parse(os.path.join(self.folder, "program.xml")).getroot().get("failures"), "2")
        # How the program ended is said in the words of the summary.
        for script, ending in (("exit 5", "ended with exit status 5"), ("kill -TERM $$", "was ended by signal 15 SIGTERM")):
            done = self.command("run", "-o", "sh.dat", "--junit", "sh.xml", "--", "sh", "-c", script)
            self.assertIn(f"heapsonde: sh {ending} after", done.stderr)
            case, = xml.parse(os.path.join(self.folder, "sh.xml")).getroot()
            self.assertEqual(case.find("failure").get("message"), f"the program {ending}")
        # Nothing is run with a wrong condition.
        os.remove(os.path.join(self.folder, "t.dat"))
        self.assert_one_line(self.command("run", "-o", "t.dat", "--fail-if", "live_byte > 1", "--", "./program"), 2,
                             "no such total")
        self.assertFalse(os.path.exists(os.path.join(self.folder, "t.dat")))
        done = self.command("run", "-q", "-o", "t.dat", "--fail-if", "live_bytes > 20000", "--", "./program")
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
