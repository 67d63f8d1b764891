#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Writes a file as memory-profiler does, after the description of its format. Arguments: the file; how: plain, packed
# (LZ4), decoded (names instead of addresses), bomb (marks that pack well), arm (32 bits), huge (blocks of 2^62 bytes), culled (statistics of 2^63
# bytes); a program whose code the addresses lie in.
import struct
import sys

path, how, program = sys.argv[1:4]
MAIN, WORK = 0x1000, 0x2000  # ids of threads
stream = bytearray()


def u8(value): return struct.pack("<B", value)
def u32(value): return struct.pack("<I", value)
def u64(value): return struct.pack("<Q", value)
def text(value): return u32(len(value)) + value.encode()


def varint(value):
    for more in range(9):
        if more == 8 or value < 1 << (7 * (more + 1)):
            break
    ones = 0xFF << (8 - more) & 0xFF
    if more >= 7:
        return u8(ones if more < 8 else 0xFF) + value.to_bytes(more, "little")
    return u8(ones | value >> 8 * more) + (value & (1 << 8 * more) - 1).to_bytes(more, "little")


def event(tag, *parts):
    stream.extend(u32(tag) + b"".join(parts))


def body(pointer, size, backtrace, thread, extra=8):
    return u64(pointer) + u64(size) + u64(backtrace) + u32(thread) + u32(0) + u32(extra) + u64(0)


def us(value): return u64(5_000_000 + value)


