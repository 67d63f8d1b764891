# SPDX-License-Identifier: MIT OR Apache-2.0
"""gather --store with a real ClickHouse: what devices send is in the database, and what is there is what the traces' reports say."""
import itertools
import json
import os
import re
import signal
import subprocess
import time

from check_fleet import (COMMAND, PROF, Database, Device, all_of, asked, check_growth, expect, function_of, in_use, lost, main, recorded, run, sampled,
                         started, sums, work)

EVENTS_CHUNK = 3


class Gather:
    def __init__(self, database, folder, *options):
        self.folder = f'{work}/{folder}'
        self.errors = open(f'{work}/gather-errors', 'w', encoding='utf-8')
        self.process = subprocess.Popen([COMMAND, 'gather', '--json', '--listen', '127.0.0.1:0', '--dir', self.folder, '--store',
                                         database.address, *options], stdout=subprocess.PIPE, stderr=self.errors, text=True, cwd=work)
        started.append(self.process)
        self.address = None
        while not self.address:
            line = self.process.stdout.readline()
            expect(line, f'gather ended: {self.said()}')
            self.address = json.loads(line).get('address')

    def said(self):
        with open(f'{work}/gather-errors', encoding='utf-8') as file:
            return file.read()

    def traces(self):
        return [f'{self.folder}/{name}' for name in os.listdir(self.folder) if name.endswith('.dat')]

    def await_event(self, event):
        while True:
            line = self.process.stdout.readline()
            expect(line, f'gather ended: {self.said()}')
            if json.loads(line).get('event') == event:
                return

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.stdout.read()
        self.process.wait()
        return self.said()


def await_rows(database, count):
    while int(database.ask('SELECT count() FROM (SELECT session, time FROM total GROUP BY session, time, moment)')) < count:
        time.sleep(0.1)


def check_equal(database, gather):
    traces = gather.traces()
    rows = asked('devices', database.address, '--top', '1000')
    expect(sorted(row['in_use_bytes'] for row in rows) == sorted(in_use(path) for path in traces), f'{rows}')
    stacks = asked('stacks', database.address, '--top', '1000')
    expect(sum(row['in_use_bytes'] for row in stacks) == sum(in_use(path) for path in traces), f'{stacks}')


def gathered():
    database = Database()
    run('fleet', 'init', database.address)
    gather = Gather(database, 'traces')
    devices = [Device(f'gw-{i}', '1.5' if i else '1.4', HEAPSONDE_CONNECT=gather.address) for i in range(3)]
    for round_number in range(3):
        for i, device in enumerate(devices):
            device.do('c' if not round_number else 'l' if i else 't')
        while (len(traces := gather.traces()) < 3 or min(map(sums, traces)) <= round_number
               or sorted(map(lost, traces)) != [0, 400000 * round_number, 400000 * round_number]):
            time.sleep(0.1)
        # All ticks, also the last one of a program that does nothing now.
        await_rows(database, sum(map(sums, traces)))
    for device in devices:
        device.end()
    for _ in devices:
        gather.await_event('ended')
    expect(gather.stop() == '', 'there is nothing to complain about')
    check_equal(database, gather)
    sites = database.ask("SELECT uniqExact(device), any(label_values[indexOf(label_names, 'site')]) FROM session")
    expect(sites == '3\tlab', sites)
    check_growth(database, 2)


