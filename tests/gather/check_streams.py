# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is gathered is what was sent, to the byte: from few and many, over cut connections, over ends of the host."""
import itertools
import json
import os
import random
import signal
import subprocess
import time

from harness import (COMMAND, PATIENCE, SEED, Gather, Peer, Process, expect, gather_at, main, make_header, make_key, own_addresses,
                     read_key, start_devices, succeed, work)
from check_common import free_udp_port

PING, PONG = 19, 6


def stop_behind(gather, count):
    """The summary, once so many have ended. --once would not wait for those that have not begun when the others end."""
    for _ in range(count):
        gather.event('ended')
    return gather.stop()


def gathered(count, *device_options, key=None, cuts=0):
    options = ['--key-file', key] if key else []
    gather = Gather(*options)
    devices = start_devices('--count', count, '--cuts', cuts, '--verify', gather.folder, *device_options,
                            *(['--key', key] if key else []), connect=gather.address)
    succeed(devices)
    expect(f'verified {count}\n' in devices.lines, 'not verified')
    summary = stop_behind(gather, count)
    expect(summary['streams'] == count and summary['unfinished'] == 0, f'{summary}')
    expect(len(gather.traces()) == count, 'a file for each')
    return summary


def one():
    gathered(1)


def many():
    gathered(30)
    gathered_again = Gather(folder='other', environment={'HEAPSONDE_KEY_FILE': make_key()})
    succeed(start_devices('--count', 300, '--size', 50000, '--key', os.path.join(work, 'key'), '--verify',
                          gathered_again.folder, connect=gathered_again.address))
    expect(stop_behind(gathered_again, 300)['received'] > 300 * 40000, 'too little')


def cuts():
    gathered(30, cuts=8)


def cuts_with_key():
    gathered(30, '--size', 300000, key=make_key(), cuts=8)


def dialled():
    """The host dials; devices listen. Its own restart is one more cut."""
    devices = start_devices('--count', 5, '--cuts', 2, '--verify', os.path.join(work, 'traces'))
    addresses = [f'127.0.0.1:{devices.wait_for(lambda line: True).split()[2]}' for _ in range(5)]
    gather = Gather('--once', *addresses, listen=None)
    succeed(devices)
    expect(gather.summary()['unfinished'] == 0, 'not all have ended')


def killed(number, key=None):
    """The host is killed in the middle of all streams, and another goes on where it was."""
    options = ['--key-file', key] if key else []
    first = gather_at(own_addresses(), *options)
    devices = start_devices('--count', 30, '--size', 400000, '--pause', 200000, '--verify', first.folder,
                            *(['--key', key] if key else []), connect=first.address, stdin=subprocess.PIPE)
    devices.wait_for(lambda line: line == 'paused\n')
    first.end(number)
    before = sum(os.path.getsize(os.path.join(first.folder, name)) for name in first.traces())
    expect(before >= 30 * 200000, f'{before} bytes were acknowledged and are not there')
    second = gather_at(itertools.repeat(first.address), '--once', *options)
    for _ in range(30):
        second.event('resumed')
    devices.process.stdin.write(b'go\n')
    devices.process.stdin.flush()
    succeed(devices)
    summary = second.summary()
    expect(summary['streams'] == 30 and summary['received'] < 30 * 400000, f'{summary}')


def killed_host():
    killed(signal.SIGKILL)


def ended_host():
    killed(signal.SIGTERM, key=make_key())


def readable():
    """A trace can be reported while it grows, and it is the recorded one."""
    trace = os.environ['HEAPSONDE_TEST_TRACE']
    size = os.path.getsize(trace)
    gather = Gather('--once')
    devices = start_devices('--count', 2, '--file', trace, '--pause', size - 100, '--verify', gather.folder,
                            connect=gather.address, stdin=subprocess.PIPE)
    devices.wait_for(lambda line: line == 'paused\n')
    for name in gather.traces():
        outcome = subprocess.run([COMMAND, 'report', '--json', os.path.join(gather.folder, name)], check=False,
                                 capture_output=True)
        expect(outcome.returncode == 0, f'{outcome.stderr}')
        json.loads(outcome.stdout)
    devices.process.stdin.write(b'go\n')
    devices.process.stdin.flush()
    succeed(devices)
    gather.summary()


def replaced():
    """A new connection of the same trace takes it over."""
    gather = Gather()
    trace_id = random.Random(SEED).randbytes(16)
    content = make_header(trace_id) + bytes(5000)
    old = Peer(gather.port).prove().stream(trace_id)
    expect(old.want() == 0, 'nothing is there')
    old.data(0, content[:6000])
    old.acknowledged(6000)
    new = Peer(gather.port).prove().stream(trace_id)
    expect(new.want() == 6000, 'the part is there')
    old.is_closed()
    new.data(6000, content[6000:])
    new.finish(len(content))
    new.acknowledged(len(content))
    new.leave()
    summary = gather.stop()
    expect(summary['refused'].get('replaced') == 1 and summary['unfinished'] == 0, f'{summary}')
    with open(os.path.join(gather.folder, gather.traces()[0]), 'rb') as file:
        expect(file.read() == content, 'other bytes')


