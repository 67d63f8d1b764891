# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs `heapsonde gather` and simulated devices, and waits for what they say."""
import base64
import json
import os
import queue
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'wire'))
import second_client as client  # noqa: E402
import second_wire as wire  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import patience  # noqa: E402
import ports  # noqa: E402

COMMAND = os.environ['HEAPSONDE_TEST_COMMAND']
DEVICES = os.environ['HEAPSONDE_TEST_DEVICES']
PATIENCE = 300
SEED = int(os.environ.get('HEAPSONDE_TEST_SEED', random.SystemRandom().randrange(1 << 31)))

work = tempfile.mkdtemp(prefix='heapsonde-gather-')
started = []


class Failure(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failure(text)


def wait_until(condition, what):
    until = time.monotonic() + PATIENCE
    while not condition():
        expect(time.monotonic() < until, what)
        time.sleep(0.01)


class Process:
    """A program whose lines are read by a thread, so that waiting for one has an end."""

    def __init__(self, arguments, environment=None, stdin=None):
        self.arguments = arguments
        self.lines = []
        self.fresh = queue.Queue()
        self.errors = open(os.path.join(work, f'stderr-{len(started)}'), 'w+b')
        env = {name: value for name, value in os.environ.items() if not name.startswith('HEAPSONDE_')}
        env.update(environment or {})
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=self.errors, stdin=stdin, env=env,
                                        cwd=work)
        started.append(self)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.fresh.put(line.decode())
        self.fresh.put(None)

    def next_line(self):
        try:
            line = self.fresh.get(timeout=PATIENCE)
        except queue.Empty:
            raise Failure(f'{self.arguments}: silent; it said {self.lines[-5:]}') from None
        if line is not None:
            self.lines.append(line)
        return line

    def wait_for(self, wanted):
        """The first line for which this is true, from now on."""
        while (line := self.next_line()) is not None:
            if wanted(line):
                return line
        raise Failure(f'{self.arguments} ended; it said {self.lines[-5:]} {self.complaints()[-500:]}')

    def complaints(self):
        self.errors.flush()
        with open(self.errors.name, 'rb') as file:
            return file.read().decode(errors='replace')

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.finish()

    def finish(self):
        """The exit status, once everything has been read."""
        while self.next_line() is not None:
            pass
        return self.process.wait(PATIENCE)


class Gather(Process):
    def __init__(self, *options, folder='traces', listen='127.0.0.1:0', environment=None, json_lines=True, inside=()):
        arguments = [*inside, COMMAND, 'gather', '--dir', os.path.join(work, folder)]
        arguments += ['--json'] if json_lines else []
        arguments += ['--listen', listen] if listen else []
        super().__init__(arguments + list(options), environment)
        self.folder = os.path.join(work, folder)
        if listen:
            self.address = self.event('listening')['address'] if json_lines else \
                self.wait_for(lambda line: line.startswith('listening on ')).split()[-1]
            self.port = int(self.address.rsplit(':', 1)[1])

    def event(self, name, **values):
        """The next line of JSON of this kind, with these values."""
        def wanted(line):
            event = json.loads(line)
            return event['event'] == name and all(event.get(key) == value for key, value in values.items())
        return json.loads(self.wait_for(wanted))

    def refused(self, reasons, count=1):
        """Waits until so many have been refused for this reason, or for these together."""
        reasons = (reasons,) if isinstance(reasons, str) else reasons

        def wanted(line):
            event = json.loads(line)
            return event['event'] in ('status', 'summary') and sum(event['refused'].get(reason, 0) for reason in reasons) >= count
        return json.loads(self.wait_for(wanted))

    def summary(self):
        expect(self.finish() == 0, f'gather ended with {self.process.returncode}: {self.complaints()}')
        return json.loads(self.lines[-1])

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.summary()

    def traces(self):
        return sorted(name for name in os.listdir(self.folder) if not name.startswith('.'))


def gather_at(addresses, *options, **more):
    """At the first of these addresses that nobody else has at this moment: ports.free() says which others could have."""
    for address in addresses:
        try:
            return Gather(*options, listen=address, **more)
        except Failure as failure:
            if 'cannot listen on' not in str(failure):
                raise
    raise Failure('there is no address left')


def own_addresses():
    """Of a gather that comes back."""
    return (f'127.0.0.1:{port}' for port in ports.free())


def start_devices(*options, connect=None, stdin=None):
    arguments = [DEVICES, '--seed', str(SEED)] + [str(option) for option in options]
    if connect:
        arguments += ['--connect', connect]
    return Process(arguments, stdin=stdin)


