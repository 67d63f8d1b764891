# SPDX-License-Identifier: MIT OR Apache-2.0
"""Source files: their costs are those of /totals, and no file is shown but sources below the folders of --source."""
import json
import os
import subprocess
import unittest

from client import COMMAND, TestCase

TEXT = """// NAME
#include <stdlib.h>

void *kept[32];

__attribute__((noinline)) static void fill(int n) { kept[n] = malloc(1000 + n); }

int main(void)
{
}
"""
# Names that debug information may have, in a folder with what is nobody's business; what is said when they are asked for.
ABSOLUTE = "/etc/passwd"
NAMES = {
    "src/main.c": None, "src/inner.c": None, "src/../secret/main.c": "--source-map", ABSOLUTE: "--source-map", "src/.git/main.c": "hidden",
    "src/id_rsa": "hidden", "src/key.pem": "hidden", "src/link.c": "--source-map", "src/pipe.c": "no such file", "src/folder.c": "no such file",
    "src/binary.c": "does not contain text", "src/large.c": "larger than", "src/long.c": "1,000,000 lines", "src/missing.c": "no such file",
    "src/renamed.c": "hidden", "src/outside/main.c": "--source-map", "secret/main.c": "--source-map",
    "srd/main.c": "--source-map", "src2/main.c": "--source-map",
}
RELATIVE = "relative.c"


