# SPDX-License-Identifier: MIT OR Apache-2.0
"""What both roles of the second client do: sockets, hellos, frames."""
import json
import os
import socket
import struct
import time

import second_wire as wire

HANDSHAKE_LIMIT = 5
SILENCE_LIMIT = 4


class Closed(ConnectionResetError):
    """The other side has closed the connection."""


def number(text, size=8):
    if len(text) < size:
        raise wire.WireError('a payload that is too short')
    return int.from_bytes(text[:size], 'little')


def offset_of(value):
    return struct.pack('<Q', value)


class Connection:
    """Frames over a socket. `limit` seconds without a byte end it; who is told to be patient is so from the beginning on."""

    def __init__(self, sock, role, key=None, limit=SILENCE_LIMIT):
        self.sock, self.role, self.key, self.limit = sock, role, key, limit
        self.handshake_limit = max(HANDSHAKE_LIMIT, limit)
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

    def hear_hello(self, wait=None):
        if not self.fill(wire.HELLO_SIZE, wait or self.handshake_limit):
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
        frame = self.receive(self.handshake_limit)
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
