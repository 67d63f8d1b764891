#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""A second reader of traces, written from docs/format.md alone: slow, obvious, and without the host's code.

read_trace.py FILE prints the totals of a trace as JSON; with --against HEAPSONDE it compares them with what
`HEAPSONDE report --json FILE` says and fails where they differ.
"""
import argparse
import json
import subprocess
import sys

from trace_bytes import MASK, Bytes, Damage, crc32c, unzigzag
from trace_events import ALIGNED, CALLOC, FREE, MALLOC, REALLOC
from trace_file import EVENTS, SUMS, Header, all_meta, frames_of, history, nodes_of, read_chunks, use_slots

SUMS_OF_ALLOCATIONS = ("allocations", "allocated_bytes")
KEYS = SUMS_OF_ALLOCATIONS + ("live_count", "live_bytes", "temporary_count")


class Totals:
    def __init__(self):
        self.stacks = {}
        self.live = {}
        self.last = {}   # by stream: what its last call allocated
        self.live_bytes = self.peak = 0
        self.frees = 0
        self.unfit = 0   # frees of unknown blocks, and allocations at the address of a live block
        self.streams = set()

    def of(self, stack):
        return self.stacks.setdefault(stack, dict.fromkeys(KEYS, 0))

    def end(self, address):
        block = self.live.pop(address, None)
        if block:
            self.live_bytes -= block[0]
            total = self.of(block[1])
            total["live_count"] -= 1
            total["live_bytes"] -= block[0]
        return block

    def start(self, stream, event):
        self.streams.add(stream)
        self.unfit += self.end(event["address"]) is not None
        block = (event["size"], event["stack"], object())
        self.live[event["address"]] = block
        self.last[stream] = block
        total = self.of(event["stack"])
        total["allocations"] += 1
        total["allocated_bytes"] += event["size"]
        total["live_count"] += 1
        total["live_bytes"] += event["size"]
        self.live_bytes += event["size"]
        self.peak = max(self.peak, self.live_bytes)

    def free(self, stream, event):
        self.frees += 1
        self.streams.add(stream)
        block = self.end(event["address"])
        self.unfit += block is None
        if block and self.last.get(stream) is block:
            self.of(block[1])["temporary_count"] += 1
        self.last[stream] = None

    def order_is_clear(self):
        """Whether only one order of the events is right.

        An event that does not fit may have a time that is a little too early (docs/format.md). The host lets it wait for
        events of other threads; this reader does not.
        """
        return not self.unfit or len(self.streams) < 2

    def cull(self, body):
        source = Bytes(body)
        stack, count, size = source.varint(), source.varint(), source.varint()
        total = self.of(stack)
        total["allocations"] += count
        total["allocated_bytes"] += size



# Sums, section 5.1

SUM_KEYS = ("allocations", "allocated_bytes", None, "ended", "ended_bytes", None, "temporary_count", None)


def add_sums(payload, stacks, nodes):
    source = Bytes(payload)
    if source.byte() != 1:
        raise Damage("unknown version")
    domain = source.byte()
    for _ in range(3):
        source.varint()
    if domain:
        return
    stack = 0
    while source.at < len(payload):
        stack = stack + unzigzag(source.varint()) & MASK
        mask = source.byte()
        total = stacks.setdefault(stack if stack in nodes else 0, [0] * 8)
        for bit in range(8):
            if mask >> bit & 1:
                total[bit] = total[bit] + unzigzag(source.varint()) & MASK


def read_sums(chunks, nodes):
    """The totals of a trace without events; its peak is the highest tick."""
    totals, stacks = Totals(), {}
    chunks = sorted((chunk for chunk in chunks if chunk["kind"] == SUMS), key=lambda c: (c["time"], c["offset"]))
    for number, chunk in enumerate(chunks):
        if chunk["flags"] == 0 and crc32c(chunk["payload"]) == chunk["crc"]:
            try:
                add_sums(chunk["payload"], stacks, nodes)
            except Damage:
                pass
        if number + 1 == len(chunks) or chunks[number + 1]["time"] != chunk["time"]:
            live = sum(total[1] for total in stacks.values()) - sum(total[4] for total in stacks.values())
            totals.peak = max(totals.peak, live)
    for stack, total in stacks.items():
        named = {key: value for key, value in zip(SUM_KEYS, total) if key}
        named["live_count"] = max(named["allocations"] - named.pop("ended"), 0)
        named["live_bytes"] = max(named["allocated_bytes"] - named.pop("ended_bytes"), 0)
        totals.of(stack).update(named)
    return totals


def is_aggregate(chunks):
    wanted = b"\x04mode\x09aggregate"
    return any(chunk["kind"] == SUMS for chunk in chunks) or any(
        tag == 6 and bytes(body) == wanted for tag, body in all_meta(chunks))


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    header = Header(data)
    chunks = use_slots(read_chunks(data, header), header)
    nodes, totals = nodes_of(chunks), Totals()
    culled = [body for tag, body in all_meta(chunks) if tag == 7]
    if is_aggregate(chunks):
        return read_sums(chunks, nodes), nodes
    for _, _, _, stream, phase, event in history([c for c in chunks if c["kind"] == EVENTS], header):
        if event["kind"] in (MALLOC, CALLOC, ALIGNED, REALLOC):
            event["stack"] = event["stack"] if event["stack"] in nodes else 0
            if phase == "end":
                totals.unfit += totals.end(event["old"]) is None
            else:
                totals.start(stream, event)
        elif event["kind"] == FREE:
            totals.free(stream, event)
    for body in culled:
        totals.cull(body)
    return totals, nodes


def sums(totals, nodes):
    by_frames = {}
    for stack, total in totals.stacks.items():
        to = by_frames.setdefault(frames_of(stack, nodes), dict.fromkeys(total, 0))
        for key, value in total.items():
            to[key] += value
    return by_frames


def only(keys, total):
    return {key: total[key] for key in keys}


def summary(totals):
    result = {key: sum(total[key] for total in totals.stacks.values()) for key in KEYS}
    result["peak_bytes"] = totals.peak
    return result


def stacks_of_report(report):
    by_frames = {}
    for stack in report["top"]:
        frames = tuple(int(frame["address"], 16) for frame in stack["frames"] if not frame["inlined"])
        to = by_frames.setdefault(frames, dict.fromkeys(KEYS, 0))
        for key in KEYS:
            to[key] += stack[key]
    return by_frames


def compare(path, heapsonde, whole=False):
    """What differs, the report, and how much was compared: all if `whole` or if the order of the events is clear."""
    totals, nodes = read(path)
    whole = whole or totals.order_is_clear()
    report = json.loads(subprocess.run([heapsonde, "report", "--json", "--top", "10000000", path], check=True,
                                       stdout=subprocess.PIPE).stdout)
    keys = KEYS if whole else SUMS_OF_ALLOCATIONS
    wrong = [f"{key}: {report[key]} instead of {value}" for key, value in summary(totals).items()
             if report[key] != value and (whole or key in keys)]
    mine, theirs = sums(totals, nodes), stacks_of_report(report)
    nothing = dict.fromkeys(KEYS, 0)   # A report has no stacks without a cost.
    for frames in mine.keys() | theirs.keys():
        one, other = only(keys, mine.get(frames, nothing)), only(keys, theirs.get(frames, nothing))
        if one != other:
            stack = " ".join(map(hex, frames))
            wrong.append(f"stack {stack}: {other} instead of {one}")
    compared = f"{report['allocations']} allocations by {len(mine)} stacks"
    return wrong, report, compared if whole else compared + ", without lifetimes"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="+")
    parser.add_argument("--against", metavar="HEAPSONDE")
    arguments = parser.parse_args()
    failed = False
    for path in arguments.file:
        if not arguments.against:
            print(json.dumps(summary(read(path)[0]), indent=1))
            continue
        wrong, _, compared = compare(path, arguments.against)
        failed = failed or bool(wrong)
        print(f"{path}: {compared}, {len(wrong)} differences")
        for line in wrong[:10]:
            print("  " + line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
