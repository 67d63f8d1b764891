#!/usr/bin/python3
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
import os
import random
import socket
import struct
import sys
import threading
import time

sys.dont_write_bytecode = True
import second_wire as wire  # noqa: E402
from second_attacks import Attack, run_attack  # noqa: E402
from second_link import SILENCE_LIMIT, Closed, Connection, Sockets, family_of, number, offset_of, say  # noqa: E402

CHUNK = wire.PAYLOAD_MAX - 8


class Turns:
    """How long the longest turn of a session took. Nobody waits long in one: who had no processor for so long may be taken for
    gone by the other side."""

    def __init__(self, result):
        self.result = result
        self.began = time.monotonic()

    def next(self):
        now = time.monotonic()
        self.result['longest_turn'] = round(max(self.result.get('longest_turn', 0), now - self.began), 3)
        self.began = now


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
        self.wants = False
        self.cuts = sorted(options.cut)
        self.stalls = sorted(options.stall)
        self.ends_to_lose = options.lose_end
        self.ends_to_miss = options.miss_end
        self.absence = options.absent_at_end
        self.requests = list(options.request)
        self.requests_wait_for = options.requests_after
        self.sent_requests = 0
        self.settled_file = options.settled_file
        self.have_when_empty = None  # what had come when the device said that it holds nothing
        self.body = b''
        self.result = {'ended': False, 'refused': None, 'answers': [], 'lost_connections': 0, 'pongs': 0,
                       'most_unacknowledged': 0}

    def run(self):
        sockets = Sockets(self.options)
        while not self.is_done():
            connection = Connection(sockets.next(), wire.HOST, self.key, self.options.silence)
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
        self.wants = False  # nothing is to be acknowledged before
        next_ping = time.monotonic() + 1
        turns = Turns(self.result)
        while not self.is_done():
            turns.next()
            self.ask_whether_settled()
            self.ask(connection)
            frame = connection.receive(0.05)
            if frame is None and not self.ends_to_miss:  # a device that has all acknowledged tells the end and closes
                self.acknowledge(connection)
            elif frame:
                self.act(connection, *frame)
            self.suffer(connection)
            if time.monotonic() >= next_ping:
                next_ping = time.monotonic() + 1
                connection.send(wire.PING)
        if self.result['ended']:
            self.wait_for_the_end(connection)

    def wait_for_the_end(self, connection):
        """After its last acknowledgement the device closes."""
        connection.limit = 2 * self.options.patience
        try:
            while connection.receive(self.options.patience):
                pass
            self.result['ended'] = False
            self.result['last_error'] = 'the device has not closed'
        except Closed:
            pass

    def ask(self, connection):
        """One request after the other's answer."""
        if self.requests_wait_for and not os.path.exists(self.requests_wait_for):
            return
        if self.sent_requests == len(self.result['answers']) < len(self.requests):
            text = self.requests[self.sent_requests].encode()
            connection.send(wire.REQUEST, struct.pack('<I', self.sent_requests) + text)
            self.sent_requests += 1

    def ask_whether_settled(self):
        """Not while something is to be acknowledged, which happens when nothing comes: answers do."""
        asks = len(self.requests) > len(self.result['answers'])
        if self.settled_file and not asks and self.have == self.acknowledged and not self.result['ended']:
            self.requests.append('status')

    def look_whether_settled(self, answer):
        """Twice nothing is held, and nothing has come between: whatever has no room yet in the device's buffer would have."""
        if 'bytes not acknowledged: 0\n' not in answer['text']:
            self.have_when_empty = None
        elif self.have_when_empty != self.have:
            self.have_when_empty = self.have
        else:
            with open(self.settled_file, 'wb'):
                self.settled_file = None

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
            if self.absence:
                self.be_absent(connection)
            if self.ends_to_miss:
                self.ends_to_miss -= 1
                self.hear_nothing_more(connection)
            self.result['ended'] = True
            self.acknowledge(connection, again=True)
        elif kind == wire.ANSWER:
            asked, status = struct.unpack_from('<II', payload)
            self.result['answers'].append({'number': asked, 'status': status, 'text': payload[8:].decode(),
                                           'body': self.body.decode(errors='replace')})
            self.body = b''
            if self.settled_file:
                self.look_whether_settled(self.result['answers'].pop())
                self.requests.pop()
                self.sent_requests -= 1
        elif kind == wire.PART:
            if number(payload, 4) != len(self.result['answers']):
                raise wire.WireError('a part of an answer that is not due')
            self.body += payload[4:]
        elif kind == wire.REFUSED and self.file:
            self.result['refused'] = payload.decode()
        elif kind == wire.PONG:
            self.result['pongs'] += 1

    def be_absent(self, connection):
        """Everything has been acknowledged; the end gets lost, and nobody answers for some time."""
        absence, self.absence = self.absence, 0
        self.acknowledge(connection, again=True)
        connection.close(abruptly=True)
        time.sleep(absence)
        raise Closed('the host was absent')

    def hear_nothing_more(self, connection):
        """As when the cable is out: nothing is said any more, not even that the connection is closed. The device has to."""
        connection.limit = self.options.patience
        while connection.receive(self.options.patience):
            pass

    def begin(self, connection, payload):
        trace, oldest, newest = struct.unpack_from('<16sQQ', payload)
        if self.result.get('trace', trace.hex()) != trace.hex():
            raise wire.WireError('another trace than before')
        self.result.update(trace=trace.hex(), oldest=oldest, newest=newest, pairs=wire.read_pairs(payload[32:]))
        if self.file:
            connection.send(wire.WANT, offset_of(self.have))
            self.wants = True
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
        if self.wants and (again or self.have > self.acknowledged):
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


