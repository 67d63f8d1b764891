#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""A second reader of traces, written from docs/format.md alone: slow, obvious, and without the host's code.

read_trace.py FILE prints the totals of a trace as JSON; with --against HEAPSONDE it compares them with what
`HEAPSONDE report --json FILE` says and fails where they differ.
"""
import argparse
import json
import struct
import subprocess
import sys

MASK = 2**64 - 1
PAD, SLOT, EVENTS, META, FOOTER, FILE, SUMS = 1, 2, 3, 4, 5, 6, 8
LIVE, PACKED = 2, 8
FREE, MALLOC, CALLOC, ALIGNED, REALLOC = 1, 2, 3, 4, 5


class Damage(Exception):
    pass


def crc32c_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC_TABLE = crc32c_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


class Bytes:
    """Varints and strings, one after another."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def byte(self):
        if self.at >= len(self.data):
            raise Damage("the bytes end")
        self.at += 1
        return self.data[self.at - 1]

    def take(self, length):
        if length > len(self.data) - self.at:
            raise Damage("the bytes end")
        self.at += length
        return self.data[self.at - length:self.at]

    def varint(self):
        value = 0
        for shift in range(0, 70, 7):
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value & MASK
        raise Damage("a varint is too long")

    def string(self):
        return self.take(self.varint())

    def rest(self):
        return self.take(len(self.data) - self.at)