def events():
    """Traces of events become rows when they have ended, with the stacks that sums have."""
    database = Database()
    run('fleet', 'init', database.address)
    gather = Gather(database, 'traces')
    device = Device('gw-1', '1.5', HEAPSONDE_CONNECT=gather.address, HEAPSONDE_MODE='events')
    device.do('clltt')
    device.end()
    gather.await_event('ended')
    expect(gather.stop() == '', 'there is nothing to complain about')
    check_equal(database, gather)
    trace, = gather.traces()
    allocated = database.ask('SELECT max(allocated_bytes) FROM total')
    expect(int(allocated) == json.loads(run('report', '--json', trace))['allocated_bytes'], allocated)
    before = all_of(database, 'sample')
    # Once more: from the beginning, as when nobody knows what was sent.
    os.remove(f'{gather.folder}/.heapsonde-fleet')
    Gather(database, 'traces').stop()
    run('fleet', 'load', database.address, trace, '--device', 'gw-1', '--labels', 'firmware=1.5,site=lab')
    expect(all_of(database, 'sample') == before, 'a trace that is loaded again is there once')
    with_sums = recorded('gw-2', ['c', 'll'])
    run('fleet', 'load', database.address, with_sums, '--device', 'gw-2', '--labels', 'firmware=1.5,site=lab')
    run('fleet', 'symbolize', database.address)
    rows = [row for row in asked('stacks', database.address) if row['in_use_bytes'] == 2 * 800000]
    expect([row['devices'] for row in rows] == [2] and function_of(database, rows[0]['stack']) == 'grower_lose', f'the same stack: {rows}')
    check_filters(database, {'gw-1': trace, 'gw-2': with_sums})
    check_refused_filters(database, trace)
    check_names(database)
    check_libraries(database)
    check_long(database, rows[0]['stack'])


# Filters that single blocks need are for traces of events alone.
FILTERS = (('--function-regex', 'grower_lose'), ('--function-regex', '^grower_(lose|fill)'), ('--function', r'\w+_lose$'),
           ('--function', r'\Qgrower_lose\E|[[:alpha:]]{3}_nothing'), ('--function', r'(?i)GROWER[^\d\s]+SE\b'),
           ('--function', 'keep', '--source-regex', r'grower\.c$'), ('--function', 'main', '--source-regex', 'nothing'),
           ('--negative-function-regex', 'lose'), ('--negative-source-regex', 'grower'), ('--negative-function-regex', '^nothing$'),
           ('--library', 'fleet_grower'), ('--library', 'fleet?gr*'), ('--library', '*/fleet_[!a-f]rower'), ('--library', '[!f]*.so*'),
           ('--library', 'nothing', '--library', 'libc.so*'), ('--negative-library', 'fleet_grower'), ('--library', "') OR 1 = 1 -- "),
           ('--backtrace-depth-min', '7'), ('--backtrace-depth-max', '6'), ('--backtrace-depth-min', '2', '--backtrace-depth-max', '7'),
           ('--where', 'function=~lose or not library=fleet_grower'), ('--where', 'not (function=~lose or backtrace_depth>=8)'),
           ('--where', 'not (function=~lose and group_allocations>=11)'), ('--group-allocations-min', '11'),
           ('--group-allocations-max', '10'), ('--group-leaked-allocations-min', '100%'), ('--group-leaked-allocations-max', '99.5%'),
           ('--group-leaked-allocations-max', '20'), ('--lifetime', 'only_leaked'), ('--lifetime', 'only_whole_group_leaked'),
           ('--lifetime', 'all'))


def check_long(database, key):
    """A stack that changes for days. A server that copies all of its states for each of them would need 720 GB."""
    count, sums_of = 300000, 'in_use_bytes, in_use_count, allocated_bytes, allocated_count'
    begun = int(time.time()) - count
    database.ask(f'INSERT INTO state (stack, session, time, age, {sums_of}) SELECT {key}, 9, toDateTime({begun} + number), number, '
                 f'number + 1, 1, number + 1, 1 FROM numbers({count})')
    database.ask(f'INSERT INTO total (session, time, {sums_of}) SELECT 9, toDateTime({begun} + number * {count - 1}), 1, 1, 1, 1 FROM numbers(2)')
    database.ask(f"INSERT INTO session SELECT 9, 'long', 'grower', '2.0', [], [], 62, 1, toDateTime({begun}), now(), 1, 0, 1, 0")
    row, = asked('devices', database.address, '--device', 'long', '--function', 'grower_lose')
    expect((row['in_use_bytes'], row['most_bytes'], row['bytes_per_hour']) == (count, count, 3600), f'{row}')


