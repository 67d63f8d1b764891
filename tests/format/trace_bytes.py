# SPDX-License-Identifier: MIT OR Apache-2.0
"""Bytes, bits and checksums of a trace: docs/format.md, section 1."""
MASK = 2**64 - 1


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
