# SPDX-License-Identifier: MIT OR Apache-2.0
"""Names that leave their file begin with hs_, and no tag of a struct, union or enum stands for two things in one half.

What is wrong today is in known_names.txt, which only shrinks: an entry that is no longer needed fails, too. With --write, such
entries are taken out."""
import re
import sys

from sources import HALVES, code, known, sources, write_known

# At the beginning of a line; a body follows, so it is a definition. Parameters may go on in the next lines.
FUNCTION = re.compile(r'^(?![^{;]*\bstatic\b)([A-Za-z_]\w*)\b[\w \t*]*?[ \t*](\w+)\([^;{}]*\)\s*\n\{', re.M)
STATIC_MACRO = re.compile(r'#[ \t]*define[ \t]+(\w+)[ \t][^\n]*\bstatic\b')
VARIABLE = re.compile(r'^extern\s+(?!"C")[^;({]*?\b(\w+)(?:\[[^;]*\])?\s*;', re.M)
TAG = re.compile(r'\b(?:struct|union|enum)\s+(\w+)\s*\{')
# Interposed symbols, the C library's and the compiler's have the names that others ask for.
GIVEN = re.compile(r'shims/|host/cli/static_program\.c$|arch/string\.c$|arch/[^/]+/(atomics|division|eabi)\.')
GIVEN_NAMES = {'main', 'environ'}
# One stands for the others: each architecture has the same tags.
ARCHITECTURES = re.compile(r'arch/[^/]+/|arch/link_rule\.h$|host/unwind/view_arch\.h$')


def without_prefix(texts):
    for path, text in texts.items():
        if GIVEN.match(path):
            continue
        hidden = STATIC_MACRO.findall(text)
        names = [name for first, name in FUNCTION.findall(text) if first not in hidden] if path.endswith('.c') else VARIABLE.findall(text)
        for name in names:
            if not name.startswith('hs_') and name not in GIVEN_NAMES:
                yield f'name: {name} {path}'


def tags_of_two(texts):
    places = {}
    for path, text in texts.items():
        if not ARCHITECTURES.match(path):
            for tag in TAG.findall(text):
                places.setdefault(tag, set()).add(path)
    for tag, paths in sorted(places.items()):
        for half, tops in sorted(HALVES.items()):
            of_half = sorted(path for path in paths if path.split('/', maxsplit=1)[0] in tops)
            if len(of_half) > 1:
                yield f'tag: {tag} {half} {" ".join(of_half)}'


def check(texts, listed):
    """(what is wrong, the list as it is still needed)."""
    found = list(dict.fromkeys(list(without_prefix(texts)) + list(tags_of_two(texts))))
    allowed = [set(line.split()) for line in listed]
    wrong = [line for line in found if not any(set(line.split()) <= words for words in allowed)]
    wrong += [f'no longer needed in known_names.txt: {line}' for line in listed if line not in found]
    return wrong, [line for line in found if line not in wrong]


def main():
    listed = known('known_names.txt')
    wrong, needed = check({path: code(path) for path in sources()}, listed)
    if '--write' in sys.argv:
        write_known('known_names.txt', needed)
        return 0
    print('\n'.join(wrong))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