def check_filters(database, traces):
    """What a report with the same filter says of the same trace."""
    seen = set()
    for number, options in enumerate(FILTERS):
        device = 'gw-1' if options[0] == '--lifetime' or number % 2 else 'gw-2'
        report = json.loads(run('report', '--json', *options, traces[device]))
        stacks = asked('stacks', database.address, '--device', device, '--top', '1000', *options)
        found = sum(row['in_use_bytes'] for row in stacks), sum(row['in_use_count'] for row in stacks)
        expect(found == (report['live_bytes'], report['live_count']), f'{device} {options}: {found} {report}')
        seen.add(found[0])
    expect(len(seen) >= 5, f'the filters differ: {seen}')
    # What is left when nothing is left out has the slopes and the highest levels that the rollups have.
    all_of_it = ('--negative-function-regex', '^nothing$')
    for question in ('devices', 'firmwares', 'stacks', 'growth'):
        expect(asked(question, database.address, *all_of_it) == asked(question, database.address), question)
    key = [row['stack'] for row in asked('stacks', database.address, '--function', 'grower_lose')]
    expect(len(key) == 1 and asked('stack', database.address, *key, '--negative-function-regex', 'lose') == [], f'{key}')
    expect(len(asked('stack', database.address, *key, '--function', 'lose')) == 2, f'{key}')
    for device, path in traces.items():
        devices = asked('devices', database.address, '--device', device, '--function', 'grower_lose')
        expect([(row['in_use_bytes'], row['most_bytes']) for row in devices] == [(800000, 800000)], f'{devices}')
        flame = run('fleet', 'flame', database.address, '--format', 'collapsed', '--device', device, '--function', 'grower_lose')
        export = run('export', '--format', 'collapsed', '--cost', 'live', '--function', 'grower_lose', path)
        expect(flame == export, f'{flame} {export}')
    expect(asked('stacks', database.address, '--function', "' OR 1 = 1 -- ") == [], 'a value is not part of a statement')
    expect('grower_lose' not in run('fleet', 'sql', database.address, 'stacks', '--function', 'grower_lose'), 'as digits')


NAMES = ('Abc', '41bc', 'abcL', 'xLy', 'a_b', 'a-b', 'aéb', 'É', 'é', 'a\x85b', '\u180e', '٣', 'a]', '_]', 'a[', 'operator[]', 'a{,3}', 'a|b', 'x:y', '\udcffab')
PATTERNS = (r'\x41bc', r'\x4', r'\pL', r'[[:alpha:]_]]', r'^[[:alpha:]]+$', r'^[[:^alpha:]]+$', r'a[[:space:]]b', r'a\sb', r'^\s$', r'^[[:digit:]]$',
            r'[[:upper:]]', r'[[:punct:]]', r'^[^[:lower:]]+$', 'a.b', '^[\\w-]+$', r'[a[]$', r'[[:x]y', r'a\|b', r'a{,3}', '(?i)É', r'^[\QA-L\E]', r'a\éb', r'[]]', '')


def check_names(database):
    """Regular expressions have one meaning, whatever is in names and however they are written."""
    with open(f'{work}/names.collapsed', 'wb') as file:
        for i, name in enumerate(NAMES):
            file.write(os.fsencode(name) + f' {1 << i}\n'.encode())
    names = ', '.join(f"(unhex('{os.fsencode(name).hex()}'), {1 << i})" for i, name in enumerate(NAMES))
    sums, reported = [], []
    for pattern in PATTERNS:
        reported.append(json.loads(run('report', '--json', '--function', pattern, f'{work}/names.collapsed'))['live_bytes'])
        statement = run('fleet', 'sql', database.address, 'stacks', '--function', pattern)
        sums.append('sum(row.2 * match(row.1, ' + re.search(r"match\(function, (unhex\('[0-9a-f]*'\))", statement)[1] + '))')
    found = database.ask(f'SELECT {", ".join(sums)} FROM (SELECT arrayJoin([{names}]) AS row) FORMAT TabSeparated').split()
    for pattern, bits, expected in zip(PATTERNS, found, reported):
        expect(int(bits) == expected, f'{pattern}: {int(bits):b} {expected:b}')
    expect(len(set(reported)) >= 15, f'{reported}')
    # The dot does not match the end of a line, which no file of stacks can hold.
    for pattern, matches in (('a.b', '0'), ('(?s)a.b', '1')):
        statement = run('fleet', 'sql', database.address, 'stacks', '--function', pattern)
        condition = re.search(r"match\(function, (unhex\('[0-9a-f]*'\))", statement)[1]
        expect(database.ask(f"SELECT match('a\\nb', {condition})") == matches, pattern)


