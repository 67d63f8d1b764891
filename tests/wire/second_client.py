#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""A second client of the wire, from docs/protocol.md alone: it plays the host, or a device that streams a file.

  second_client.py host --connect HOST:PORT --key-file KEY -o TRACE     takes a whole stream
  second_client.py host --connect HOST:PORT --request status            asks
  second_client.py host --listen 127.0.0.1:0 -o TRACE                   waits for devices that dial
  second_client.py device TRACE --listen 127.0.0.1:0                    streams a file's bytes
  second_client.py device TRACE --connect HOST:PORT --cut 5000,90000    and loses its connection twice
  second_client.py host --connect HOST:PORT --attack replay             does what must end a connection

Who listens says so first: a line {"listening": PORT}. The last line is a JSON object that says what happened. The exit
status is 0 when the stream was whole, the requests were answered, or the attack was repelled; 1 otherwise.
"""
import argparse
import json
import os
import random
import socket
import struct
import sys
import threading
import time

sys.dont_write_bytecode = True
import second_wire as wire  # noqa: E402

HANDSHAKE_LIMIT = 5
SILENCE_LIMIT = 4
MARGIN = 4  # for slow machines: what ends a connection has to do so in the limit and this
CHUNK = wire.PAYLOAD_MAX - 8


class Closed(Exception):
    """The other side has closed the connection."""


def number(text, size=8):
    if len(text) < size:
        raise wire.WireError('a payload that is too short')
    return int.from_bytes(text[:size], 'little')


def offset_of(value):
    return struct.pack('<Q', value)


class Connection:
    """Frames over a socket. `limit` seconds without a byte end it."""

    def __init__(self, sock, role, key=None, limit=SILENCE_LIMIT):
        self.sock, self.role, self.key, self.limit = sock, role, key, limit
        self.buffer = bytearray()
        self.own_hello = self.other_hello = self.incoming = self.outgoing = None
        self.heard = time.monotonic()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    # -- bytes

    def write(self, data):
        try:
            self.sock.settimeout(30)
            self.sock.sendall(data)
        except OSError as error:
            raise Closed(str(error)) from error

    def fill(self, size, wait):
        """Whether `size` bytes are there, after `wait` seconds at most."""
        until = time.monotonic() + wait
        while len(self.buffer) < size:
            self.sock.settimeout(max(until - time.monotonic(), 0.0001))
            try:
                got = self.sock.recv(1 << 18)
            except (TimeoutError, socket.timeout):
                if time.monotonic() - self.heard > self.limit:
                    raise Closed('silent') from None
                if time.monotonic() >= until:
                    return False
                continue
            except OSError as error:
                raise Closed(str(error)) from error
            if not got:
                raise Closed('end of file')
            self.heard = time.monotonic()
            self.buffer += got
        return True

    def take(self, size):
        taken = bytes(self.buffer[:size])
        del self.buffer[:size]
        return taken

    # -- hello, AUTH, frames

    def say_hello(self, **other):
        values = {'role': self.role, 'security': wire.SHARED_KEY if self.key else wire.OPEN,
                  'random': os.urandom(32), **other}
        self.own_hello = wire.hello(**values)
        self.write(self.own_hello)

    def hear_hello(self):
        if not self.fill(wire.HELLO_SIZE, HANDSHAKE_LIMIT):
            raise Closed('no hello')
        self.other_hello = self.take(wire.HELLO_SIZE)
        role, security = wire.read_hello(self.other_hello)
        if role == self.role or (security == wire.SHARED_KEY) != bool(self.key):
            raise wire.WireError('does not fit: another role or security is needed')
        self.derive(self.key)

    def derive(self, key):
        hellos = [self.own_hello, self.other_hello]
        if self.role == wire.HOST:
            hellos.reverse()
        keys = list(wire.connection_keys(key, *hellos) if key else (None, None))
        if self.role == wire.HOST:
            keys.reverse()
        self.outgoing, self.incoming = map(wire.Direction, keys)

    def handshake(self):
        self.say_hello()
        self.hear_hello()
        self.send(wire.AUTH)
        frame = self.receive(HANDSHAKE_LIMIT)
        if frame is None or frame[0] != wire.AUTH:
            raise wire.WireError('the first frame has to be AUTH')

    def send(self, kind, payload=b''):
        self.write(self.outgoing.seal(kind, payload))

    def receive(self, wait):
        """The next frame as (kind, payload), or None."""
        frame = self.receive_frame(wait)
        return frame and self.incoming.open(frame)

    def receive_frame(self, wait):
        if not self.fill(4, wait):
            return None
        size = self.incoming.body_size(bytes(self.buffer[:4]))
        if not self.fill(4 + size, wait):
            return None
        return self.take(4 + size)

    def close(self, abruptly=False):
        if abruptly:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.sock.close()


class Sockets:
    """Connected sockets, one after the other, by dialling or by listening."""

    def __init__(self, options):
        self.options = options
        self.listener = None
        self.count = 0
        if options.listen:
            self.listener = socket.create_server(options.listen, family=family_of(options.listen), backlog=1024)
            say({'listening': self.listener.getsockname()[1]})

    def next(self):
        self.count += 1
        until = time.monotonic() + self.options.patience
        if self.listener:
            self.listener.settimeout(self.options.patience)
            return self.listener.accept()[0]
        while True:
            try:
                return socket.create_connection(self.options.connect, timeout=1)
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(self.options.retry)


def family_of(address):
    return socket.AF_INET6 if ':' in address[0] else socket.AF_INET


def say(what):
    print(json.dumps(what), flush=True)


# ---- the host ----


class Host:
    """Takes one stream into a file, over as many connections as it takes."""

    def __init__(self, options):
        self.options = options
        self.key = options.key
        self.file = None
        self.have = 0
        if options.output:
            self.file = open(options.output, 'r+b' if os.path.exists(options.output) else 'w+b')
            self.have = self.file.seek(0, os.SEEK_END)
        self.acknowledged = self.have
        self.cuts = sorted(options.cut)
        self.stalls = sorted(options.stall)
        self.ends_to_lose = options.lose_end
        self.requests = list(options.request)
        self.sent_requests = 0
        self.body = b''
        self.result = {'ended': False, 'refused': None, 'answers': [], 'lost_connections': 0, 'pongs': 0,
                       'most_unacknowledged': 0}

    def run(self):
        sockets = Sockets(self.options)
        while not self.is_done():
            connection = Connection(sockets.next(), wire.HOST, self.key)
            try:
                connection.handshake()
                self.session(connection)
            except (Closed, wire.WireError) as error:
                self.result['lost_connections'] += 1
                self.result['last_error'] = str(error)
                if sockets.count >= self.options.connections:
                    break
            finally:
                connection.close()
        self.result.update(connections=sockets.count, bytes=self.have)
        say(self.result)
        return 0 if self.is_done() and not self.result['refused'] else 1

    def is_done(self):
        if self.result['refused'] is not None:
            return True
        answered = len(self.result['answers']) == len(self.requests)
        return answered and (self.result['ended'] or not self.file)

    def session(self, connection):
        self.sent_requests = len(self.result['answers'])
        self.body = b''
        next_ping = time.monotonic() + 1
        while not self.is_done():
            self.ask(connection)
            frame = connection.receive(0.05)
            if frame is None:
                self.acknowledge(connection)
            else:
                self.act(connection, *frame)
            self.suffer(connection)
            if time.monotonic() >= next_ping:
                next_ping = time.monotonic() + 1
                connection.send(wire.PING)
        if self.result['ended']:
            self.wait_for_the_end(connection)

    def wait_for_the_end(self, connection):
        """After its last acknowledgement the device closes."""
        try:
            while connection.receive(HANDSHAKE_LIMIT):
                pass
            self.result['ended'] = False
            self.result['last_error'] = 'the device has not closed'
        except Closed:
            pass

    def ask(self, connection):
        """One request after the other's answer."""
        if self.sent_requests == len(self.result['answers']) < len(self.requests):
            text = self.requests[self.sent_requests].encode()
            connection.send(wire.REQUEST, struct.pack('<I', self.sent_requests) + text)
            self.sent_requests += 1

    def act(self, connection, kind, payload):
        if kind == wire.STREAM:
            self.begin(connection, payload)
        elif kind == wire.DATA:
            self.store(connection, number(payload), payload[8:])
        elif kind == wire.END:
            if number(payload) != self.have:
                raise wire.WireError(f'the end is at {number(payload)}, but there are {self.have} bytes')
            if self.ends_to_lose:
                self.ends_to_lose -= 1
                connection.close(abruptly=True)
                raise Closed('the end is lost')
            self.result['ended'] = True
            self.acknowledge(connection, again=True)
        elif kind == wire.ANSWER:
            asked, status = struct.unpack_from('<II', payload)
            self.result['answers'].append({'number': asked, 'status': status, 'text': payload[8:].decode(),
                                           'body': self.body.decode(errors='replace')})
            self.body = b''
        elif kind == wire.PART:
            if number(payload, 4) != len(self.result['answers']):
                raise wire.WireError('a part of an answer that is not due')
            self.body += payload[4:]
        elif kind == wire.REFUSED and self.file:
            self.result['refused'] = payload.decode()
        elif kind == wire.PONG:
            self.result['pongs'] += 1

    def begin(self, connection, payload):
        trace, oldest, newest = struct.unpack_from('<16sQQ', payload)
        if self.result.get('trace', trace.hex()) != trace.hex():
            raise wire.WireError('another trace than before')
        self.result.update(trace=trace.hex(), oldest=oldest, newest=newest, pairs=wire.read_pairs(payload[32:]))
        if self.file:
            connection.send(wire.WANT, offset_of(self.have))
            self.acknowledged = min(oldest, self.have)
            self.acknowledge(connection)

    def store(self, connection, offset, data):
        if offset != self.have:
            raise wire.WireError(f'bytes of {offset} came where {self.have} was next')
        self.file.seek(offset)
        self.file.write(data)
        self.have += len(data)
        unacknowledged = self.have - self.acknowledged
        self.result['most_unacknowledged'] = max(self.result['most_unacknowledged'], unacknowledged)
        if unacknowledged >= self.options.acknowledge:
            self.acknowledge(connection)

    def acknowledge(self, connection, again=False):
        if again or self.have > self.acknowledged:
            self.file.flush()
            connection.send(wire.ACK, offset_of(self.have))
            self.acknowledged = self.have

    def suffer(self, connection):
        """What the test asked for."""
        if self.stalls and self.have >= self.stalls[0][0]:
            time.sleep(self.stalls.pop(0)[1])
            connection.heard = time.monotonic()
        if self.cuts and self.have >= self.cuts[0]:
            self.cuts.pop(0)
            connection.close(abruptly=True)
            raise Closed('cut')