def refusals_by_device():
    """REFUSED ends a trace with what the device says."""
    gather = Gather('--once')
    devices = start_devices('--refuse', 'another host has it', connect=gather.address)
    event = gather.event('refused', reason='refused-by-device')
    expect(event['detail'] == 'another host has it' and event['name'] == 'simulated', f'{event}')
    summary = gather.summary()
    expect(summary['unfinished'] == 0 and not gather.traces(), f'{summary}')
    devices.end()


def announced():
    """Devices are heard, and those that are selected are connected to."""
    key = make_key()
    port = free_udp_port()
    gather = Gather('--key-file', key, '--select', 'labels.site == odd and device =~ "^device-[0-7]$"',
                    listen=None, environment={'HEAPSONDE_ANNOUNCE_PORT': str(port)})
    devices = start_devices('--count', 12, '--key', key, '--announce', port)
    names = {gather.event('ended')['device'] for _ in range(4)}
    expect(names == {'device-1', 'device-3', 'device-5', 'device-7'}, f'{names}')
    expect(gather.stop()['streams'] == 4, 'others were taken')
    devices.end()


def leaves_told():
    """A device that goes right behind its end, with everything acknowledged, is not waited for."""
    devices = start_devices('--count', 3, '--leave-at', 'told', '--verify', os.path.join(work, 'traces'))
    addresses = [f'127.0.0.1:{devices.wait_for(lambda line: True).split()[2]}' for _ in range(3)]
    gather = Gather('--once', *addresses, listen=None)
    succeed(devices)
    summary = gather.summary()
    expect(summary['streams'] == 3 and summary['unfinished'] == 0, f'{summary}')


def acknowledged_again():
    """What an earlier connection stored and could not acknowledge any more is acknowledged by the next: until then the
    device keeps it, and may have no room for more."""
    gather = Gather()
    succeed(start_devices('--count', 3, '--leave-at', 'data', '--verify', gather.folder, connect=gather.address))
    summary = stop_behind(gather, 3)
    expect(summary['streams'] == 3 and summary['unfinished'] == 0, f'{summary}')


def told_again():
    """A device that was not told that its stream is stored goes on announcing it, and is told."""
    key = make_key()
    for where in ('end', 'ack'):
        port = free_udp_port()
        gather = Gather('--key-file', key, '--select', 'device =~ "^device-"', listen=None,
                        environment={'HEAPSONDE_ANNOUNCE_PORT': str(port)})
        succeed(start_devices('--count', 3, '--key', key, '--announce', port, '--leave-at', where))
        summary = gather.stop()
        expect(summary['streams'] == 3 and summary['unfinished'] == 0, f'{summary}')


def controlled():
    """ctl by address and by name, with and without a key."""
    key = make_key()
    port = free_udp_port()
    devices = start_devices('--count', 2, '--key', key, '--announce', port, '--stay')
    environment = dict(os.environ, HEAPSONDE_ANNOUNCE_PORT=str(port), HEAPSONDE_KEY_FILE=key)

    def ctl(*words, **changes):
        return subprocess.run([COMMAND, 'ctl', *words], check=False, capture_output=True, env=dict(environment, **changes))

    def asked(*words, **changes):
        """Whoever gets no processor for seconds is not heard, or does not answer, in time."""
        late = b'has announced itself within', b'in time', b'closed the connection', b'broke', b'timed out'
        while True:
            began = time.monotonic()
            outcome = ctl(*words, **changes)
            if time.monotonic() - began < 3 or not any(word in outcome.stderr for word in late):
                return outcome

    outcome = asked('device-1', 'status')
    expect(outcome.returncode == 0 and outcome.stdout == b'state: recording\nevents: 12\n', f'{outcome}')
    outcome = asked('--json', 'device-0', 'status')
    expect(json.loads(outcome.stdout) == {'state': 'recording', 'events': '12'}, f'{outcome}')
    outcome = asked('device-1', 'mark', 'half', 'way')
    expect(outcome.returncode == 1 and b'mark half way' in outcome.stderr, f'{outcome}')
    while not (outcome := asked('simulated', 'status')).returncode:
        pass  # the other one was heard too late
    expect(outcome.returncode == 1 and b'several' in outcome.stderr, f'{outcome}')
    outcome = ctl('nobody', 'status')
    expect(outcome.returncode == 1 and b'announced' in outcome.stderr, f'{outcome}')
    outcome = asked('device-1', 'dump')
    expect(outcome.returncode == 1 and b'dump' in outcome.stderr, f'{outcome}')
    devices.end()
    devices = start_devices('--stay')
    address = f'127.0.0.1:{devices.wait_for(lambda line: True).split()[2]}'
    outcome = asked(address, 'status', HEAPSONDE_KEY_FILE='')
    expect(outcome.returncode == 0 and outcome.stdout == b'state: recording\nevents: 12\n', f'{outcome}')
    outcome = ctl(address, 'status')
    expect(outcome.returncode == 1 and b'key' in outcome.stderr, f'{outcome}')
    devices.end()
    # The port of the device may be another test's by now.
    outcome = ctl(next(own_addresses()), 'status', HEAPSONDE_KEY_FILE='')
    expect(outcome.returncode == 1 and b'refused' in outcome.stderr, f'{outcome}')
    outcome = ctl('192.0.2.1:9', 'status', HEAPSONDE_KEY_FILE='')
    expect(outcome.returncode == 1 and b'--key-file' in outcome.stderr, f'{outcome}')


