# SPDX-License-Identifier: MIT OR Apache-2.0
"""Snapshots of stacks, docs/format.md, section 5.2."""
from trace_bytes import Bytes, Damage, unzigzag
from trace_file import EVENTS, META, Header, frames_of, history, meta_of, nodes_of, read_chunks, use_slots

REGISTERS = {62: 17, 40: 16, 183: 33, 8: 33}
BEHIND_START = {62: 1, 183: 4, 8: 4}  # of an interrupted instruction


def snapshot_words(data, header):
    """The stack pointer, the registers, and the words of the stack."""
    source, words, last, zeros = Bytes(data), [], 0, 0
    mask, registers = (1 << 8 * header.pointer_size) - 1, REGISTERS[header.machine]
    while zeros or source.at < len(data):
        if zeros:
            zeros -= 1
            words.append(0)
            continue
        first = source.byte()
        if first & 3 == 3:
            zeros = 1 + (first >> 2)
            continue
        place = 0 if not words else words[0] + max(0, len(words) - 1 - registers) * header.pointer_size
        value = unzigzag(int.from_bytes(source.take(first >> 2), "little"))
        word = value + (0, place, last)[first & 3] & mask
        if first & 3 != 1 and first >> 2 > 2:
            last = word
        words.append(word)
    if len(words) <= registers:
        raise Damage("a snapshot without registers")
    return words[0], words[1:1 + registers], words[1 + registers:]


def read_snapshots(chunks, header):
    snapshots = {}
    for chunk in chunks:
        for tag, body in meta_of(chunk) if chunk["kind"] == META else []:
            if tag == 10:
                source = Bytes(body)
                number, _, data = source.varint(), source.varint(), source.string()
                snapshots[number] = snapshot_words(data, header)
    return snapshots


def compare_snapshots(path, report):
    """Where CPU samples hit, and that what was unwound from each is in its registers and its stack."""
    with open(path, "rb") as file:
        data = file.read()
    header = Header(data)
    chunks = use_slots(read_chunks(data, header), header)
    snapshots = read_snapshots(chunks, header)
    wrong = []
    if report.get("unwound", {}).get("stacks", 0) != len(snapshots):
        wrong.append(f"{report.get('unwound')}: {len(snapshots)} snapshots")
    hits, held, nodes = {}, {}, nodes_of(chunks)
    for _, _, _, _, _, event in history([chunk for chunk in chunks if chunk["kind"] == EVENTS], header):
        if event.get("sample") == 1 and event["stack"] >> 31:
            _, registers, words = snapshots[event["stack"] & 0x7FFFFFFF]
            pc = registers[-1] + BEHIND_START[header.machine]
            hits[pc] = hits.get(pc, 0) + 1
            held.setdefault(pc, []).append({*registers, *words})
        elif event.get("sample") == 1 and (frames := frames_of(event["stack"], nodes)):  # nothing of it was copied
            hits[frames[0]] = hits.get(frames[0], 0) + 1
            held.setdefault(frames[0], []).append(set(frames))
    theirs = {}
    for stack in report.get("cpu", {}).get("top", []):
        frames = [int(frame["address"], 16) for frame in stack["frames"] if not frame["inlined"]]
        if frames:
            theirs[frames[0]] = theirs.get(frames[0], 0) + stack["samples"]
            if not any(known.issuperset(frames[1:]) for known in held.get(frames[0], [])):
                wrong.append(f"callers that no snapshot holds: {list(map(hex, frames))}")
    if theirs != hits:
        wrong.append(f"hit: {theirs} instead of {hits}")
    return wrong, len(snapshots)
