# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ways from a device to a real ClickHouse that break: each row is there in the end, and once; and through a broker."""
import http.client
import http.server
import os
import shutil
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

import check_fleet as fleet
from check_fleet import COMMAND, GROWER, SHIM, Database, Device, asked, expect, in_use, lost, run, work
from check_gathered import Gather

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'gather'))
import harness  # noqa: E402
import mqtt_broker  # noqa: E402

NOWHERE, FULL, MEMORY, INSIDE, BEHIND = 'no connection', 'disk full', 'no memory', 'in the middle', 'no answer'
WORDS = {FULL: b'Code: 243, e.displayText() = DB::Exception: Cannot reserve 1.00 MiB, not enough space',
         MEMORY: b'Code: 241, e.displayText() = DB::Exception: Memory limit (total) exceeded'}

BEGUN = 1 << 20  # bytes of an insertion; servers look at the first 256 KiB before they begin


class Way(http.server.ThreadingHTTPServer):
    """To a database, with what is to go wrong with the next insertions: None lets one pass."""
    daemon_threads = True

    def __init__(self, database):
        super().__init__(('127.0.0.1', 0), Traveller)
        self.database, self.wrong, self.always, self.lock = database, [], None, threading.Lock()
        self.statements, self.instead = [], {}  # what passed; answers to statements with a word, which do not pass
        self.address = f'clickhouse://127.0.0.1:{self.server_address[1]}/fleet'
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def next_wrong(self):
        with self.lock:
            return self.wrong.pop(0) if self.wrong else self.always


