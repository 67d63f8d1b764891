# SPDX-License-Identifier: MIT OR Apache-2.0
"""Columns of symbols, docs/format.md, section 6.1."""
import struct

from trace_bytes import Bits, Bytes, Damage


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
