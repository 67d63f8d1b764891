# SPDX-License-Identifier: MIT OR Apache-2.0
"""heapsonde fleet against a real ClickHouse: what is asked for is what the traces' own reports say."""
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import clickhouse  # noqa: E402
import patience  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'wire'))
from second_wire import crc32c  # noqa: E402

COMMAND, SHIM, PROF, GROWER, SERVER = (os.environ['HEAPSONDE_TEST_' + name] for name in ('COMMAND', 'SHIM', 'PROF', 'GROWER', 'SERVER'))
work = tempfile.mkdtemp(prefix='heapsonde-fleet-')
started = clickhouse.started


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def Database():  # noqa: N802
    return clickhouse.Server(SERVER, work)


def run(*arguments, status=0):
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, cwd=work, check=False)
    expect(done.returncode == status, f'{arguments}: status {done.returncode}: {done.stdout}{done.stderr}')
    return done.stdout + done.stderr


def asked(*arguments):
    return json.loads(run('fleet', *arguments, '--json'))


class Device:
    """A recorded program that does what it is told."""

    def __init__(self, name, firmware, **variables):
        env = {key: value for key, value in os.environ.items() if not key.startswith('HEAPSONDE_')}
        env.update({'LD_PRELOAD': SHIM, 'HEAPSONDE_MODE': 'aggregate', 'HEAPSONDE_AGGREGATE_INTERVAL': '1', 'HEAPSONDE_DEVICE': name,
                    'HEAPSONDE_LABELS': f'firmware={firmware},site=lab', **variables})
        self.process = subprocess.Popen([GROWER], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=work)
        started.append(self.process)

    def do(self, commands):
        for command in commands:
            self.process.stdin.write(command)
            self.process.stdin.flush()
            self.process.stdout.readline()

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        expect(self.process.returncode == 0, 'the program ends as it would alone')


def recorded(name, rounds):
    """A trace in which each round is a tick of its own."""
    path, done = f'{work}/{name}.dat', ''
    device = Device(name, '', HEAPSONDE_OUTPUT=path)
    for commands in rounds:
        ticks = sums(path)
        device.do(commands)
        done += commands
        while sums(path) == ticks or lost(path) != 400000 * done.count('l'):
            time.sleep(0.1)
    device.end()
    return path


def lost(path):
    """What is lost at the last tick of a trace that grows. A tick may come in the middle of what the program does."""
    shutil.copyfile(path, f'{work}/growing.dat')
    done = subprocess.run([COMMAND, 'report', '--json', '--function', 'grower_lose', f'{work}/growing.dat'], capture_output=True, text=True, check=False)
    return json.loads(done.stdout)['live_bytes'] if not done.returncode else -1


def sums(path):
    """The SUMS chunks of a trace."""
    try:
        with open(path, 'rb') as file:
            return len(re.findall(rb'SHCK\x08\x00', file.read()))
    except FileNotFoundError:
        return 0


def with_times(path, name, number, distance):
    """A copy under another id whose ticks are so many clock ticks apart; of 0, they are one tick in several chunks."""
    with open(path, 'rb') as file:
        trace = bytearray(file.read())
    trace[40:56] = bytes([number]) * 16
    trace[252:256] = crc32c(bytes(trace[:252])).to_bytes(4, 'little')
    at, times = int.from_bytes(trace[32:36], 'little'), []
    while trace[at:at + 4] == b'SHCK':
        if trace[at + 4] == 8:
            times.append(int.from_bytes(trace[at + 40:at + 48], 'little'))
            trace[at + 40:at + 48] = (times[0] + distance * (len(times) - 1)).to_bytes(8, 'little')
            trace[at + 52:at + 56] = crc32c(bytes(trace[at:at + 52])).to_bytes(4, 'little')
        at += (56 + int.from_bytes(trace[at + 8:at + 12], 'little') + 7) & ~7
    expect(len(times) >= 3, f'{times}')
    copy = f'{work}/{name}.dat'
    with open(copy, 'wb') as file:
        file.write(trace)
    return copy


def varint(number):
    low = number & 127
    return bytes([low | 128]) + varint(number >> 7) if number > 127 else bytes([low])


