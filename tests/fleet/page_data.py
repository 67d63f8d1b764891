# SPDX-License-Identifier: MIT OR Apache-2.0
"""A fleet whose numbers are known: rows as gather inserts them, without devices.

As a program, for tests in other languages: starts a database, fills it, and prints a line of JSON about it. Then it does what each line of
its input says, prints a line when that is done, and ends the database with the end of its input."""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import clickhouse  # noqa: E402

START, HOUR = 1764000000, 3600
KIB, MIB = 1024, 1 << 20
LEAK, CACHE, FRESH, HOSTILE, PLAIN, UNNAMED = 7001, 7002, 7003, 7004, 7005, 7006
OLD, NEW = '1.4', '1.5'
DEVICES, LEAKING = 12, 4
# Markup, a change of the direction of text, NUL and other control characters, and what is too long for any line.
BAD = '<img src=x onerror=alert(1)>\u202egnp.exe\0\x07&amp;"\'`' + '%s'
LONG = 'A' * 10000
PROGRAM, LIBRARY, STRANGE = 1, 2, 3
PATHS = {PROGRAM: '/usr/bin/gatewayd', LIBRARY: '/usr/lib/libmqtt.so.2', STRANGE: '/opt/<b>lib\u202e.so'}
# function, file, line of (build, offset); offsets are places in the code.
NAMES = {(PROGRAM, 0x100): ('main', 'main.c', 40), (PROGRAM, 0x200): ('session_run', 'session.c', 88), (PROGRAM, 0x300): ('cache_fill', 'cache.c', 12),
         (PROGRAM, 0x400): ('parse_config', 'config.c', 7), (LIBRARY, 0x100): ('mqtt_queue_push', 'queue.c', 204), (LIBRARY, 0x200): ('mqtt_receive', 'mqtt.c', 31),
         (LIBRARY, 0x300): ('tls_session_new', 'tls.c', 9), (STRANGE, 0x100): (BAD, BAD + '.c', 1), (STRANGE, 0x200): (LONG, '/' + LONG, 2)}
STACKS = {LEAK: [(LIBRARY, 0x100), (LIBRARY, 0x200), (PROGRAM, 0x200), (PROGRAM, 0x100)], CACHE: [(PROGRAM, 0x300), (PROGRAM, 0x200), (PROGRAM, 0x100)],
          FRESH: [(LIBRARY, 0x300), (PROGRAM, 0x200), (PROGRAM, 0x100)], HOSTILE: [(STRANGE, 0x100), (STRANGE, 0x200), (PROGRAM, 0x100)],
          PLAIN: [(PROGRAM, 0x400), (PROGRAM, 0x100)], UNNAMED: [(PROGRAM, 0x999), (PROGRAM, 0x100)]}


COLUMNS = {'state': '(stack, session, time, age, in_use_bytes, in_use_count, allocated_bytes, allocated_count)',
           'total': '(session, time, in_use_bytes, in_use_count, allocated_bytes, allocated_count)'}


def hexed(text):
    return f"unhex('{text.encode().hex()}')"


def build(number):
    return f"toFixedString(unhex('{number:040x}'), 20)"


def states(device, firmware):
    """What each stack has at the beginning, after an hour, and at the end."""
    of = {CACHE: (100 * KIB, 512 * KIB, 512 * KIB), PLAIN: (40 * KIB + device, 40 * KIB + device, 40 * KIB + device), UNNAMED: (2 * KIB, 2 * KIB, 2 * KIB)}
    if firmware == NEW:
        of[FRESH] = (64 * KIB, 64 * KIB, 70 * KIB)
        of[HOSTILE] = (KIB, 30 * KIB, 30 * KIB)
        of[LEAK] = (8 * KIB, 256 * KIB, (3 if device < LEAKING else 0) * MIB + 256 * KIB)
    else:
        of[LEAK] = (8 * KIB, 256 * KIB, 256 * KIB)
    return of