class Traveller(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_POST(self):  # noqa: N802
        asks = 'INSERT' in urllib.parse.unquote(self.path)
        wrong = self.server.next_wrong() if asks else None
        self.close_connection = True
        length = int(self.headers['Content-Length'])
        if wrong == NOWHERE:
            return
        if wrong == INSIDE:
            self.send_half(self.rfile.read(length))
            return
        body = self.rfile.read(length)
        self.server.statements.append(body)
        own = [answer for word, answer in self.server.instead.items() if word in body]
        status, answer = (200, own[0]) if own else (500, WORDS[wrong]) if wrong in WORDS else self.forward(body)
        if wrong == BEHIND:
            return
        self.send_response(status)
        self.send_header('Content-Length', str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def to_database(self):
        return http.client.HTTPConnection('127.0.0.1', self.server.database.port)

    def forward(self, body):
        connection = self.to_database()
        connection.request('POST', self.path, body, {name: value for name, value in self.headers.items() if name != 'Host'})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def send_half(self, body):
        connection = self.to_database()
        connection.putrequest('POST', self.path)
        for name in ('Content-Encoding', 'Content-Length'):
            if self.headers.get(name):
                connection.putheader(name, self.headers[name])
        connection.endheaders()
        connection.send(body[:len(body) // 2])
        connection.close()

    def log_message(self, *_):
        pass


def recorded_by(gather, name):
    """A process that gather has whole."""
    device = Device(name, '1.5', HEAPSONDE_CONNECT=gather.address)
    device.do('c')
    gather.await_event('began')
    while not gather.traces():
        time.sleep(0.1)
    path, = gather.traces()
    for done in (1, 2, 3):
        device.do('l')
        while lost(path) != 400000 * done:
            time.sleep(0.1)
    device.end()
    gather.await_event('ended')
    return path


def rows_of(database, name):
    return [sorted(database.ask(f'SELECT {columns} FROM {table} FINAL', database=name).splitlines()) for table, columns in
            (('sample', 'session, stack, instant, in_use_bytes, in_use_count, allocated_bytes, allocated_count'),
             ('total', 'session, time, moment, in_use_bytes, in_use_count, allocated_bytes, allocated_count'),
             ('stack', 'stack, arrayMap(x -> hex(x), builds), offsets'), ('session', 'session, device, firmware, start, seen, ended'))]


def broken():
    """Whatever is wrong with an insertion and whichever it is, nothing is lost, and nothing counts twice, also if gather is killed then."""
    database = Database()
    run('fleet', 'init', database.address)
    way = Way(database)
    way.always = NOWHERE
    gather = Gather(way, 'traces')
    path = recorded_by(gather, 'gw-1')
    expect('sent later' in gather.stop(), 'it says so')
    for wrong in (NOWHERE, FULL, MEMORY, INSIDE, BEHIND):
        for place in range(3):
            way.wrong, way.always = [None] * place, wrong  # a second try before gather is killed fails, too
            gather = Gather(way, 'traces')
            while 'sent later' not in gather.said():
                expect(gather.process.poll() is None, gather.said())
                time.sleep(0.05)
            said = gather.said()
            expect(wrong not in WORDS or WORDS[wrong].decode()[:9] in said, f'{wrong}: {said}')
            gather.process.kill()
            gather.process.wait()
    way.wrong, way.always = [BEHIND, None, INSIDE], None
    gather = Gather(way, 'traces')
    while 'accepts rows again' not in gather.said():
        time.sleep(0.05)
    expect(not way.wrong, f'{way.wrong}')
    gather.stop()
    other = database.address[:-len('fleet')] + 'other'
    run('fleet', 'init', other)
    run('fleet', 'load', other, path, '--device', 'gw-1', '--labels', 'firmware=1.5,site=lab')
    expect(rows_of(database, 'fleet') == rows_of(database, 'other'), f"{rows_of(database, 'fleet')} {rows_of(database, 'other')}")
    for question in (('devices',), ('stacks', '--top', '1000'), ('growth',)):
        expect(asked(question[0], database.address, *question[1:]) == asked(question[0], other, *question[1:]), f'{question}')
    expect([row['in_use_bytes'] for row in asked('devices', database.address)] == [in_use(path)], 'as its report')


def brokered():
    """gather --mqtt with --store and --metrics: what a device pushes through a real broker is in the database and in the metrics."""
    database, broker = Database(), mqtt_broker.Broker()
    run('fleet', 'init', database.address)
    gather = harness.Gather(*broker.gather_options('--store', database.address, '--metrics', '127.0.0.1:0'), listen=None)
    url = gather.event('metrics')['url']
    path = f'{work}/stream.dat'
    env = {key: value for key, value in os.environ.items() if not key.startswith('HEAPSONDE_')}
    env.update({'HEAPSONDE_MODE': 'aggregate', 'HEAPSONDE_AGGREGATE_INTERVAL': '1', 'HEAPSONDE_OUTPUT': 'fd:3'})
    program = subprocess.Popen(['sh', '-c', 'exec env LD_PRELOAD="$2" "$0" 3>"$1"', GROWER, path, SHIM], env=env, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    fleet.started.append(program)

    def do(command):
        program.stdin.write(command)
        program.stdin.flush()
        program.stdout.readline()
    do('c')
    push = harness.Process([COMMAND, 'push', *broker.gather_options('--device', 'gw-7', '--label', 'firmware=1.5', '--follow', path)])
    for _ in range(3):
        do('l')

    def in_database():
        return sum(row['in_use_bytes'] for row in asked('devices', database.address, '--device', 'gw-7'))

    def in_metrics():
        with urllib.request.urlopen(url) as answer:
            lines = answer.read().decode().splitlines()
        return [line for line in lines if line.startswith('heapsonde_process_live_bytes{')]
    while in_database() < 1200000 or not any(float(line.split()[-1]) >= 1200000 for line in in_metrics()):
        expect(gather.process.poll() is None and push.process.poll() is None, f'{gather.complaints()} {push.complaints()}')
        time.sleep(0.1)
    expect('gw-7' in in_metrics()[0], f'{in_metrics()}')
    for _ in range(3):  # It grows after the first tick, however late that was.
        do('l')
    program.stdin.close()
    expect(program.wait() == 0, 'the program ends')
    expect(push.finish() == 0, push.complaints())
    gather.stop()
    expect(in_database() == in_use(path), f'{in_database()} {in_use(path)}')
    row, = asked('growth', database.address)
    expect((row['firmware'], row['grown_devices']) == ('1.5', 1), f'{row}')
    expect(gather.complaints() == '', gather.complaints())


def awaited():
    """An update of the tables waits for an insertion that began before it, and no row is lost."""
    database = Database()
    way = Way(database)
    # The setting for dictionaries of numbers has the name that the server says.
    way.instead[b'system.settings'] = b'allow_suspicious_low_cardinality_types\n'
    text = run('fleet', 'init', way.address, status=1)
    expect('allow_suspicious_low_cardinality_types' in text, text)
    way.instead.clear()
    run('fleet', 'init', way.address)
    insert = 'INSERT INTO state (stack, session, time, age, in_use_bytes, in_use_count, allocated_bytes, allocated_count)'
    database.ask(f'{insert} SELECT 4, 4, now(), 4, 4, 4, 4, 4')
    fleet.make_4(database, *fleet.old_statements(4))
    row = b'5\t5\t1000000000\t5\t5\t5\t5\t5\n'
    body = f'{insert} FORMAT TabSeparated\n'.encode() + row * (BEGUN // len(row) + 1)
    insertion = http.client.HTTPConnection('127.0.0.1', database.port)
    insertion.putrequest('POST', '/?database=fleet')
    insertion.putheader('Content-Length', str(len(body) + len(row)))
    insertion.endheaders()
    insertion.send(body)
    while database.ask("SELECT count() FROM system.processes WHERE query LIKE 'INSERT INTO state%'") == '0':
        time.sleep(0.05)
    way.statements.clear()
    update = subprocess.Popen([COMMAND, 'fleet', 'init', way.address], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    fleet.started.append(update)
    while sum(b'system.processes' in statement for statement in way.statements) < 3:
        expect(update.poll() is None, 'it is over')
        expect(not any(b'sample_of_state' in statement for statement in way.statements), f'{way.statements}')
        time.sleep(0.05)
    insertion.send(row)
    answer = insertion.getresponse()
    expect(answer.status == 200, f'{answer.read()}')
    said, _ = update.communicate()
    expect(update.returncode == 0, said)
    expect(database.ask('SELECT stack, count() FROM sample FINAL GROUP BY stack ORDER BY stack') == '4\t1\n5\t1', 'the rows are there')


def end():
    for process in harness.started:
        if process.process.poll() is None:
            process.process.kill()
            process.process.wait()
    shutil.rmtree(harness.work, ignore_errors=True)


if __name__ == '__main__':
    try:
        fleet.main({'broken': broken, 'brokered': brokered, 'awaited': awaited})
    finally:
        end()
