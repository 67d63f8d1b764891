# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which unit calls which: no circles. A header may declare what another unit defines, so includes do not show all of them.

What is wrong today is in known_calls.txt, which only shrinks: a circle may lose units, and an entry that is no longer needed
fails, too. With --write, what is no longer so is taken out."""
import re
import sys

from includes import circles
from names import FUNCTION
from sources import code, known, sources, write_known

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


def check(edges, list_of_known):
    """(what is wrong, the list as it is still needed)."""
    listed = [set(line.split()) for line in list_of_known]
    needed = [' '.join(circle) for circle in circles(edges)]
    wrong = [f'units call one another: {line}' for line in needed if not any(set(line.split()) <= units for units in listed)]
    return wrong + [f'no longer needed in known_calls.txt: {line}' for line in list_of_known if line not in needed], needed


def main():
    listed = known('known_calls.txt')
    wrong, needed = check(list(calls({path: code(path) for path in sources(('.c',))})), listed)
    if '--write' in sys.argv:
        before = [set(line.split()) for line in listed]
        write_known('known_calls.txt', [line for line in needed if any(set(line.split()) <= units for units in before)])
        return 0
    print('\n'.join(wrong))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