class Source(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.root = os.path.realpath(cls.folder)
        for name in "src/.git", "secret", "src/folder.c", "other", "srd", "src2":
            os.makedirs(cls.at(name))
        for name in "src/main.c", "secret/main.c", "src/.git/main.c", "src/id_rsa", "src/key.pem", "secret/key.c", "srd/main.c", "src2/main.c":
            cls.write(name, TEXT.replace("NAME", name))
        cls.write("src/binary.c", "int a;\0\n")
        cls.write("src/long.c", "\n" * 1000001)
        with open(cls.at("src/large.c"), "wb") as file:
            file.truncate((16 << 20) + 1)
        os.mkfifo(cls.at("src/pipe.c"))
        os.symlink("main.c", cls.at("src/inner.c"))
        os.symlink("../secret/key.c", cls.at("src/link.c"))
        os.symlink("id_rsa", cls.at("src/renamed.c"))
        os.symlink("../secret", cls.at("src/outside"))
        os.symlink("src", cls.at("link"))
        cls.trace = cls.record([cls.at(name) for name in NAMES] + [RELATIVE])
        cls.server = cls.serve("--source", cls.at("src"), cls.trace)

    @classmethod
    def at(cls, name):
        return name if name == ABSOLUTE else os.path.join(cls.root, name)

    @classmethod
    def write(cls, name, text):
        with open(cls.at(name), "w", encoding="utf-8") as file:
            file.write(text)

    @classmethod
    def record(cls, names):
        """The trace of a program that allocates in files of these names, as its debug information says; main is in the first."""
        binary, text = cls.path("program"), cls.path("text.c")
        with open(text, "w", encoding="utf-8") as file:
            file.write("#include <stdlib.h>\nvoid *kept[32];\n")
            for n, name in enumerate(names):
                file.write(f'#line 6 "{name}"\n__attribute__((noinline)) static void fill_{n}(void) {{ kept[{n}] = malloc({1000 + n}); }}\n')
            file.write(f'#line 8 "{names[0]}"\nint main(void)\n{{\n')
            file.write("".join(f"    fill_{n}();\n" for n in range(len(names))) + "    free(kept[1]);\n    return 0;\n}\n")
        subprocess.run(["gcc", "-g", "-O1", f"-fdebug-prefix-map={os.getcwd()}=.", text, "-o", binary], check=True)
        return cls.recorded_trace("program.dat", binary)

    def ask(self, file, server=None, **parameters):
        status, _, body = (server or self.server).ask("/data/last/source", file=file, **parameters)
        self.assertEqual(status, 200, body)
        return json.loads(body)

    def relative(self):
        return [row["key"] for row in self.server.data("totals", by="source")["rows"] if row["key"].endswith(RELATIVE)][0]

    def test_costs_are_those_of_totals(self):
        file = self.at("src/main.c")
        for asked in ({}, {"size_min": 1003}, {"cost": "live"}):
            totals = self.server.data("totals", by="line", file=file, **asked)
            lines = {row["line"]: (row["self"], row["total"]) for row in totals["rows"]}
            self.assertEqual({row["key"] for row in totals["rows"]}, {file})
            self.assertGreater(len(lines), 3)
            answer = self.ask(file, **asked)
            costly = self.ask(file, lines="costly", **asked)["rows"]
            self.assertEqual({row["line"]: (row["self"], row["total"]) for row in costly}, lines)
            self.assertEqual([row for row in answer["rows"] if row["line"] in lines], costly)
            zero = {cost: [0, 0] for cost in answer["sum"]}
            for row in answer["rows"]:
                if row["line"] not in lines:
                    self.assertEqual((row["self"], row["total"]), (zero, zero))
            self.assertEqual(answer["sum"], totals["sum"])
        with open(file, encoding="utf-8") as text:
            known = text.read().splitlines()
        self.assertEqual([row["text"] for row in answer["rows"]][:len(known)], known)
        self.assertEqual([row["line"] for row in answer["rows"]], sorted({*range(1, len(known) + 1), *lines}))
        self.assertEqual(answer["total_count"], len(answer["rows"]))
        self.assertEqual(answer["modified_ns"], os.stat(file).st_mtime_ns)
        self.assertEqual(next(row for row in answer["rows"] if row["line"] == 6)["self"], {"live": [1000, 1]})
        # The position of the line with the most, in each order.
        for asked, line in (({}, 6), ({"lines": "costly"}, 6), ({"contains": "int main"}, 8), ({"order": "dsc"}, 6), ({"cost": "live"}, 6),
                            ({"sort_by": "total.live.bytes"}, 6)):
            found = self.ask(file, **asked)
            self.assertEqual([found["rows"][i]["line"] for i in found["costliest"]["live"]], [line, line], asked)
        self.assertEqual(list(found["costliest"]), list(found["sum"]))
        self.assertEqual(self.ask(file, contains="nothing contains this")["costliest"]["live"], [0, 0])
        page = self.ask(file, skip=5, count=3)
        self.assertEqual([row["line"] for row in page["rows"]], [6, 7, 8])
        found = self.ask(file, contains="MALLOC")
        self.assertEqual([row["line"] for row in found["rows"]], [6])
        for order, worth in ("asc", 1), ("dsc", -1):
            answer = self.ask(file, lines="costly", sort_by="total.live.bytes", order=order)
            costs = [row["total"]["live"][0] for row in answer["rows"]]
            self.assertEqual(costs, sorted(costs, key=lambda cost: cost * worth))

    def test_text_that_changes_is_read_again(self):
        path = self.at("other/" + RELATIVE)
        self.write("other/" + RELATIVE, TEXT)
        server, file = self.serve("--source", self.at("other"), self.trace), self.relative()
        self.assertIsNone(self.ask(file, server)["absence"])
        with open(path, "a", encoding="utf-8") as out:
            out.write("// one more\r\n" + "x" * 5000)
        status, headers, body = server.ask("/data/last/source", file=file)
        rows = json.loads(body)["rows"]
        self.assertEqual((status, headers.get("ETag")), (200, None))
        self.assertEqual([row["text"] for row in rows[-2:]], ["// one more", "x" * 1000])
        self.assertEqual([row["cut"] for row in rows[-2:]], [False, True])
        # Lines that the file does not have any more keep their costs.
        os.truncate(path, 7)
        rows = self.ask(file, server)["rows"]
        self.assertEqual([(row["line"], row["text"]) for row in rows], [(1, "// NAME"), (6, None)])
        self.assertGreater(rows[1]["self"]["live"][0], 1000)
        os.unlink(path)
        self.assertIn("no such file", self.ask(file, server)["absence"])

    def test_only_files_that_the_trace_names(self):
        server = self.serve("--source", "/", self.trace)
        for file in (self.at("secret/key.c"), RELATIVE + "x", "", self.at("src/../src/main.c"), "/etc/shadow"):
            answer = self.ask(file, server)
            self.assertEqual((answer["rows"], answer["absence"]), ([], "no code of this trace is from this file"), file)
        self.assertEqual(server.ask("/data/last/source")[0], 400)
        # Whoever gives everything gets source files of it, and nothing else.
        self.assertIn("hidden", self.ask(ABSOLUTE, server)["absence"])
        self.assertEqual(self.ask(self.at("src/../secret/main.c"), server)["rows"][0]["text"], "// secret/main.c")

    def test_without_the_option_no_text(self):
        asked = subprocess.run([COMMAND, "ask", self.trace, "source", f"file={self.root}/src/main.c", "lines=costly", "cost=live"],
                               check=True, capture_output=True)
        answer = json.loads(asked.stdout)
        self.assertIn("--source DIR", answer["absence"])
        self.assertEqual({row["text"] for row in answer["rows"]}, {None})
        self.assertIsNone(answer["modified_ns"])
        self.assertEqual(answer["sum"]["live"], self.ask(self.at("src/main.c"))["sum"]["live"])

    def test_what_a_hostile_trace_may_name(self):
        named = {row["key"] for row in self.server.data("totals", by="source")["rows"]}
        for name, words in NAMES.items():
            with self.subTest(name=name):
                self.assertIn(self.at(name), named)
                answer = self.ask(self.at(name))
                if words is None:
                    self.assertIsNone(answer["absence"])
                    self.assertEqual(answer["rows"][0]["text"], "// src/main.c")
                    continue
                self.assertIn(words, answer["absence"])
                self.assertEqual([row["text"] for row in answer["rows"]], [None])

    def test_folders_are_found_by_their_links_and_maps(self):
        link = self.at("link")
        server = self.serve("--source", self.at("other"), "--source", link, "--source-map", f"{self.root}/secret={link}", self.trace)
        self.assertIsNone(self.ask(self.at("src/main.c"), server)["absence"])
        answer = self.ask(link + "/main.c", server)
        self.assertEqual((answer["absence"], answer["rows"][0]["text"]), (None, "// src/main.c"))
        self.assertIn("no code", self.ask(self.at("secret/main.c"), server)["absence"])


class ThreadMatrix(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.serve(cls.random_trace("random.dat", 13, 3000))

    def cells(self, **asked):
        """{(allocated by, freed by): [bytes, blocks]}, from single blocks."""
        cells = {}
        for block in self.server.data("allocations", count=10**9, **asked)["allocations"]:
            freed = block["deallocation"]["thread"] if "deallocation" in block else None
            cell = cells.setdefault((block["thread"], freed), [0, 0])
            cell[0] += block["size"]
            cell[1] += 1
        return cells

    def test_cells_are_those_of_blocks(self):
        for asked in ({}, {"size_min": 100}, {"lifetime": "only_leaked"}, {"at": "peak"}, {"size_min": "1T"}):
            answer = self.server.data("thread_matrix", **asked)
            threads = [one["thread"] for one in answer["threads"]]
            got = {(threads[cell["by"]], None if cell["freed_by"] is None else threads[cell["freed_by"]]): [cell["bytes"], cell["count"]]
                   for cell in answer["cells"]}
            cells = self.cells(**asked)
            self.assertEqual(got, cells)
            self.assertEqual([answer["bytes"], answer["count"]], [sum(cell[i] for cell in cells.values()) for i in (0, 1)])
            self.assertEqual(answer["other_threads"], 0)
            others = [cell for (by, freed), cell in cells.items() if freed not in (by, None)]
            self.assertEqual(answer["freed_by_others"], {"bytes": sum(cell[0] for cell in others), "count": sum(cell[1] for cell in others)})
            order = [sum(cell[0] for pair, cell in cells.items() for one in pair if one == thread) for thread in threads]
            self.assertEqual(order, sorted(order, reverse=True))
        self.assertGreater(len({by for by, freed in self.cells() if freed not in (by, None)}), 1)

    def test_other_threads_are_one_row(self):
        whole = self.server.data("thread_matrix")
        part = self.server.data("thread_matrix", top=2)
        self.assertEqual(part["threads"], whole["threads"][:2])
        self.assertEqual(part["other_threads"], len(whole["threads"]) - 2)
        # Threads that are one row free what others of that row allocated.
        self.assertEqual(self.server.data("thread_matrix", top=1)["freed_by_others"], whole["freed_by_others"])
        self.assertGreater(whole["freed_by_others"]["count"], 0)
        sums = {}
        for cell in whole["cells"]:
            place = min(cell["by"], 2), cell["freed_by"] if cell["freed_by"] is None else min(cell["freed_by"], 2)
            sums.setdefault(place, [0, 0])
            sums[place][0] += cell["bytes"]
            sums[place][1] += cell["count"]
        self.assertEqual({(cell["by"], cell["freed_by"]): [cell["bytes"], cell["count"]] for cell in part["cells"]}, sums)

    def test_of_sums_there_is_none(self):
        server = self.serve(self.recorded_trace("sums.dat", "/bin/true", mode="aggregate"))
        self.assertEqual(server.ask("/data/last/thread_matrix")[0], 422)


if __name__ == "__main__":
    unittest.main()
