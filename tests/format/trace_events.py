# SPDX-License-Identifier: MIT OR Apache-2.0
"""Events, docs/format.md, sections 4 and 6.2 to 6.4."""
from trace_bytes import MASK, Bits, Bytes, Damage, unzigzag
from trace_columns import Columns, entropy_columns, packed_columns

FREE, MALLOC, CALLOC, ALIGNED, REALLOC = 1, 2, 3, 4, 5

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


# Slots, section 4

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
