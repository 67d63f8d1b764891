# SPDX-License-Identifier: MIT OR Apache-2.0
"""Peers that do everything wrong: each is refused and counted, and a good stream goes on beside them."""
import contextlib
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import time

from harness import (COMMAND, PATIENCE, SEED, Gather, Peer, Process, expect, main, make_header, make_key, read_key, start_devices, wait_until,
                     succeed, wire, work)
from check_common import descriptors_of, free_udp_port, memory_of

RANDOM = random.Random(SEED)


class Bystander:
    """Good streams that are in the middle when the others come, and have to arrive whole."""

    def __init__(self, gather, key=None):
        self.devices = start_devices('--count', 3, '--size', 300000, '--pause', 100000, '--verify', gather.folder,
                                     *(['--key', key] if key else []), connect=gather.address, stdin=subprocess.PIPE)
        self.devices.wait_for(lambda line: line == 'paused\n')

    def go_on(self):
        self.devices.process.stdin.write(b'go\n')
        self.devices.process.stdin.flush()
        succeed(self.devices)


def trace_id():
    return RANDOM.randbytes(16)


def strangers():
    """Who never proves to have the key."""
    key = make_key()
    gather = Gather('--key-file', key)
    bystander = Bystander(gather, key)
    began = time.monotonic()

    def refused_in_time(reason, count=1):
        """For this reason; if so much time has passed that some may not have been heard in time, for that one, too."""
        gather.refused(reason if time.monotonic() - began < 4 else (reason, 'slow'), count)
    for first in (b'GET / HTTP/1.0\r\n\r\n' + bytes(40), wire.hello(1, 1, bytes(32))[:8] + b'\2' + bytes(39),
                  RANDOM.randbytes(48)):
        peer = Peer(gather.port)
        peer.send(first)
        peer.is_closed()
    refused_in_time('no-hello', 3)
    peer = Peer(gather.port)
    peer.send(wire.hello(2, 1, bytes(32)))
    peer.is_closed()
    refused_in_time('no-device')
    peer = Peer(gather.port)
    peer.send(wire.hello(1, 0, bytes(32)))
    peer.is_closed()
    refused_in_time('other-security')
    for frame in (1, 2, 3):
        peer = Peer(gather.port, b'another key of 16 bytes or more').greet()
        peer.frame(frame)
        peer.is_closed()
    peer = Peer(gather.port, read_key(key)).greet()
    peer.send((16400).to_bytes(4, 'little') + bytes(20))
    peer.is_closed()
    # What was heard on an earlier connection proves nothing on this one.
    earlier = Peer(gather.port, read_key(key)).greet()
    proof = earlier.from_device.seal(1)
    later = Peer(gather.port, read_key(key)).greet()
    later.send(proof)
    later.is_closed()
    refused_in_time('wrong-key', 5)
    earlier.close()
    peer = Peer(gather.port)
    peer.send(wire.hello(1, 1, bytes(32))[:20])
    peer.close()
    gather.refused(('left', 'slow'), 2)  # the earlier one may have waited for too long
    bystander.go_on()
    expect(len(gather.traces()) == 3, 'a stranger has a file')
    gather.stop()


def slow():
    """Five seconds to prove oneself, and to say what one has."""
    gather = Gather()
    bystander = Bystander(gather)
    silent = Peer(gather.port)
    drip = Peer(gather.port).prove()
    drip.send(b'\x20')
    gather.refused('slow', 2)
    silent.is_closed()
    drip.is_closed()
    bystander.go_on()
    gather.stop()


def bad_frames(gather, key, reason, act):
    peer = Peer(gather.port, key).prove().stream(trace_id())
    expect(peer.want() == 0, 'nothing is there')
    act(peer)
    peer.is_closed()
    gather.refused(reason)


def frames():
    """After the proof, with a key."""
    path = make_key()
    key = read_key(path)
    gather = Gather('--key-file', path)
    bystander = Bystander(gather, path)

    def replayed(peer):
        frame = peer.from_device.seal(6)
        peer.send(frame + frame)

    def reordered(peer):
        first, second = peer.from_device.seal(6), peer.from_device.seal(6)
        peer.send(second + first)

    def altered(peer):
        frame = bytearray(peer.from_device.seal(3, bytes(108)))
        frame[50] ^= 1
        peer.send(bytes(frame))

    for count, act in enumerate((replayed, reordered, altered), 1):
        peer = Peer(gather.port, key).prove().stream(trace_id())
        peer.want()
        act(peer)
        peer.is_closed()
        gather.refused('bad-frame', count)
    bad_frames(gather, key, 'frame-size', lambda peer: peer.send((1 << 20).to_bytes(4, 'little') + bytes(1000)))
    bystander.go_on()
    gather.stop()