LIBRARIES = ('/lib/libd5.so', '/lib/a]b', '/lib/lib\udcff.so', '/lib/é.so', '/lib/a[b', '/l/a-b', '/l/a\\b', 'plain', '/l/a/')


def check_libraries(database):
    """So do names of libraries, which may be any bytes."""
    with open(f'{work}/libraries.heap', 'wb') as file:
        file.write(b'heap profile: 1: 1 [ 1: 1] @ heapprofile\n')
        for i in range(len(LIBRARIES)):
            file.write(f'1: {1 << i} [1: {1 << i}] @ {0x7f0000000500 + (i << 32):#x}\n'.encode())
        file.write(b'\nMAPPED_LIBRARIES:\n')
        for i, path in enumerate(LIBRARIES):
            start = 0x7f0000000000 + (i << 32)
            file.write(f'{start:x}-{start + 4096:x} r-xp 00000000 00:00 {i + 1} '.encode() + os.fsencode(path) + b'\n')
    run('fleet', 'load', database.address, f'{work}/libraries.heap', '--device', 'libraries')
    seen = set()
    for value in ('libd[[:digit:]].so', 'a[]\\]]b', 'a[\\]]b', 'lib?.so', '??.so', '*.so', 'a[+--]b', '*/*', '*[!a-z]', 'a\\', 'a[!/]b'):
        report = json.loads(run('report', '--json', '--library', value, f'{work}/libraries.heap'))['live_bytes']
        stacks = asked('stacks', database.address, '--device', 'libraries', '--library', value)
        found = sum(row['in_use_bytes'] for row in stacks)
        expect(found == report, f'{value}: {found:b} {report:b}')
        seen.add(found)
    expect(len(seen) >= 8, f'{seen}')


def check_refused_filters(database, trace):
    """What sums cannot answer is refused by its name."""
    for name, value in (('size-min', '1'), ('max-size', '1'), ('thread', 'x'), ('from', '1'), ('to', '1'), ('lifetime-min', '1'),
                        ('lifetime', 'only_temporary'), ('address-min', '1'), ('backtraces', '1'), ('deallocation-backtraces', '1'),
                        ('mmaped', 'yes'), ('arena', 'main'), ('jemalloc', 'yes'), ('marker', '1'), ('group-interval-min', '1'),
                        ('group-max-total-usage-first-seen-min', '1'), ('chain-length-min', '1'), ('alive-at-2', '1'), ('alive-at', '10%'),
                        ('from-map', '1'), ('group-leaked-allocations-min', '1.0001%'), ('function', '(?=x)'), ('function', 'a++'),
                        ('source-regex', r'(a)\1'), ('negative-function-regex', r'\R'), ('function', '[[:print:]]'), ('function', r'(?i)\p{Lu}'), ('function', '(?i)[[:lower:]]'), ('function-regex', '(?<a>b)')):
        text = run('fleet', 'stacks', database.address, f'--{name}', value, status=2)
        expect(name.split('-')[0 if name == 'function' else -1] in text and len(text) > 60, f'{name}: {text}')
    libraries = [text for i in range(2000) for text in ('--library', f'library-number-{i}.so')]
    expect('max_query_size' in run('fleet', 'stacks', database.address, *libraries, status=1), 'a long statement')
    for where in ('size>=1', 'not thread=main', 'alive_at=1'):
        run('fleet', 'stacks', database.address, '--where', where, status=2)
    expect('rollup' in run('fleet', 'growth', database.address, '--group-allocations-min', '2', status=2), 'growth')
    for question in ('growth', 'devices', 'firmwares'):
        expect('--alive-at' in run('fleet', question, database.address, '--alive-at', '2', status=2), question)
    expect('--alive-at' in run('fleet', 'stacks', database.address, '--alive-at', '2', '--lifetime', 'only_leaked', status=2), 'one of them')
    run('fleet', 'load', database.address, trace, '--function', 'lose', status=2)
    run('fleet', 'sql', database.address, 'growth', '--alive-at', '2', status=2)


