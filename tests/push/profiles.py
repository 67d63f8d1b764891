# SPDX-License-Identifier: MIT OR Apache-2.0
"""A second reader of profile.proto and of OpenTelemetry's profiles (v1development), from the wire format on."""
import gzip


def number(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """(field, value) in order; bytes for what has a length."""
    at, found = 0, []
    while at < len(data):
        key, at = number(data, at)
        wire = key & 7
        if wire == 0:
            value, at = number(data, at)
        elif wire == 1:
            value, at = int.from_bytes(data[at:at + 8], 'little'), at + 8
        else:
            assert wire == 2, f'wire type {wire}'
            length, at = number(data, at)
            value, at = data[at:at + length], at + length
            assert len(value) == length, 'cut off'
        found.append((key >> 3, value))
    return found


def message(data, allowed):
    """{field: [values]} of a message that has no other fields."""
    found = {}
    for field, value in fields(data):
        assert field in allowed, f'field {field} is none of {allowed}'
        found.setdefault(field, []).append(value)
    return found


def packed(parts):
    values = []
    for part in parts:
        at = 0
        while at < len(part):
            value, at = number(part, at)
            values.append(value)
    return values


def one(found, field, default=0):
    values = found.get(field, [default])
    assert len(values) == 1, f'field {field}: {len(values)} times'
    return values[0]


class Profile:
    """total: {type: sum}; stacks: {type: {functions, innermost first: sum}}."""

    def __init__(self):
        self.total, self.units, self.stacks = {}, {}, {}

    def add(self, kind, stack, value):
        self.total[kind] = self.total.get(kind, 0) + value
        if value:
            of_kind = self.stacks.setdefault(kind, {})
            of_kind[stack] = of_kind.get(stack, 0) + value


def read_pprof(data):
    whole = message(gzip.decompress(data), range(1, 15))
    texts = [text.decode() for text in whole[6]]
    functions = {}
    for data in whole.get(5, []):
        function = message(data, range(1, 6))
        functions[one(function, 1)] = texts[one(function, 2)]
    locations = {}
    for data in whole.get(4, []):
        location = message(data, range(1, 6))
        lines = [message(line, range(1, 4)) for line in location.get(4, [])]
        locations[one(location, 1)] = tuple(functions[one(line, 1)] for line in lines) or (hex(one(location, 3)),)
    types = [message(data, (1, 2)) for data in whole[1]]
    profile = Profile()
    for kind in types:
        profile.units[texts[one(kind, 1)]] = texts[one(kind, 2)]
        profile.total[texts[one(kind, 1)]] = 0
    for data in whole.get(2, []):
        sample = message(data, range(1, 4))
        stack = sum((locations[number] for number in packed(sample.get(1, []))), ())
        values = packed(sample[2])
        assert len(values) == len(types), 'a value for each type'
        for kind, value in zip(types, values):
            profile.add(texts[one(kind, 1)], stack, value)
    profile.time, profile.duration = one(whole, 9), one(whole, 10)
    return profile


def value_of(data):
    return one(message(data, (1,)), 1).decode()


def read_otlp(data):
    request = message(gzip.decompress(data), (1, 2))
    tables = message(one(request, 2), range(1, 8))
    for table in (1, 2, 3, 4, 6, 7):
        assert tables[table][0] == b'', f'table {table} begins with nothing'
    texts = [text.decode() for text in tables[5]]
    assert texts[0] == '' and len(set(texts)) == len(texts), 'texts'
    functions = [texts[one(message(data, range(1, 5)), 1)] for data in tables[3]]
    locations = []
    for data in tables[2]:
        location = message(data, range(1, 5))
        assert one(location, 1) < len(tables[1]), 'a mapping that is not there'
        lines = [functions[one(message(line, range(1, 4)), 1)] for line in location.get(3, [])]
        locations.append(tuple(lines) or (hex(one(location, 2)),))
    stacks = [sum((locations[number] for number in packed(message(data, (1,)).get(1, []))), ()) for data in tables[7]]
    resource = message(one(request, 1), (1, 2))
    pairs = [message(data, (1, 2)) for data in message(one(resource, 1), (1,))[1]]
    profile = Profile()
    profile.attributes = {one(pair, 1).decode(): value_of(one(pair, 2)) for pair in pairs}
    profile.builds = {value_of(one(message(data, (1, 2)), 2)) for data in tables[6][1:]}
    scope = message(one(resource, 2), (1, 2))
    assert one(message(one(scope, 1), (1, 2)), 1) == b'heapsonde', 'the scope'
    for data in scope[2]:
        found = message(data, range(1, 8))
        kind = message(one(found, 1), (1, 2))
        name = texts[one(kind, 1)]
        profile.units[name] = texts[one(kind, 2)]
        profile.total[name] = 0
        profile.time, profile.duration = one(found, 3), one(found, 4)
        for sample in found.get(2, []):
            sample = message(sample, (1, 2, 3, 4))
            (value,) = packed(sample[4])
            profile.add(name, stacks[one(sample, 1)], value)
    return profile