def order():
    """Frames at the wrong place, in the open."""
    gather = Gather()
    bystander = Bystander(gather)
    bad_frames(gather, None, 'offset', lambda peer: peer.data(8, bytes(100)))
    bad_frames(gather, None, 'frame-order', lambda peer: peer.stream(trace_id()))
    bad_frames(gather, None, 'frame-size', lambda peer: peer.frame(3, bytes(7)))
    bad_frames(gather, None, 'no-trace', lambda peer: peer.finish(0))
    peer = Peer(gather.port).prove()
    peer.data(0, bytes(100))
    peer.is_closed()
    gather.refused('frame-order', 2)
    peer = Peer(gather.port).prove()
    peer.frame(2, bytes(31))
    peer.is_closed()
    Peer(gather.port).prove().stream(trace_id(), oldest=2, newest=1).is_closed()
    peer = Peer(gather.port).prove()
    peer.frame(2, bytes(24) + bytes(8) + b'\xff\xff')
    peer.is_closed()
    gather.refused('bad-stream', 3)
    # A frame that was cut off, and bytes behind the end.
    peer = Peer(gather.port).prove().stream(trace_id())
    peer.want()
    peer.send(b'\x64\0\0\0\3')
    peer.close()
    wanted = trace_id()
    peer = Peer(gather.port).prove().stream(wanted)
    peer.want()
    peer.data(0, make_header(wanted))
    peer.finish(4096)
    peer.data(4096, bytes(8))
    peer.is_closed()
    gather.refused('frame-order', 3)
    # To have less than is stored already.
    Peer(gather.port).prove().stream(wanted, newest=4000).is_closed()
    gather.refused('less-than-stored')
    bystander.go_on()
    expect(len(gather.traces()) == 4, f'{gather.traces()}')
    gather.stop()


def headers():
    """What does not begin as the trace that was announced leaves no file."""
    gather = Gather()
    bystander = Bystander(gather)
    damaged = bytearray(make_header(trace_id()))
    damaged[30] ^= 1
    wanted = trace_id()
    for count, content in enumerate((bytes(4096), RANDOM.randbytes(5000), make_header(trace_id()), bytes(damaged)), 1):
        peer = Peer(gather.port).prove().stream(wanted)
        expect(peer.want() == 0, 'something is there')
        for at in range(0, len(content), 1000):
            peer.data(at, content[at:at + 1000])
        peer.is_closed()
        gather.refused('no-trace', count)
    bystander.go_on()
    expect(len(gather.traces()) == 3 and len(os.listdir(gather.folder)) == 5, f'{os.listdir(gather.folder)}')
    gather.stop()


def names():
    """No name of a device chooses where the host writes."""
    gather = Gather()
    elsewhere = os.path.join(work, 'elsewhere')
    with open(elsewhere, 'wb') as file:
        file.write(b'untouched')
    for name in ('../../escape', '/etc/passwd', '..', '.', '', 'a b\n\033[2J', 'x' * 4000, '\xff\0/..'):
        wanted = trace_id()
        content = make_header(wanted)
        pairs = {'executable': name, 'pid': '../7', 'device': name, 'labels': name}
        peer = Peer(gather.port).prove().stream(wanted, pairs=pairs)
        peer.want()
        peer.data(0, content)
        peer.finish(len(content))
        peer.acknowledged(len(content))
        peer.leave()
        gather.event('ended')
    wanted = trace_id()
    name = f'20231114_221320_7_peer_{wanted[:4].hex()}.dat'
    os.symlink(elsewhere, os.path.join(gather.folder, name))
    peer = Peer(gather.port).prove().stream(wanted)
    peer.want()
    peer.data(0, make_header(wanted))
    peer.acknowledged(4096)
    expect(gather.stop()['streams'] == 9, 'not all came')
    with open(elsewhere, 'rb') as file:
        expect(file.read() == b'untouched', 'a link was followed')
    for entry in os.scandir(gather.folder):
        expect(set(entry.name) <= set('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-'), entry.name)
        expect(len(entry.name) < 120, entry.name)
        if not entry.is_symlink():
            expect(entry.stat().st_mode & 0o777 == 0o600, f'{entry.name}: {entry.stat().st_mode:o}')
    expect(f'{name[:-4]}-1.dat' in gather.traces(), f'{gather.traces()}')
    expect(sorted(os.listdir(work)) == sorted({'traces', 'elsewhere'} | {name for name in os.listdir(work)
                                                                          if name.startswith('stderr-')}),
           f'{os.listdir(work)}')


