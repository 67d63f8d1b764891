# SPDX-License-Identifier: MIT OR Apache-2.0
"""The header, the chunks and the meta records of a trace, docs/format.md, sections 2, 3, 5 and 7."""
import struct

from trace_bytes import MASK, Bits, Bytes, Damage, crc32c, unzigzag
from trace_columns import Columns, entropy_columns
from trace_events import REALLOC, EventDecoder, slot_events
from trace_light import LightDecoder

PAD, SLOT, EVENTS, META, FOOTER, FILE, SUMS = 1, 2, 3, 4, 5, 6, 8
LIVE, PACKED = 2, 8


def unpack_meta(payload, plain_length):
    source = Bytes(payload)
    if source.byte() != 1:
        raise Damage("another version of meta records")
    bit_bytes = source.varint()
    columns = entropy_columns(source, 5)
    read = Columns(columns, Bits(source.take(bit_bytes)))
    records, next_id, addresses, address_of, follows, last_new = [], 0, [0], {}, {}, 0

    def raw_varint():
        value = shift = 0
        while True:
            byte = read.bits.take(8)
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    for symbol in columns[0]:
        if symbol == 0:
            tag, length = read.bits.take(8), raw_varint()
            body = bytes(read.bits.take(8) for _ in range(length))
            records.append((tag, body))
            if tag == 1:
                next_id, address_of = Bytes(body).varint(), {}
            continue
        parent = next_id - 1 - read.extra(symbol - 1)
        above = address_of.get(parent, 0)
        known = follows.setdefault(above % 4096, [0, 0])
        how = read.get(1 if above else 2)
        if how < 2:
            number = known[how]
        elif how == 2:
            number = len(addresses) - 1 - read.number(3)
        else:
            last_new = (last_new + unzigzag(read.number(4))) & MASK
            addresses.append(last_new)
            number = len(addresses) - 1
        if not 0 < number < len(addresses):
            raise Damage("no such return address")
        if known[0] != number:
            known[1], known[0] = known[0], number
        records.append((0x81, (next_id, parent, addresses[number])))
        address_of[next_id] = number
        next_id += 1
    return records


def plain_meta(payload):
    source, records, next_id, pc = Bytes(payload), [], 0, 0
    try:
        while source.at < len(payload):
            tag = source.byte()
            if tag == 0:
                break
            if tag < 0x80:
                body = source.string()
                records.append((tag, body))
                if tag == 1:
                    next_id, pc = Bytes(body).varint(), 0
            elif tag == 0x81:
                parent = next_id - source.varint()
                pc = (pc + unzigzag(source.varint())) & MASK
                records.append((0x81, (next_id, parent, pc)))
                next_id += 1
            else:
                raise Damage("an unknown tag")
    except Damage:
        pass
    return records


class Header:
    def __init__(self, data):
        if data[:8] != b"\x8fHSONDE\n" or crc32c(data[:252]) != struct.unpack_from("<I", data, 252)[0]:
            raise Damage("no header of a trace")
        self.big = data[12] == 2
        self.pointer_size, self.address_shift, self.clock, _ = data[13], data[14], data[15], data[16]
        self.size = struct.unpack_from("<I", data, 32)[0]
        self.machine = struct.unpack_from("<H", data, 20)[0]


def read_chunks(data, header):
    """All chunks that can be found by going from header to header."""
    at, chunks = header.size, []
    while at + 56 <= len(data):
        fields = struct.unpack_from("<IHHIIIIQQQII", data, at)
        good = data[at:at + 4] == b"SHCK" and crc32c(data[at:at + 52]) == fields[11] and fields[3] <= 64 << 20
        if not good or at + 56 + fields[3] > len(data):
            at += 8
            continue
        chunks.append({"kind": fields[1], "flags": fields[2], "plain": fields[4], "stream": fields[5],
                       "sequence": fields[7], "time": fields[9], "crc": fields[10], "offset": at,
                       "payload": data[at + 56:at + 56 + fields[3]]})
        at += 56 + (fields[3] + 7) // 8 * 8
    return chunks


def use_slots(chunks, header):
    """Slots that no sealed chunk replaces become chunks of what they hold."""
    order = ">" if header.big else "<"
    sealed = {chunk["sequence"] for chunk in chunks if chunk["kind"] in (EVENTS, META)}
    result = []
    for chunk in chunks:
        if chunk["kind"] == SLOT:
            use, stream, sequence, base = struct.unpack_from(order + "IIQQ", chunk["payload"])
            if not 1 <= use <= 2 or sequence in sealed:
                continue
            records = chunk["payload"][32:]
            chunk = dict(chunk, kind=EVENTS if use == 1 else META, stream=stream, sequence=sequence, base=base,
                         payload=records, live=True)
        result.append(chunk)
    return result


def events_of(chunk, header):
    if chunk.get("live"):
        order = ">" if header.big else "<"
        count = len(chunk["payload"]) // 8
        return slot_events(struct.unpack_from(order + "%dQ" % count, chunk["payload"]), chunk["base"], header)[0]
    if chunk["flags"] & ~(LIVE | PACKED) or crc32c(chunk["payload"]) != chunk["crc"]:
        return []
    try:
        decoder = LightDecoder if chunk["payload"][:1] == b"\2" else EventDecoder
        return decoder(chunk["payload"], header).all()[0]
    except Damage:
        return []


def meta_of(chunk):
    if chunk.get("live"):
        return plain_meta(chunk["payload"])
    if chunk["flags"] & ~(LIVE | PACKED) or crc32c(chunk["payload"]) != chunk["crc"]:
        return []
    try:
        return unpack_meta(chunk["payload"], chunk["plain"]) if chunk["flags"] & PACKED else plain_meta(chunk["payload"])
    except Damage:
        return []


def history(chunks, header):
    """(time, place in the order of chunks and events, phase, stream, event): a realloc ends the old block first."""
    moments = []
    for number, chunk in enumerate(sorted(chunks, key=lambda c: c["sequence"])):
        latest = 0
        for i, event in enumerate(events_of(chunk, header)):
            if event["kind"] == REALLOC:
                latest = max(latest, min(event["begin"], event["time"]))
                moments.append((latest, number, 2 * i, chunk["stream"], "end", event))
            latest = max(latest, event["time"])
            moments.append((latest, number, 2 * i + 1, chunk["stream"], "start", event))
    moments.sort(key=lambda moment: moment[:3])
    return moments


def all_meta(chunks):
    for chunk in sorted((c for c in chunks if c["kind"] == META), key=lambda c: c["sequence"]):
        yield from meta_of(chunk)


def nodes_of(chunks):
    """The parent and the return address of each node of stacks."""
    return {body[0]: (body[1], body[2]) for tag, body in all_meta(chunks) if tag == 0x81}


def frames_of(stack, nodes):
    frames = []
    while stack in nodes:
        parent, pc = nodes[stack]
        if not parent and pc < 16:
            break
        frames.append(pc)
        stack = parent
    return tuple(frames)
