# SPDX-License-Identifier: MIT OR Apache-2.0
"""Source files: their costs are those of /totals, and no file is shown but sources below the folders of --source."""
import json
import os
import subprocess
import unittest

from client import COMMAND, Server, TestCase

COSTS = ("live", "peak", "allocated", "temporary")
PROGRAM = """#include <stdlib.h>

void *kept[8];

__attribute__((noinline)) static void fill(int n)
{
    kept[n] = malloc(1000 + (size_t)n);
}

int main(void)
{
    for (int n = 0; n < 8; n++)
        fill(n);
    free(kept[0]);
    return 0;
}
"""
# Names that debug information may have, in a folder with what is nobody's business.
NAMES = {
    "plain": "src/main.c", "above": "src/../secret/main.c", "absolute": None, "hidden": "src/.git/main.c", "key": "src/id_rsa",
    "link": "src/link.c", "inner": "src/inner.c", "pipe": "src/pipe.c", "folder": "src/folder.c", "binary": "src/binary.c",
    "large": "src/large.c", "long": "src/long.c", "missing": "src/missing.c", "renamed": "src/renamed.c", "linked_folder": "src/outside/main.c",
}


class Source(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.root = os.path.realpath(cls.folder)
        for name in "src/.git", "secret", "src/folder.c", "other":
            os.makedirs(os.path.join(cls.root, name))
        for name in "src/main.c", "secret/main.c", "src/.git/main.c", "src/id_rsa", "secret/key.c":
            cls.write(name, PROGRAM.replace("\n", f" // {name}\n", 1))
        cls.write("src/binary.c", "int a;\0\n")
        with open(os.path.join(cls.root, "src/large.c"), "wb") as file:
            file.truncate((16 << 20) + 1)
        cls.write("src/long.c", "\n" * 1000001)
        os.mkfifo(os.path.join(cls.root, "src/pipe.c"))
        os.symlink("main.c", os.path.join(cls.root, "src/inner.c"))
        os.symlink("../secret/key.c", os.path.join(cls.root, "src/link.c"))
        os.symlink("id_rsa", os.path.join(cls.root, "src/renamed.c"))
        os.symlink("../secret", os.path.join(cls.root, "src/outside"))
        cls.traces = {name: cls.record(name, os.path.join(cls.root, at) if at else "/etc/passwd") for name, at in NAMES.items()}
        cls.traces["relative"] = cls.record("relative", "main.c", where=".")

    @classmethod
    def write(cls, name, text):
        with open(os.path.join(cls.root, name), "w", encoding="utf-8") as file:
            file.write(text)

    @classmethod
    def record(cls, name, called, where="/nowhere"):
        """The trace of a program whose debug information calls its source so."""
        binary, text = cls.path("program-" + name), cls.path("text.c")
        with open(text, "w", encoding="utf-8") as file:
            file.write(f'#line 1 "{called}"\n{PROGRAM}')
        subprocess.run(["gcc", "-g", "-O1", f"-fdebug-prefix-map={os.getcwd()}={where}", text, "-o", binary], check=True)
        return cls.recorded_trace(name + ".dat", binary)

    def ask(self, server, **parameters):
        status, headers, body = server.ask("/data/last/source", **parameters)
        return json.loads(body) if status == 200 else (status, body.decode())

    def named(self, server):
        """The name of the program's file in the trace."""
        rows = server.data("totals", by="source")["rows"]
        return [row["key"] for row in rows if row["library"].startswith("program-")][0]

    def of(self, name, *words):
        server = Server(*words, self.traces[name])
        try:
            file = self.named(server)
            return file, self.ask(server, file=file)
        finally:
            server.stop()

    def test_costs_are_those_of_totals(self):
        server = self.serve("--source", os.path.join(self.root, "src"), self.traces["plain"])
        file = self.named(server)
        for asked in ({}, {"size_min": 1003}, {"cost": "live"}):
            totals = server.data("totals", by="line", file=file, **asked)
            lines = {row["line"]: (row["self"], row["total"]) for row in totals["rows"]}
            self.assertEqual({row["key"] for row in totals["rows"]}, {file})
            answer = self.ask(server, file=file, **asked)
            costly = self.ask(server, file=file, lines="costly", **asked)["rows"]
            self.assertEqual({row["line"]: (row["self"], row["total"]) for row in costly}, lines)
            self.assertEqual([row for row in answer["rows"] if row["line"] in lines], costly)
            zero = {cost: [0, 0] for cost in answer["sum"]}
            for row in answer["rows"]:
                if row["line"] not in lines:
                    self.assertEqual((row["self"], row["total"]), (zero, zero))
            self.assertEqual(answer["sum"], totals["sum"])
        with open(file, encoding="utf-8") as text:
            self.assertEqual([row["text"] for row in answer["rows"]], text.read().splitlines())
        self.assertEqual([row["line"] for row in answer["rows"]], list(range(1, len(answer["rows"]) + 1)))
        self.assertEqual(answer["total_count"], len(answer["rows"]))
        self.assertEqual(answer["modified_ns"], os.stat(file).st_mtime_ns)
        page = self.ask(server, file=file, skip=5, count=3)
        self.assertEqual([row["line"] for row in page["rows"]], [6, 7, 8])
        for order, worth in ("asc", 1), ("dsc", -1):
            answer = self.ask(server, file=file, lines="costly", sort_by="self.live.bytes", order=order)
            costs = [row["self"]["live"][0] for row in answer["rows"]]
            self.assertEqual(costs, sorted(costs, key=lambda cost: cost * worth))

    def test_text_that_changes_is_read_again(self):
        path = os.path.join(self.root, "other", "main.c")
        subprocess.run(["cp", os.path.join(self.root, "src/main.c"), path], check=True)
        server = self.serve("--source", os.path.join(self.root, "other"), self.traces["relative"])
        file = self.named(server)
        first = self.ask(server, file=file)
        self.assertIsNone(first["absence"])
        with open(path, "a", encoding="utf-8") as out:
            out.write("// one more\r\n" + "x" * 5000)
        status, headers, body = server.ask("/data/last/source", file=file)
        rows = json.loads(body)["rows"]
        self.assertEqual((status, headers.get("ETag")), (200, None))
        self.assertEqual([row["text"] for row in rows[-2:]], ["// one more", "x" * 1000])
        self.assertEqual([row["cut"] for row in rows[-2:]], [False, True])
        # Lines that the file does not have any more keep their costs.
        os.truncate(path, 20)
        rows = self.ask(server, file=file)["rows"]
        self.assertEqual([(row["line"], row["text"]) for row in rows[:1]], [(1, "#include <stdlib.h> ")])
        self.assertTrue(any(row["self"]["live"][0] and row["text"] is None for row in rows[1:]))
        os.unlink(path)
        self.assertIn("no such file", self.ask(server, file=file)["absence"])

    def test_only_files_that_the_trace_names(self):
        server = self.serve("--source", "/", self.traces["plain"])
        for file in ("/etc/passwd", os.path.join(self.root, "secret/main.c"), "main.c", "", self.named(server) + "x",
                     os.path.join(self.root, "src/../src/main.c")):
            answer = self.ask(server, file=file)
            self.assertEqual((answer["rows"], answer["absence"]), ([], "no code of this trace is from this file"), file)
        self.assertEqual(server.ask("/data/last/source")[0], 400)

    def test_without_the_option_no_text(self):
        file, answer = self.of("plain")
        self.assertIn("--source DIR", answer["absence"])
        self.assertTrue(answer["rows"])
        for row in answer["rows"]:
            self.assertIsNone(row["text"])
        self.assertIsNone(answer["modified_ns"])

    def test_what_a_hostile_trace_may_name(self):
        src = os.path.join(self.root, "src")
        said = {"above": "--source-map", "absolute": "--source-map", "hidden": "hidden", "key": "hidden", "link": "--source-map",
                "pipe": "no such file", "folder": "no such file", "binary": "does not contain text", "large": "larger than", "long": "1,000,000 lines",
                "missing": "no such file", "renamed": "hidden", "linked_folder": "--source-map"}
        for name, words in said.items():
            with self.subTest(name=name):
                _, answer = self.of(name, "--source", src)
                self.assertIn(words, answer["absence"])
                self.assertTrue(answer["rows"])
                self.assertEqual({row["text"] for row in answer["rows"]}, {None})
        for name in "plain", "inner":
            _, answer = self.of(name, "--source", src)
            self.assertEqual(answer["rows"][0]["text"], "#include <stdlib.h> // src/main.c")
        # Whoever gives everything gets source files of it, and nothing else.
        self.assertIn("hidden", self.of("absolute", "--source", "/")[1]["absence"])
        self.assertIsNone(self.of("above", "--source", "/")[1]["absence"])

    def test_folders_are_found_by_their_links_and_maps(self):
        link = os.path.join(self.root, "link")
        os.symlink("src", link)
        self.assertIsNone(self.of("plain", "--source", link)[1]["absence"])
        self.assertIsNone(self.of("relative", "--source", os.path.join(self.root, "other"), "--source", link)[1]["absence"])
        file, answer = self.of("plain", "--source", os.path.join(self.root, "secret"), "--source-map",
                               f"{self.root}/src={self.root}/secret")
        self.assertEqual((file, answer["absence"]), (os.path.join(self.root, "secret/main.c"), None))
        self.assertEqual(answer["rows"][0]["text"], "#include <stdlib.h> // secret/main.c")
        file, answer = self.of("plain", "--source-map", f"{self.root}/src={link}", "--source", link)
        self.assertEqual((file, answer["absence"]), (link + "/main.c", None))

    def test_a_command_asks_for_the_lines(self):
        asked = subprocess.run([COMMAND, "ask", self.traces["plain"], "source", f"file={self.root}/src/main.c", "lines=costly",
                                "cost=live"], check=True, capture_output=True)
        answer = json.loads(asked.stdout)
        self.assertIn("--source", answer["absence"])
        self.assertEqual(answer["sum"]["live"], [sum(1000 + n for n in range(1, 8)), 7])


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
            order = [sum(cell[0] for pair, cell in cells.items() for one in pair if one == thread) for thread in threads]
            self.assertEqual(order, sorted(order, reverse=True))
        self.assertGreater(len({by for by, freed in self.cells() if freed not in (by, None)}), 1)

    def test_other_threads_are_one_row(self):
        whole = self.server.data("thread_matrix")
        part = self.server.data("thread_matrix", top=2)
        self.assertEqual(part["threads"], whole["threads"][:2])
        self.assertEqual(part["other_threads"], len(whole["threads"]) - 2)
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
