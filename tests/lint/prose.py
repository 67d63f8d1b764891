# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lines of the documents are no longer than .editorconfig says, except in tables, in blocks of code, and where nothing can be
divided. With --write, paragraphs that have a longer line are wrapped anew."""
import os
import re
import sys

from sources import ROOT, read

LONGEST = int(re.search(r'^\[\*\.md\]\nmax_line_length = (\d+)', read('.editorconfig'), re.M)[1])
FENCE = re.compile(r'\s*```')
ITEM = re.compile(r'\s*(?:[-*+]|\d+\.) +')
# Tables, comments, pictures, headings.
FIXED = re.compile(r'\s*(?:\||<|!\[|#)')
# What is not divided: a short piece of code, a link; else a word.
WORD = re.compile(r'(?:`[^`]{1,50}`|\[[^\]]{1,50}\]\([^)]*\)|\S)+')
# What would begin something else at the beginning of a line.
MARKER = re.compile(r'(?:[-*+>#|]|\d+\.)')


def documents():
    for folder in ('', 'docs', 'docs/decisions', '.github', 'packaging', 'examples'):
        there = os.path.join(ROOT, folder)
        for name in sorted(os.listdir(there)) if os.path.isdir(there) else ():
            if name.endswith('.md'):
                yield os.path.join(folder, name)


def paragraphs(text):
    """(number of the first line, lines, whether they may be wrapped)."""
    in_code, lines, first = False, [], 1
    for number, line in enumerate(text.splitlines(), 1):
        is_fence = bool(FENCE.match(line))
        prose = not (in_code or is_fence or FIXED.match(line)) and line.strip()
        in_code ^= is_fence
        indented = line.startswith('    ') and not lines and not ITEM.match(line)
        if lines and (not prose or ITEM.match(line)):
            yield first, lines, True
            lines = []
        if not prose or indented:
            yield number, [line], False
        else:
            first = first if lines else number
            lines.append(line)
    if lines:
        yield first, lines, True


def too_long(text):
    """The numbers of lines."""
    return [first + i for first, lines, is_prose in paragraphs(text) for i, line in enumerate(lines)
            if is_prose and len(line) > LONGEST and wrapped(lines) != lines]


def wrapped(lines):
    item = ITEM.match(lines[0])
    margin = item[0] if item else re.match(' *', lines[0])[0]
    words = WORD.findall(' '.join([lines[0][len(margin):], *lines[1:]]))
    found, line = [], margin + words[0]
    for word in words[1:]:
        if len(line) + 1 + len(word) > LONGEST and not MARKER.fullmatch(word):
            found.append(line)
            line = ' ' * len(margin) + word
        else:
            line += ' ' + word
    return [*found, line]


def rewritten(text):
    found = []
    for _, lines, is_prose in paragraphs(text):
        found += wrapped(lines) if is_prose and any(len(line) > LONGEST for line in lines) else lines
    return ''.join(line + '\n' for line in found)


def main():
    wrong = []
    for path in documents():
        text = read(path)
        if '--write' in sys.argv:
            with open(os.path.join(ROOT, path), 'w', encoding='utf-8') as file:
                file.write(rewritten(text))
        else:
            wrong += [f'{path}:{number}: longer than {LONGEST} characters; tests/lint/prose.py --write wraps it' for number in too_long(text)]
    print('\n'.join(wrong))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
