#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every format takes every filter: what a file adds up to is what the report says with the same filter.

The files are read by what is here, which knows of each format what it takes to add up its numbers.
"""
import csv
import gzip
import json
import os
import re
import struct
import subprocess
import tempfile
import xml.etree.ElementTree
import zlib

SEED = int(os.environ.get("HEAPSONDE_TEST_SEED") or 11)
EVENTS = 6000

FILTERS = ["", "--from 30%", "--to 60%", "--from 20% --to 70%", "--lifetime only_leaked", "--lifetime only_temporary",
           "--lifetime-min 20ms", "--size-min 40 --size-max 400", "--function-regex ^[a-f]",
           "--negative-function-regex ^g", "--thread worker --from 10%", "--alive-at 50%",
           "--alive-at 98% --size-min 20", "--chain-length-min 2", "--size-min 1T"]


# ---- protocol buffers ------------------------------------------------------------------------------------------------

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of a message; of nested messages and texts the value is bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            assert len(value) == length
        else:
            raise AssertionError(f"wire type {key & 7}")
        yield key >> 3, value


def all_of(data, number):
    return [value for field, value in fields(data) if field == number]


def varints(data):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


# ---- Parquet ---------------------------------------------------------------------------------------------------------

class Thrift:
    """The compact protocol: structures are dictionaries by the fields' numbers."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def number(self):
        value, self.at = varint(self.data, self.at)
        return value

    def signed(self):
        value = self.number()
        return value >> 1 ^ -(value & 1)

    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind in (4, 5, 6):
            return self.signed()
        if kind == 8:
            length = self.number()
            self.at += length
            return self.data[self.at - length:self.at]
        if kind == 9:
            head = self.data[self.at]
            self.at += 1
            count = head >> 4 if head >> 4 < 15 else self.number()
            return [self.value(head & 15) for _ in range(count)]
        assert kind == 12, kind
        return self.structure()

    def structure(self):
        result, last = {}, 0
        while self.data[self.at]:
            head = self.data[self.at]
            self.at += 1
            last = last + (head >> 4) if head >> 4 else self.signed()
            result[last] = self.value(head & 15)
        self.at += 1
        return result


def unpack_bits(data, width, count):
    """Runs of Parquet's hybrid encoding."""
    values, at = [], 0
    while len(values) < count:
        head, at = varint(data, at)
        if head & 1:
            length = (head >> 1) * width
            word = int.from_bytes(data[at:at + length], "little")
            values += [word >> i * width & (1 << width) - 1 for i in range((head >> 1) * 8)]
        else:
            length = (width + 7) // 8
            values += [int.from_bytes(data[at:at + length], "little")] * (head >> 1)
        at += length
    return values[:count]


