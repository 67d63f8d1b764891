# SPDX-License-Identifier: MIT OR Apache-2.0
"""Events of the fast encoding, docs/format.md, section 6.5."""
from trace_bytes import MASK, Bytes, Damage, unzigzag
from trace_events import FREE, REALLOC, EventDecoder, usable_model, wide_event

LOW = 0xFFFFFFFF
A, B = 0x9E3779B1, 0x85EBCA77


def address_entry(unit):
    entry = ((unit & LOW ^ (unit >> 32) * B) * A & LOW) >> 21
    return entry + 1024 if entry < 2 else entry


class LightDecoder:
    def __init__(self, payload, header):
        self.source = Bytes(payload)
        if self.source.byte() != 2:
            raise Damage("another version of events")
        self.count, self.time = self.number(2), self.number(8)
        self.pointer, self.shift = header.pointer_size, header.address_shift
        self.addresses, self.stacks, self.allocations = [0] * 2048, [0] * 256, [(0, 0, 0, 0)] * 1024
        self.last_address = self.last_stack = 0

    def number(self, length):
        return int.from_bytes(self.source.take(length), "little")

    def address(self, where):
        if where > 1:
            return self.addresses[where] << self.shift & MASK
        if where == 0:
            self.last_address = self.last_address + unzigzag(self.number(2)) & MASK
        else:
            self.last_address = self.number(8)
        self.addresses[address_entry(self.last_address)] = self.last_address
        return self.last_address << self.shift & MASK

    def stack(self, form):
        if form == 0:
            return self.stacks[self.number(1)]
        self.last_stack = self.last_stack + unzigzag(self.number(2)) & LOW if form == 1 else self.number(4)
        self.stacks[(self.last_stack * A & LOW) >> 24] = self.last_stack
        return self.last_stack

    def details(self):
        byte = self.number(1)
        kind = byte & 15
        if not 2 <= kind <= 5 and not 9 <= kind <= 13:
            raise Damage("no such kind")
        stack = self.stack(byte >> 4 & 3)
        size = self.number((0, 1, 2, 4)[byte >> 6])
        usable = 0 if kind == 9 else usable_model(size, self.pointer)
        if kind > 9:
            usable = size + self.source.varint() & MASK
        entry = ((stack + size * B) * A & LOW) >> 22
        self.allocations[entry] = (kind, stack, size, usable)
        return self.allocations[entry]

    def event(self):
        head = self.number(2)
        what, more = head & 3, head >> 2 & 7
        if more == 7 or (what == 1 and more > 3):
            self.time += self.source.varint()
        else:
            self.time += self.number(1) + (0 if what == 1 else more << 8)
        self.time &= MASK
        if what == 3:
            kind = self.source.varint()
            return wide_event(kind & 255, [self.source.varint() for _ in range(kind >> 8 & 255)], self.time)
        event = {"address": self.address(head >> 5), "time": self.time, "begin": self.time}
        if what == 0:
            return dict(event, kind=FREE)
        if what == 1:
            kind, stack, size, usable = self.allocations[(more & 3) << 8 | self.number(1)]
            if kind in (0, 5, 13):
                raise Damage("nothing comes again here")
        else:
            kind, stack, size, usable = self.details()
        event["kind"] = kind & 7
        if event["kind"] == FREE:
            return event
        event.update(stack=stack, size=size, usable=usable)
        if event["kind"] == REALLOC:
            event["begin"] = self.time - self.number(2) & MASK
            event["old"] = self.address(self.number(2) & 2047)
        return event

    all = EventDecoder.all
