# SPDX-License-Identifier: MIT OR Apache-2.0
"""What must end a connection, done by the second client in either role."""
import random
import struct
import time

import second_wire as wire
from second_link import HANDSHAKE_LIMIT, SILENCE_LIMIT, Closed, Connection, Sockets, number, offset_of, say

MARGIN = 120  # for slow machines: what ends a connection has to do so in the limit and this


class Attack:
    """Each method does one thing that the other side has to answer by closing, in `seconds` and the margin."""

    def __init__(self, options, role):
        self.options, self.role, self.numbers = options, role, random.Random(options.seed)
        self.seconds = 0
        self.connection = None

    def connect(self, sockets):
        self.connection = Connection(sockets.next(), self.role, self.options.key, limit=10 * MARGIN)

    # -- before the hellos

    def silent(self):
        """Nothing comes."""
        self.seconds = HANDSHAKE_LIMIT

    def slow(self):
        """One byte of the hello every half second, but for the last."""
        self.seconds = HANDSHAKE_LIMIT
        for byte in wire.hello(self.role, wire.OPEN, bytes(32))[:-1]:
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

    def probe(self):
        """A host that proves nothing and waits for what comes: nothing does."""
        self.hellos()
        if self.connection.fill(1, HANDSHAKE_LIMIT + MARGIN):
            raise AssertionError('the device has proven itself to a stranger')

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
