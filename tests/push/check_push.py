# SPDX-License-Identifier: MIT OR Apache-2.0
"""heapsonde push: what a server gets is what the report says."""
import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import patience  # noqa: E402
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import profiles  # noqa: E402

COMMAND, TRACE, DUMPS, MAKE_TRACE = (os.environ['HEAPSONDE_TEST_' + name] for name in ('COMMAND', 'TRACE', 'DUMPS', 'MAKE_TRACE'))
work = tempfile.mkdtemp(prefix='heapsonde-push-')


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


class Server:
    """Keeps what it gets, and answers as it is told."""

    def __init__(self, status=200, answer=b'', headers=None):
        requests = self.requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers['Content-Length']))
                address = urllib.parse.urlsplit(self.path)
                requests.append((address.path, dict(urllib.parse.parse_qsl(address.query, strict_parsing=bool(address.query))), self.headers,
                                 body))
                self.send_response(status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.send_header('Content-Length', str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.host = f'127.0.0.1:{self.server.server_port}'
        self.url = f'http://{self.host}'
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def only(self):
        expect(len(self.requests) == 1, f'{len(self.requests)} requests')
        return self.requests.pop()


def run(*arguments, status=0):
    env = {key: value for key, value in os.environ.items() if not key.lower().endswith('_proxy')} | {'HOME': work}
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, cwd=work, env=env, check=False)
    expect(done.returncode == status, f'{arguments}: status {done.returncode}: {done.stdout}{done.stderr}')
    expect(done.stdout == '' or arguments[0] != 'push', done.stdout)
    return done.stdout if arguments[0] != 'push' else done.stderr


def push(*arguments, status=0):
    return run('push', *arguments, status=status)


def copy_of(path):
    """The store is made beside it."""
    return shutil.copy(path, work)


def expected(path, *filters):
    """{type: sum}, as the report has them."""
    report = json.loads(run('report', '--json', *filters, path))
    return {'alloc_objects': report['allocations'], 'alloc_space': report['allocated_bytes'], 'inuse_objects': report['live_count'],
            'inuse_space': report['live_bytes']}


UNITS = {'alloc_objects': 'count', 'alloc_space': 'bytes', 'inuse_objects': 'count', 'inuse_space': 'bytes'}


def traces():
    server, path = Server(), copy_of(TRACE)
    push('--pyroscope', server.url, '--otlp', server.url, '--label', 'region=eu 1', '--label', 'tier=b', path)
    expect(len(server.requests) == 2, 'one request for each')
    where, query, headers, body = server.requests.pop(0)
    expect(where == '/ingest' and headers['Content-Type'] == 'application/octet-stream', f'{where} {headers}')
    expect(query == {'name': 'example{region=eu 1,tier=b}', 'from': '1700000000', 'until': '1700000000', 'format': 'pprof',
                     'spyName': 'heapsonde'}, f'{query}')
    pprof = profiles.read_pprof(body)
    expect(pprof.total == expected(path) and pprof.units == UNITS, f'{pprof.total}')
    where, query, headers, body = server.only()
    expect(where == '/v1development/profiles' and not query, f'{where} {query}')
    expect(headers['Content-Type'] == 'application/x-protobuf' and headers['Content-Encoding'] == 'gzip', f'{headers}')
    otlp = profiles.read_otlp(body)
    expect(otlp.total == pprof.total and otlp.units == UNITS, f'{otlp.total}')
    expect(otlp.stacks == pprof.stacks and len(otlp.stacks['alloc_space']) > 50, 'the same stacks')
    expect(otlp.attributes == {'service.name': 'example', 'region': 'eu 1', 'tier': 'b'}, f'{otlp.attributes}')
    expect((otlp.time, otlp.duration) == (pprof.time, pprof.duration) == (1700000000 * 10 ** 9, 91368392), f'{otlp.time}')
    expect(otlp.builds and all(set(build) <= set('0123456789abcdef') for build in otlp.builds), f'{otlp.builds}')


def filtered():
    server, path = Server(), copy_of(TRACE)
    before = int(time.time())
    push('--otlp', server.url + '/v1development/profiles', '--name', 'my.app', '--now', '--size-min', '1000', path)
    where, _, _, body = server.only()
    otlp = profiles.read_otlp(body)
    expect(where == '/v1development/profiles' and otlp.attributes == {'service.name': 'my.app'}, f'{where} {otlp.attributes}')
    expect(otlp.total == expected(path, '--size-min', '1000') != expected(path), 'what the filter leaves')
    expect(before <= (otlp.time + otlp.duration) / 10 ** 9 <= time.time(), 'now')
    push('--pyroscope', server.url + '/prefix/', '--now', '--header', 'X-Scope-OrgID: team', path)
    where, query, headers, _ = server.only()
    expect(where == '/prefix/ingest' and headers['X-Scope-OrgID'] == 'team', f'{where} {headers}')
    token = f'{work}/token'
    with open(os.open(token, os.O_WRONLY | os.O_CREAT, 0o600), 'w', encoding='ascii') as file:
        file.write('glsa_s3cret.word==\n')
    push('--otlp', server.url, '--token-file', token, '--header', 'X-Scope-OrgID: team', path)
    _, _, headers, _ = server.only()
    expect(headers['Authorization'] == 'Bearer glsa_s3cret.word==' and headers['X-Scope-OrgID'] == 'team', f'{headers}')
    expect(before <= int(query['until']) <= time.time(), f'{query}')


def dates():
    """A recording with a clock that was never set ends when its file was last changed."""
    server, path = Server(), os.path.join(work, 'early.dat')
    subprocess.run([MAKE_TRACE, 'clock', path, '/bin/none'], check=True)
    os.utime(path, (1600000000, 1600000000))
    push('--otlp', server.url, '--pyroscope', server.url, path)
    query, otlp = server.requests[0][1], profiles.read_otlp(server.requests[1][3])
    expect(otlp.duration == 10 * 10 ** 9 and otlp.time == 1599999990 * 10 ** 9, f'{otlp.time} {otlp.duration}')
    expect((query['from'], query['until']) == ('1599999990', '1600000000'), f'{query}')


def dumps():
    server = Server()
    for name, kinds in (('exact.heap', None), ('threads.heap', None), ('go.heap', None), ('named.pb.gz', None), ('stacks.collapsed', None)):
        path = copy_of(os.path.join(DUMPS, name))
        push('--pyroscope', server.url, '--otlp', server.url, '--name', 'app', path)
        pprof, otlp = profiles.read_pprof(server.requests[0][3]), profiles.read_otlp(server.requests[1][3])
        when = int(os.stat(path).st_mtime)
        expect(server.requests[0][1]['from'] == server.requests[0][1]['until'] == str(when), 'the time of the file')
        server.requests.clear()
        expect(otlp.total == pprof.total and otlp.stacks == pprof.stacks and sum(otlp.total.values()), f'{name}: {otlp.total} {pprof.total}')
        report = json.loads(run('report', '--json', path))
        expect(abs(otlp.total['inuse_space'] - report['live_bytes']) <= len(otlp.stacks['inuse_space']), f"{name}: {otlp.total} {report}")


def refused():
    path = copy_of(TRACE)

    def fails(server, *words, option='--pyroscope'):
        text = push(option, server.url.replace('http://', 'http://user:hidden@'), path, status=1)
        expect(text.count('\n') == 1 and 'hidden' not in text and all(word in text for word in words), text)
        expect('\033' not in text, text)
    fails(Server(400, b'pprof: \033[2J too\nold'), 'refuses', '400', 'too old')
    fails(Server(401), 'user, password')
    fails(Server(500, b'x' * 100000), '500')
    fails(Server(307, headers={'Location': 'http://elsewhere.example/ingest?name=x'}), 'redirects to http://elsewhere.example/ingest;')
    # ExportProfilesPartialSuccess: 3 left out, and why.
    fails(Server(200, b'\x0a\x08\x08\x03\x12\x04full'), 'only a part', 'full', option='--otlp')
    server, token = Server(200, b'\x0a\x00'), f'{work}/token'
    for mode, text, words, status in ((0o640, 'secret', 'other users have access', 1), (0o600, 'two secrets', 'one line', 1),
                                      (0o600, 'secret', 'exclude each other', 2), (0o600, '', 'one line', 1),
                                      (0o600, 'secret' * 2000, 'one line', 1)):
        with open(token, 'w', encoding='ascii') as file:
            file.write(text)
        os.chmod(token, mode)
        header = ['--header', 'authorization: x'] if status == 2 else []
        said = push('--otlp', server.url, '--token-file', token, *header, path, status=status)
        expect(words in said and 'secret' not in said and said.count('\n') == 1 and not server.requests, f'{words}: {said}')
    expect('cannot be read' in push('--otlp', server.url, '--token-file', f'{work}/none', path, status=1), 'no file')
    push('--otlp', server.url.replace('http://', 'http://us%40er:p%3Ass@'), path)
    expect(server.only()[2]['Authorization'] == 'Basic dXNAZXI6cDpzcw==', 'user and password')
    deaf = socket.socket()   # has a port, but does not listen
    deaf.bind(('127.0.0.1', 0))
    nobody = f'http://127.0.0.1:{deaf.getsockname()[1]}'
    text = push('--pyroscope', nobody, path, status=1)
    expect(text.count('\n') == 1 and 'connect' in text.lower() and nobody in text, text)
    silent = socket.create_server(('127.0.0.1', 0))

    def hang_up():
        silent.accept()[0].close()
    threading.Thread(target=hang_up, daemon=True).start()
    text = push('--pyroscope', f'http://127.0.0.1:{silent.getsockname()[1]}', path, status=1)
    expect(text.count('\n') == 1, text)
    for arguments in ([], ['--pyroscope', 'ftp://host'], ['--otlp', 'host:80'], ['--otlp', 'http://'], ['--otlp', 'http://h/?a=b'],
                      ['--otlp', nobody, '--label', 'a'], ['--otlp', nobody, '--label', '1=b'], ['--otlp', nobody, '--label', 'a=b,c=d'],
                      ['--otlp', nobody, '--label', 'a='], ['--otlp', nobody, '--name', 'a{b'], ['--otlp', nobody, '--header', 'secret']):
        text = push(*arguments, path, status=2)
        expect(text.count('\n') == 1 and 'secret' not in text, f'{arguments}: {text}')


patience.begin()
try:
    {'traces': traces, 'filtered': filtered, 'dates': dates, 'dumps': dumps, 'refused': refused}[sys.argv[1]]()
finally:
    patience.end()
    shutil.rmtree(work, ignore_errors=True)