def parquet_column(data, column, rows, optional):
    """The values of a column that is no text."""
    page = Thrift(data, column[9])
    head = page.structure()
    plain = zlib.decompress(data[page.at:page.at + head[3]], 31)
    assert len(plain) == head[2] and head[5][1] == rows
    present = [1] * rows
    if optional:
        length, = struct.unpack_from("<I", plain)
        present, plain = unpack_bits(plain[4:4 + length], 1, rows), plain[4 + length:]
    if column[1] == 0:
        return [plain[i // 8] >> i % 8 & 1 for i in range(rows)]
    size, code = {1: (4, "I"), 2: (8, "Q")}[column[1]]
    values = iter(struct.unpack(f"<{len(plain) // size}{code}", plain))
    return [next(values) if there else None for there in present]


def parquet(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:4] == data[-4:] == b"PAR1"
    length, = struct.unpack("<I", data[-8:-4])
    description = Thrift(data, len(data) - 8 - length).structure()
    optional = {element[4]: element.get(3) == 1 for element in description[2][1:]}
    table = {name: [] for name in (b"size", b"usable_size", b"free_time_ns", b"temporary")}
    for group in description.get(4, []):
        for chunk in group[1]:
            name = chunk[3][3][0]
            if name in table:
                table[name] += parquet_column(data, chunk[3], group[3], optional[name])
    assert len(table[b"size"]) == description[3]
    return sum_of_blocks(zip(*table.values()))


# ---- the others ------------------------------------------------------------------------------------------------------

def sum_of_blocks(blocks):
    """Of (size, usable, end or nothing, whether it was temporary)."""
    blocks = list(blocks)
    live = [block for block in blocks if block[2] is None]
    short = [block for block in blocks if block[3]]
    return {"allocations": len(blocks), "allocated_bytes": sum(block[0] for block in blocks),
            "allocated_usable_bytes": sum(block[1] for block in blocks),
            "live_count": len(live), "live_bytes": sum(block[0] for block in live),
            "temporary_count": len(short), "temporary_bytes": sum(block[0] for block in short)}


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


def comma_separated(path):
    with open(path, newline="", encoding="utf-8") as file:
        return sum_of_blocks((int(row["size"]), int(row["usable_size"]), row["free_time_ns"] or None,
                              row["temporary"] == "1") for row in csv.DictReader(file, strict=True))


def json_lines(path):
    rows = [json.loads(line) for line in read_lines(path)]
    return sum_of_blocks((row["size"], row["usable_size"], row["free_time_ns"], row["temporary"])
                         for row in rows if row["type"] == "block")


def json_of_stacks(path):
    keys = ("allocations", "allocated_bytes", "live_bytes", "live_count", "peak_bytes", "peak_count",
            "temporary_bytes", "temporary_count")
    stacks = read_json(path)["stacks"]
    return {key: sum(stack[key] for stack in stacks) for key in keys}


def collapsed(path):
    return {"live_bytes": sum(int(line.rsplit(" ", 1)[1]) for line in read_lines(path))}


def flamegraph(path):
    """Bytes are rounded in its heading, blocks are not."""
    root = xml.etree.ElementTree.parse(path).getroot()
    heading = "".join(root.find(".//*[@id='heading']").itertext())
    return {"live_count": int(re.search(r" in ([\d,]+) block", heading)[1].replace(",", ""))}


def speedscope(path):
    keys = ["peak_bytes", "peak_count", "live_bytes", "live_count", "allocated_bytes", "allocations",
            "temporary_bytes", "temporary_count"]
    profiles = read_json(path)["profiles"]
    assert len(profiles) == len(keys)
    for profile in profiles:
        assert len(profile["samples"]) == len(profile["weights"])
        assert sum(profile["weights"]) == profile["endValue"]
    return {key: sum(profile["weights"]) for key, profile in zip(keys, profiles)}


def callgrind(path):
    """Own costs add up to the summary, and so do the calls of the root; a line after `calls=` is the cost of a call."""
    keys = {"PeakBytes": "peak_bytes", "PeakBlocks": "peak_count", "LiveBytes": "live_bytes", "LiveBlocks": "live_count",
            "AllocatedBytes": "allocated_bytes", "AllocatedBlocks": "allocations", "TemporaryBytes": "temporary_bytes",
            "TemporaryBlocks": "temporary_count"}
    lines = read_lines(path)
    columns = next(line for line in lines if line.startswith("events:")).split()[1:]
    assert sorted(columns) == sorted(keys)
    rows = {"own": [], "root": []}
    function = ""
    for before, line in zip([""] + lines, lines):
        function = line if line.startswith("fn=") else function
        call = before.startswith("calls=")
        if line[:1].isdigit() and (not call or function.endswith("(root)")):
            rows["root" if call else "own"].append([int(word) for word in line.split()[1:]])
    sums = {name: [sum(column) for column in zip(*rows[name])] or [0] * len(keys) for name in rows}
    assert sums["own"] == sums["root"]
    assert "summary: " + " ".join(map(str, sums["own"])) in lines
    return {keys[column]: total for column, total in zip(columns, sums["own"])}


def firefox(path):
    """Allocations are above zero, what is freed is below."""
    weights = [weight for thread in read_json(path)["threads"]
               for weight in thread.get("nativeAllocations", {}).get("weight", [])]
    allocated = [weight for weight in weights if weight > 0]
    return {"allocated_bytes": sum(allocated), "live_bytes": sum(weights)}


def heapprofile(path):
    def sum_of(node):
        return node["selfSize"] + sum(sum_of(child) for child in node["children"])
    profile = read_json(path)
    assert sum_of(profile["head"]) == sum(sample["size"] for sample in profile["samples"])
    return {"live_bytes": sum_of(profile["head"])}


def dhat(path):
    points = read_json(path)["pps"]
    keys = {"tb": "allocated_bytes", "tbk": "allocations", "gb": "peak_bytes", "gbk": "peak_count", "eb": "live_bytes",
            "ebk": "live_count"}
    return {key: sum(point[short] for point in points) for short, key in keys.items()}


def massif(path):
    bytes_of = [int(line.split("=")[1]) for line in read_lines(path) if line.startswith("mem_heap_B=")]
    extra = [int(line.split("=")[1]) for line in read_lines(path) if line.startswith("mem_heap_extra_B=")]
    return {"live_bytes": bytes_of[-1], "live_usable_bytes": bytes_of[-1] + extra[-1]}


def heaptrack(path):
    kinds, live, totals = [], {}, {"allocations": 0, "allocated_bytes": 0}
    for line in read_lines(path):
        word, _, rest = line.partition(" ")
        if word == "a":
            kinds.append(int(rest.split()[0], 16))
        elif word == "+":
            kind = int(rest, 16)
            live[kind] = live.get(kind, 0) + 1
            totals["allocations"] += 1
            totals["allocated_bytes"] += kinds[kind]
        elif word == "-":
            live[int(rest, 16)] -= 1
            assert live[int(rest, 16)] >= 0
    return totals | {"live_count": sum(live.values()), "live_bytes": sum(kinds[kind] * n for kind, n in live.items())}


def replay(path):
    with open(path, "rb") as file:
        words = struct.unpack(f"<{os.path.getsize(path) // 8}Q", file.read())
    assert words[-1] == 0 and len(words) % 4 == 2
    slots, totals = {}, {"allocations": 0, "allocated_bytes": 0}
    for kind, slot, _, size in zip(*[iter(words[1:-1])] * 4):
        if kind in (1, 3):
            totals["allocations"] += 1
            totals["allocated_bytes"] += size
            slots[slot] = size
        elif kind == 2:
            del slots[slot]
    return totals | {"live_count": len(slots), "live_bytes": sum(slots.values())}


def pprof(path):
    with gzip.open(path) as file:
        data = file.read()
    texts = [text.decode() for text in all_of(data, 6)]
    names = [texts[next(iter(all_of(kind, 1)))] for kind in all_of(data, 1)]
    samples = [[value for packed in all_of(sample, 2)
                for value in (varints(packed) if isinstance(packed, bytes) else [packed])] for sample in all_of(data, 2)]
    keys = {"alloc_objects": "allocations", "alloc_space": "allocated_bytes", "inuse_objects": "live_count",
            "inuse_space": "live_bytes"}
    return {keys[name]: sum(sample[i] for sample in samples) for i, name in enumerate(names) if name in keys}


def perfetto(path):
    with open(path, "rb") as file:
        packets = all_of(file.read(), 1)
    heaps = {}
    for packet in packets:
        for profile in all_of(packet, 37):
            for dump in all_of(profile, 5):
                heap = heaps.setdefault(all_of(dump, 11)[0].decode(), {2: 0, 3: 0, 5: 0, 6: 0})
                for sample in all_of(dump, 2):
                    for field, value in fields(sample):
                        if field in heap:
                            heap[field] += value
    heap, peak = heaps["malloc"], heaps["at the peak"]
    return {"allocated_bytes": heap[2], "live_bytes": heap[2] - heap[3], "allocations": heap[5],
            "live_count": heap[5] - heap[6], "peak_bytes": peak[2] - peak[3]}


FORMATS = {"json": json_of_stacks, "collapsed": collapsed, "flamegraph": flamegraph, "jsonl": json_lines,
           "csv": comma_separated, "parquet": parquet, "speedscope": speedscope, "firefox": firefox,
           "heapprofile": heapprofile, "dhat": dhat, "massif": massif, "heaptrack": heaptrack, "replay": replay,
           "pprof": pprof, "perfetto": perfetto, "callgrind": callgrind}


# ---- the test --------------------------------------------------------------------------------------------------------

def command(*arguments):
    return subprocess.run([os.environ["HEAPSONDE_TEST_COMMAND"], *arguments], check=True, capture_output=True).stdout


def compare(trace, chosen):
    """The peak of a file is what was there at the peak of the whole heap; that of the report is the filter's own."""
    options = chosen.split()
    wanted = json.loads(command("report", "--json", *options, trace))
    wrong = []
    for name, read in FORMATS.items():
        made = os.path.join(os.path.dirname(trace), name)
        command("export", "--format", name, "--cost", "live", *options, "-o", made, trace)
        totals = read(made)
        if chosen and name == "json":
            wanted |= {key: totals[key] for key in ("peak_bytes", "peak_count")}
        wrong += [f"{name} with '{chosen}': {key} is {value}, the report says {wanted[key]}"
                  for key, value in totals.items() if value != wanted[key]]
    return wrong, wanted["allocations"]


def main():
    print("seed", SEED)
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "random.dat")
        subprocess.run([os.environ["HEAPSONDE_TEST_MAKE_TRACE"], "random", trace, os.environ["HEAPSONDE_TEST_PROGRAM"],
                        str(SEED), str(EVENTS), "1"], check=True)
        results = {chosen: compare(trace, chosen) for chosen in FILTERS}
    everything = results[""][1]
    wrong = [line for lines, _ in results.values() for line in lines]
    # A filter that leaves all or nothing would show nothing.
    idle = [chosen for chosen, (_, count) in results.items() if chosen and count in (0, everything)]
    for line in wrong:
        print(line)
    assert not wrong
    assert idle == ["--size-min 1T"], idle


main()