def changes(text):
    """Rows of stacks, without those that say again that a stack has nothing."""
    rows, kept = [line.split('\t') for line in text.splitlines()], []
    for before, row in zip([None] + rows, rows):
        if not before or before[0] != row[0] or set(before[2:] + row[2:]) != {'0'}:
            kept.append(row)
    return kept


def states(database, device):
    """What the tables have of a device, and what is asked of them."""
    session = f"WHERE session = (SELECT any(session) FROM session WHERE device = '{device}')"
    columns = 'in_use_bytes, in_use_count, allocated_bytes, allocated_count'
    rows = [changes(database.ask(f'SELECT stack, instant, {columns} FROM sample FINAL {session} ORDER BY stack, instant')),
            database.ask(f'SELECT time, moment, {columns} FROM total FINAL {session} ORDER BY time, moment')]
    stacks = asked('stacks', database.address, '--device', device, '--top', '1000')
    holders = [[row['first_bytes'], row['in_use_bytes'], row['most_bytes']] for stack in stacks
               for row in asked('stack', database.address, stack['stack'], '--device', device)]
    return rows + [stacks, holders]


def with_time(path, name, fraction, drops):
    """A copy of a dump of another time in the same second, without some of its stacks."""
    with open(path, encoding='utf-8') as file:
        text, maps = file.read().split('\n\n', 1)
    head, *contexts = re.split('^(?=@ )', text + '\n', flags=re.MULTILINE)
    head = re.sub(r'^(# time: \S+:\d\d)\S*Z', rf'\g<1>.{fraction}Z', head, flags=re.MULTILINE)
    copy = f'{work}/{name}'
    with open(copy, 'w', encoding='utf-8') as file:
        file.write(head + ''.join(context for i, context in enumerate(contexts) if i not in drops) + '\n' + maps)
    return copy


def second():
    """Dumps of one second, even of one microsecond, are states of their own, in whatever order they are loaded."""
    database = Database()
    run('fleet', 'init', database.address)
    path = sampled(f'{work}/second')
    first, gone, last = (with_time(path, name, fraction, drops) for name, fraction, drops in
                         (('first', '000100', ()), ('gone', '000200', (0,)), ('last', '000200', (0, 1))))
    found = []
    for i, order in enumerate(itertools.permutations((first, gone, last))):
        for dump in order:
            run('fleet', 'load', database.address, dump, '--device', f'gw-{i}')
        found.append(states(database, f'gw-{i}'))
    expect(all(each == found[0] for each in found), f'{found}')
    ends = []
    for i, dumps in enumerate(((first, gone), (gone, first), (first, last), (last, first))):
        for dump in dumps + dumps[:1]:
            run('fleet', 'load', database.address, dump, '--device', f'two-{i}')
        ends.append([row['in_use_bytes'] for row in asked('devices', database.address, '--device', f'two-{i}')])
        stacks = asked('stacks', database.address, '--device', f'two-{i}', '--top', '1000')
        expect([sum(row['in_use_bytes'] for row in stacks)] == ends[-1], f'{stacks} {ends}')
    expect(ends == [[in_use(dump)] for dump in (gone, gone, last, last)], f'{ends}')


def settled(folder):
    """Its dumps, once each has its name."""
    while any(name.startswith('.') for name in os.listdir(folder)):
        time.sleep(0.1)
    return sorted(os.listdir(folder))