def names_on_terminal():
    """Nothing that a device calls itself moves the cursor, makes a line of its own or turns the direction of writing."""
    gather = Process(['script', '-qec', f'stty cols 200 rows 30; {COMMAND} gather --dir table --listen 127.0.0.1:0', '/dev/null'],
                     environment={'TERM': 'xterm'}, stdin=subprocess.PIPE)
    port = int(gather.wait_for(lambda line: 'listening on' in line).split(':')[-1])
    hostile = ('a\033[2J', 'b\nc\rd', 'e\033]0;title\007', 'f\x9b2J', 'g\u202eh', 'i\0j', '\xff' * 400)
    peers = []
    for name in hostile:
        wanted = trace_id()
        pairs = {'executable': '/bin/' + name, 'pid': name, 'device': 'hostile' + name, 'labels': name}
        peers.append(Peer(port).prove().stream(wanted, pairs=pairs))
        peers[-1].want()
        peers[-1].data(0, make_header(wanted))
        peers[-1].acknowledged(4096)
    # Who was not heard for seconds is away by then; the row stays.
    gather.wait_for(lambda line: f' running of {len(hostile)}; ' in line)
    text = ''.join(gather.lines)
    for bad in ('\033[2J', '\033]', '\007', '\x9b', '\u202e', '\0', 'b\n', 'b\r'):
        expect(bad not in text, f'{bad!r} is on the terminal: {text!r}')
    expect(text.count('hostile') >= len(hostile), 'their rows are not there')
    gather.process.stdin.write(b'\x03')
    gather.process.stdin.flush()


