#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Reads what heapsonde exported and prints a key of `heapsonde report --json` and a number on each line. Arguments: the
# format, the file.
import csv
import json
import os
import re
import struct
import subprocess
import sys


def say(**totals):
    for key, value in totals.items():
        print(key, value)


def sum_of_blocks(blocks):
    """Of dictionaries with size, free_time and temporary."""
    blocks = list(blocks)
    live = [block for block in blocks if block["free_time"] is None]
    short = [block for block in blocks if block["temporary"]]
    say(allocations=len(blocks), allocated_bytes=sum(block["size"] for block in blocks),
        live_count=len(live), live_bytes=sum(block["size"] for block in live),
        temporary_count=len(short), temporary_bytes=sum(block["size"] for block in short),
        allocated_usable_bytes=sum(block["usable"] for block in blocks))


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, strict=True))
    for row in rows:
        assert row["function"] and row["thread_name"] == "program", row
        assert int(row["lifetime_ns"]) >= 0 and int(row["address"], 16) > 0, row
        if row["free_time_ns"]:
            assert int(row["free_time_ns"]) == int(row["time_ns"]) + int(row["lifetime_ns"]), row
    assert {"keep_large"} <= {row["function"] for row in rows}
    sum_of_blocks({"size": int(row["size"]), "usable": int(row["usable_size"]),
                   "free_time": int(row["free_time_ns"]) if row["free_time_ns"] else None,
                   "temporary": row["temporary"] == "1"} for row in rows)


def read_jsonl(path):
    stacks = {0: []}
    blocks = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            if entry["type"] == "stack":
                stacks[entry["stack"]] = entry["frames"]
            else:
                assert stacks[entry["stack"]], "a block before its stack"
                blocks.append(entry)
    sum_of_blocks({"size": entry["size"], "usable": entry["usable_size"], "free_time": entry["free_time_ns"],
                   "temporary": entry["temporary"]} for entry in blocks)


EVENTS = {"cpu": ("cpu_ns", "ns"), "off_cpu": ("off_cpu_ns", "ns"), "faults": ("faults", "faults")}


def sum_of_events(rows):
    """Of rows of samples, or of blocks with what was touched of them; the events are the third argument."""
    assert rows and all(first["time_ns"] <= then["time_ns"] for first, then in zip(rows, rows[1:]))
    if sys.argv[3] in EVENTS:
        column, key = EVENTS[sys.argv[3]]
        say(**{key: sum(row[column] for row in rows)}, samples=len(rows))
        return
    live = [row for row in rows if row["free_time_ns"] in (None, "")]
    say(touched_bytes=sum(row["touched_size"] for row in rows), allocated_bytes=sum(row["size"] for row in rows),
        allocations=len(rows), live_touched_bytes=sum(row["touched_size"] for row in live), live_count=len(live))


def read_csv_of_events(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, strict=True))
    assert all(row["function"] and row["thread_name"] is not None for row in rows)
    assert {"main", "worker"} <= {row["thread_name"] for row in rows}
    sum_of_events([{key: int(value) if value.isdigit() else value for key, value in row.items()} for row in rows])


def read_jsonl_of_events(path):
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    stacks = {line["stack"] for line in lines if line["type"] == "stack"}
    rows = [line for line in lines if line["type"] in ("sample", "block")]
    assert {row["stack"] for row in rows} <= stacks | {0}
    sum_of_events(rows)


def read_collapsed_of_events(path):
    with open(path, encoding="utf-8") as file:
        total = sum(int(line.rsplit(" ", 1)[1]) for line in file)
    print(EVENTS[sys.argv[3]][1] if sys.argv[3] in EVENTS else "touched_bytes", total)


def read_json_of_events(path):
    with open(path, encoding="utf-8") as file:
        export = json.load(file)
    assert export["events"] == sys.argv[3]
    keys = (EVENTS[sys.argv[3]][1], "samples") if sys.argv[3] in EVENTS else (
        "touched_bytes", "allocated_bytes", "allocations", "live_touched_bytes", "live_bytes", "live_count")
    say(**{key: sum(stack[key] for stack in export["stacks"]) for key in keys})


def read_firefox_of_events(path):
    """The answers of profiler-cli: each thread's tree."""
    total = 0
    with open(f"{path}.threads", encoding="utf-8") as file:
        threads = json.load(file)["threads"]
    assert {thread["name"] for thread in threads} >= {"GeckoMain", "worker", "thread 9001"}, threads
    for thread in threads:
        with open(f"{path}.{thread['threadHandle']}", encoding="utf-8") as file:
            tree = json.load(file)
        assert tree["callTreeSummaryStrategy"] == "timing" and tree["weightType"] == "tracing-ms", tree
        total += tree["regularCallTree"]["totalSamples"]
    print("ns", round(total * 1e6))


def read_firefox_of_touched(path):
    for name, key in {"native-allocations": "touched_bytes", "native-retained-allocations": "live_touched_bytes"}.items():
        with open(f"{path}.{name}", encoding="utf-8") as file:
            print(key, json.load(file)["regularCallTree"]["totalSamples"])


def read_heaptrack(path):
    """heaptrack_print rounds; the stacks that it writes for flame graphs have whole numbers."""
    kinds = {"allocations": "allocations", "leaked": "live_bytes", "peak": "peak_bytes"}
    if sys.argv[3:] == ["temporary"]:  # to heaptrack, what a realloc replaces at once was temporary, too
        kinds["temporary"] = "temporary_count"
    for kind, key in kinds.items():
        subprocess.run(["heaptrack_print", path, "-F", "stacks", "--flamegraph-cost-type", kind], check=True,
                       stdout=subprocess.DEVNULL)
        with open("stacks", encoding="utf-8") as file:
            lines = file.read().splitlines()
        print(key, sum(int(line.rsplit(" ", 1)[1]) for line in lines))


