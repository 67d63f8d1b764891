# SPDX-License-Identifier: MIT OR Apache-2.0
"""/fleet of the server against a real database: what `heapsonde fleet` says, in pages; and a database that is away, slow or of others."""
import contextlib
import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'server')]
import clickhouse  # noqa: E402
import page_data  # noqa: E402
from client import COMMAND, TestCase  # noqa: E402
from endpoints import Endpoints  # noqa: E402
from test_description import BY_NAME  # noqa: E402

QUESTIONS = {'growth': {}, 'new': {'firmware': page_data.NEW, 'than': page_data.OLD}, 'devices': {}, 'sessions': {}, 'firmwares': {}, 'stacks': {},
             f'stack/{page_data.LEAK}': {}, 'flame': {}}
# Of a machine that is busy, no answer is too late.
PATIENT = ('--fleet-timeout', '86400')
FORMATS = ('collapsed', 'flamegraph', 'json', 'speedscope', 'heapprofile', 'symbolized')


def on_command_line(address, question, **parameters):
    words = [f'--{name}={value}' for name, value in parameters.items()]
    done = subprocess.run([COMMAND, 'fleet', *question, *words], capture_output=True, check=True)
    return done.stdout


class Fleet(Endpoints, TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.addClassCleanup(cls.end)
        cls.database = clickhouse.Server(os.environ['HEAPSONDE_TEST_SERVER'], cls.folder)
        subprocess.run([COMMAND, 'fleet', 'init', cls.database.address], check=True, stdout=subprocess.DEVNULL)
        page_data.fill(cls.database)
        cls.trace = cls.random_trace('random.dat', 4, 1500)
        subprocess.run([COMMAND, 'fleet', 'load', cls.database.address, cls.trace, '--device', 'traced', '--labels', 'firmware=0.9'], check=True,
                       stdout=subprocess.DEVNULL)
        cls.address = cls.database.address.replace('//', '//keeper:secret%20word@')
        cls.server = cls.serve('--fleet', cls.address, *PATIENT, cls.trace)
        cls.description = cls.server.json('/openapi.json')

    @staticmethod
    def end():
        for process in clickhouse.started:
            process.kill()
            process.wait()

    def fleet(self, question, **parameters):
        return self.server.json(f'/fleet/{question}', **parameters)

    def rows(self, question, count, **parameters):
        """All rows, page by page."""
        rows, skip = [], 0
        while skip is not None:
            answer = self.fleet(question, count=count, skip=skip, **parameters)
            self.assertLessEqual(len(answer['rows']), count)
            rows += answer['rows']
            skip = answer['next_skip']
        return rows

    def test_rows_are_those_of_the_command(self):
        for question, parameters in QUESTIONS.items():
            if question == 'flame':
                continue
            name, *number = question.split('/')
            with self.subTest(question=question):
                said = json.loads(on_command_line(self.database, [name, self.database.address, *number, '--json', '--top=1000'], **parameters))
                shown = self.rows(question, 3, **parameters, **({'frames': 'none'} if name in ('growth', 'new', 'stacks') else {}))
                if name == 'sessions':
                    shown = [{key: row[key] for key in row if key != 'trace'} for row in shown]
                self.assertEqual(shown, said)
                self.assertGreater(len(said), 0)
                self.assertEqual(self.rows(question, 1000, **parameters)[0].keys() - {'frames', 'trace'}, said[0].keys())
        for question, filters in {'stacks': {'function_regex': '^cache_'}, 'devices': {'library': 'libmqtt.so.2', 'firmware': page_data.NEW}, 'growth': {'where': 'not function=~"cache"'},
                                  'firmwares': {'group_allocations_min': 3000}, f'stack/{page_data.LEAK}': {'alive_at': '3600'}}.items():
            name, *number = question.split('/')
            with self.subTest(question=question, filters=filters):
                words = {key.replace('_', '-'): value for key, value in filters.items()}
                said = json.loads(on_command_line(self.database, [name, self.database.address, *number, '--json', '--top=1000'], **words))
                shown = [{key: row[key] for key in row if key != 'frames'} for row in self.rows(question, 1000, **filters)]
                self.assertEqual(shown, said)
                self.assertNotEqual(shown, [{key: row[key] for key in row if key != 'frames'} for row in self.rows(question, 1000)] if name != 'growth' else [])

    def test_the_planted_leak_is_the_first_row(self):
        first = self.fleet('growth')['rows'][0]
        self.assertEqual((first['stack'], first['firmware'], first['grown_devices'], first['devices'], first['grown_bytes']),
                         (str(page_data.LEAK), page_data.NEW, page_data.LEAKING, page_data.DEVICES, page_data.LEAKING * 3 * page_data.MIB))
        self.assertEqual([frame['function'] for frame in first['frames']], ['mqtt_queue_push', 'mqtt_receive', 'session_run', 'main'])
        self.assertEqual({row['stack'] for row in self.fleet('new', **QUESTIONS['new'])['rows']}, {str(page_data.FRESH), str(page_data.HOSTILE)})
        holders = self.rows(f'stack/{page_data.LEAK}', 1000, firmware=page_data.NEW)
        self.assertEqual({row['device'] for row in holders if row['in_use_bytes'] > page_data.MIB}, {f'gw-{page_data.NEW}-{n:02}' for n in range(page_data.LEAKING)})

    def folded(self, **parameters):
        """{stack: bytes} of a tree; of a difference, of both sides."""
        tree = self.fleet('flame', **parameters)
        paths, sums = [], {}
        for node in range(tree['nodes']):
            name = tree['strings'][tree['name'][node]] if tree['name'][node] >= 0 else ''
            paths.append(name if tree['parent'][node] <= 0 else f"{paths[tree['parent'][node]]};{name}")
            if tree['self_size'][node]:
                sums[paths[node]] = sums.get(paths[node], 0) + tree['self_size'][node]
        return sums

    def collapsed(self, *options):
        text = on_command_line(self.database, ['flame', self.database.address, '--format=collapsed', *options]).decode()
        return {line.rsplit(' ', 1)[0]: int(line.rsplit(' ', 1)[1]) for line in text.splitlines()}

    def test_a_flame_is_that_of_the_command(self):
        for options in ({}, {'firmware': page_data.NEW}, {'device': 'gw-1.5-00'}, {'function_regex': 'mqtt'}, {'alive_at': '0'}):
            words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
            # What is in no line of text is left out of the comparison of lines.
            with self.subTest(options=options):
                said = {stack: value for stack, value in self.collapsed(*words).items() if 'AAAA' not in stack}
                shown = {stack: value for stack, value in self.folded(**options).items() if 'AAAA' not in stack}
                self.assertEqual(shown, said)
                for word in FORMATS:
                    status, headers, body = self.server.ask(f'/fleet/export/{word}/a.file', **options)
                    self.assertEqual((status, body), (200, on_command_line(self.database, ['flame', self.database.address, f'--format={word}', *words])), word)
                    self.assertEqual('svg' in headers['Content-Type'], word == 'flamegraph')
        devices = page_data.DEVICES + 1
        self.assertEqual(self.folded(firmware=page_data.NEW, per='device')['main;session_run;cache_fill'], 512 * page_data.KIB * page_data.DEVICES // devices)
        said = self.collapsed('--per-device', f'--firmware={page_data.NEW}')
        shown = self.folded(firmware=page_data.NEW, per='device')
        self.assertEqual({stack: value for stack, value in shown.items() if 'AAAA' not in stack}, {stack: value for stack, value in said.items() if 'AAAA' not in stack})
        cut = self.fleet('flame', nodes=2)
        self.assertEqual((cut['nodes'], cut['left_out'], cut['size'][0]), (3, True, self.fleet('flame')['size'][0]))
        inverted = self.fleet('flame', inverted='true', firmware=page_data.NEW)
        self.assertEqual(inverted['strings'][inverted['name'][1]], 'mqtt_queue_push')

    def test_a_difference_is_one(self):
        sides = [self.collapsed(f'--firmware={firmware}') for firmware in (page_data.NEW, page_data.OLD)]
        differs = {stack: abs(sides[0].get(stack, 0) - sides[1].get(stack, 0)) for side in sides for stack in side}
        shown = self.folded(firmware=page_data.NEW, than=page_data.OLD)
        self.assertEqual({stack: value for stack, value in shown.items() if 'AAAA' not in stack}, {stack: value for stack, value in differs.items() if value and 'AAAA' not in stack})
        tree = self.fleet('flame', firmware=page_data.NEW, than=page_data.OLD)
        self.assertEqual([tree['now_size'][0], tree['base_size'][0]], [sum(side.values()) for side in sides])
        self.assertEqual(self.folded(firmware=page_data.NEW, than=page_data.NEW), {})

    def test_sessions_know_their_traces(self):
        traces = {row['device']: row['trace'] for row in self.rows('sessions', 1000)}
        known, = self.server.json('/list')
        self.assertEqual({device: trace for device, trace in traces.items() if trace}, {'traced': known['id']})

    def dumps(self, name, pid, since):
        """A folder with two dumps of a process."""
        folder = self.path(name)
        os.mkdir(folder)
        for number in (1, 2):
            with open(f'{folder}/{number}.heap', 'w', encoding='utf-8') as file:
                file.write(f'heap_v2/1\n# time: 2026-11-14T22:13:2{number}Z\n# host: {name}-host\n# executable: /bin/sampled\n# pid: {pid}\n# since: {since}\n'
                           f'  t*: {number}: 100 [0: 0]\n@ 0x7f0000001010\n  t*: {number}: 100 [0: 0]\n\nMAPPED_LIBRARIES:\n'
                           '7f0000000000-7f0000100000 r-xp 00000000 00:00 1 /lib/sampled.so\n')
        return folder

    def test_sessions_know_their_dumps(self):
        since = '2026-11-14T22:00:00Z'
        folders = {'named': self.dumps('named', 7, since), 'unnamed': self.dumps('unnamed', 8, since)}
        lonely = self.dumps('lonely', 9, since)
        for name, folder in {**folders, 'lonely': lonely}.items():
            subprocess.run([COMMAND, 'fleet', 'load', self.database.address, folder, '--labels', 'firmware=0.8', *(['--device', 'gw-named'] if name == 'named' else [])],
                           check=True, stdout=subprocess.DEVNULL)
        server = self.serve('--fleet', self.address, *PATIENT, *folders.values())
        ids = {trace['path']: trace['id'] for trace in server.json('/list')}
        rows = server.json('/fleet/sessions', count=1000, firmware='0.8')['rows']
        self.assertEqual({row['device']: row['trace'] for row in rows},
                         {'gw-named': ids[folders['named']], 'unnamed-host': ids[folders['unnamed']], 'lonely-host': None})

    def test_every_answer_is_as_described(self):
        for pattern, operations in self.description['paths'].items():
            if not pattern.startswith('/fleet'):
                continue
            operation = operations['get']
            path = pattern.replace('{number}', str(page_data.LEAK)).replace('{format}', 'json').replace('{name}', 'a.name')
            asked = QUESTIONS.get(path.removeprefix('/fleet/'), {})
            status, headers, body = self.server.ask(path, **asked)
            self.assertEqual(status, 200, body[:300])
            if 'application/json' in operation['responses']['200']['content']:
                self.validate(operation, body)
            _, headers, warned = self.server.ask(path, colour='blue', **asked)
            self.assertEqual(headers['X-Heapsonde-Warning'], "unknown parameter 'colour' was ignored")
            if 'application/json' in operation['responses']['200']['content']:
                self.validate(operation, warned)
                self.assertEqual(json.loads(warned)['warnings'], [headers['X-Heapsonde-Warning']])
            for parameter in self.parameters(operation):
                if parameter['in'] == 'path' or parameter['name'] == 'custom_filter':
                    continue
                value = {**BY_NAME, 'group_leaked_allocations_min': '8', 'group_leaked_allocations_max': '8', 'alive_at': '3600', 'where': 'not function=~"a"', 'firmware': page_data.NEW, 'than': page_data.OLD, 'app': 'gatewayd', 'device': 'gw-1.5-00',
                         'lifetime': 'only_leaked'}.get(parameter['name'])
                schema = parameter['schema']
                value = value or (schema['enum'][-1] if 'enum' in schema else {'integer': '5', 'boolean': 'true'}.get(schema['type'], 'a'))
                with self.subTest(path=path, parameter=parameter['name']):
                    status, _, body = self.server.ask(path, **{**asked, **({'firmware': page_data.NEW} if parameter['name'] == 'than' else {}), parameter['name']: value})
                    reaches = parameter['name'] == 'alive_at' and path.split('/')[2] in ('growth', 'new', 'devices', 'sessions', 'firmwares') or \
                        parameter['name'].startswith('group_') and path.split('/')[2] in ('growth', 'new')
                    self.assertEqual(status, 400 if reaches else 200, body[:300])
                    if reaches:
                        self.assertIn(f"{parameter['name']}: '".encode(), body)

    def test_what_cannot_be_asked_is_refused_by_name(self):
        for question, parameters, said in (('stacks', {'size_min': '4K'}, b'size_min: the database has sums'), ('flame', {'thread': 'main'}, b'thread: the database has the sums of all threads'),
                                           ('devices', {'function_regex': '(?<=a)b'}, b'function_regex'), ('growth', {'device': 'gw-1'}, b"device: 'growth' reads the rollup"),
                                           ('new', {'firmware': '1'}, b'than: has to be given'), ('flame', {'than': '1'}, b'firmware: has to be given'),
                                           ('stacks', {'count': '0'}, b'count: '), ('stacks', {'count': '1001'}, b'count: '), ('stacks', {'function_regx': 'a'}, b'did you mean function_regex'),
                                           ('flame', {'per': 'x'}, b'per: ')):
            with self.subTest(question=question, parameters=parameters):
                status, _, body = self.server.ask(f'/fleet/{question}', **parameters)
                self.assertEqual(status, 400, body)
                self.assertIn(said, body)
        done = subprocess.run([COMMAND, 'fleet', 'growth', self.database.address, '--device', 'gw-1'], capture_output=True, check=False)
        self.assertEqual((done.returncode, b"--device: 'growth' reads the rollup" in done.stderr), (2, True), done.stderr)
        for path in ('stack/x', 'stack/0', 'stack/-1', 'stack/99999999999999999999', 'export/csv', 'export/nothing'):
            self.assertEqual(self.server.ask(f'/fleet/{path}')[0], 404, path)
        self.assertEqual(self.fleet('stack/12345')['rows'], [])

    def test_names_from_devices_are_data(self):
        device, = [row['device'] for row in self.rows('devices', 1000) if '<img' in row['device']]
        self.assertEqual(device, page_data.BAD.replace('\0', '\x1a'))
        for name in ("'", "' OR 1=1 --", '\\', '%27', 'x' * 1000, '\n'):
            self.assertEqual(self.fleet('devices', device=name)['rows'], [])
            self.assertEqual(self.fleet('stacks', firmware=name, app=name)['rows'], [])

    def test_without_a_fleet_and_without_a_trace(self):
        server = self.serve(self.trace)
        self.assertIsNone(server.json('/fleet')['database'])
        self.assertNotIn('Link', server.ask('/list')[1])
        self.assertEqual(self.server.ask('/list')[1]['Link'], '</fleet>; rel="related"')
        status, _, body = server.ask('/fleet/growth')
        self.assertEqual((status, b'--fleet' in body), (404, True))
        alone = self.serve('--fleet', self.database.address, *PATIENT)
        self.assertEqual(alone.json('/list'), [])
        self.assertEqual(alone.json('/fleet/growth'), self.fleet('growth'))
        self.assertEqual(alone.json('/fleet')['database'], self.database.address)

    def test_the_list_of_processes_has_no_password(self):
        with open(f'/proc/{self.server.process.pid}/cmdline', 'rb') as file:
            words = file.read().split(b'\0')
        self.assertIn(self.address.replace('secret%20word', 'x' * len('secret%20word')).encode(), words)

    def test_wrong_addresses_end_the_server_without_the_password(self):
        for address in ('http://keeper:secret@127.0.0.1/fleet', 'clickhouse://keeper:secret@127.0.0.1', 'clickhouse://keeper:secret@127.0.0.1:x/fleet', 'clickhouse://keeper:secret@127.0.0.1/a b'):
            done = subprocess.run([COMMAND, 'server', '--port', '0', '--fleet', address], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn('127.0.0.1', done.stderr)
            self.assertNotIn('secret', done.stdout + done.stderr)


class Away(TestCase):
    """A database that goes and comes, and one with other tables."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.addClassCleanup(Fleet.end)
        cls.database = clickhouse.Server(os.environ['HEAPSONDE_TEST_SERVER'], cls.folder)

    def test_it_says_so_and_works_again(self):
        database = self.database
        server = self.serve('--fleet', database.address.replace('//', '//keeper:secret%20word@'), *PATIENT, self.example())

        def said(status, *words):
            got, _, body = server.ask('/fleet/stacks')
            self.assertEqual(got, status, body)
            self.assertEqual(body.count(b'\n'), 1)
            for word in words:
                self.assertIn(word.encode(), body)
            self.assertNotIn(b'secret', body)
            self.assertEqual(server.ask('/data/last/summary')[0], 200)
        said(502, 'fleet init')
        subprocess.run([COMMAND, 'fleet', 'init', database.address], check=True, stdout=subprocess.DEVNULL)
        page_data.fill(database)
        self.assertGreater(len(server.json('/fleet/stacks')['rows']), 2)
        database.kill()
        said(502, database.address, 'onnect')
        database.process = None
        while not database.process:
            database.start()
        self.assertGreater(len(server.json('/fleet/stacks')['rows']), 2)
        database.ask('INSERT INTO version SELECT 99, now() + 100')
        said(502, 'version 99')
        wrong = self.serve('--fleet', database.address.replace('//', '//keeper:wrong%20one@'), *PATIENT)
        status, _, body = wrong.ask('/fleet/growth')
        self.assertEqual((status, b'user and password' in body, b'wrong' in body), (502, True, False), body)


class Silent(http.server.ThreadingHTTPServer):
    """A database that holds its answers back until it is told to give them."""
    daemon_threads = True

    def __init__(self):
        super().__init__(('127.0.0.1', 0), Handler)
        self.changed, self.open, self.most, self.killed, self.released = threading.Condition(), 0, 0, [], False
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.address = f'clickhouse://127.0.0.1:{self.server_address[1]}/fleet'

    def answer(self, _):
        """None: it is held back."""
        return None

    def end(self):
        self.shutdown()
        self.server_close()

    def until(self, holds):
        with self.changed:
            self.changed.wait_for(holds)


class Rolling(Silent):
    """A database with an old rollup, in which a new one takes long."""
    ANSWERS = {'SELECT count() FROM system.tables': '1', 'SELECT max(version)': '5', 'SELECT toUInt32(now())': '9999\t9999\t1\t1', 'SELECT greatest': '9999\t1',
               'SELECT app': '', 'INSERT INTO growth': None}

    def answer(self, statement):
        found, = [body for head, body in self.ANSWERS.items() if statement.startswith(head)]
        return None if found is None else f'{found}\n'.encode() if found else b''


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_POST(self):  # noqa: N802
        statement = self.rfile.read(int(self.headers['Content-Length'])).decode()
        server = self.server
        answer = None if statement.startswith('KILL QUERY') else server.answer(statement)
        if answer is not None:
            self.say(200, answer)
            return
        with server.changed:
            if statement.startswith('KILL QUERY'):
                server.killed.append(statement)
            else:
                self.query_id = urllib.parse.parse_qs(self.path.split('?')[1])['query_id'][0]
                server.open += 1
                server.most = max(server.most, server.open)
            server.changed.notify_all()
            if not statement.startswith('KILL QUERY'):
                server.changed.wait_for(lambda: server.released or any(self.query_id in killed for killed in server.killed))
                server.open -= 1
                server.changed.notify_all()
        self.say(500, b'refused by the test\n')

    def say(self, status, body):
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):  # nobody waits for it any more
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class Slow(TestCase):
    def test_a_client_that_leaves_ends_its_question(self):
        database = Silent()
        server = self.serve('--fleet', database.address, *PATIENT, self.example())
        with socket.create_connection((server.host, server.port)) as client:
            client.sendall(f'GET /fleet/stacks HTTP/1.1\r\nHost: {server.host}:{server.port}\r\n\r\n'.encode())
            database.until(lambda: database.open == 1)
            self.assertEqual(server.ask('/data/last/summary')[0], 200)
            client.shutdown(socket.SHUT_RDWR)
        database.until(lambda: database.killed and not database.open)
        database.end()

    def test_questions_are_asked_a_few_at_a_time(self):
        database = Silent()
        server = self.serve('--fleet', database.address, *PATIENT)
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(server.ask('/fleet/stacks')[0])) for _ in range(12)]
        for thread in threads:
            thread.start()
        database.until(lambda: database.open == 4)
        self.assertEqual(server.ask('/list')[0], 200)
        with database.changed:
            database.released = True
            database.changed.notify_all()
        for thread in threads:
            thread.join()
        self.assertEqual((answers, database.most), ([502] * 12, 4))
        database.end()

    def test_a_rollup_that_is_made_keeps_nobody_waiting(self):
        database = Rolling()
        server = self.serve('--fleet', database.address, '--fleet-timeout', '86400')
        answers = []
        first = threading.Thread(target=lambda: answers.append(server.ask('/fleet/growth')[0]))
        first.start()
        database.until(lambda: database.open == 1)
        self.assertEqual(server.json('/fleet/growth')['rows'], [])
        self.assertEqual((answers, database.most), ([], 1))
        with database.changed:
            database.released = True
            database.changed.notify_all()
        first.join()
        self.assertEqual(answers, [502])
        database.end()

    def test_an_answer_that_takes_too_long_is_given_up(self):
        database = Silent()
        server = self.serve('--fleet', database.address, '--fleet-timeout', '1', self.example())
        status, _, body = server.ask('/fleet/stacks')
        self.assertEqual((status, b'more than 1 s;' in body), (504, True), body)
        database.until(lambda: database.killed and not database.open)
        self.assertEqual(server.ask('/data/last/summary')[0], 200)
        database.end()


if __name__ == '__main__':
    if not os.path.exists(os.environ.get('HEAPSONDE_TEST_SERVER', '')):
        print('skipped: there is no clickhouse-server')
        sys.exit(77)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    unittest.main()