def with_trace_id(content, trace):
    """The file with another identity (docs/format.md, 2)."""
    head = content[:40] + trace + content[56:252]
    return head + struct.pack('<I', wire.crc32c(head)) + content[256:]


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
            connection = Connection(sockets.next(), wire.DEVICE, self.key, self.options.silence)
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
        turns = Turns(self.result)
        while not self.result['ended']:
            turns.next()
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
        if not self.options.pace or self.options.ends_with and os.path.exists(self.options.ends_with):
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
    both.add_argument('--patience', type=float, default=120, help='seconds to wait for a connection')
    both.add_argument('--silence', type=float, default=SILENCE_LIMIT, help='seconds without a byte that end a connection')
    both.add_argument('--retry', type=float, default=0.1, help='seconds between attempts to dial')
    both.add_argument('--seed', type=int, default=1)
    both.add_argument('--attack', choices=Attack.names(), help='do this; succeeds when the other side closes')
    host = roles.add_parser('host', parents=[both])
    host.add_argument('--lose-end', type=int, default=0, metavar='N', help='lose the connection N times when the end is told')
    host.add_argument('--miss-end', type=int, default=0, metavar='N', help='N times say nothing more when the end is told')
    host.add_argument('--absent-at-end', type=float, default=0, metavar='SECONDS',
                      help='acknowledge everything, lose the end, and be away for so long')
    host.add_argument('-o', '--output', help='where the stream goes; goes on where the file ends')
    asks = host.add_mutually_exclusive_group()
    asks.add_argument('--request', action='append', default=[], help='ask; without -o only that')
    asks.add_argument('--settled-file', metavar='FILE', help='make it as soon as the device holds nothing that has not come')
    host.add_argument('--requests-after', metavar='FILE', help='ask nothing before there is this file')
    host.add_argument('--acknowledge', type=int, default=65536, metavar='N',
                      help='after so many bytes, or when nothing comes')
    host.add_argument('--stall', type=stall_of, action='append', default=[], metavar='N:SECONDS',
                      help='read nothing for so long when there are N bytes')
    device = roles.add_parser('device', parents=[both])
    device.add_argument('file')
    device.add_argument('--pace', type=int, metavar='N', help='the program writes so many bytes a second')
    device.add_argument('--ends-with', metavar='FILE', help='with --pace: the rest at once when there is this file')
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