def dump(number, text, letter='m', last=True, start=0):
    """Its pieces, of three bytes each at least."""
    step = max(3, len(text) // 4)
    pieces = b''.join(wire.chunk(9, text[at:at + step], 0, number, ord(letter), start + at)
                      for at in range(0, len(text), step))
    return pieces + (wire.chunk(9, b'', 16, number, ord(letter), start + len(text)) if last else b'')


def dumps_in(folder):
    """The files of a stream that has ended. A dump has its name when it is on the disk, which the stream does not wait for."""
    wait_until(lambda: not any(name.startswith('.heapsonde-new') for name in os.listdir(folder)), 'dumps get no names')
    return sorted(os.listdir(folder))


def send_stream(gather, wanted, content, end=True, have=0):
    peer = Peer(gather.port).prove().stream(wanted, pairs={'executable': '/bin/../peer', 'pid': '7', 'shim': 'sampler'})
    peer.want()
    for at in range(have, len(content), 16000):
        peer.data(at, content[at:at + 16000])
    if end:
        peer.finish(len(content))
    peer.acknowledged(len(content))
    return peer


def dumps():
    """Of dumps that are broken off, damaged, numbered twice or of no kind there is either nothing or a file with a safe name."""
    gather = Gather()
    wanted = trace_id()
    folder = os.path.join(gather.folder, f'20231114_221320_7_peer_{wanted[:4].hex()}')
    damaged = bytearray(dump(5, b'damaged dump'))
    damaged[56] ^= 1
    content = make_header(wanted, content=1) + b''.join([
        dump(1, b'first'), dump(2, b'broken off', last=False), dump(3, b'third' * 20000, 'f'), dump(1, b'another first'),
        dump(4, b'no such kind', '/'), bytes(damaged), dump(6, b'from the middle', start=10), wire.chunk(77, b'unknown'),
        dump(4294967295, b'the last number', 'i'), dump(7, b''), wire.chunk(9, b'7 with bytes', 16, 7, 109, 0), dump(8, b'eighth', 'u')])
    send_stream(gather, wanted, content).leave()
    ended = gather.event('ended')
    expect(ended['file'] == os.path.basename(folder), f'{ended}')
    found = {}
    for name in dumps_in(folder):
        with open(os.path.join(folder, name), 'rb') as file:
            found[name] = file.read()
    expect(found == {'1.m.heap': b'first', '3.f.heap': b'third' * 20000, '4.x.heap': b'no such kind',
                     '4294967295.i.heap': b'the last number', '8.u.heap': b'eighth'}, f'{sorted(found.items())}')
    expect(all(os.stat(os.path.join(folder, name)).st_mode & 0o777 == 0o600 for name in found), 'others may read it')
    status = os.stat(folder + '.stream')
    expect(status.st_size == len(content), 'the stream has another length')
    wait_until(lambda: os.stat(folder + '.stream').st_blocks * 512 < len(content), 'the room of dumps is not given back')
    gather.stop()


def dumps_stuck():
    """A disk that takes no dump keeps nobody else waiting, and no dump is taken for one that is on it."""
    moves = os.path.join(work, 'moves')
    gather = Gather(environment={'LD_PRELOAD': os.environ['HEAPSONDE_TEST_STUCK_DISK'], 'TEST_DISK_MOVES': moves})
    peers = []
    for content in (b'first', b'second'):
        wanted = trace_id()
        content = make_header(wanted, content=1) + dump(1, content * 1000)
        peer = Peer(gather.port).prove().stream(wanted)
        peer.want()
        peer.data(0, content)
        peer.acknowledged(len(content))
        peers.append((peer, len(content)))
    with open(os.path.join(gather.folder, '.heapsonde-gather')) as journal:
        expect('dumps ' not in journal.read(), 'the journal speaks of dumps that are not on the disk')
    with open(moves, 'w'):
        pass
    for peer, length in peers:
        peer.finish(length)
        peer.acknowledged(length)
        peer.leave()
        gather.event('ended')
    gather.stop()
    with open(os.path.join(gather.folder, '.heapsonde-gather')) as journal:
        expect(journal.read().count('dumps ') == 2, 'the journal does not speak of both dumps')


def dumps_elsewhere():
    """A link where the folder should be is not followed; the stream goes on once it is gone, also while the host still has
    its file open."""
    gather = Gather()
    wanted = trace_id()
    folder = os.path.join(gather.folder, f'20231114_221320_7_peer_{wanted[:4].hex()}')
    elsewhere = os.path.join(work, 'elsewhere')
    os.mkdir(elsewhere)
    os.symlink(elsewhere, folder)
    content = make_header(wanted, content=1) + dump(1, b'first') + dump(2, b'second' * 5000)
    peer = Peer(gather.port).prove().stream(wanted)
    peer.want()
    peer.data(0, content[:8000])
    gather.event('refused', reason='file')
    peer.close()
    expect(not os.listdir(elsewhere), 'a link was followed')
    os.unlink(folder)
    peer = Peer(gather.port).prove().stream(wanted)
    have = peer.want()
    peer.data(have, content[have:have + 16000])
    peer.data(have + 16000, content[have + 16000:])
    peer.finish(len(content))
    peer.acknowledged(len(content))
    peer.leave()
    gather.event('ended')
    expect(dumps_in(folder) == ['1.m.heap', '2.m.heap'], f'{os.listdir(folder)}')
    gather.stop()


def kill_in_second_dump():
    """The gather that was killed, the trace, the folder of its dumps, what its stream has in all and how much of it came."""
    first = Gather()
    wanted = trace_id()
    folder = os.path.join(first.folder, f'20231114_221320_7_peer_{wanted[:4].hex()}')
    content = make_header(wanted, content=1) + dump(1, b'first' * 9000) + dump(2, b'second' * 9000)
    cut = len(content) - 20000
    send_stream(first, wanted, content[:cut], end=False)
    journal = os.path.join(first.folder, '.heapsonde-gather')
    while 'dumps ' not in open(journal, encoding='ascii').read():  # on the disk
        first.event('status')  # one a second; patience ends it
    expect(os.listdir(folder) == ['1.m.heap'], f'{os.listdir(folder)}')
    first.end(signal.SIGKILL)
    return first, wanted, folder, content, cut


def dumps_resumed():
    """gather is killed in the middle of a dump; what was taken away by then is not made again."""
    first, wanted, folder, content, cut = kill_in_second_dump()
    os.unlink(os.path.join(folder, '1.m.heap'))
    second = Gather('--quota', str(len(content) + 2000), '--quota-remove-oldest')
    send_stream(second, wanted, content, have=cut).leave()
    expect(second.event('ended')['dumps'] == 2, 'not two')
    expect(dumps_in(folder) == ['2.m.heap'], f'{os.listdir(folder)}')
    other = trace_id()
    send_stream(second, other, make_header(other, content=1) + dump(1, b'of another' * 5000)).leave()
    second.event('ended')
    expect(not os.path.exists(folder) and not os.path.exists(folder + '.stream'), 'the quota does not remove dumps')
    second.stop()


def dumps_counted():
    """Dumps that have become files count, also when the journal has not heard of them."""
    first, wanted, folder, content, cut = kill_in_second_dump()
    journal = os.path.join(first.folder, '.heapsonde-gather')
    with open(journal, encoding='ascii') as file:
        lines = file.readlines()
    expect(any(line.startswith('dumps ') for line in lines), f'{lines}')
    with open(journal, 'w', encoding='ascii') as file:
        file.writelines(line for line in lines if not line.startswith('dumps '))
    second = Gather()
    send_stream(second, wanted, content, have=cut).leave()
    expect(second.event('ended')['dumps'] == 2, 'not two')
    expect(dumps_in(folder) == ['1.m.heap', '2.m.heap'], f'{os.listdir(folder)}')
    second.stop()


def crowd():
    """Ten thousand connections, of which none proves anything."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    count = min(10000, hard - 200)
    gather = Gather()
    bystander = Bystander(gather)
    before = memory_of(gather)
    crowd_of = []
    began = time.monotonic()
    for number in range(count):
        peer = socket.socket()
        peer.bind((f'127.0.{number % 7}.{1 + number % 200}', 0))
        peer.settimeout(PATIENCE)
        peer.connect(('127.0.0.1', gather.port))
        crowd_of.append(peer)
    took = time.monotonic() - began
    bystander.go_on()
    # A new one gets in, too.
    wanted = trace_id()
    peer = Peer(gather.port).prove().stream(wanted)
    peer.want()
    peer.data(0, make_header(wanted))
    peer.finish(4096)
    peer.acknowledged(4096)
    peer.leave()
    expect(descriptors_of(gather) < 1200, f'{descriptors_of(gather)} descriptors')
    expect(memory_of(gather) < before + 16384, f'{memory_of(gather)} KiB, {before} before')
    # Where it takes long until all are there, some have been slow before they are in the way.
    refused = gather.refused(('crowded', 'slow'), count - 1100)['refused']
    # Of those that come slowly none is in the way: each is sent away before there are too many.
    expect(refused.get('crowded') or took > 20, f'{refused}')
    for peer in crowd_of:
        peer.close()
    gather.stop()


def flood():
    """Peers that send as much as they can: frames without meaning, and streams that are not read from."""
    gather = Gather()
    bystander = Bystander(gather)
    before = memory_of(gather)
    unknown = wire.Direction().seal(200, bytes(16000))
    peers = [Peer(gather.port).prove().stream(trace_id()) for _ in range(20)]
    for _ in range(100):
        for peer in peers:
            with contextlib.suppress(ConnectionError):  # who was not heard for seconds is taken for gone
                peer.send(unknown + unknown)
    bystander.go_on()
    expect(memory_of(gather) < before + 16384, f'{memory_of(gather)} KiB, {before} before')
    for peer in peers:
        peer.close()
    gather.stop()


def announcements():
    """Forged ones: a bounded table, bounded dialling, and the true ones are heard."""
    port = free_udp_port()
    gather = Gather('--select', 'not device == forged or device == forged', listen=None,
                    environment={'HEAPSONDE_ANNOUNCE_PORT': str(port)})
    gather.event('status')  # from now on it hears
    forger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    forger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # its port may be the one at which another test's gather hears
    forger.bind(('127.0.0.9', 0))
    body = wire.pack_pairs({'device': 'forged', 'executable': '/bin/forged', 'pid': '1'})
    devices = start_devices('--count', 3, '--announce', port, '--verify', gather.folder)
    before = None
    for number in range(20000):
        forger.sendto(wire.announcement(trace_id() + (9).to_bytes(2, 'little') + bytes(8) + body),
                      ('127.0.0.1', port))
        if number == 200:
            before = memory_of(gather)
        if number % 1000 == 0:
            forger.sendto(RANDOM.randbytes(100), ('127.0.0.1', port))
            forger.sendto(bytes(1400), ('127.0.0.1', port))
    succeed(devices)
    gather.refused('bad-announcement', 2)
    expect(memory_of(gather) < before + 16384, f'{memory_of(gather)} KiB, {before} before')
    expect(descriptors_of(gather) < 300, f'{descriptors_of(gather)} descriptors')
    gather.stop()


def quota():
    """What would be more is refused, and what is there stays whole."""
    gather = Gather('--quota', '100K')
    content = {}
    for number in range(5):
        wanted = trace_id()
        content[wanted] = make_header(wanted) + bytes([number]) * 30000
        peer = Peer(gather.port).prove().stream(wanted, pairs={'device': f'd{number}', 'executable': 'q'})
        if number < 3:
            peer.want()
            peer.data(0, content[wanted][:16000])
            peer.data(16000, content[wanted][16000:32000])
            peer.data(32000, content[wanted][32000:])
            peer.finish(len(content[wanted]))
            peer.acknowledged(len(content[wanted]))
            peer.leave()
        else:
            peer.is_closed()
            gather.event('refused', reason='quota', device=f'd{number}')
    expect(len(gather.traces()) == 2 or len(gather.traces()) == 3, f'{gather.traces()}')
    summary = gather.stop()
    expect(summary['refused']['quota'] >= 2 and summary['stored'] <= 102400, f'{summary}')


def disk_full():
    """A stream for which there is no room is refused, and goes on where it was once there is some."""
    folder = os.path.join(work, 'small')
    os.mkdir(folder)
    own = ['unshare', '--mount', 'sh', '-c', f'mount -t tmpfs -o size=256k none {folder} && exec "$@"', 'sh']
    if subprocess.run([*own, 'true'], check=False, capture_output=True).returncode != 0:
        print('SKIPPED: no file systems of our own here')
        sys.exit(77)
    gather = Gather(folder='small', inside=own)
    gather.folder = f'/proc/{gather.process.pid}/root{folder}'
    fill(gather, 'small', 100000)
    first, = gather.traces()
    wanted = trace_id()
    content = make_header(wanted) + RANDOM.randbytes(196000)
    peer = Peer(gather.port).prove().stream(wanted)
    expect(peer.want() == 0, 'something is there')
    for at in range(0, len(content), 16000):
        try:
            peer.data(at, content[at:at + 16000])
        except OSError:
            break
    peer.is_closed()
    gather.refused('file')
    # What came is there, and others are not disturbed.
    with open(os.path.join(gather.folder, first), 'rb') as file:
        expect(len(file.read()) == 100000, 'the whole trace is not whole any more')
    second, = (name for name in gather.traces() if name != first)
    with open(os.path.join(gather.folder, second), 'rb') as file:
        expect(content.startswith(file.read()), 'other bytes')
    os.unlink(os.path.join(gather.folder, first))
    wait_for_room(gather, len(content) - os.path.getsize(os.path.join(gather.folder, second)))
    peer = Peer(gather.port).prove().stream(wanted)
    have = peer.want()
    expect(4096 <= have < len(content), f'it goes on at {have}')
    for at in range(have, len(content), 16000):
        peer.data(at, content[at:at + 16000])
    peer.finish(len(content))
    peer.acknowledged(len(content))
    peer.leave()
    gather.event('ended', pid='7')
    with open(os.path.join(gather.folder, second), 'rb') as file:
        expect(file.read() == content, 'other bytes in the end')
    gather.stop()


def wait_for_room(gather, bytes_needed):
    """A file that was taken away makes room only when gather has closed it, which it does once a second."""
    while room_in(gather.folder) < bytes_needed:
        gather.event('status')  # one a second; patience ends it
        expect(len(gather.lines) < PATIENCE, f'{room_in(gather.folder)} bytes of room')


def room_in(folder):
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


def fill(gather, device, size, refused=None):
    wanted = trace_id()
    content = make_header(wanted) + bytes(size - 4096)
    peer = Peer(gather.port).prove().stream(wanted, pairs={'device': device, 'executable': device})
    try:
        peer.want()
        for at in range(0, size, 16000):
            peer.data(at, content[at:at + 16000])
        peer.finish(size)
        if not refused:
            peer.acknowledged(size)
            peer.leave()
    except (ConnectionResetError, BrokenPipeError):
        expect(refused, f'{device} was refused')
    if refused:
        peer.is_closed()
    return gather.event('refused', reason=refused, device=device) if refused else gather.event('ended', device=device)


def quota_to_the_end():
    """What fits is taken, also when all of it comes at once."""
    wanted = trace_id()
    content = make_header(wanted) + RANDOM.randbytes(12000)
    gather = Gather('--quota', str(len(content)))
    send_stream(gather, wanted, content).leave()
    expect(gather.event('ended')['bytes'] == len(content), 'not all of it')
    gather.stop()


def quota_of_device():
    """One device's is its own, also after the host's restart."""
    gather = Gather('--quota-per-device', '100K')
    fill(gather, 'greedy', 60000)
    fill(gather, 'greedy', 60000, refused='device-quota')
    fill(gather, 'modest', 60000)
    first = {name: os.path.getsize(os.path.join(gather.folder, name)) for name in gather.traces()}
    expect(sum(first.values()) <= 60000 + 102400, f'{first}')
    gather.stop()
    gather = Gather('--quota-per-device', '100K')
    fill(gather, 'greedy', 60000, refused='device-quota')
    fill(gather, 'new', 60000)
    gather.stop()


def running_stream(gather):
    wanted = trace_id()
    peer = Peer(gather.port).prove().stream(wanted)
    peer.want()
    peer.data(0, make_header(wanted))
    peer.acknowledged(4096)
    return peer


def quota_removes():
    """With --quota-remove-oldest what has ended makes room; what runs stays."""
    gather = Gather('--quota', '200K', '--quota-remove-oldest')
    bystander = running_stream(gather)
    for number in range(8):
        fill(gather, f'd{number}', 50000)
    traces = gather.traces()
    expect(any('_peer_' in name for name in traces), 'a running trace was removed')
    expect(any('_d7_' in name for name in traces) and not any('_d0_' in name for name in traces), f'{traces}')
    bystander.close()
    summary = gather.stop()
    expect(summary['removed'] >= 4 and summary['stored'] <= 204800 and 'quota' not in summary['refused'], f'{summary}')


def complain(*words, environment=None):
    outcome = subprocess.run([COMMAND, 'gather', *words], check=False, capture_output=True, timeout=PATIENCE, cwd=work,
                             env=dict({name: value for name, value in os.environ.items()
                                       if not name.startswith('HEAPSONDE_')}, **(environment or {})))
    return outcome.returncode, outcome.stderr.decode()


def usage():
    """What is wrong is said, and nothing listens or dials beyond this machine in the open."""
    for words in (['--listen', '0.0.0.0:0'], ['--listen', '[::]:0'], ['192.0.2.1:8100']):
        status, text = complain(*words)
        expect(status == 1 and '--key-file' in text and '--insecure' in text, f'{words} {status} {text}')
    status, text = complain('--select', 'name ==')
    expect(status == 1 and 'at character 8: a value has to follow' in text, text)
    status, text = complain('--listen', 'nonsense')
    expect(status == 1 and 'is not an address' in text, text)
    key = make_key()
    status, text = complain('--insecure', '--key-file', key, '--listen', '127.0.0.1:0')
    expect(status == 2 and 'exclude' in text, text)
    os.chmod(key, 0o640)
    status, text = complain('--key-file', key, '--listen', '127.0.0.1:0')
    expect(status == 1 and 'chmod 600' in text, text)
    status, text = complain('--key-file', 'missing', '--listen', '127.0.0.1:0')
    expect(status == 1 and 'missing cannot be read' in text, text)
    status, text = complain('--dir', '/proc/1/nothing', '--listen', '127.0.0.1:0')
    expect(status == 1 and '/proc/1/nothing' in text, text)
    gather = Gather()
    status, text = complain('--dir', gather.folder, '--listen', '127.0.0.1:0')
    expect(status == 1 and 'another heapsonde gather' in text, text)
    status, text = complain('--dir', 'other', '--listen', gather.address)
    expect(status == 1 and 'cannot listen on' in text, text)
    gather.stop()
    gather = Gather('--insecure')
    expect('can read, change and command' in gather.complaints(), gather.complaints())
    gather.stop()


main({name: case for name, case in list(globals().items()) if callable(case)})
