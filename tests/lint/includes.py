# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which unit includes which: no circles, and no arrow against docs/architecture.md.

A unit is a source and the header of the same name."""
import os
import re
import sys

from sources import read, sources

# From the bottom to the top: a folder includes what stands before it. What is on one line are parts of one thing.
LAYERS = {
    'target': (('format',), ('arch', 'arch/aarch64', 'arch/amd64', 'arch/arm', 'arch/mips64'), ('unwind', 'unwind/include/heapsonde'),
               ('runtime', 'runtime/aggregate', 'runtime/perf', 'runtime/stream'), ('runtime/prof',), ('shims/common',), ('shims/prof',),
               ('shims/trace',)),
    'host': (('format',), ('arch', 'arch/aarch64', 'arch/amd64', 'arch/arm', 'arch/mips64'), ('unwind', 'unwind/include/heapsonde'),
             ('host/base',), ('host/wire',), ('host/store',), ('host/symbols',), ('host/unwind',), ('host/query',), ('host/import',),
             ('host/filter',), ('host/report',), ('host/findings',), ('host/export',), ('host/dump',), ('host/convert',), ('host/server',), ('host/webui',),
             ('host/gather',), ('host/fleet',), ('host/rest',), ('host/ctl',), ('host/shims',), ('host/board',), ('host/doctor',),
             ('host/inject',), ('host/onboard',), ('host/cli',)),
}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+[<"]([^>"]+)[>"]', re.M)


def unit(path):
    return os.path.splitext(path)[0]


def includes(paths):
    """(from, to): sources of this tree."""
    there = set(paths)
    for path in paths:
        for name in INCLUDE.findall(read(path)):
            beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
            public = 'unwind/include/' + name
            for to in (name, beside, public):
                if to in there:
                    yield path, to
                    break


def level(half, folder):
    for number, layer in enumerate(LAYERS[half]):
        if folder in layer:
            return number
    return None


def against(edges):
    """Arrows that the architecture does not have."""
    for start, end in edges:
        a, b = os.path.dirname(start), os.path.dirname(end)
        half = 'host' if a.startswith('host') else 'target'
        low, high = level(half, b), level(half, a)
        if low is None or high is None:
            yield f'{start} -> {end}', f'{b if low is None else a} is in no layer of the {half} half (LAYERS)'
        elif low > high or a == 'format' and b != 'format' or {a, b} == {'shims/prof', 'shims/trace'}:
            yield f'{start} -> {end}', f'{a} does not include {b}'


def circles(edges):
    """The units of each circle, in order (Tarjan's strongly connected components, without recursion)."""
    graph = {}
    for start, end in edges:
        if unit(start) != unit(end):
            graph.setdefault(unit(start), set()).add(unit(end))
    number, low, open_units, found = {}, {}, [], []
    for root in sorted(graph):
        if root in number:
            continue
        number[root] = low[root] = len(number)
        open_units.append(root)
        work = [(root, iter(sorted(graph.get(root, ()))))]
        while work:
            at, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
                if low[at] == number[at]:
                    circle = open_units[open_units.index(at):]
                    del open_units[open_units.index(at):]
                    if len(circle) > 1:
                        found.append(sorted(circle))
            elif following not in number:
                number[following] = low[following] = len(number)
                open_units.append(following)
                work.append((following, iter(sorted(graph.get(following, ())))))
            elif following in open_units:
                low[at] = min(low[at], number[following])
    return sorted(found)


def check(edges):
    """What is wrong."""
    return ([f'units include one another: {" ".join(circle)}' for circle in circles(edges)] +
            [f'{arrow}: {why}' for arrow, why in against(edges)])


def main():
    wrong = check(list(includes(sources(('.c', '.h', '.S')))))
    print('\n'.join(wrong))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