def dumps():
    """Dumps that gather receives become rows while the process runs, each once, however gather and the database end."""
    database = Database()
    run('fleet', 'init', database.address)
    gather = Gather(database, 'traces')
    device = Device('gw-1', '1.5', LD_PRELOAD=PROF, HEAPSONDE_CONNECT=gather.address,
                    MALLOC_CONF='prof:true,prof_accum:true,prof_final:true,experimental_hs_sample:512,experimental_hs_interval:300000')
    device.do('cll')
    await_rows(database, 1)
    database.kill()
    while sum(len(files) for _, folders, files in os.walk(gather.folder) if not folders) < 5:
        device.do('lt')
    device.end()
    gather.await_event('ended')
    folder, = (f'{gather.folder}/{name}' for name in os.listdir(gather.folder) if os.path.isdir(f'{gather.folder}/{name}'))
    names = settled(folder)
    gather.process.kill()
    gather.process.wait()
    expect(len(names) >= 4, f'{names}')
    while database.process.poll() is not None:
        database.start()
    # One gets its name late.
    os.rename(f'{folder}/{names[2]}', f'{folder}/.heapsonde-new-7')
    late = Gather(database, 'traces')
    await_rows(database, len(names) - 1)
    expect(late.stop() == '', 'nothing to complain about')
    os.rename(f'{folder}/.heapsonde-new-7', f'{folder}/{names[2]}')
    third = Gather(database, 'traces')
    await_rows(database, len(names))
    expect(third.stop() == '', 'nothing to complain about')
    run('fleet', 'load', database.address, folder, '--device', 'loaded', '--labels', 'firmware=1.5')
    expected = states(database, 'loaded')
    expect(states(database, 'gw-1') == expected, f"{states(database, 'gw-1')} {expected}")
    labels = database.ask("SELECT any(firmware), any(label_values[indexOf(label_names, 'site')]), any(estimated) FROM session WHERE device = 'gw-1'")
    expect(labels == '1.5\tlab\t1', labels)
    # As if it had been killed before it could note what was sent.
    progress = f'{gather.folder}/.heapsonde-fleet'
    with open(progress, encoding='ascii') as file:
        noted = file.read()
    with open(progress, 'w', encoding='ascii') as file:
        file.write(re.sub(r'^(\S+) \d+ \w+', r'\1 0 open', noted))
    fourth = Gather(database, 'traces', '--store-only')
    while os.path.exists(folder):
        time.sleep(0.1)
    expect(fourth.stop() == '', 'nothing to complain about')
    expect(states(database, 'gw-1') == expected, f"{states(database, 'gw-1')} {expected}")
    expect(database.ask("SELECT uniqExact(session) FROM session WHERE device = 'gw-1'") == '1', 'one session')


def in_place():
    """--store-only: no file stays once its rows are in the database, and none goes before."""
    database = Database()
    run('fleet', 'init', database.address)
    expect('--store' in run('gather', '--listen', '127.0.0.1:0', '--store-only', status=2), 'without a database')
    gather = Gather(database, 'traces', '--store-only')
    database.kill()
    for mode in ('events', 'aggregate'):
        device = Device(f'gw-{mode}', '1.5', HEAPSONDE_CONNECT=gather.address, HEAPSONDE_MODE=mode)
        device.do('cll')
        device.end()
        gather.await_event('ended')
    while 'is sent later' not in gather.said():
        time.sleep(0.1)
    gather.stop()
    expect(len(gather.traces()) == 2, 'the files stay while the database is away')
    in_files = sorted(in_use(path) for path in gather.traces())
    while database.process.poll() is not None:
        database.start()
    gather = Gather(database, 'traces', '--store-only')
    late = Device('gw-late', '1.5', HEAPSONDE_CONNECT=gather.address)
    late.do('cl')
    late.end()
    gather.await_event('ended')
    while gather.traces():
        time.sleep(0.1)
    gather.stop()
    found = {row['device']: row['in_use_bytes'] for row in asked('devices', database.address)}
    expect(set(found) == {'gw-events', 'gw-aggregate', 'gw-late'}, f'{found}')
    expect(sorted(found[name] for name in set(found) - {'gw-late'}) == in_files, f'{found} {in_files}')


def damage_events(path):
    """Changes a byte of events, and nothing else."""
    with open(path, 'r+b') as file:
        trace = file.read()
        at = int.from_bytes(trace[32:36], 'little')
        while trace[at + 4] != EVENTS_CHUNK:
            expect(trace[at:at + 4] == b'SHCK', 'there are events')
            at += (56 + int.from_bytes(trace[at + 8:at + 12], 'little') + 7) & ~7
        at += 56 + int.from_bytes(trace[at + 8:at + 12], 'little') - 1
        file.seek(at)
        file.write(bytes([trace[at] ^ 255]))


