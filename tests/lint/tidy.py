# SPDX-License-Identifier: MIT OR Apache-2.0
"""clang-tidy, with the checks of .clang-tidy, over the sources of a build. Arguments: the build's folder, and sources; none: all.
77 where there is no clang-tidy or the build says nothing of its commands."""
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

from sources import ROOT, TOPS

TIDY = 'clang-tidy-14'
AT_ONCE = 40  # sources for one process


def kept(words):
    """What clang knows of a compiler's words: where headers are, and what is defined."""
    found, rest = [], iter(words)
    for word in rest:
        if word in ('-I', '-D', '-U', '-include', '-isystem'):
            found += [word, next(rest)]
        elif word.startswith(('-I', '-D', '-U', '-std=', '-isystem', '-m', '-fshort')):
            found.append(word)
    return found


def commands(build):
    """{source: command} of both halves."""
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as file:
        entries = json.load(file)
    found = {}
    for entry in entries:
        source = os.path.relpath(os.path.join(entry['directory'], entry['file']), ROOT)
        if source.endswith('.c') and source.split(os.sep)[0] in TOPS:
            words = kept(shlex.split(entry['command']))
            found[source] = {'directory': entry['directory'], 'file': entry['file'], 'arguments': ['clang', *words, '-c', entry['file']]}
    return found


def run(sources, folder):
    """The processes' output, as many of them at once as there are processors."""
    parts = [sources[at:at + AT_ONCE] for at in range(0, len(sources), AT_ONCE)]
    running, said = [], ''
    while parts or running:
        while parts and len(running) < (os.cpu_count() or 1):
            running.append(subprocess.Popen([TIDY, '--quiet', '-p', folder, *parts.pop()], cwd=ROOT, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL, text=True))
        process = running.pop(0)
        said += process.communicate()[0]
        if process.returncode and not said:
            said = f'{TIDY} ended with {process.returncode}\n'
    return said


def main():
    build, *wanted = sys.argv[1:]
    if not shutil.which(TIDY) or not os.path.exists(os.path.join(build, 'compile_commands.json')):
        print(f'skipped: no {TIDY}, or no compile_commands.json in {build}')
        return 77
    known = commands(build)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, 'compile_commands.json'), 'w', encoding='utf-8') as file:
            json.dump(list(known.values()), file)
        said = run([source for source in sorted(known) if not wanted or source in wanted], folder)
    print(said)
    return 1 if said.strip() else 0


if __name__ == '__main__':
    sys.exit(main())
