# SPDX-License-Identifier: MIT OR Apache-2.0
"""A real broker that the test starts and ends, a small client of MQTT 3.1.1, and messages written from docs/mqtt.md alone."""
import os
import shutil
import socket
import struct
import sys

from harness import PATIENCE, Failure, Process, expect, work
import ports
import second_wire as wire

PATH = os.environ.get('PATH', '') + ':/usr/sbin:/sbin'
CONNECT, CONNACK, PUBLISH, SUBSCRIBE, SUBACK, PINGREQ, PINGRESP = 1, 2, 3, 8, 9, 12, 13


class Broker:
    def __init__(self, *lines, scheme='tcp', options=()):
        self.program = shutil.which('mosquitto', path=PATH)
        if not self.program:
            print('SKIPPED: mosquitto is not there')
            sys.exit(77)
        self.lines, self.scheme, self.options = lines, scheme, options
        for port in ports.free():
            self.port = port
            if self.start():
                return

    @property
    def url(self):
        return f'{self.scheme}://127.0.0.1:{self.port}'

    def start(self):
        """Whether it could listen: another test may have the port."""
        path = os.path.join(work, f'mosquitto-{self.port}.conf')
        with open(path, 'w', encoding='ascii') as file:
            file.write('\n'.join([f'listener {self.port} 127.0.0.1', 'user root', 'persistence false', 'log_dest stderr', *self.lines]))
            file.write('\n' if 'password_file' in ' '.join(self.lines) else '\nallow_anonymous true\n')
        self.process = Process(['sh', '-c', 'exec "$0" -c "$1" 2>&1', self.program, path])
        try:
            self.process.wait_for(lambda line: 'running' in line)
        except Failure:
            return False
        return True

    def kill(self):
        self.process.end(9)

    def come_back(self):
        while not self.start():
            pass

    def gather_options(self, *more):
        return ['--mqtt', self.url, *self.options, *more]


class Client:
    """Publishes with QoS 0, and keeps what it receives."""

    def __init__(self, port, topic=None):
        self.socket = socket.create_connection(('127.0.0.1', port), PATIENCE)
        self.buffer = b''
        self.messages = []
        self.packet(CONNECT, 0, b'\0\4MQTT\4\2\0\0\0\0')
        expect(self.next()[0] == CONNACK, 'the broker refuses')
        if topic:
            self.packet(SUBSCRIBE, 2, b'\0\1' + self.string(topic) + b'\0')
            self.until(SUBACK)

    @staticmethod
    def string(text):
        text = text.encode()
        return struct.pack('>H', len(text)) + text

    def packet(self, kind, flags, body):
        length, left = b'', len(body)
        while True:
            length += bytes([left % 128 | (0x80 if left >= 128 else 0)])
            left //= 128
            if not left:
                break
        self.socket.sendall(bytes([kind << 4 | flags]) + length + body)

    def take(self, size):
        while len(self.buffer) < size:
            got = self.socket.recv(1 << 20)
            if not got:
                raise Failure('the broker has closed the connection')
            self.buffer += got
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def next(self):
        head = self.take(1)[0]
        length = shift = 0
        while True:
            byte = self.take(1)[0]
            length |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        body = self.take(length)
        if head >> 4 == PUBLISH:
            size, = struct.unpack_from('>H', body)
            self.messages.append((body[2:2 + size].decode(), body[2 + size:]))
        return head >> 4, body

    def until(self, kind):
        while self.next()[0] != kind:
            pass

    def publish(self, topic, payload):
        self.packet(PUBLISH, 0, self.string(topic) + payload)

    def all(self):
        """Everything up to now: the broker answers in order."""
        self.packet(PINGREQ, 0, b'')
        self.until(PINGRESP)
        return self.messages

    def close(self):
        self.socket.close()


# ---- messages ----

MAGIC = b'\x8fHSPOST\n'


def hello(role, key, random=bytes(32)):
    return struct.pack('<8sHBB4x32s', MAGIC, 1, role, wire.SHARED_KEY if key else wire.OPEN, random)


def message(key, trace_id, first, data, ended=False, session=None, number=0, pairs=None):
    own = hello(wire.DEVICE, key, (session or os.urandom(24)) + struct.pack('<Q', number))
    direction = wire.Direction(wire.connection_keys(key, own, hello(wire.HOST, key))[0] if key else None)
    end = first + len(data)
    pairs = wire.pack_pairs(pairs or {'pid': '7', 'executable': '/bin/peer', 'device': 'board'})
    parts = [own, direction.seal(wire.STREAM, trace_id + struct.pack('<QQ', first, end) + pairs)]
    for at in range(0, len(data), 16376):
        parts.append(direction.seal(wire.DATA, struct.pack('<Q', first + at) + data[at:at + 16376]))
    if ended:
        parts.append(direction.seal(wire.END, struct.pack('<Q', end)))
    return b''.join(parts)


def read_answer(key, payload):
    """Kind, offset, trace id, session and number of what is answered, text."""
    other = hello(wire.DEVICE, key)
    direction = wire.Direction(wire.connection_keys(key, other, payload[:48])[1] if key else None)
    kind, body = direction.open(payload[48:])
    return kind, int.from_bytes(body[:8], 'little'), body[8:24], body[24:48], int.from_bytes(body[48:56], 'little'), body[56:].decode()