def given_up():
    """A device that is gone for good: --once ends, and says so."""
    gather = Gather('--once', '--patience', '1500ms')
    devices = start_devices('--count', 3, '--size', 400000, '--pause', 200000, connect=gather.address,
                            stdin=subprocess.PIPE)
    devices.wait_for(lambda line: line == 'paused\n')
    devices.end(signal.SIGKILL)
    expect(gather.finish() == 1, f'gather ended with {gather.process.returncode}')
    summary = json.loads(gather.lines[-1])
    expect(summary['unfinished'] == 3 and '3 streams have not ended' in gather.complaints(), gather.complaints())
    expect(len(gather.traces()) == 3, 'what came is not there')


def lines():
    """What people read, in the open and on no terminal."""
    gather = Gather('--once', json_lines=False)
    succeed(start_devices('--count', 1, connect=gather.address))
    expect(gather.finish() == 0, 'failed')
    text = ''.join(gather.lines)
    expect('simulated (1) on device-0: began\n' in text and 'simulated (1) on device-0: ended, ' in text, text)
    expect('1 stream, 0 not ended; ' in text and '\033' not in text, text)


def terminal():
    """The table on a terminal names every stream and its state."""
    gather = Process(['script', '-qec', f'stty cols 140 rows 30; {COMMAND} gather --dir table --listen 127.0.0.1:0',
                      '/dev/null'], environment={'TERM': 'xterm'}, stdin=subprocess.PIPE)
    address = gather.wait_for(lambda line: 'listening on' in line).split()[-1]
    devices = start_devices('--count', 2, '--stay', connect=address)
    row = gather.wait_for(lambda line: line.startswith('simulated') and 'running' in line and 'KiB' in line)
    expect('device-0' in row or 'device-1' in row, row)
    gather.wait_for(lambda line: line.startswith('2 running of 2; '))
    devices.end()
    gather.wait_for(lambda line: line.startswith('simulated') and 'away' in line)


def begin_stream(gather):
    """A device whose trace has only its header until now, which gather has acknowledged."""
    trace_id = random.Random(SEED).randbytes(16)
    peer = Peer(gather.port).prove().stream(trace_id)
    peer.want()
    peer.data(0, make_header(trace_id))
    peer.acknowledged(4096)
    return peer


def clock_set_back():
    """What came is brought to the disk within the patience of this test, though the clock was set back by an hour."""
    synced = os.path.join(work, 'synced')
    gather = Gather(environment={'LD_PRELOAD': os.environ['HEAPSONDE_TEST_CLOCK_AHEAD'], 'TEST_SYNCED': synced})
    peer = begin_stream(gather)
    while not os.path.exists(synced):
        peer.frame(6)
        gather.event('status')  # one a second; patience ends it
        expect(len(gather.lines) < PATIENCE, 'nothing comes to the disk')
    gather.stop()


def stood_still():
    """A gather that did nothing for seconds has not asked anybody either: it asks before it takes a device for gone."""
    begin = os.path.join(work, 'stood-still')
    gather = Gather(environment={'LD_PRELOAD': os.environ['HEAPSONDE_TEST_CLOCK_AHEAD'], 'TEST_STOOD_STILL': begin})
    peer = begin_stream(gather)
    with open(begin, 'w', encoding='ascii'):
        pass
    peer.frame(PONG)
    for _ in range(2):  # the first one may be from before
        peer.wait_for(PING)
    peer.data(4096, bytes(1000))
    peer.acknowledged(5096)
    peer.close()
    gather.stop()


def second_client():
    """A device in another language, with a key."""
    key = make_key()
    gather = Gather('--once', '--key-file', key)
    trace_id = random.Random(SEED).randbytes(16)
    content = make_header(trace_id) + random.Random(SEED).randbytes(40000)
    peer = Peer(gather.port, read_key(key)).prove().stream(trace_id)
    expect(peer.want() == 0, 'nothing is there')
    for at in range(0, len(content), 9000):
        peer.data(at, content[at:at + 9000])
    peer.frame(99, b'of a later version')
    peer.finish(len(content))
    peer.acknowledged(len(content))
    peer.leave()
    gather.summary()
    with open(os.path.join(gather.folder, gather.traces()[0]), 'rb') as file:
        expect(file.read() == content, 'other bytes')


main({name: case for name, case in list(globals().items()) if callable(case)})