def chunk(kind, sequence, time, payload):
    header = b'SHCK' + b''.join(number.to_bytes(size, 'little') for number, size in (
        (kind, 2), (0, 2), (len(payload), 4), (len(payload), 4), (0, 4), (1, 4), (sequence, 8), (time, 8), (time, 8), (crc32c(payload), 4)))
    return header + crc32c(header).to_bytes(4, 'little') + payload + bytes(-(len(payload) + 56) % 8)


def check_limits(database, path):
    """A trace takes memory for what it has, whatever numbers it names; stacks beyond the limit are added up as one."""
    with open(with_times(path, 'large', 5, 1), 'r+b') as file:
        time = max(int.from_bytes(found, 'little') for found in re.findall(rb'SHCK\x08\x00.{34}(.{8})', file.read(), re.DOTALL))
        number = varint((1 << 24) - 8)
        file.write(chunk(4, 1 << 30, 0, bytes([1, len(number)]) + number + b'\x81' + varint(1) + varint(2 << 20)))
        # The difference to the stack before, then one block of 64 bytes.
        file.write(chunk(8, 0, time + 1, bytes([1, 0, 0, 0, 0]) + b'\x02\x03\x02\x80\x01' * 300000))
    done = subprocess.Popen([COMMAND, 'fleet', 'load', database.address, f'{work}/large.dat', '--device', 'large'], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(done.pid, 0)
    # A process that was started by vfork has its parent's largest size, too.
    most = max(200 << 10, 2 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    expect(status == 0 and used.ru_maxrss < most, f'{status} {used.ru_maxrss} KiB')
    held = in_use(f'{work}/large.dat')
    expect(held >= 300000 * 64, f'{held}')
    for question in ('devices', 'stacks'):
        expect(sum(row['in_use_bytes'] for row in asked(question, database.address, '--device', 'large', '--top', '1000')) == held, question)


def in_use(path):
    return json.loads(run('report', '--json', path))['live_bytes']


def function_of(database, key):
    """The names that the database has for a stack."""
    return database.ask('SELECT any(function) FROM symbol WHERE (build, offset) IN (SELECT b, o FROM stack ARRAY JOIN builds AS b, '
                        f"offsets AS o WHERE stack = {key}) AND function LIKE 'grower_%'")


def all_of(database, table):
    """The rows of a table, in one order."""
    return sorted(database.ask(f'SELECT * FROM {table} FINAL').splitlines())


def check_growth(database, devices):
    rows = asked('growth', database.address)
    expect(len(rows) == 1, f'one stack grows: {rows}')
    row = rows[0]
    expect((row['firmware'], row['devices'], row['grown_devices']) == ('1.5', devices, devices), f'{row}')
    run('fleet', 'symbolize', database.address)
    expect(function_of(database, row['stack']) == 'grower_lose', 'the stack that loses blocks')
    text = run('fleet', 'growth', database.address)
    expect('grower_lose' in text and f'on {devices} of {devices} devices' in text, text)
    return row


def stacks_of(text):
    """Collapsed stacks: {stack: value}."""
    stacks = {}
    for line in text.splitlines():
        stack, value = line.rsplit(' ', 1)
        expect(stack not in stacks, f'{stack} is there twice')
        stacks[stack] = int(value)
    return stacks


def check_flame(database, traces):
    """A slice's flame is the sum of its devices' own exports, in every format that holds sums."""
    def reported(devices, unit):
        stacks = {}
        for device in devices:
            text = run('export', '--format', 'collapsed', '--cost', 'live', '--unit', unit, traces[device])
            for stack, value in stacks_of(text).items():
                stacks[stack] = stacks.get(stack, 0) + value
        return stacks

    def flame(*options):
        return run('fleet', 'flame', database.address, *options)
    for unit in ('bytes', 'count'):
        found = stacks_of(flame('--format', 'collapsed', '--unit', unit))
        expect(found == reported(traces, unit) and len(found) >= 2, f'{found}\n{reported(traces, unit)}')
    for options, devices in ((['--firmware', '1.5'], ('gw-2', 'gw-3')), (['--device', 'gw-1'], ('gw-1',)), (['--app', 'none'], ())):
        found = stacks_of(flame('--format', 'collapsed', *options))
        expect(found == reported(devices, 'bytes'), f'{options}: {found}\n{reported(devices, "bytes")}')
    # One device alone: to the byte what its own export is.
    alone = run('export', '--format', 'collapsed', '--cost', 'live', traces['gw-2'])
    expect(flame('--format', 'collapsed', '--device', 'gw-2') == alone, 'to the byte')
    for word in ('json', 'speedscope', 'heapprofile'):
        expect('grower_lose' in json.dumps(json.loads(flame('--format', word))), word)
    expect('<svg' in flame() and 'grower_lose' in flame(), 'a flame graph')
    for word in ('pprof', 'symbolized', 'perfetto'):
        path = f'{work}/flame.{word}'
        flame('--format', word, '-o', path)
        with open(path, 'rb') as file:
            expect(len(file.read()) > 100, word)
    report = json.loads(run('report', '--json', f'{work}/flame.pprof'))
    expect(report['live_bytes'] == sum(map(in_use, traces.values())), f'{report["live_bytes"]}')
    for word in ('heaptrack', 'csv', 'heap_v2'):
        expect('give one of: collapsed ' in run('fleet', 'flame', database.address, '--format', word, status=2), word)


def check_gate(database, row):
    """--fail-if: the release gate."""
    address = database.address
    text = run('fleet', 'growth', address, '--fail-if', 'grown_bytes > 1K', status=3)
    expect(f"grown_bytes is {row['grown_bytes']}" in text and row['stack'] in text, text)
    text = run('fleet', 'growth', address, '--fail-if', 'grown_devices>=3', '--fail-if', 'rows != 1',
               '--fail-if', 'grown_devices > 2', '--fail-if', 'grown_devices < 2')
    expect('holds' not in text, text)
    run('fleet', 'growth', address, '--json', '--fail-if', 'grown_devices == 2', status=3)
    new = ['fleet', 'new', address, '--than', '1.4', '--firmware']
    expect('1 row' in run(*new, '1.5', '--fail-if', 'rows > 0', status=3), 'a new stack')
    run(*new, '1.4', '--fail-if', 'rows > 0')
    # All rows count, whatever is shown.
    text = run('fleet', 'stacks', address, '--top', '1', '--json', '--fail-if', 'rows > 1', status=3)
    expect(text.count('"stack"') == 1 and 'rows; the first' in text, text)
    for condition, status in (('deviations > -0.5', 3), ('deviations >= 1000.5', 0), ('bytes_per_hour > -1.5K', 3), ('sessions <= 1.0', 3)):
        run('fleet', 'devices', address, '--fail-if', condition, status=status)
    for wrong in ('rows > -', 'rows > 1.2.3', 'rows > --1', 'rows > nan', 'rows > 1e3', 'grown_bytes', 'bytes > 1', 'grown_bytes > x', 'stack > 1', 'rows >', ''):
        expect('NAME OPERATOR NUMBER' in run('fleet', 'growth', address, '--fail-if', wrong, status=2), wrong)
    expect("'abc' is not the number of a stack" in run('fleet', 'stack', address, 'abc', status=2), 'a word for a stack')


def loaded():
    database = Database()
    run('fleet', 'init', database.address)
    traces = {name: recorded(name, ['c'] if name == 'gw-1' else ['c', 'l', 'l']) for name in ('gw-1', 'gw-2', 'gw-3')}
    for name, path in traces.items():
        firmware = '1.4' if name == 'gw-1' else '1.5'
        run('fleet', 'load', database.address, path, '--device', name, '--labels', f'firmware={firmware},site=lab')
    row = check_growth(database, 2)
    first = int(database.ask('SELECT sum(first) FROM (SELECT argMin(in_use_bytes, instant) AS first FROM sample WHERE '
                             f"stack = {row['stack']} GROUP BY session)"))
    expect(row['grown_bytes'] == 2 * 800000 - first and 0 < first <= 2 * 400000, f'from the first tick to the last: {row} {first}')
    new = asked('new', database.address, '--firmware', '1.5', '--than', '1.4')
    expect([each['stack'] for each in new] == [row['stack']], f'{new}')
    bytes_in_use = {each['device']: each['in_use_bytes'] for each in asked('devices', database.address)}
    expect(bytes_in_use == {name: in_use(path) for name, path in traces.items()}, f'{bytes_in_use}')
    stacks = asked('stacks', database.address, '--top', '1000')
    expect(sum(each['in_use_bytes'] for each in stacks) == sum(bytes_in_use.values()), 'the sum of the reports')
    holders = {each['device']: each['in_use_bytes'] for each in asked('stack', database.address, row['stack'])}
    expect(holders == {'gw-2': 800000, 'gw-3': 800000}, f'{holders}')
    firmwares = {each['firmware']: each['devices'] for each in asked('firmwares', database.address)}
    expect(firmwares == {'1.4': 1, '1.5': 2}, f'{firmwares}')

    for question in (('growth',), ('new', '--firmware', '1.5', '--than', '1.4')):
        rows = asked(question[0], database.address, *question[1:], '--function', 'grower_lose')
        expect([each['stack'] for each in rows] == [row['stack']], f'{rows}')
        expect(asked(question[0], database.address, *question[1:], '--negative-function-regex', 'grower_lose') == [], f'{question}')
    check_gate(database, row)
    check_flame(database, traces)

    def all_rows():
        return [all_of(database, table) for table in ('sample', 'total')]
    before, growth = all_rows(), asked('growth', database.address)
    run('fleet', 'load', database.address, traces['gw-2'], '--device', 'gw-2', '--labels', 'firmware=1.5,site=lab')
    expect(all_rows() == before, 'a trace that is loaded twice is there once')
    expect(asked('growth', database.address, '--rollup') == growth, 'and counts once')


def put_leak(database, session, seen, written):
    """A session with a stack of its own that grows to a million bytes."""
    for age, size in ((0, 1000), (3600, 1000), (7200, 1000000)):
        database.ask(f'INSERT INTO state (stack, session, time, age, in_use_bytes, in_use_count, allocated_bytes, allocated_count) '
                     f'SELECT {session}, {session}, toDateTime(1000000000 + {age}), {age}, {size}, 1, {size}, 1')
    database.ask(f"INSERT INTO session SELECT {session}, 'gw-{session}', 'gatewayd', '1', [], [], 62, 1, toDateTime(1000000000), {seen}, 1, 0, "
                 f'toUInt64(toUInt32({written})) * 1000000000, 0')


def run_at(second):
    """The number of a rollup."""
    return f'toUInt64(toUInt32({second})) * {1 << 32}'


FAR = 4000000000 << 32


def emptied(database, name):
    """The table as it was made."""
    made = database.ask(f'SHOW CREATE TABLE {name} FORMAT TabSeparatedRaw')
    database.ask(f'DROP TABLE {name}')
    database.ask(made)


def rolled():
    """Rollups: when one is made, whatever devices say about the time, and that the last one is read."""
    database = Database()
    run('fleet', 'init', database.address)

    def growing(*options):
        return sorted(row['stack'] for row in asked('growth', database.address, *options))
    database.ask(f"INSERT INTO rollup SELECT {run_at('now() - 10000')}")
    put_leak(database, 11, seen='toDateTime(1000007200)', written='now() - 5000')
    expect(growing() == ['11'], 'of a device whose clock is years behind')
    rollups = database.ask('SELECT count() FROM rollup')
    put_leak(database, 12, seen='now() + 10000000', written='now()')
    expect(growing() == ['11'], 'a device whose clock is months ahead makes no rollup old')
    expect(database.ask('SELECT count() FROM rollup') == rollups, 'nor is one made')
    expect(growing('--rollup') == ['11', '12'], 'one that was demanded')
    for _ in range(2):
        expect(growing('--rollup', '--least', '1G') == [], 'what was made in the same second before is not read')
        expect(growing('--rollup') == ['11', '12'], 'nor is that')
    database.ask('INSERT INTO growth SELECT app, firmware, 13, devices, grown_devices, grown_bytes, in_use_bytes, first_time, '
                 f"{run_at('now() + 1000')}, 0 FROM growth LIMIT 1")
    expect(growing() == ['11', '12'], 'a rollup that was ended in the middle is not read')
    expect(growing('--rollup') == ['11', '12'], 'nor is it part of the next one')
    database.ask(f"INSERT INTO rollup SELECT {run_at('now() + 2000')}")
    expect(growing('--rollup') == ['11', '12'], 'a clock of the server that was set back does not matter')
    expect(growing() == ['11', '12'], 'and the next answer is the same')
    growing('--rollup')
    expect(database.ask('SELECT uniqExact(made) FROM growth') == '2', 'older ones are removed')
    runs = set()
    for _ in range(2):
        for name in ('growth', 'rollup'):
            emptied(database, name)
        database.ask(f'INSERT INTO rollup SELECT {FAR}')
        expect(growing('--rollup') == ['11', '12'], 'from the beginning')
        runs.add(database.ask(f'SELECT max(made) FROM rollup WHERE intDiv(made, {1 << 32}) = {FAR >> 32} + 1'))
    expect(len(runs) == 2 and '0' not in runs, f'two that begin in one second are two: {runs}')


def moments():
    """Ticks within a second, and a tick in several chunks: the last state counts."""
    database = Database()
    run('fleet', 'init', database.address)
    path = recorded('gw-1', ['c', 'l', 'l'])
    for name, number, distance in (('whole', 1, 0), ('near', 2, 1)):
        copy = with_times(path, name, number, distance)
        run('fleet', 'load', database.address, copy, '--device', name)
        expect([row['in_use_bytes'] for row in asked('devices', database.address, '--device', name)] == [in_use(path)], name)
        stacks = asked('stacks', database.address, '--device', name, '--top', '1000')
        expect(sum(row['in_use_bytes'] for row in stacks) == in_use(path), f'{name}: {stacks}')
    check_times(database, path)
    check_limits(database, path)
    check_clocks(database, path)


def check_clocks(database, path):
    """A trace that began in 1970, whether the clock was set later or not: it ends when its file was last changed."""
    events = f'{work}/events.dat'
    run('run', '-q', '-o', events, '--', sys.executable, '-S', '-c', 'import time; held = bytearray(1 << 20); time.sleep(2)')
    for name, number, source in (('sums', 7, with_times(path, 'began', 6, 10 ** 11)), ('events', 8, events)):
        with open(source, 'r+b') as file:
            trace = bytearray(file.read(256))
            trace[40:56] = bytes([number]) * 16
            trace[64:72] = (60 * 10 ** 9).to_bytes(8, 'little')
            trace[252:256] = crc32c(bytes(trace[:252])).to_bytes(4, 'little')
            file.seek(0)
            file.write(trace)
        changed = int(os.stat(source).st_ctime)
        run('fleet', 'load', database.address, source, '--device', name)
        start, seen = (int(time) for time in database.ask(f"SELECT toUInt32(start), toUInt32(seen) FROM session WHERE device = '{name}'").split())
        age = int(database.ask(f"SELECT max(age) FROM sample WHERE session = (SELECT any(session) FROM session WHERE device = '{name}')"))
        expect(seen == changed and age <= seen - start <= age + 1, f'{name}: {changed} {start} {seen} {age}')
        expect(age >= 2, f'{name}: {age}')


def check_times(database, path):
    """What was in use at a tick is what a report of the trace says that ends there."""
    copy = with_times(path, 'far', 3, 10 ** 11)
    run('fleet', 'load', database.address, copy, '--device', 'far')
    with open(copy, 'rb') as file:
        trace = file.read()
    at, ends = int.from_bytes(trace[32:36], 'little'), []
    while trace[at:at + 4] == b'SHCK':
        is_tick = trace[at + 4] == 8
        at += (56 + int.from_bytes(trace[at + 8:at + 12], 'little') + 7) & ~7
        ends += [at] if is_tick else []
    session = "session = (SELECT any(session) FROM session WHERE device = 'far')"
    ages = [int(age) for age in database.ask(f'SELECT DISTINCT age FROM sample WHERE {session} ORDER BY age').split()]
    times = [int(time) for time in database.ask(f'SELECT toUInt32(time) FROM total FINAL WHERE {session} ORDER BY time').split()]
    expect(len(times) == len(ends) and len(ages) >= 3, f'{ages} {times} {ends}')

    def held(*options):
        return sum(row['in_use_bytes'] for row in asked('stacks', database.address, '--device', 'far', '--top', '1000', *options))
    reported = []
    for second, end in zip(times, ends):
        with open(f'{work}/cut.dat', 'wb') as file:
            file.write(trace[:end])
        reported.append(in_use(f'{work}/cut.dat'))
        expect(held('--alive-at', str(second), '--time-unit', 's') == reported[-1], f'{second}: {reported}')
        expect(held('--alive-at', f'{second}999', '--time-unit', 'ms') == reported[-1], f'{second}: {reported}')
    expect({held('--alive-at', f'{age}s') for age in ages} == set(reported), f'{ages}: {reported}')
    expect([held('--alive-at', str(time), '--time-unit', 's') for time in (1, 2 ** 33)] == [0, reported[-1]], 'before and after')


def statements_of(text):
    return [statement.strip() for statement in re.sub('^--.*$', '', text, flags=re.MULTILINE).split(';\n') if statement.strip()]


def old_statements(version):
    with open(f'{os.path.dirname(os.path.abspath(__file__))}/tables_of_{version}.sql', encoding='utf-8') as file:
        return statements_of(file.read())


def make_old(database, version, new, lacks):
    """The same rows in tables of an older version."""
    columns = 'stack, session, time, age, in_use_bytes, in_use_count, allocated_bytes, allocated_count'
    rows = {'sample': database.ask(f'SELECT {columns} FROM sample FORMAT TabSeparated'),
            'total': database.ask('SELECT session, time, in_use_bytes, in_use_count, allocated_bytes, allocated_count FROM total FORMAT TabSeparated')}
    for name in new:
        database.ask(f'DROP TABLE {name}')
    for statement in old_statements(3):
        if statement.split()[2] not in lacks and statement.split()[3] not in lacks:
            database.ask(statement)
    for name, text in rows.items():
        database.ask(f'INSERT INTO {name} FORMAT TabSeparated\n{text}\n')
    for table, column in (('session', 'estimated'), ('growth', 'estimated_devices')) if version < 3 else ():
        database.ask(f'ALTER TABLE {table} DROP COLUMN {column}')
    database.ask('DROP TABLE version')
    database.ask('CREATE TABLE version (version UInt32, made DateTime) ENGINE = ReplacingMergeTree(made) ORDER BY version')
    database.ask(f'INSERT INTO version SELECT {version}, now()')


def make_4(database, table, view):
    """The same rows in the tables of version 4."""
    rows = database.ask('SELECT session, stack, time_high, time_low, moment, begun, count_low, count_middle, count_high, size_low, size_high, rest_low, '
                        'rest_high, freed_low, freed_middle, freed_high, excess_low, excess_middle, excess_high FROM sample FORMAT TabSeparated')
    for name in ('sample_of_state', 'sample', 'growth', 'rollup', 'version'):
        database.ask(f'DROP TABLE {name}')
    for statement in (table, view):
        database.ask(statement)
    database.ask(f'INSERT INTO sample FORMAT TabSeparated\n{rows}\n')
    database.ask('CREATE TABLE growth (made DateTime) ENGINE = Memory')
    database.ask('CREATE TABLE rollup (made DateTime) ENGINE = Memory')
    database.ask('INSERT INTO rollup SELECT now()')
    database.ask('CREATE TABLE version (version UInt32, made DateTime) ENGINE = ReplacingMergeTree(made) ORDER BY version')
    database.ask('INSERT INTO version SELECT 4, now()')


def upgraded_from_4(database, answers):
    """Also when an update was ended at each of its steps, and rows that come in the middle are refused and not lost."""
    before, (table, view) = answers(), old_statements(4)
    insert = 'INSERT INTO state (stack, session, time, age, in_use_bytes, in_use_count, allocated_bytes, allocated_count) SELECT 5, 5, now(), 5, 5, 5, 5, 5'
    closed = "CREATE MATERIALIZED VIEW closed_for_update ENGINE = Null AS SELECT throwIf(toString(session) != '') AS refused FROM state"
    steps = (closed, 'DROP TABLE sample_of_state', 'RENAME TABLE sample TO sample_of_4')
    for done in range(len(steps) + 1):
        make_4(database, table, view)
        for statement in steps[:done]:
            database.ask(statement)
        text = run('fleet', 'devices', database.address, status=1)
        expect('version 4' in text and 'fleet init' in text, text)
        if done:
            expect(refuses(database, insert), f'after {done} steps, no row is taken')
        run('fleet', 'init', database.address)
        expect(answers() == before, f'{done}: {answers()} {before}')
        left = database.ask("SELECT name FROM system.tables WHERE database = 'fleet' AND (name LIKE '%_of_4' OR name = 'closed_for_update')")
        expect(left == '', left)
        asked('growth', database.address)
    database.ask(insert)
    expect(database.ask('SELECT count() FROM sample WHERE stack = 5') == '1', 'then rows are taken')


def refuses(database, statement):
    try:
        database.ask(statement)
    except AssertionError:
        return True
    return False


def upgraded():
    """Tables of an older version: they are refused, and brought up to date without a loss."""
    database = Database()
    run('fleet', 'init', database.address)
    # Older tables know no states of one second.
    trace = with_times(recorded('all', ['c', 'l', 'l']), 'gw-1', 4, 10 ** 11)
    run('fleet', 'load', database.address, trace, '--device', 'gw-1')
    before = asked('devices', database.address)
    expect([row['in_use_bytes'] for row in before] == [in_use(trace)], f'{before}')
    questions = ('stacks', '--top', '1000'), ('devices',), ('stacks', '--alive-at', '0', '--top', '1000')

    def answers():
        return [asked(question[0], database.address, *question[1:]) for question in questions]
    before = answers()
    new = ('sample_of_state', 'stack_of_session', 'total_of_session', 'state', 'sample', 'total')
    made = {name: database.ask(f'SHOW CREATE TABLE {name} FORMAT TabSeparatedRaw') for name in new}
    for version, lacks in ((1, ('session_total',)), (2, ()), (3, ())):
        make_old(database, version, new, lacks)
        text = run('fleet', 'devices', database.address, status=1)
        expect(f'version {version}' in text and 'fleet init' in text, text)
        run('fleet', 'init', database.address)
        expect(answers() == before, f'what was there before: {answers()} {before}')
        left = database.ask("SELECT name FROM system.tables WHERE database = 'fleet' AND (name LIKE '%_of_3' OR name LIKE 'session_%')")
        expect(left == '', left)
    # One that was ended in the middle, at each of its steps.
    for step in range(4):
        make_old(database, 3, new, ())
        database.ask('RENAME TABLE sample TO sample_of_3')
        if step:
            database.ask('RENAME TABLE total TO total_of_3')
        if step > 1:
            for name in reversed(new):
                database.make(made[name])
        if step > 2:
            database.ask('DROP TABLE session_stack')
            database.ask('INSERT INTO state (stack, session, time, age, in_use_bytes, in_use_count, allocated_bytes, allocated_count) SELECT '
                         'stack, session, time, age, in_use_bytes, in_use_count, allocated_bytes, allocated_count FROM sample_of_3 LIMIT 3')
        run('fleet', 'init', database.address)
        expect(answers() == before, f'{step}: {answers()} {before}')
    expect('already' in run('fleet', 'init', database.address), 'once')
    upgraded_from_4(database, answers)
    check_dumps(database)


def sampled(folder):
    """The last dump of a sampled program."""
    os.mkdir(folder)
    env = {key: value for key, value in os.environ.items() if not key.startswith('HEAPSONDE_')}
    env.update({'LD_PRELOAD': PROF, 'MALLOC_CONF': f'prof:true,prof_accum:true,prof_final:true,prof_prefix:{folder}/d,experimental_hs_sample:512'})
    subprocess.run([GROWER], input=b'cllte', env=env, stdout=subprocess.DEVNULL, check=True)
    name, = os.listdir(folder)
    return f'{folder}/{name}'


def later_dump(path):
    """Two hours later one stack is gone, and nobody knows what was allocated in all."""
    with open(path, encoding='utf-8') as file:
        head, *contexts = re.split('^(?=@ )', file.read(), flags=re.MULTILINE)
    last, maps = contexts[-1].split('\n\n', 1)
    text = head + ''.join(contexts[1:-1]) + last + '\n\n' + maps
    hour = int(re.search(r'^# time: \S+T(\d\d)', text, re.MULTILINE)[1])
    text = re.sub(r'^(# time: )\S+T\d\d', lambda match: f'{match[1]}2037-01-01T{hour:02}', text, flags=re.MULTILINE)
    later = f'{os.path.dirname(path)}/later'
    with open(later, 'w', encoding='utf-8') as file:
        file.write(re.sub(r'\[\d+: \d+\]', '[0: 0]', text))
    return later


def check_dumps(database):
    """Dumps of a sampler are states of a session, with the estimates that reports have."""
    path = sampled(f'{work}/dumps')
    later = later_dump(path)

    def flame(device, *options):
        return run('fleet', 'flame', database.address, '--format', 'collapsed', '--device', device, *options)

    def exported(dump, *options):
        return run('export', '--format', 'collapsed', '--cost', 'live', *options, dump)

    def check(device, dump):
        for unit in ('bytes', 'count'):
            expect(stacks_of(flame(device, '--unit', unit)) == stacks_of(exported(dump, '--unit', unit)), f'{device} {dump} {unit}')
        expect([row['in_use_bytes'] for row in asked('devices', database.address, '--device', device)] == [in_use(dump)], dump)
    run('fleet', 'load', database.address, path, '--device', 'alone')
    run('fleet', 'symbolize', database.address)
    check('alone', path)
    report = json.loads(run('report', '--json', path))
    session = "WHERE session = (SELECT any(session) FROM session WHERE device = '{}')"
    whole = database.ask('SELECT allocated_bytes, allocated_count FROM total ' + session.format('alone'))
    expect(whole.split() == [str(report['allocated_bytes']), str(report['allocations'])], f'{whole} {report}')
    # The same stack as in a trace, and marked.
    rows = asked('stacks', database.address, '--function', 'grower_lose')
    expect([(row['devices'], row['estimated_devices']) for row in rows] == [(2, 1)], f'{rows}')
    expect('estimated on 1 device' in run('fleet', 'stacks', database.address, '--function', 'grower_lose'), 'an estimate')
    marks = {row['device']: row['estimated_sessions'] for row in asked('devices', database.address)}
    expect(marks == {'gw-1': 0, 'alone': 1}, f'{marks}')
    # In any order, and again.
    orders = {'forward': (path, later), 'backward': (later, path), 'folder': (f'{work}/dumps',)}
    states = {}
    for device, order in orders.items():
        for dump in order + order[-1:]:
            run('fleet', 'load', database.address, dump, '--device', device)
        check(device, later)
        states[device] = database.ask('SELECT stack, instant, in_use_bytes, in_use_count FROM sample FINAL ' + session.format(device) + ' ORDER BY stack, instant')
        expect(stacks_of(flame(device, '--alive-at', '1d')) == stacks_of(exported(path)), 'before')
        expect(asked('stacks', database.address, '--device', device, '--group-allocations-min', '0') == [], 'nobody knows')
    expect(len(set(states.values())) == 1 and states['folder'].count('\t0\t0') >= 1, f'{states}')
    with open(path, encoding='utf-8') as file:
        text = file.read()
    # The clock was set after the process had begun.
    with open(f'{work}/began', 'w', encoding='utf-8') as file:
        file.write(re.sub(r'^(# since: )\d{4}', r'\g<1>1970', text, flags=re.MULTILINE))
    run('fleet', 'load', database.address, f'{work}/began', '--device', 'began')
    times = database.ask("SELECT toUInt32(start), toUInt32(seen) FROM session WHERE device = 'began'").split()
    expect(times[0] == times[1], f'the time of the first dump: {times}')
    for name, year in (('unset', 1970), ('beyond', 2900), ('far', 9999)):
        with open(f'{work}/{name}', 'w', encoding='utf-8') as file:
            file.write(re.sub(r'^(# (time|since): )\d{4}', lambda match: f'{match[1]}{year}', text, flags=re.MULTILINE))
    before = int(database.ask('SELECT toUInt32(now())'))
    os.utime(f'{work}/unset', (before, before))
    run('fleet', 'load', database.address, f'{work}/unset', '--device', 'unset')
    times = database.ask("SELECT toUInt32(seen), toInt64(toUInt32(seen)) - toInt64(toUInt32(start)) FROM session WHERE device = 'unset'").split()
    expect(int(times[0]) == before and abs(int(times[1])) < 400 * 86400, f'the time of the file: {times}')
    check('unset', path)
    for name in ('beyond', 'far'):
        expect('2106' in run('fleet', 'load', database.address, f'{work}/{name}', status=1), 'no such time')
    refused = f'{work}/dumps/named.collapsed'
    with open(refused, 'w', encoding='utf-8') as file:
        file.write('main;leak 100\n')
    expect('no addresses' in run('fleet', 'load', database.address, refused, status=1), 'only names')
    expect('1 other file was left out' in run('fleet', 'load', database.address, f'{work}/dumps', '--device', 'folder'), 'of a folder')


def main(cases=None):
    if clickhouse.lack(SERVER):
        print(f'skipped: {clickhouse.lack(SERVER)}')
        sys.exit(77)
    patience.begin()
    try:
        (cases or globals())[sys.argv[1]]()
    finally:
        patience.end()
        for process in started:
            if process.poll() is None:
                process.kill()
                process.wait()
        shutil.rmtree(work, ignore_errors=True)


if __name__ == '__main__':
    main()