class Bits:
    """Least significant first."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, count):
        if self.at + count > 8 * len(self.data):
            raise Damage("the bits end")
        first, end = self.at // 8, (self.at + count + 7) // 8
        word = int.from_bytes(self.data[first:end], "little") >> self.at % 8
        self.at += count
        return word & (1 << count) - 1


def unzigzag(value):
    return (value >> 1 ^ -(value & 1)) & MASK


# ---- columns, section 6.1

def weight(index):
    return index if index < 3 else (2 + index % 2) << (index // 2 - 1)


def frequencies(weights):
    total = sum(weights.values())
    if not total:
        raise Damage("a table without weights")
    result = {symbol: max(1, w * (2**30 // total) >> 20) for symbol, w in weights.items() if w}
    largest = min(result, key=lambda symbol: (-result[symbol], symbol))
    result[largest] += 1024 - sum(result.values())
    if result[largest] < 1:
        result[largest] = 1
        while sum(result.values()) > 1024:
            for symbol in sorted(result):
                if result[symbol] > 1 and sum(result.values()) > 1024:
                    result[symbol] -= 1
        result[largest] += 1024 - sum(result.values())
    return result


def read_table(bits):
    weights, symbol = {}, 0
    while True:
        if bits.take(1):
            gap = 0
        elif bits.take(1):
            gap = 1 + bits.take(2)
        else:
            gap = 5 + bits.take(8)
        index = bits.take(5)
        if not gap and not index:
            break
        symbol += gap
        if symbol > 255:
            raise Damage("a symbol is too large")
        weights[symbol] = weight(index)
        symbol += 1
    slots = []
    for symbol, frequency in sorted(frequencies(weights).items()):
        slots += [(symbol, frequency, k) for k in range(frequency)]
    return slots


def entropy_columns(source, number):
    counts = [source.varint() for _ in range(number)]
    bits = Bits(source.data[source.at:])
    single, tables = {}, {}
    for column, count in enumerate(counts):
        if count:
            if bits.take(1):
                single[column] = bits.take(8)
            else:
                tables[column] = read_table(bits)
    source.take((bits.at + 7) // 8)
    coded = Bytes(source.take(source.varint()))
    states = list(struct.unpack("<4I", coded.take(16)))
    columns = []
    for column, count in enumerate(counts):
        if column not in tables:
            columns.append([single.get(column, 0)] * count)
            continue
        slots, symbols = tables[column], []
        for i in range(count):
            state = states[i % 4]
            symbol, frequency, offset = slots[state % 1024]
            state = frequency * (state >> 10) + offset
            if state < 2**15:
                state = state << 16 | int.from_bytes(coded.take(2), "little")
            states[i % 4] = state
            symbols.append(symbol)
        columns.append(symbols)
    if states != [2**15] * 4 or coded.at != len(coded.data):
        raise Damage("the coded symbols do not end as they should")
    return columns


def packed_columns(source, number):
    columns = []
    for _ in range(number):
        count = source.varint()
        if not count:
            columns.append([])
            continue
        width = source.byte()
        if width == 0:
            columns.append([source.byte()] * count)
        elif width in (1, 2, 4, 8):
            bits = Bits(source.take((count * width + 7) // 8))
            columns.append([bits.take(width) for _ in range(count)])
        else:
            raise Damage("no width of a column")
    return columns


class Columns:
    def __init__(self, columns, bits):
        self.symbols = [iter(column) for column in columns]
        self.bits = bits

    def get(self, column):
        symbol = next(self.symbols[column], None)
        if symbol is None:
            raise Damage("a column ends")
        return symbol

    def extra(self, symbol):
        if symbol < 16:
            return symbol
        count = symbol // 4 - 2
        return ((4 + symbol % 4) << count) + self.bits.take(count)

    def number(self, column):
        return self.extra(self.get(column))


# ---- events, sections 6.2 to 6.4

OP, TIME, RANK, BLOCK, OLD, OLD_DISTANCE, STACK, FRESH, FRESH_DISTANCE, FORM = 0, 4, 12, 13, 14, 15, 16, 17, 18, 19
SIZE_SAME, SIZE_HIGH, SIZE_LOW, USABLE, PLACE, PLACE_BLOCK, PLACE_DISTANCE = 20, 21, 22, 23, 24, 26, 27
OLD_BLOCK, SINCE, FREE_STACK, FREE_STACK_DISTANCE = 28, 29, 30, 31
GONE, LIVING, FREED, UNKNOWN = range(4)


def usable_model(size, pointer):
    return max((size + pointer + 2 * pointer - 1) & ~(2 * pointer - 1) & MASK, 4 * pointer) - pointer


class Block:
    def __init__(self, unit, size_class, stack, state):
        self.unit, self.size_class, self.stack, self.state = unit, size_class, stack, state


class LocalStack:
    def __init__(self, number, form):
        self.id, self.form, self.size, self.newest, self.live, self.free_stack = number, form, 0, None, [], 0


def mix(value):
    value &= 0xFFFFFFFF
    return ((value ^ value >> 15) * 0x2C1B3C6D & 0xFFFFFFFF) >> 20


class EventDecoder:
    def __init__(self, payload, header):
        source = Bytes(payload)
        if source.byte() != 1:
            raise Damage("another version of events")
        flags = source.byte()
        self.count, self.time = source.varint(), source.varint()
        bit_bytes, escape_bytes = source.varint(), source.varint()
        columns = (packed_columns if flags & 2 else entropy_columns)(source, 32)
        self.columns = Columns(columns, Bits(source.take(bit_bytes)))
        self.escapes = Bytes(source.take(escape_bytes))
        self.free_stacks = flags & 1
        self.pointer, self.shift = header.pointer_size, header.address_shift
        self.blocks = [Block(0, 0, 0, GONE)]
        self.stacks = [LocalStack(0, 0)]
        self.freed, self.unknown = {}, []
        self.cursors, self.old_cursors, self.step = [0] * 4, [0] * 4, 0
        self.largest = self.last_stack = self.last_free_stack = 0
        self.tokens = (0, 0, 0)
        self.tables = ({}, {}, {})
        self.time_class = {}
        self.context = 0

    def contexts(self):
        a, b, c = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
        t0, t1, t2 = self.tokens
        return mix(t0 * a ^ t1 * b ^ t2 * c), mix(t0 * a ^ t1 * b), (t0 * a & 0xFFFFFFFF) >> 21

    def back(self, column):
        number = len(self.blocks) - 1 - self.columns.number(column)
        if number < 1:
            raise Damage("no such block")
        return number

    def add(self, unit, size_class, stack, state):
        self.blocks.append(Block(unit, size_class, stack, state))
        return len(self.blocks) - 1

    def read_time(self, context, is_free):
        symbol = self.columns.get(TIME + (4 if is_free else 0) + self.time_class.get(context, 0))
        self.time = (self.time + self.columns.extra(symbol)) & MASK
        self.time_class[context] = 1 if symbol < 22 else 2 if symbol < 30 else 3
        return self.time

    def old_unit(self):
        symbol = self.columns.get(OLD)
        cursor = 0
        if symbol == 0:
            unit = self.old_cursors[0] + self.step
        elif symbol <= 8:
            cursor = (symbol - 1) % 4
            distance = self.columns.number(OLD_DISTANCE)
            unit = self.old_cursors[cursor] + (distance if symbol < 5 else -distance)
        else:
            raise Damage("no such cursor")
        unit &= MASK
        self.step = unit - self.old_cursors[cursor]
        self.old_cursors.insert(0, unit)
        del self.old_cursors[cursor + 1]
        return unit

    def ranked(self, local, rank):
        live = self.stacks[local].live
        if rank == 7:
            number = self.back(BLOCK)
        elif rank == 6 and live:
            number = live[-1]
        elif rank < 6 and rank < len(live):
            number = live[rank]
        else:
            raise Damage("no such rank")
        if self.blocks[number].state != LIVING:
            raise Damage("a block that is not live ends")
        return number

    def unlink(self, number):
        self.stacks[self.blocks[number].stack].live.remove(number)
        self.blocks[number].state = GONE

    def add_freed(self, number):
        self.blocks[number].state = FREED
        self.freed.setdefault(self.blocks[number].size_class, []).insert(0, number)

    def free(self, number):
        if number:
            unit = self.blocks[number].unit
            self.unlink(number)
            self.add_freed(number)
            return unit
        unit = self.old_unit()
        self.unknown.insert(0, self.add(unit, 0, 0, UNKNOWN))
        return unit

    def size_class(self, usable):
        units = (usable + self.pointer) // (16 if self.pointer == 8 else 8)
        return units if units < 128 else 128 + (units * 0x9E3779B1 >> 8) % 128

    def take(self, numbers, rank):
        while numbers:
            alive = [n for n in numbers[:rank + 1] if self.blocks[n].state != GONE]
            if len(alive) == min(rank + 1, len(numbers)):
                break
            for i, number in enumerate(numbers):
                if self.blocks[number].state == GONE:
                    del numbers[i]
                    break
        if rank >= len(numbers):
            raise Damage("no such freed block")
        number = numbers.pop(rank)
        self.blocks[number].state = GONE
        return self.blocks[number].unit

    def place(self, usable, old):
        size_class = self.size_class(usable)
        freed = self.freed.setdefault(size_class, [])
        symbol = self.columns.get(PLACE + (1 if freed else 0))
        if symbol < 8:
            return self.take(freed, symbol)
        if symbol < 16:
            return self.take(self.unknown, symbol - 8)
        if symbol == 20:
            block = self.blocks[self.back(PLACE_BLOCK)]
            if block.state not in (FREED, UNKNOWN):
                raise Damage("a place that is not free")
            block.state = GONE
            return block.unit
        if symbol == 29:
            return self.blocks[old].unit
        if symbol > 29:
            raise Damage("no such place")
        cursor, distance = symbol - 16, 0
        if symbol > 20:
            cursor = (symbol - 21) % 4
            distance = self.columns.number(PLACE_DISTANCE) * (1 if symbol < 25 else -1)
        unit = (self.cursors[cursor] + distance) & MASK
        end = unit + ((usable + self.pointer + (1 << self.shift) - 1) >> self.shift)
        self.cursors.insert(0, end & MASK)
        del self.cursors[cursor + 1]
        return unit

    def allocation(self, op, local, event):
        stack = self.stacks[local]
        self.last_stack = stack.id
        event["stack"] = stack.id
        if op == 6 or self.columns.get(SIZE_SAME):
            stack.size = self.columns.number(SIZE_HIGH) * 8 + (self.columns.get(SIZE_LOW) & 7)
        event["size"] = stack.size
        event["usable"] = usable_model(stack.size, self.pointer)
        if stack.form & 4:
            event["usable"] = (event["usable"] + unzigzag(self.columns.number(USABLE))) & MASK
        event["kind"] = MALLOC + stack.form % 4
        old = since = 0
        if event["kind"] == REALLOC:
            since = self.columns.number(SINCE)
            rank = self.columns.get(OLD_BLOCK)
            if rank == 8:
                old = self.add(self.old_unit(), 0, 0, GONE)
            else:
                old = self.ranked(local, rank)
                self.unlink(old)
            event["old"] = self.blocks[old].unit << self.shift
        unit = self.place(event["usable"], old)
        event["address"] = unit << self.shift & MASK
        number = self.add(unit, self.size_class(event["usable"]), local, LIVING)
        stack.live.insert(0, number)
        stack.newest = number
        if old and self.blocks[old].unit != unit:
            self.add_freed(old)
        return since

    def fresh_stack(self):
        where, distance = self.columns.get(FRESH), self.columns.number(FRESH_DISTANCE)
        number = self.largest + 1 + distance if where == 0 else self.last_stack + (distance if where == 1 else -distance)
        number &= 0xFFFFFFFF
        self.largest = max(self.largest, number)
        self.stacks.append(LocalStack(number, self.columns.get(FORM)))
        return len(self.stacks) - 1

    def escape(self):
        head = self.escapes.varint()
        words = [self.escapes.varint() for _ in range(head >> 8 & 0xFF)]
        self.context = 3
        time = self.read_time(self.contexts()[0], True)
        return wide_event(head & 0xFF, words, time)

    def read_free_stack(self, local):
        symbol = self.columns.get(FREE_STACK)
        if symbol == 0:
            return
        if symbol == 1:
            number = self.stacks[local].free_stack
        else:
            distance = self.columns.number(FREE_STACK_DISTANCE)
            number = (self.last_free_stack + (distance if symbol == 2 else -distance)) & 0xFFFFFFFF
        self.last_free_stack = self.stacks[local].free_stack = number

    def event(self):
        op = self.columns.get(OP + self.context)
        contexts = self.contexts()
        if op == 8:
            return self.escape()
        number = local = token = 0
        is_free = op in (4, 5)
        if op < 3:
            token = self.tables[op].get(contexts[op], 0)
            if not token:
                raise Damage("nothing is guessed here")
            is_free, local = bool(token & 0x2000), token & 0x1FFF
        elif op in (3, 7):
            local = self.blocks[self.back(STACK)].stack
            if not local:
                raise Damage("that block has no stack")
            if op == 7:
                self.stacks[local].form = self.columns.get(FORM)
        elif op == 6:
            local = self.fresh_stack()
        elif op > 8:
            raise Damage("no such event")
        self.context = 0 if op == 0 else 1 if op < 3 else 2 if is_free else 3
        event, since = {}, 0
        if is_free:
            if op == 4:
                number = self.back(BLOCK)
                if self.blocks[number].state != LIVING:
                    raise Damage("a block that is not live ends")
                local = self.blocks[number].stack
            elif local:
                number = self.ranked(local, self.columns.get(RANK))
            event = {"kind": FREE, "address": self.free(number) << self.shift & MASK}
            token = 0x2000 | local
        else:
            since = self.allocation(op, local, event)
            token = local
        for table, context in zip(self.tables, contexts):
            table[context] = token
        self.tokens = (token,) + self.tokens[:2]
        event["time"] = self.read_time(contexts[0], is_free)
        if is_free and self.free_stacks:
            self.read_free_stack(local)
        event["begin"] = (event["time"] - since) & MASK
        return event

    def all(self):
        events = []
        try:
            for _ in range(self.count):
                event = self.event()
                if event:
                    events.append(event)
        except Damage as damage:
            return events, damage
        return events, None


def wide_event(kind, words, time):
    def word(i):
        return words[i] if i < len(words) else 0
    if kind == 1:
        return {"kind": word(3) >> 32, "address": word(0), "size": word(1), "usable": word(2),
                "stack": word(3) & 0xFFFFFFFF, "time": time, "begin": time}
    if kind == 2:
        return {"kind": REALLOC, "address": word(0), "size": word(1), "usable": word(2),
                "stack": word(3) & 0xFFFFFFFF, "old": word(4), "time": time, "begin": (time - word(5)) & MASK}
    if kind == 3:
        return {"kind": FREE, "address": word(0), "time": time, "begin": time}
    if kind == 12:
        return {"kind": 0, "sample": word(0) & 0xFFFFFFFF, "stack": word(1) & 0xFFFFFFFF, "time": time, "begin": time}
    return {"kind": 0, "time": time, "begin": time} if 4 <= kind <= 11 else None


# ---- slots, section 4

def slot_events(words, base, header):
    at, time, events = 0, base, []

    def word(i):
        return words[at + i]
    taken = {1: 1, 2: 2, 3: 2, 4: 2, 5: 3, 9: 2, 10: 3, 11: 3, 12: 3, 13: 4}
    while at < len(words) and words[at]:
        first = words[at]
        kind = first & 15
        if kind == 6:
            time = first >> 4
            at += 1
            continue
        count = 1 + (first >> 12 & 0xFF) if kind == 7 else taken.get(kind, 0)
        if not count or count > len(words) - at:
            return events, Damage("a record that makes no sense")
        time = (time + (first >> 48)) & MASK
        address = (first >> 4 & 2**44 - 1) << header.address_shift
        if kind == 7:
            event = wide_event(first >> 4 & 0xFF, words[at + 1:at + count], time)
            if event:
                events.append(event)
        elif kind in (1, 9):
            events.append({"kind": FREE, "address": address, "time": time, "begin": time})
        else:
            event = {"kind": kind & 7, "address": address, "size": word(1) & 0xFFFFFFFF, "stack": word(1) >> 32,
                     "time": time, "begin": time}
            event["usable"] = word(count - 1) if kind >= 10 else usable_model(event["size"], header.pointer_size)
            if event["kind"] == REALLOC:
                event["old"] = word(2) & 2**48 - 1
                event["begin"] = (time - (word(2) >> 48)) & MASK
            events.append(event)
        at += count
    return events, None


# ---- meta records, sections 5 and 7

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


# ---- snapshots, section 5.2

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
    hits, held = {}, {}
    for _, _, _, _, _, event in history([chunk for chunk in chunks if chunk["kind"] == EVENTS], header):
        if event.get("sample") == 1 and event["stack"] >> 31:
            _, registers, words = snapshots[event["stack"] & 0x7FFFFFFF]
            pc = registers[-1] + BEHIND_START[header.machine]
            hits[pc] = hits.get(pc, 0) + 1
            held.setdefault(pc, []).append({*registers, *words})
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


# ---- the file, sections 2 and 3

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
        return EventDecoder(chunk["payload"], header).all()[0]
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


# ---- totals

KEYS = ("allocations", "allocated_bytes", "live_count", "live_bytes", "temporary_count")


class Totals:
    def __init__(self):
        self.stacks = {}
        self.live = {}
        self.last = {}   # by stream: what its last call allocated
        self.live_bytes = self.peak = 0
        self.frees = 0

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
        self.end(event["address"])
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
        block = self.end(event["address"])
        if block and self.last.get(stream) is block:
            self.of(block[1])["temporary_count"] += 1
        self.last[stream] = None

    def cull(self, body):
        source = Bytes(body)
        stack, count, size = source.varint(), source.varint(), source.varint()
        total = self.of(stack)
        total["allocations"] += count
        total["allocated_bytes"] += size


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


# ---- sums, section 5.1

SUM_KEYS = ("allocations", "allocated_bytes", None, "ended", "ended_bytes", None, "temporary_count", None)


def unzigzag(number):
    return number >> 1 ^ (MASK if number & 1 else 0)


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
        tag == 6 and bytes(body) == wanted for chunk in chunks if chunk["kind"] == META for tag, body in meta_of(chunk))


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    header = Header(data)
    chunks = use_slots(read_chunks(data, header), header)
    nodes, totals = {}, Totals()
    culled = []
    for chunk in sorted((c for c in chunks if c["kind"] == META), key=lambda c: c["sequence"]):
        for tag, body in meta_of(chunk):
            if tag == 0x81:
                nodes[body[0]] = (body[1], body[2])
            elif tag == 7:
                culled.append(body)
    if is_aggregate(chunks):
        return read_sums(chunks, nodes), nodes
    for _, _, _, stream, phase, event in history([c for c in chunks if c["kind"] == EVENTS], header):
        if event["kind"] in (MALLOC, CALLOC, ALIGNED, REALLOC):
            event["stack"] = event["stack"] if event["stack"] in nodes else 0
            if phase == "end":
                totals.end(event["old"])
            else:
                totals.start(stream, event)
        elif event["kind"] == FREE:
            totals.free(stream, event)
    for body in culled:
        totals.cull(body)
    return totals, nodes


def frames_of(stack, nodes):
    frames = []
    while stack in nodes:
        parent, pc = nodes[stack]
        if not parent and pc < 16:
            break
        frames.append(pc)
        stack = parent
    return tuple(frames)


def sums(totals, nodes):
    by_frames = {}
    for stack, total in totals.stacks.items():
        to = by_frames.setdefault(frames_of(stack, nodes), dict.fromkeys(total, 0))
        for key, value in total.items():
            to[key] += value
    return by_frames


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


def compare(path, heapsonde):
    """What differs, the report, and how much was compared."""
    totals, nodes = read(path)
    report = json.loads(subprocess.run([heapsonde, "report", "--json", "--top", "10000000", path], check=True,
                                       stdout=subprocess.PIPE).stdout)
    wrong = [f"{key}: {report[key]} instead of {value}" for key, value in summary(totals).items()
             if report[key] != value]
    mine, theirs = sums(totals, nodes), stacks_of_report(report)
    for frames in mine.keys() | theirs.keys():
        # A report has no stacks without a cost.
        if mine.get(frames) != theirs.get(frames) and any(mine.get(frames, {"": 1}).values()):
            stack = " ".join(map(hex, frames))
            wrong.append(f"stack {stack}: {theirs.get(frames)} instead of {mine.get(frames)}")
    return wrong, report, f"{report['allocations']} allocations by {len(mine)} stacks"


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
