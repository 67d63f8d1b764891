# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the lints know of the sources: which there are, and what they say without comments and texts."""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = ('arch', 'unwind', 'runtime', 'shims')
HALVES = {'host': ('host', 'format'), 'target': TARGET + ('format',)}
TOPS = TARGET + ('format', 'host')
IGNORED = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def read(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        return file.read()


def code(path):
    """Without comments and texts; lines stay lines."""
    return IGNORED.sub(lambda match: re.sub(r'[^\n]', ' ', match[0]), read(path))


def sources(endings=('.c', '.h')):
    """Of both halves, without tests and third parties."""
    found = []
    for top in TOPS:
        for folder, folders, files in os.walk(os.path.join(ROOT, top)):
            folders[:] = [name for name in folders if name != 'node_modules']
            found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in files if name.endswith(endings)]
    return sorted(found)


def known(name):
    """The lines of a list of what is still wrong."""
    return [line for line in read(f'tests/lint/{name}').splitlines() if line and not line.startswith('#')]


def write_known(name, lines):
    """Keeps of the list what is still so: it only shrinks."""
    path = os.path.join(ROOT, 'tests/lint', name)
    head = [line for line in read(f'tests/lint/{name}').splitlines() if line.startswith('#')]
    with open(path, 'w', encoding='utf-8') as file:
        file.write('\n'.join(head + lines) + '\n')