def lossy():
    """--store-only: a trace that is damaged stays, also in later runs."""
    database = Database()
    run('fleet', 'init', database.address)
    gather = Gather(database, 'traces')
    database.kill()
    device = Device('gw-1', '1.5', HEAPSONDE_CONNECT=gather.address, HEAPSONDE_MODE='events')
    device.do('cll')
    device.end()
    gather.await_event('ended')
    while 'is sent later' not in gather.said():
        time.sleep(0.1)
    gather.stop()
    damage_events(gather.traces()[0])
    while database.process.poll() is not None:
        database.start()
    for _ in range(2):
        gather = Gather(database, 'traces', '--store-only')
        gather.stop()
        expect(len(gather.traces()) == 1, 'the file stays')
    expect(database.ask('SELECT uniqExact(session) FROM total') == '1', 'what can be read is in the database')


def killed():
    """The server is killed and comes back, and so is gather: no row is lost, and none is there twice."""
    database = Database()
    run('fleet', 'init', database.address)
    gather = Gather(database, 'traces')
    device = Device('gw-7', '1.5', HEAPSONDE_CONNECT=gather.address)
    device.do('c')
    gather.await_event('began')
    database.kill()
    while 'is sent later' not in gather.said():
        device.do('l')
        time.sleep(0.2)
    gather.process.kill()
    gather.process.wait()
    device.process.kill()
    device.process.wait()
    second = Gather(database, 'traces')
    while 'is sent later' not in second.said():
        time.sleep(0.1)
    # Again if its port is taken at this moment, such as by a test that looks for a free one.
    while database.process.poll() is not None:
        database.start()
    await_rows(database, 1)
    second.stop()
    check_equal(database, second)


def refused():
    database = Database()
    trace = recorded('gw-5', ['c'])
    text = run('fleet', 'growth', database.address, status=1)
    expect('fleet init' in text, f'says what to do: {text}')
    text = run('gather', '--listen', '127.0.0.1:0', '--store', database.address, status=1)
    expect('fleet init' in text, text)
    run('fleet', 'init', database.address)
    names = "x'); DROP TABLE sample; --", '\\', "'", 'a\tb\nc'
    for name in names:
        run('fleet', 'load', database.address, trace, '--device', name, '--labels', f'firmware={name}')
        rows = asked('devices', database.address, '--device', name)
        expect([row['device'] for row in rows] == [name], f'{name!r}: {rows}')
    expect(asked('devices', database.address, '--device', "' OR 1 = 1 --") == [], 'a name is not part of a statement')
    gather = Gather(database, 'before')
    database.ask('INSERT INTO version SELECT 99, now()')
    before = database.ask('SELECT count() FROM sample')
    text = run('fleet', 'load', database.address, trace, status=1)
    expect('version 99' in text and 'nothing was written' in text, text)
    device = Device('gw-6', '1.5', HEAPSONDE_CONNECT=gather.address)
    device.do('c')
    device.end()
    gather.await_event('ended')
    text = gather.stop()
    expect('version 99' in text and 'nothing was written' in text, f'one that ran before: {text}')
    expect(database.ask('SELECT count() FROM sample') == before, 'nothing was written')
    host = f'127.0.0.1:{database.port}/fleet'
    expect('does not accept this user' in run('fleet', 'growth', f'clickhouse://keeper:wrong@{host}', status=1), 'a wrong password')
    expect('wrong' not in run('fleet', 'growth', f'clickhouse://keeper:wrong@{host}', status=1), 'the password is not shown')
    expect('version 99' in run('fleet', 'growth', f'clickhouse://keeper:secret%20word@{host}', status=1), 'the right one')
    for address in ('http://x/y', 'clickhouse://', 'clickhouse://host', 'clickhouse://host/a-b', 'clickhouse://host/a/b'):
        run('fleet', 'growth', address, status=2)
    database.kill()
    expect('connect' in run('fleet', 'growth', database.address, status=1).lower(), 'nobody is there')


if __name__ == '__main__':
    main(globals())