def fleet():
    """(session, device, firmware, states) of all."""
    for number, firmware in enumerate((OLD, NEW)):
        for device in range(DEVICES):
            yield 100 * (number + 1) + device, f'gw-{firmware}-{device:02}', firmware, states(device, firmware)
    yield 900, BAD, NEW, {PLAIN: (KIB, KIB, KIB)}


def rows(sessions):
    tables = {'session': [], 'state': [], 'total': []}
    for session, device, firmware, of in sessions:
        tables['session'].append(f"({session}, {hexed(device)}, 'gatewayd', {hexed(firmware)}, ['firmware'], [{hexed(firmware)}], 62, 321, "
                                 f'{START}, {START + 2 * HOUR + session}, 0, 0, 1, 0)')
        for tick, age in enumerate((0, HOUR, 2 * HOUR)):
            for stack, sizes in of.items():
                tables['state'].append(f'({stack}, {session}, {START + age}, {age}, {sizes[tick]}, {sizes[tick] // KIB or 1}, {sizes[tick] * 2}, {sizes[tick] // 512 or 2})')
            all_bytes = sum(sizes[tick] for sizes in of.values())
            tables['total'].append(f'({session}, {START + age}, {all_bytes}, {all_bytes // KIB}, {2 * all_bytes}, {all_bytes // 512})')
    return tables


def fill(database, sessions=None):
    def insert(table, values):
        for at in range(0, len(values), 2000):
            database.ask(f'INSERT INTO {table} {COLUMNS.get(table, "")} VALUES {", ".join(values[at:at + 2000])}')
    insert('build', [f'({build(number)}, {hexed(path)})' for number, path in PATHS.items()])
    insert('symbol', [f'({build(number)}, {offset}, 0, {hexed(function)}, {hexed(file)}, {line})' for (number, offset), (function, file, line) in NAMES.items()])
    insert('stack', [f"({stack}, [{', '.join(build(number) for number, _ in frames)}], [{', '.join(str(offset) for _, offset in frames)}])"
                     for stack, frames in STACKS.items()])
    for table, values in rows(sessions or fleet()).items():
        insert(table, values)


def many(count):
    """So many more devices of a firmware of their own."""
    for number in range(count):
        yield 10000 + number, f'many-{number:05}', '1.6', {PLAIN: (KIB, KIB, KIB + number)}


def main():
    command, binary = os.environ['HEAPSONDE_TEST_COMMAND'], os.environ['HEAPSONDE_TEST_SERVER']
    work = tempfile.mkdtemp(prefix='heapsonde-fleet-page-')
    try:
        database = clickhouse.Server(binary, work)
        subprocess.run([command, 'fleet', 'init', database.address], check=True, stdout=subprocess.DEVNULL)
        fill(database)
        keeper = database.address.replace('//', '//keeper:secret%20word@')
        print(json.dumps({'address': database.address, 'keeper': keeper, 'leak': str(LEAK), 'hostile': str(HOSTILE), 'bad': BAD.replace('\0', '\x1a'),
                          'old': OLD, 'new': NEW, 'devices': DEVICES, 'leaking': LEAKING}), flush=True)
        for line in sys.stdin:
            word, *rest = line.split()
            if word == 'kill':
                database.kill()
            elif word == 'start':
                database.process = None
                while not database.process:
                    database.start()
            elif word == 'many':
                fill(database, many(int(rest[0])))
            elif word == 'load':
                subprocess.run([command, 'fleet', 'load', database.address, rest[0], '--device', rest[1], '--labels', f'firmware={rest[2]}'],
                               check=True, stdout=subprocess.DEVNULL)
            elif word == 'ask':
                database.ask(' '.join(rest))
            print('done', flush=True)
    finally:
        for process in clickhouse.started:
            with contextlib.suppress(OSError):
                process.kill()
            process.wait()
        shutil.rmtree(work, ignore_errors=True)


if __name__ == '__main__':
    main()
