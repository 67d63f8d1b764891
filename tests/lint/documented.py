# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every export format is on its page and in the web page, and every endpoint is on the page of the server. What a
build without a library lacks, CMake and `heapsonde --version` say in the words of docs/installing.md."""
import re
import sys

from sources import read


def missing(kind, names, page, text):
    """One line for each name that no text in `` or "" on the page is."""
    words = set(re.findall(r'[`"]([^`"\n]+)[`"]', text))
    return [f'{page} does not have the {kind} {name}' for name in names if name not in words]


def formats(table=None):
    return re.findall(r'^    X\(([^,]+),', table or read('host/export/export.h'), re.M)


def suffixes(table=None, command=None):
    """Endings of file names that choose a format."""
    others = re.search(r'^#define OTHER_ENDINGS.*', command or read('host/cli/export_command.c'), re.M)
    table = re.search(r'define HS_EXPORT_FORMATS\(X\).*?\n\n', table or read('host/export/export.h'), re.S)
    return re.findall(r'"(\.[a-z.]+)"', table.group() + others.group())


def endpoints():
    """Words of the paths: of /data/{id}/map/{map} it is map/N."""
    paths = re.findall(r'\.path = "/data/\{id\}/([^"]+)"', read('host/rest/endpoints.c'))
    paths = [re.sub(r'\{(format|name)\}', 'FORMAT', path) for path in paths]
    return [re.sub(r'\{\w+\}', 'N', path) for path in paths if not path.endswith('_ascii_tree') or path.startswith('alloc')]


def fleet_endpoints():
    """Of /fleet/stack/{number} it is stack/N."""
    paths = re.findall(r'\.path = "/fleet/([^"]+)"', read('host/rest/endpoints.c'))
    return ['/fleet/' + re.sub(r'\{\w+\}', 'N', path.replace('{format}', 'FORMAT')) for path in paths]


def unsaid(page, build):
    """One line for each command that a build without a library lacks by the page's table, and that its message does not name."""
    messages = dict(re.findall(r'^ *heapsonde_optional[a-z_]*\(([A-Z0-9]+) [^ "]+ "([^"]+)"', build, re.M))
    for library, lost in re.findall(r'^\|[^|]*\| `HEAPSONDE_WITH_(\w+)=OFF` \|([^|]*)\|$', page, re.M):
        said = messages.pop(library, '')
        for command in re.findall(r'`(?:heapsonde )?([^`]+)`', lost):
            if not re.search(rf'(?<![\w-]){command}(?![\w-])', said):
                yield f'a build without {library} does not say that it lacks {command}: {said}'
    for library in messages:
        yield f'docs/installing.md does not have HEAPSONDE_WITH_{library}'


def main():
    wrong = list(unsaid(read('docs/installing.md'), read('cmake/libraries.cmake')))
    wrong += missing('ending', suffixes(), 'docs/exports.md', read('docs/exports.md'))
    for page in ('docs/exports.md', 'host/webui/src/views/export.tsx'):
        wrong += missing('format', formats(), page, read(page))
    wrong += missing('endpoint', endpoints() + fleet_endpoints(), 'docs/server.md', read('docs/server.md'))
    if not formats() or len(suffixes()) <= len(formats()) or not endpoints() or not fleet_endpoints():
        wrong.append('the tables in host/export/export.h and host/rest/endpoints.c have another form')
    print('\n'.join(wrong))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
