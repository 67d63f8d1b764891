# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which unit calls which: no circles. A header may declare what another unit defines, so includes do not show all of them."""
import re
import sys

from includes import circles
from names import FUNCTION
from sources import code, sources

NAME = re.compile(r'\bhs_\w+')


def calls(texts):
    """(from, to): a source names a function that one other source defines."""
    defined = {}
    for path, text in texts.items():
        for _, name in FUNCTION.findall(text):
            defined.setdefault(name, set()).add(path)
    for path, text in texts.items():
        for name in sorted(set(NAME.findall(text))):
            for to in defined.get(name, ()) if len(defined.get(name, ())) == 1 else ():
                if to != path:
                    yield path, to


def check(edges):
    """What is wrong."""
    return [f'units call one another: {" ".join(circle)}' for circle in circles(edges)]


def main():
    wrong = check(list(calls({path: code(path) for path in sources(('.c',))})))
    print('\n'.join(wrong))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