def lz4(data):
    """Greedy, with a table of what four bytes were last seen where."""
    out = bytearray()
    table = {}
    start = at = 0

    def sequence(literals, distance=0, match=0):
        def extra(length):
            if length >= 15:
                left = length - 15
                out.extend(b"\xff" * (left // 255) + bytes([left % 255]))
        out.append(min(len(literals), 15) << 4 | (min(match - 4, 15) if match else 0))
        extra(len(literals))
        out.extend(literals)
        if match:
            out.extend(struct.pack("<H", distance))
            extra(match - 4)

    while at + 12 < len(data):
        key = bytes(data[at:at + 4])
        seen = table.get(key)
        table[key] = at
        if seen is None or at - seen > 65535:
            at += 1
            continue
        match = 4
        while at + match + 5 < len(data) and data[seen + match] == data[at + match]:
            match += 1
        sequence(data[start:at], at - seen, match)
        at += match
        start = at
    sequence(data[start:])
    return bytes(out)


with open(program, "rb") as file:
    contents = file.read()
arch, pointer = ("arm", 4) if how == "arm" else ("x86_64", 8)
base = 0x400000
event(0, u64(0x1122), u64(0x3344), us(0), us(0), u64(1_700_000_000), u64(5), u32(77), text("prog\0-x\0two words\0"),
      text("/opt/prog"), text(arch), u64(1), u8(pointer))
event(12, us(1), u64(1), u64(2))
event(4, us(2), text("/proc/uptime"), u32(9), b"1.0 2.0\n\n")
event(11, u32(5), b"A=b=c")
maps = f"{base:x}-{base + 0x100000:x} r-xp 00000000 08:01 99 /opt/prog\n7ff000-800000 rw-p 00000000 00:00 0 [stack]\n"
event(23, us(3), text("/proc/self/maps"), u64(len(maps)), maps.encode())
event(23, us(4), text("/opt/prog"), u64(len(contents)), contents)

symbols = {name: int(value, 16) for name, value in (item.split("=") for item in sys.argv[4:])}
load, parse, main = (symbols[name] + 5 for name in ("load", "parse", "main"))
if how == "decoded":
    for number, name in enumerate(["", "/opt/prog", "main", "load", "parse", "/src/prog.c"]):
        event(14, u32(number), text(name))
    for function, line in ((2, 30), (3, 20), (4, 10)):
        event(15, u64(base + function), u32(1), u32(function), u32(function), u32(5), u32(line), u32(0xFFFFFFFF), u8(0))
    event(16, u32(0))  # backtrace 0: none
    event(16, u32(2), u32(1), u32(0))  # 1: load, main
    event(16, u32(2), u32(2), u32(0))  # 2: parse, main
    event(16, u32(1), u32(0))          # 3: main
elif how == "arm":
    event(19, u64(1), u32(2), u32(load), u32(main))
    event(18, u64(2), u32(WORK), u32(0xFFFFFFFF), u32(2), u32(parse), u32(main))
    event(18, u64(3), u32(WORK), u32(1), u32(0))
else:
    event(5, u64(1), u32(2), u64(load), u64(main))
    event(13, u64(2), u32(WORK), u32(0xFFFFFFFF), u32(2), u64(parse), u64(main))
    event(13, u64(3), u32(WORK), u32(1), u32(0))

heap = 0x900000
event(1, us(1000), body(heap, 100, 1, MAIN))                                   # load: kept
event(20, u64(1), u64(1), us(1000), body(heap + 0x1000, 50, 2, WORK))          # parse
event(21, u64(1), u64(2), us(2000), u64(heap + 0x1000), body(heap + 0x2000, 70, 2, WORK))  # parse: grows, kept
event(2, us(2500), u64(heap), body(heap, 300, 1, MAIN, 0))                     # load: in place
for i in range(1000):
    event(1, us(3000 + 2 * i), body(heap + 0x3000, 10, 3, MAIN))
    event(22, u64(1), u64(3), us(3001 + 2 * i), u64(heap + 0x3000), u64(3), u32(MAIN)) if i % 2 else \
        event(3, us(3001 + 2 * i), u64(heap + 0x3000), u64(0), u32(WORK))
event(8, us(6000), u64(0x7000000), u64(0x4000), u64(1), u64(0), u32(3), u32(0x22), u32(0xFFFFFFFF), u32(MAIN), u64(0))
event(9, us(6001), u64(0x7000000), u64(0x4000), u64(1), u32(MAIN))
event(10, us(6002), u64(1), u32(MAIN), struct.pack("<iii", -3, 65536, 1))
event(7, u32(42))
event(17, u64(1), us(1), us(2), u64(7), u64(1 << 63 if how == "culled" else 700), u64(10), u64(200))
event(24, us(6003), varint(1), u64(0x5000), varint(4096), varint(300), varint(1 << 40), u32(8), u32(1), u32(5),
      varint(4) + b"name")
event(25, us(6004), varint(1), u64(0x5000), varint(4096), varint(2),
      *(2 * [u64(0x5000) + varint(10) + us(1) + varint(1) + u32(MAIN)]))
event(26, us(6005), varint(1), u64(0x5000), *(varint(1 << (7 * n)) for n in range(7)))
event(27, varint(2), u64(0x6000), varint(0), varint(1 << 63), u32(3), u32(2), u32(0xFFFFFFFF), varint(0), us(6006),
      varint(1), u32(MAIN))
event(6, u64(0x9000), u64(3), u32(3), b"abc")
if how == "huge":
    for i in range(2):
        event(1, us(6500), body(heap + 0x7000 + i, 1 << 62, 3, WORK))
event(1, us(7000), body(heap + 0x5000, 1000, 3, WORK, 24))                     # main: kept, the last one
if how not in ("packed", "bomb"):
    event(99, b"what nobody knows")
    event(1, us(8000), body(heap + 0x6000, 1000, 3, WORK))                     # cannot be read

with open(path, "wb") as file:
    part = 3000 if how == "plain" else 300_000
    for start in range(0, len(stream), part):
        plain = bytes(stream[start:start + part])
        stored = plain if how == "plain" else lz4(plain)
        file.write(u8(2 if how == "plain" else 1) + u32(len(stored)) + stored)
    if how == "bomb":
        stored = lz4((u32(7) + u32(42)) * (1 << 17))
        file.write(20 * (u8(1) + u32(len(stored)) + stored))