def read_massif(path):
    text = subprocess.run(["ms_print", path], check=True, capture_output=True, encoding="utf-8").stdout
    rows = [[int(number.replace(",", "")) for number in line.split()]
            for line in text.splitlines() if re.fullmatch(r" *\d+( +[\d,]+){5}", line)]
    assert len(rows) == 101 and [row[0] for row in rows] == list(range(101)), len(rows)
    assert rows == sorted(rows, key=lambda row: row[1])
    peak = re.search(r"(\d+) \(peak\)", text)
    assert peak and rows[int(peak[1])][3] == max(row[3] for row in rows), peak
    assert re.search(r"->[\d.]+% \([\d,]+B\) 0x[0-9A-F]+: \w+ \(.*program\.c:\d+\)", text), text[-2000:]
    say(peak_bytes=rows[int(peak[1])][3], live_bytes=rows[-1][3], live_usable_bytes=rows[-1][2])


def annotated(path, *options):
    """The names of the columns; rows of callgrind_annotate as the name of a function, "" for the sum, and numbers."""
    text = subprocess.run(["callgrind_annotate", "--threshold=100", "--show-percs=no", "--auto=no", *options, path],
                          check=True, capture_output=True, encoding="utf-8").stdout
    rows = [re.fullmatch(r" *((?:[\d,.]+ +)+)(?:PROGRAM TOTALS|.*?:(.*) \[.*\]) *", line) for line in text.splitlines()]
    return (re.search("^Events shown: +(.*)", text, re.M)[1].split(),
            [(row[2] or "", [int(word.replace(",", "").replace(".", "0")) for word in row[1].split()])
             for row in rows if row])


def read_callgrind(path):
    """Functions add up to the totals."""
    keys = {"LiveBytes": "live_bytes", "LiveBlocks": "live_count", "PeakBytes": "peak_bytes", "PeakBlocks": "peak_count",
            "AllocatedBytes": "allocated_bytes", "AllocatedBlocks": "allocations", "TemporaryBytes": "temporary_bytes",
            "TemporaryBlocks": "temporary_count"}
    columns, rows = annotated(path)
    totals = rows[0][1]
    assert [sum(column) for column in zip(*(numbers for _, numbers in rows[1:]))] == totals, rows
    say(**{keys[column]: total for column, total in zip(columns, totals)
           if sys.argv[3:] != ["filtered"] or not column.startswith("Peak")})


def read_callgrind_functions(path):
    """The costs of functions with what they called are those of `ask totals by=function`, the file after `path`."""
    with open(sys.argv[3], encoding="utf-8") as file:
        answer = json.load(file)
    expected = {row["key"]: sum(row["total"].values(), []) for row in answer["rows"]}
    assert len(expected) == answer["total_count"] and {"take_peak", "take_deeper"} <= set(expected), expected
    expected[""] = expected["(root)"] = sum(answer["sum"].values(), [])
    _, rows = annotated(path, "--inclusive=yes")
    assert len(dict(rows)) == len(rows) and dict(rows) == expected, (rows, expected)


def read_firefox(path):
    """The answers of profiler-cli, in files that the test made."""
    names = {"native-allocations": "allocated_bytes", "native-retained-allocations": "live_bytes"}
    for name, key in names.items():
        with open(f"{path}.{name}", encoding="utf-8") as file:
            tree = json.load(file)
        assert tree["callTreeSummaryStrategy"] == name and tree["weightType"] == "bytes", tree
        print(key, tree["regularCallTree"]["totalSamples"])
    with open(f"{path}.counters", encoding="utf-8") as file:
        counter, = json.load(file)["counters"]
    assert counter["category"] == "Memory" and counter["unit"] == "bytes", counter


def read_replay(path):
    """Does it all again."""
    with open(path, "rb") as file:
        words = struct.unpack(f"<{os.path.getsize(path) // 8}Q", file.read())
    assert words[-1] == 0 and len(words) % 4 == 2, len(words)
    slots = [None] * words[0]
    depth = allocations = allocated = live = peak = last = 0
    for kind, slot, time, size in zip(*[iter(words[1:-1])] * 4):
        if kind in (4, 5):
            depth += 1 if kind == 4 else -1
            assert depth >= 0
            continue
        assert time >= last and depth > 0
        last = time
        assert (slots[slot] is None) == (kind == 1), (kind, slot)
        live += (size if kind != 2 else 0) - (slots[slot] or 0)
        allocations += kind != 2
        allocated += size
        slots[slot] = size if kind != 2 else None
        peak = max(peak, live)
    assert depth == 0
    say(allocations=allocations, allocated_bytes=allocated, live_bytes=live, peak_bytes=peak,
        live_count=sum(slot is not None for slot in slots))


readers = {"csv": read_csv, "jsonl": read_jsonl, "heaptrack": read_heaptrack, "massif": read_massif, "firefox": read_firefox,
           "callgrind": read_callgrind, "callgrind_functions": read_callgrind_functions, "replay": read_replay, "csv_of_events": read_csv_of_events, "jsonl_of_events": read_jsonl_of_events,
           "collapsed_of_events": read_collapsed_of_events, "json_of_events": read_json_of_events,
           "firefox_of_events": read_firefox_of_events, "firefox_of_touched": read_firefox_of_touched}
readers[sys.argv[1]](sys.argv[2])