# ---- a device ----


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def with_trace_id(content, trace):
    """The file with another identity (docs/format.md, 2)."""
    head = content[:40] + trace + content[56:252]
    return head + struct.pack('<I', crc32c(head)) + content[256:]


class Device:
    """Streams the bytes of a file, as if a program were writing them."""

    def __init__(self, options, content, index=0):
        self.options, self.content, self.key = options, content, options.key
        self.trace = content[40:56]
        self.acknowledged = 0
        self.sent = None  # nothing is wanted
        self.end_told = False
        self.cuts = sorted(options.cut)
        self.began = time.monotonic()
        self.pairs = {'executable': '/usr/bin/simulated', 'pid': str(4000 + index), 'device': f'simulated{index}',
                      'labels': '', 'machine': str(struct.unpack_from('<H', content, 20)[0]),
                      'since': str(struct.unpack_from('<Q', content, 64)[0]), 'policy': 'block',
                      **dict(options.pair)}
        self.result = {'ended': False, 'lost_connections': 0, 'refusals': 0, 'requests': []}

    def run(self, sockets):
        count = 0
        while not self.result['ended']:
            count += 1
            connection = Connection(sockets.next(), wire.DEVICE, self.key)
            try:
                connection.handshake()
                self.session(connection)
            except (Closed, wire.WireError) as error:
                self.result['lost_connections'] += 1
                self.result['last_error'] = str(error)
                if count >= self.options.connections:
                    break
            finally:
                connection.close()
        self.result.update(connections=count, bytes=self.acknowledged, trace=self.trace.hex())
        return self.result

    def session(self, connection):
        self.sent, self.end_told = None, False
        connection.send(wire.STREAM, self.trace + struct.pack('<QQ', self.acknowledged, self.there()) +
                        wire.pack_pairs(self.pairs))
        while not self.result['ended']:
            frame = connection.receive(0 if self.has_something() else 0.02)
            if frame:
                self.act(connection, *frame)
            elif self.has_something():
                self.send_data(connection)
            elif self.sent == len(self.content) and not self.end_told and not self.options.hold:
                self.end_told = True
                connection.send(wire.END, offset_of(self.sent))

    def there(self):
        """How many bytes the program has written."""
        if not self.options.pace:
            return len(self.content)
        return min(len(self.content), 4096 + int((time.monotonic() - self.began) * self.options.pace))

    def has_something(self):
        return self.sent is not None and self.sent < self.there()

    def send_data(self, connection):
        data = self.content[self.sent:min(self.there(), self.sent + CHUNK)]
        connection.send(wire.DATA, offset_of(self.sent) + data)
        self.sent += len(data)
        if self.cuts and self.sent >= self.cuts[0]:
            self.cuts.pop(0)
            connection.close(abruptly=True)
            raise Closed('cut')

    def act(self, connection, kind, payload):
        if kind == wire.WANT:
            self.want(connection, number(payload))
        elif kind == wire.ACK:
            if self.sent is None or number(payload) > self.sent:
                raise wire.WireError('more is acknowledged than was sent')
            self.acknowledged = max(self.acknowledged, number(payload))
            self.result['ended'] = self.acknowledged == len(self.content) and self.end_told
        elif kind == wire.REQUEST:
            asked, text = number(payload, 4), payload[4:].decode()
            self.result['requests'].append(text)
            known = text.split(' ')[0] in ('status', 'start', 'stop', 'mark', 'flush')
            answer = f'state: simulated\nacknowledged: {self.acknowledged}\n' if text == 'status' else ''
            connection.send(wire.ANSWER, struct.pack('<II', asked, 0 if known else 22) + answer.encode())
        elif kind == wire.PING:
            connection.send(wire.PONG)

    def want(self, connection, offset):
        if self.sent is not None:
            raise wire.WireError('WANT comes once')
        if self.acknowledged <= offset <= self.there():
            self.sent = offset
        else:
            self.result['refusals'] += 1
            connection.send(wire.REFUSED, b'these bytes are not held any more')


