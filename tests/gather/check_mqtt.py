# SPDX-License-Identifier: MIT OR Apache-2.0
"""Through a real broker: what is gathered is what was pushed, to the byte, whoever ends in the middle and whatever others publish."""
import json
import os
import random
import shutil
import subprocess
import sys
import time

from harness import COMMAND, PATIENCE, SEED, Failure, Gather, Process, expect, main, make_header, make_key, read_key, succeed, work
from mqtt_broker import PATH, Broker, Client, message, read_answer
import second_wire as wire

TRACE = os.environ['HEAPSONDE_TEST_TRACE']
RANDOM = random.Random(SEED)


def gather_from(broker, *options, folder='traces'):
    gather = Gather(*broker.gather_options(*options), folder=folder, listen=None)
    gather.event('broker')
    return gather


def push(broker, path, *options):
    return Process([COMMAND, 'push', *broker.gather_options(), '--device', 'gw-7', *options, path])


def content_of(path):
    with open(path, 'rb') as file:
        return file.read()


def the_trace(gather):
    name, = gather.traces()
    return content_of(os.path.join(gather.folder, name))


def live_part(state):
    return wire.chunk(7, state.to_bytes(8, 'little') + bytes(504))


class Growing:
    """A stream (docs/protocol.md, 1) that a process writes into a file."""

    def __init__(self, name='growing.dat'):
        self.path = os.path.join(work, name)
        self.content = b''
        self.write(make_header(RANDOM.randbytes(16)) + live_part(0))

    def write(self, data):
        self.content += data
        with open(self.path, 'ab') as file:
            file.write(data)

    def grow(self, count=4):
        for _ in range(count):
            # Of a kind that readers skip, so nobody looks into it.
            self.write(wire.chunk(77, RANDOM.randbytes(60000)))

    def end(self):
        self.write(live_part(1))

    def wait_until_gathered(self, gather):
        """Reaches the folder: a file that grows there has no event of its own."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            names = gather.traces()
            if names and content_of(os.path.join(gather.folder, names[0])) == self.content:
                return
            time.sleep(0.05)
        raise Failure(f'{gather.traces()}: not all of {len(self.content)} bytes')


def mqtt_one():
    """A trace that has ended, with what is said about it. The broker sees nothing of it."""
    broker, key = Broker(), make_key()
    watcher = Client(broker.port, '#')
    gather = gather_from(broker, '--once', '--key-file', key, '--select', 'labels.site == lab')
    succeed(push(broker, TRACE, '--key-file', key, '--label', 'site=lab', '--label', 'rack=b'))
    event = gather.event('ended')
    expect((event['device'], event['labels'], event['pid'], event['name']) == ('gw-7', 'site=lab,rack=b', '4711', 'example'), f'{event}')
    expect(gather.summary()['unfinished'] == 0, 'unfinished')
    expect(the_trace(gather) == content_of(TRACE), 'not the same')
    seen = b''.join(payload for _, payload in watcher.all())
    expect(len(seen) > len(content_of(TRACE)), 'the broker has not seen it')
    for secret in (b'SHCK', b'example', b'gw-7', b'site', b'HSONDE'):
        expect(secret not in seen, f'the broker sees {secret}')


def grows(interfere, key=None):
    """A trace that grows, with something happening in the middle. `interfere` returns the gather that goes on."""
    broker, growing = Broker(), Growing()
    options = ['--key-file', key] if key else []
    gather = gather_from(broker, *options)
    growing.grow()
    pushed = push(broker, growing.path, '--follow', *options)
    growing.wait_until_gathered(gather)
    gather, pushed = interfere(broker, gather, pushed, growing, options)
    growing.wait_until_gathered(gather)
    growing.grow()
    growing.end()
    succeed(pushed)
    gather.event('ended')
    summary = gather.stop()
    expect(summary['unfinished'] == 0, f'{summary}')
    expect(the_trace(gather) == growing.content, 'not the same')


def mqtt_grows():
    grows(lambda broker, gather, pushed, growing, options: (gather, pushed), make_key())


def mqtt_broker_killed():
    def interfere(broker, gather, pushed, growing, _):
        broker.kill()
        gather.event('broker-away')
        growing.grow(30)
        broker.come_back()
        gather.event('broker')
        return gather, pushed
    grows(interfere)


def mqtt_gather_killed():
    def interfere(broker, gather, pushed, growing, options):
        growing.grow(30)
        gather.end(9)
        growing.grow()
        again = gather_from(broker, *options)
        again.event('resumed')
        return again, pushed
    grows(interfere, make_key())


def mqtt_push_killed():
    def interfere(broker, gather, pushed, growing, options):
        growing.grow(30)
        pushed.end(9)
        growing.grow()
        return gather, push(broker, growing.path, '--follow', *options)
    grows(interfere)


def mqtt_away():
    """There is no broker at first, and no gather after that: both are waited for, and it is said."""
    broker, key = Broker(), make_key()
    broker.kill()
    gather = Gather(*broker.gather_options('--key-file', key), listen=None)
    gather.event('broker-away')
    pushed = push(broker, TRACE, '--key-file', key)
    broker.come_back()
    gather.event('broker')
    succeed(pushed)
    gather.event('ended')
    gather.stop()
    expect(the_trace(gather) == content_of(TRACE), 'not the same')


def mqtt_hostile():
    """Whoever can publish can send everything again, in any order, changed and cut, and anything else."""
    broker, key = Broker('max_queued_messages 0'), make_key()
    growing = Growing()
    growing.grow(12)
    growing.end()
    watcher = Client(broker.port, 'heapsonde/#')
    first = gather_from(broker, '--key-file', key, folder='first')
    succeed(push(broker, growing.path, '--key-file', key))
    first.event('ended')
    first.stop()
    messages = [payload for topic, payload in watcher.all() if topic == 'heapsonde']
    watcher.close()
    gather = gather_from(broker, '--key-file', key)
    attacker = Client(broker.port)
    for _ in range(3):
        for payload in RANDOM.sample(messages, len(messages)):
            at = RANDOM.randrange(len(payload))
            attacker.publish('heapsonde', payload[:at])
            attacker.publish('heapsonde', payload[:at] + bytes([payload[at] ^ 1 << RANDOM.randrange(8)]) + payload[at + 1:])
            attacker.publish('heapsonde/x', RANDOM.choice(messages)[:at] + payload[at:] if at > 48 else payload[:at])
            attacker.publish('heapsonde/\u202e "x"', payload[:48] + RANDOM.randbytes(2000))
            attacker.publish('heapsonde', payload)
    for size in (0, 1, 47, 48, 49, 52, 70000, 3000000):
        attacker.publish('heapsonde', RANDOM.randbytes(size))
        attacker.publish('heapsonde/' + 'long' * 300, RANDOM.randbytes(size))
        attacker.publish('heapsonde', messages[0][:48] + bytes(size))
        attacker.publish('heapsonde/ack/' + '0' * 48, RANDOM.randbytes(size))
    gather.refused('topic', 7)  # one without bytes is no message
    gather.refused('wrong-key', 2)
    succeed(push(broker, growing.path, '--key-file', key))
    succeed(push(broker, TRACE, '--key-file', key))
    summary = gather.stop()
    expect(summary['unfinished'] == 0, f'{summary}')
    expect(sorted(content_of(os.path.join(gather.folder, name)) for name in gather.traces()) ==
           sorted([growing.content, content_of(TRACE)]), 'not the same')


def mqtt_wrong_key():
    broker, key = Broker(), make_key()
    gather = gather_from(broker, '--key-file', key)
    stranger = push(broker, TRACE, '--key-file', make_key('other'))
    gather.refused('wrong-key')
    in_the_open = push(broker, TRACE)
    gather.refused('other-security')
    succeed(push(broker, TRACE, '--key-file', key))
    for pushed in (stranger, in_the_open):
        expect(pushed.end() == 1 and 'has not been sent completely' in pushed.complaints(), pushed.complaints())
    gather.event('ended')
    gather.stop()
    expect(the_trace(gather) == content_of(TRACE), 'not the same')


def mqtt_quota():
    """What would be more is refused, and said to the sender; what is there stays whole."""
    broker = Broker()
    size = len(content_of(TRACE))
    growing = Growing()
    growing.grow(1)
    growing.end()
    gather = gather_from(broker, '--quota', str(size + 8192))
    succeed(push(broker, TRACE))
    refused = push(broker, growing.path)
    expect(refused.finish() == 1 and 'gather refuses it: the quota is used up' in refused.complaints(), refused.complaints())
    summary = gather.stop()
    expect(summary['refused']['quota'] >= 1 and summary['stored'] <= size + 8192, f'{summary}')
    expect(content_of(TRACE) in [content_of(os.path.join(gather.folder, name)) for name in gather.traces()], 'the first is not whole')


def has_ended(gather):
    while not gather.fresh.empty():
        gather.next_line()
    return any(json.loads(line)['event'] == 'ended' for line in gather.lines)


def mqtt_two():
    """Two gathers on one topic have both everything, also the one that comes later."""
    broker, growing, key = Broker(), Growing(), make_key()
    first = gather_from(broker, '--key-file', key, folder='first')
    pushed = push(broker, growing.path, '--follow', '--key-file', key)
    growing.grow()
    growing.wait_until_gathered(first)
    second = gather_from(broker, '--key-file', key, folder='second')
    growing.grow()
    growing.wait_until_gathered(first)
    growing.wait_until_gathered(second)
    growing.end()
    succeed(pushed)
    # One that did not answer for seconds is not waited for.
    while not all(has_ended(gather) for gather in (first, second)):
        succeed(push(broker, growing.path, '--key-file', key))
    for gather in (first, second):
        gather.stop()
        expect(the_trace(gather) == growing.content, 'not the same')


def mqtt_folder():
    """Of a folder: every trace, and with --follow those that come later."""
    broker = Broker()
    folder = os.path.join(work, 'device')
    os.mkdir(folder)
    shutil.copy(TRACE, os.path.join(folder, 'a.dat'))
    with open(os.path.join(folder, 'none.dat'), 'wb') as file:
        file.write(b'no trace')
    gather = gather_from(broker, '--topic', 'plant/+/heap')
    pushed = push(broker, folder, '--topic', 'plant/7/heap', '--follow')
    pushed.wait_for(lambda line: line.startswith('a.dat: sent'))
    later = Growing('device/later.dat')
    later.grow()
    later.end()
    pushed.wait_for(lambda line: line.startswith('later.dat: sent'))
    expect(pushed.end() == 0, pushed.complaints())
    # All is there: nothing is sent, and the second gather of this folder says so.
    succeed(push(broker, folder, '--topic', 'plant/7/heap'))
    gather.stop()
    expect(sorted(content_of(os.path.join(gather.folder, name)) for name in gather.traces()) ==
           sorted([later.content, content_of(TRACE)]), 'not the same')


def mqtt_begins():
    """A file whose process has not written its header yet is waited for with --follow, and refused without."""
    broker = Broker()
    gather = gather_from(broker)
    path = os.path.join(work, 'begins.dat')
    with open(path, 'wb'):
        pass
    early = push(broker, path)
    expect(early.finish() == 1 and 'has no complete header' in early.complaints(), early.complaints())
    pushed = push(broker, path, '--follow')
    while 'waiting for it' not in pushed.complaints():
        expect(pushed.process.poll() is None, pushed.complaints())
        time.sleep(0.05)
    growing = Growing('begins.dat')
    growing.grow()
    growing.end()
    pushed.wait_for(lambda line: line.startswith('begins.dat: sent'))
    expect(pushed.finish() == 0, pushed.complaints())
    gather.stop()
    expect([content_of(os.path.join(gather.folder, name)) for name in gather.traces()] == [growing.content], 'not the same')


def wait_for_traces(gather, contents):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if sorted(content_of(os.path.join(gather.folder, name)) for name in gather.traces()) == sorted(contents):
            return
        time.sleep(0.05)
    raise Failure(f'{gather.traces()}: not {len(contents)} traces')


def mqtt_replaced(name='growing.dat', folder=None):
    """Another program writes to the file of a trace that grows: the two are not mixed."""
    broker, old = Broker(), Growing(name)
    gather = gather_from(broker)
    pushed = push(broker, folder or old.path, '--follow')
    old.grow()
    old.wait_until_gathered(gather)
    os.truncate(old.path, 0)
    new = Growing(name)
    new.grow(9)
    wait_for_traces(gather, [old.content, new.content])
    new.end()
    pushed.wait_for(lambda line: line.startswith('growing.dat: sent'))
    wait_for_traces(gather, [old.content, new.content])
    pushed.end()
    expect('does not hold the same trace any more' in pushed.complaints(), pushed.complaints())
    gather.stop()


def mqtt_replaced_in_folder():
    folder = os.path.join(work, 'device')
    os.mkdir(folder)
    mqtt_replaced('device/growing.dat', folder)


def mqtt_many():
    """Processes that were killed never end their traces. Their places are for others, until they grow."""
    broker = Broker()
    folder = os.path.join(work, 'device')
    os.mkdir(folder)
    traces = [Growing(f'device/{i}.dat') for i in range(300)]
    gather = gather_from(broker)
    pushed = push(broker, folder, '--follow')
    wait_for_traces(gather, [trace.content for trace in traces])
    for trace in traces[::30]:
        trace.grow(1)
        trace.end()
    ended = {f'{i}.dat' for i in range(0, 300, 30)}
    while ended:
        ended.discard(pushed.wait_for(lambda line: ': sent' in line).split(':')[0])
    wait_for_traces(gather, [trace.content for trace in traces])
    expect(pushed.end() == 0, pushed.complaints())
    gather.stop()


def mqtt_unfinished():
    """Without --follow, what is there of a trace that grows; later the rest."""
    broker, growing = Broker(), Growing()
    growing.grow()
    gather = gather_from(broker)
    pushed = push(broker, growing.path)
    pushed.wait_for(lambda line: 'it has not ended' in line)
    succeed(pushed)
    growing.wait_until_gathered(gather)
    growing.end()
    succeed(push(broker, growing.path))
    gather.event('ended')
    gather.stop()
    expect(the_trace(gather) == growing.content, 'not the same')


def mqtt_boards():
    """What has only a client of its own: a file as it is with mosquitto_pub, and messages that were written from the
    specification."""
    broker, key = Broker(), read_key(make_key())
    client = shutil.which('mosquitto_pub', path=PATH)
    gather = gather_from(broker, folder='open')
    if client:
        subprocess.run([client, '-p', str(broker.port), '-q', '1', '-t', 'heapsonde/board-3', '-f', TRACE], check=True, timeout=PATIENCE)
    else:
        Client(broker.port).publish('heapsonde/board-3', content_of(TRACE))
    expect(gather.event('ended')['device'] == 'board-3', 'another device')
    gather.stop()
    expect(the_trace(gather) == content_of(TRACE), 'not the same')

    gather = gather_from(broker, '--key-file', os.path.join(work, 'key'))
    trace_id, session = RANDOM.randbytes(16), RANDOM.randbytes(24)
    content = make_header(trace_id) + RANDOM.randbytes(100000)
    topic = f'heapsonde/ack/{session.hex()}'
    own = Client(broker.port, topic)

    def say(number, first, end, ended=False):
        own.publish('heapsonde', message(key, trace_id, first, content[first:end], ended, session, number))
        while True:
            own.next()
            answer = read_answer(key, own.messages[-1][1])
            expect(answer[2:4] == (trace_id, session), f'{answer}')
            if answer[4] == number:
                return answer[:2]
    expect(say(0, 5000, 9000) == (wire.ACK, 0), 'a gap')
    expect(say(1, 0, 1000) == (wire.ACK, 1000), 'less than the header')
    expect(say(2, 500, 40000) == (wire.ACK, 40000), 'more than it had')
    expect(say(3, 0, 40000) == (wire.ACK, 40000), 'twice')
    own.publish('heapsonde', message(key, trace_id, 40000, content[40000:], True, session, 4))
    while read_answer(key, own.messages[-1][1])[0] != wire.END:
        own.next()
    gather.event('ended')
    expect(say(5, 0, 1000) == (wire.END, len(content)), 'it has ended')
    gather.stop()
    expect(the_trace(gather) == content, 'not the same')


def mqtt_tls():
    """With a certificate, a user and a password."""
    openssl = shutil.which('openssl', path=PATH)
    passwords = shutil.which('mosquitto_passwd', path=PATH)
    if not openssl or not passwords:
        print('SKIPPED: openssl or mosquitto_passwd is not there')
        sys.exit(77)
    certificate, secret, users = (os.path.join(work, name) for name in ('certificate', 'secret', 'users'))
    subprocess.run([openssl, 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', secret, '-out',
                    certificate, '-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'],
                   check=True, capture_output=True, timeout=PATIENCE)
    subprocess.run([passwords, '-b', '-c', users, 'plant', 'a password'], check=True, timeout=PATIENCE)
    password = os.path.join(work, 'password')
    with open(password, 'w', encoding='ascii') as file:
        file.write('a password\n')
    os.chmod(password, 0o600)
    options = ['--mqtt-ca', certificate, '--mqtt-user', 'plant', '--mqtt-password-file', password]
    broker = Broker(f'certfile {certificate}', f'keyfile {secret}', f'password_file {users}', scheme='mqtts', options=options)
    gather = gather_from(broker)
    succeed(push(broker, TRACE))
    gather.event('ended')
    gather.stop()
    expect(the_trace(gather) == content_of(TRACE), 'not the same')
    # Others are not let in, and it is said why.
    broker.options = ['--mqtt-ca', certificate]
    stranger = Gather(*broker.gather_options(), folder='stranger', listen=None)
    while 'not authori' not in stranger.event('broker-away')['text'].lower():
        pass  # the broker did not answer in time
    stranger.stop()
    broker.options = []
    stranger = Gather(*broker.gather_options(), folder='stranger', listen=None)
    stranger.event('broker-away')
    stranger.stop()


def mqtt_usage():
    key = make_key()

    def fails(status, text, *arguments):
        result = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=PATIENCE, cwd=work)
        expect(result.returncode == status and text in result.stderr and result.stderr.count('\n') == 1, f'{arguments}: {result}')

    for command in (['gather'], ['push', TRACE]):
        for url in ('tcp://', 'tcp://:1883', 'tcp://host:0', 'tcp://host:70000', 'tcp://host:12x', 'tcp://host/path', 'http://host', 'tcp://[::1'):
            fails(2, 'is no broker', *command, '--mqtt', url, '--key-file', key)
        fails(1, 'beyond this machine', *command, '--mqtt', 'tcp://192.0.2.1:1883')
        fails(1, 'mqtts', *command, '--mqtt', 'tcp://127.0.0.1:1883', '--mqtt-ca', TRACE)
        fails(2, 'is not a topic', *command, '--mqtt', 'tcp://127.0.0.1:1883', '--topic', 'a/#/b')
        fails(2, 'is not a topic', *command, '--mqtt', 'tcp://127.0.0.1:1883', '--topic', '')
        fails(2, 'is not a topic', *command, '--mqtt', 'tcp://127.0.0.1:1883', '--topic', 'x' * 600)
    fails(2, 'is not a topic', 'gather', '--mqtt', 'tcp://127.0.0.1:1883', '--topic', '$share/group/a')
    fails(2, 'is not a topic', 'push', TRACE, '--mqtt', 'tcp://127.0.0.1:1883', '--topic', 'a/+')
    fails(2, 'give only one of both kinds', 'push', TRACE, '--mqtt', 'tcp://127.0.0.1:1883', '--otlp', 'http://127.0.0.1')
    fails(1, 'is not a trace', 'push', key, '--mqtt', 'tcp://127.0.0.1:1883')


main({name: case for name, case in list(globals().items()) if name.startswith('mqtt_')})