def succeed(process):
    expect(process.finish() == 0, f'{process.arguments}: {process.process.returncode} {process.complaints()}')


def make_key(name='key'):
    path = os.path.join(work, name)
    with open(path, 'wb') as file:
        file.write(base64.b64encode(random.Random(f'{SEED} {name}').randbytes(32)) + b'\n')
    os.chmod(path, 0o600)
    return path


def read_key(path):
    with open(path, 'rb') as file:
        return file.read().strip()


class Peer:
    """A device in Python, which can do everything wrong: the second client's connection, step by step."""

    def __init__(self, port, key=None, source=None):
        self.port, self.key, self.source = port, key, source
        self.connect()

    def connect(self):
        self.began = time.monotonic()
        self.socket = socket.socket()
        if self.source:
            self.socket.bind((self.source, 0))
        self.socket.settimeout(PATIENCE)
        self.socket.connect(('127.0.0.1', self.port))
        self.connection = client.Connection(self.socket, wire.DEVICE, self.key, PATIENCE)

    @property
    def from_device(self):
        return self.connection.outgoing

    def send(self, data):
        self.connection.write(data)

    def greet(self):
        self.connection.say_hello()
        self.connection.hear_hello(PATIENCE)
        return self

    def prove(self):
        """Again if one side stood still for the five seconds that gather allows."""
        while True:
            try:
                self.greet()
                self.frame(1)
                kind, _ = self.next_frame()
                expect(kind == 1, f'the host begins with {kind}')
                return self
            except ConnectionError:
                if time.monotonic() - self.began < 4:
                    raise
                self.socket.close()
                self.connect()

    def frame(self, kind, payload=b''):
        self.connection.send(kind, payload)

    def next_frame(self):
        frame = self.connection.receive(PATIENCE)
        expect(frame, 'the host is silent')
        return frame

    def wait_for(self, wanted):
        while True:
            kind, payload = self.next_frame()
            if kind == wanted:
                return payload

    def stream(self, trace_id, oldest=0, newest=1 << 30, pairs=None):
        pairs = wire.pack_pairs(pairs or {'pid': '7', 'executable': '/bin/peer'})
        self.frame(2, trace_id + oldest.to_bytes(8, 'little') + newest.to_bytes(8, 'little') + pairs)
        return self

    def want(self):
        return int.from_bytes(self.wait_for(16), 'little')

    def data(self, offset, content):
        self.frame(3, offset.to_bytes(8, 'little') + content)

    def finish(self, offset):
        self.frame(4, offset.to_bytes(8, 'little'))

    def acknowledged(self, offset):
        while int.from_bytes(self.wait_for(17), 'little') < offset:
            pass

    def is_closed(self):
        """Waits for the host to close the connection."""
        self.socket.settimeout(PATIENCE)
        try:
            while self.socket.recv(65536):
                pass
        except (ConnectionResetError, BrokenPipeError):
            pass
        self.socket.close()
        return True

    def close(self):
        self.socket.close()

    def leave(self):
        """Closes once the host has read everything, so that nothing of it is lost."""
        self.socket.shutdown(socket.SHUT_WR)
        self.is_closed()


def make_header(trace_id, pid=7, content=0):
    """The first page of a trace; with content 1 of a sampled process's stream."""
    head = bytearray(4096)
    head[0:8] = b'\x8fHSONDE\n'
    head[8:10] = (1).to_bytes(2, 'little')
    head[12:17] = bytes([1, 8, 4, 2, 0])
    head[17] = content
    head[20:22] = (62).to_bytes(2, 'little')
    head[24:28] = pid.to_bytes(4, 'little')
    head[32:36] = (4096).to_bytes(4, 'little')
    head[40:56] = trace_id
    head[64:72] = (1700000000 * 10 ** 9).to_bytes(8, 'little')
    head[252:256] = wire.crc32c(bytes(head[:252])).to_bytes(4, 'little')
    return bytes(head)


def main(cases):
    name = sys.argv[1]
    print(f'seed {SEED}')
    if 'soak' not in cases:
        patience.begin()
    try:
        cases[name]()
    except Failure as failure:
        print(f'{name}: {failure}\nthe folder is kept: {work}')
        sys.exit(1)
    finally:
        for process in started:
            if process.process.poll() is None:
                process.process.kill()
                process.process.wait()
    shutil.rmtree(work)