class Announcer(threading.Thread):
    """Says once a second where a device listens."""

    def __init__(self, device, address, port):
        super().__init__(daemon=True)
        self.device, self.address, self.port = device, address, port

    def run(self):
        sock = socket.socket(family_of(self.address), socket.SOCK_DGRAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        body = (self.device.trace + struct.pack('<HQ', self.port, int(self.device.pairs['since'])) +
                wire.pack_pairs(self.device.pairs))
        while not self.device.result['ended']:
            sock.sendto(wire.announcement(body, self.device.key, os.urandom(12)), self.address)
            time.sleep(1)


def run_devices(options):
    with open(options.file, 'rb') as file:
        content = file.read()
    numbers = random.Random(options.seed)
    devices = []
    for index in range(options.devices):
        fresh = options.fresh_trace or options.devices > 1
        trace = numbers.randbytes(16) if fresh else content[40:56]
        devices.append(Device(options, with_trace_id(content, trace) if fresh else content, index))
    threads = []
    for device in devices:
        sockets = Sockets(options)
        if options.announce:
            Announcer(device, options.announce, sockets.listener.getsockname()[1]).start()
        threads.append(threading.Thread(target=lambda d=device, s=sockets: say(d.run(s))))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 0 if all(device.result['ended'] for device in devices) else 1


# ---- what must end a connection, from either side ----


class Attack:
    """Each method does one thing that the other side has to answer by closing, in `seconds` and the margin."""

    def __init__(self, options, role):
        self.options, self.role, self.numbers = options, role, random.Random(options.seed)
        self.seconds = 0
        self.connection = None

    def connect(self, sockets):
        self.connection = Connection(sockets.next(), self.role, self.options.key, limit=60)

    # -- before the hellos

    def silent(self):
        """Nothing comes."""
        self.seconds = HANDSHAKE_LIMIT

    def slow(self):
        """One byte of the hello every half second."""
        self.seconds = HANDSHAKE_LIMIT
        began = time.monotonic()
        for byte in wire.hello(self.role, wire.OPEN, bytes(32)):
            if time.monotonic() - began > HANDSHAKE_LIMIT + MARGIN:
                return
            self.connection.write(bytes([byte]))
            time.sleep(0.5)

    def garbage(self):
        """No hello."""
        self.connection.write(self.numbers.randbytes(4096))

    def web(self):
        """A browser."""
        self.connection.write(b'GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: none\r\nAccept: */*\r\n\r\n')

    def version(self):
        """A hello of the next version."""
        self.connection.write(struct.pack('<8sHBB4x32x', wire.MAGIC, 2, self.role, bool(self.options.key)))

    def same_role(self):
        """The other side's own role."""
        self.connection.say_hello(role=wire.DEVICE if self.role == wire.HOST else wire.HOST)

    def other_security(self):
        """In the open where there is a key, and the other way round."""
        self.connection.say_hello(security=wire.OPEN if self.options.key else wire.SHARED_KEY)

    def echo(self):
        """The other side's own bytes."""
        self.connection.fill(wire.HELLO_SIZE, HANDSHAKE_LIMIT)
        self.connection.write(bytes(self.connection.buffer))

    # -- before AUTH

    def hellos(self):
        self.connection.say_hello()
        self.connection.hear_hello()

    def no_auth(self):
        """A hello, and nothing else."""
        self.hellos()
        self.seconds = HANDSHAKE_LIMIT

    def before_auth(self):
        """Something else instead of AUTH."""
        self.hellos()
        self.connection.send(wire.PING if self.role == wire.HOST else wire.PONG)

    def wrong_key(self):
        """AUTH with another key."""
        self.hellos()
        self.connection.derive(b'this is another key')
        self.connection.send(wire.AUTH)

    def old_hello(self):
        """A hello and the AUTH of an earlier connection, word for word."""
        self.connection.say_hello(random=bytes(32))
        hello = self.connection.own_hello
        self.connection.fill(wire.HELLO_SIZE, HANDSHAKE_LIMIT)
        other = bytes(self.connection.buffer[:wire.HELLO_SIZE - 1]) + b'\0'
        pair = (hello, other) if self.role == wire.DEVICE else (other, hello)
        keys = wire.connection_keys(self.options.key or b'none, so that nothing fits', *pair)
        self.connection.write(wire.Direction(keys[self.role == wire.HOST]).seal(wire.AUTH))

    def reflect(self):
        """The other side's AUTH instead of an own one."""
        self.hellos()
        frame = self.connection.receive_frame(HANDSHAKE_LIMIT)
        self.connection.write(frame or b'')

    def garbage_frame(self):
        """Random bytes as a frame."""
        self.hellos()
        self.connection.write(struct.pack('<I', 500) + self.numbers.randbytes(500))

    # -- after AUTH

    def greet(self):
        self.connection.handshake()

    def ping(self):
        return self.connection.outgoing.seal(wire.PING if self.role == wire.HOST else wire.PONG)

    def replay(self):
        """The same frame twice."""
        self.greet()
        frame = self.ping()
        self.connection.write(frame + frame)

    def reorder(self):
        """The second frame first."""
        self.greet()
        first, second = self.ping(), self.ping()
        self.connection.write(second + first)

    def omit(self):
        """A frame that never came."""
        self.greet()
        self.ping()
        self.connection.write(self.ping())

    def forge(self):
        """A bit of a frame changed."""
        self.greet()
        frame = bytearray(self.ping())
        frame[-1] ^= 1
        self.connection.write(bytes(frame))

    def oversized(self):
        """A frame of four gigabytes."""
        self.greet()
        self.connection.write(b'\xff\xff\xff\xff' + bytes(100000))

    def empty(self):
        """A frame without a kind."""
        self.greet()
        self.connection.write(bytes(4))

    def truncated(self):
        """Half a frame, and then nothing."""
        self.greet()
        self.connection.write(self.ping()[:6])
        self.seconds = SILENCE_LIMIT

    def quiet(self):
        """Nothing after AUTH."""
        self.greet()
        self.seconds = SILENCE_LIMIT

    def short_payload(self):
        """An offset of three bytes."""
        self.greet()
        self.connection.send(wire.WANT if self.role == wire.HOST else wire.DATA, b'abc')

    # -- as a host

    def want_twice(self):
        """A host that wants the stream twice."""
        self.greet()
        self.connection.send(wire.WANT, offset_of(0))
        self.connection.send(wire.WANT, offset_of(0))

    def ack_too_much(self):
        """Bytes that were not sent are stored."""
        self.greet()
        self.connection.send(wire.WANT, offset_of(0))
        self.connection.send(wire.ACK, offset_of(1 << 62))

    def ack_unwanted(self):
        """An acknowledgement without WANT."""
        self.greet()
        self.connection.send(wire.ACK, offset_of(0))

    # -- as a device

    def stream(self, **other):
        self.greet()
        pairs = {'executable': '/bin/attack', 'pid': '1', 'device': 'attack', 'machine': '62', **other}
        self.connection.send(wire.STREAM, self.numbers.randbytes(16) + struct.pack('<QQ', 0, 1 << 20) +
                             wire.pack_pairs(pairs))

    def wanted(self):
        """The offset that the host wants."""
        until = time.monotonic() + HANDSHAKE_LIMIT
        while time.monotonic() < until:
            frame = self.connection.receive(HANDSHAKE_LIMIT)
            if frame and frame[0] == wire.WANT:
                return number(frame[1])
        raise wire.WireError('the host wants nothing')

    def short_stream(self):
        """STREAM without its beginning."""
        self.greet()
        self.connection.send(wire.STREAM, bytes(31))

    def unwanted(self):
        """DATA that nobody wanted."""
        self.greet()
        self.connection.send(wire.DATA, offset_of(0) + bytes(100))

    def stream_twice(self):
        """STREAM a second time."""
        self.stream()
        self.connection.send(wire.STREAM, self.numbers.randbytes(16) + struct.pack('<QQ', 0, 0))

    def gap(self):
        """Bytes left out."""
        self.stream()
        self.connection.send(wire.DATA, offset_of(self.wanted() + 100) + bytes(100))

    def overlap(self):
        """Bytes twice."""
        self.stream()
        wanted = self.wanted()
        for _ in range(2):
            self.connection.send(wire.DATA, offset_of(wanted) + bytes(100))

    def no_trace(self):
        """Bytes that are no trace."""
        self.stream()
        self.connection.send(wire.DATA, offset_of(self.wanted()) + self.numbers.randbytes(8192))

    def early_end(self):
        """An end behind bytes that never came."""
        self.stream()
        self.connection.send(wire.END, offset_of(self.wanted() + 5000))

    @classmethod
    def names(cls):
        return sorted(name for name, method in vars(cls).items()
                      if callable(method) and method.__doc__ and name not in ('connect', 'wanted'))


def run_attack(options, role):
    attack = Attack(options, role)
    attack.connect(Sockets(options))
    result = {'attack': options.attack, 'closed': False, 'kinds': []}
    try:
        try:
            getattr(attack, options.attack)()
        except wire.WireError as error:
            result['problem'] = str(error)
        wait_until_closed(attack.connection, time.monotonic() + attack.seconds + MARGIN, result)
    except Closed as error:
        result.update(closed=True, how=str(error))
    finally:
        attack.connection.close()
    say(result)
    return 0 if result['closed'] else 1


def wait_until_closed(connection, until, result):
    """What still comes is read, as long as it can be."""
    while time.monotonic() < until:
        wait = max(until - time.monotonic(), 0)
        if connection.incoming is None:
            connection.buffer.clear()
            connection.fill(1, wait)
            continue
        try:
            frame = connection.receive(wait)
        except wire.WireError:
            connection.incoming = None
            continue
        if frame:
            result['kinds'].append(frame[0])


# ---- the command line ----


def address(text):
    host, _, port = text.rpartition(':')
    return host.strip('[]'), int(port)


def key_of(path):
    with open(path, 'rb') as file:
        return file.read().rstrip(b' \t\n\v\f\r')


def numbers_of(text):
    return [int(part) for part in text.split(',')]


def stall_of(text):
    at, _, seconds = text.partition(':')
    return int(at), float(seconds)


def pair_of(text):
    name, _, value = text.partition('=')
    return name, value


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    roles = parser.add_subparsers(dest='role', required=True)
    both = argparse.ArgumentParser(add_help=False)
    place = both.add_mutually_exclusive_group(required=True)
    place.add_argument('--connect', type=address, metavar='HOST:PORT')
    place.add_argument('--listen', type=address, metavar='HOST:PORT', help='port 0: a free one')
    both.add_argument('--key-file', type=key_of, dest='key', help='without it: in the open')
    both.add_argument('--cut', type=numbers_of, default=[], metavar='N,N',
                      help='reset the connection when so many bytes of the stream have passed, and go on in another')
    both.add_argument('--connections', type=int, default=1000, help='give up when so many are lost')
    both.add_argument('--patience', type=float, default=20, help='seconds to wait for a connection')
    both.add_argument('--retry', type=float, default=0.1, help='seconds between attempts to dial')
    both.add_argument('--seed', type=int, default=1)
    both.add_argument('--attack', choices=Attack.names(), help='do this; succeeds when the other side closes')
    host = roles.add_parser('host', parents=[both])
    host.add_argument('--lose-end', type=int, default=0, metavar='N', help='lose the connection N times when the end is told')
    host.add_argument('-o', '--output', help='where the stream goes; goes on where the file ends')
    host.add_argument('--request', action='append', default=[], help='ask; without -o only that')
    host.add_argument('--acknowledge', type=int, default=65536, metavar='N',
                      help='after so many bytes, or when nothing comes')
    host.add_argument('--stall', type=stall_of, action='append', default=[], metavar='N:SECONDS',
                      help='read nothing for so long when there are N bytes')
    device = roles.add_parser('device', parents=[both])
    device.add_argument('file')
    device.add_argument('--pace', type=int, metavar='N', help='the program writes so many bytes a second')
    device.add_argument('--hold', action='store_true', help='the program never ends')
    device.add_argument('--pair', type=pair_of, action='append', default=[], metavar='NAME=VALUE',
                        help='of STREAM and announcements')
    device.add_argument('--announce', type=address, metavar='HOST:PORT', help='with --listen: once a second')
    device.add_argument('--devices', type=int, default=1, help='so many at once, each with a trace id of its own')
    device.add_argument('--fresh-trace', action='store_true', help='a trace id from the seed, not the file\'s')
    return parser.parse_args()


def main():
    options = parse_options()
    try:
        if options.attack:
            return run_attack(options, wire.HOST if options.role == 'host' else wire.DEVICE)
        return Host(options).run() if options.role == 'host' else run_devices(options)
    except OSError as error:
        say({'error': str(error)})
        return 1


if __name__ == '__main__':
    sys.exit(main())
