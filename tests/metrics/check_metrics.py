# SPDX-License-Identifier: MIT OR Apache-2.0
"""/metrics of gather and of ctl serve: read strictly, compared with the reports of the same traces, scraped by Prometheus."""
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'gather'))
import harness  # noqa: E402
from harness import Gather, Peer, Process, expect, make_header, work  # noqa: E402
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import exposition  # noqa: E402
from exposition import values  # noqa: E402

COMMAND, SHIM, PROF, GROWER, TARGET = (os.environ['HEAPSONDE_TEST_' + name] for name in ('COMMAND', 'SHIM', 'PROF', 'GROWER', 'TARGET'))
OPEN_METRICS = 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1'


def fetch(url, accept='text/plain', token=None):
    request = urllib.request.Request(url, headers={'Accept': accept} | ({'Authorization': f'Bearer {token}'} if token else {}))
    with urllib.request.urlopen(request) as answer:
        return answer.read(), answer.headers['Content-Type']


def scrape(url, **options):
    """All that is known: an answer that would take too long leaves the rest to the next one, and says so."""
    while True:
        body, kind = fetch(url, **options)
        expect(kind == 'text/plain; version=0.0.4; charset=utf-8', kind)
        metrics = exposition.read(body)
        if values(metrics, 'heapsonde_gather_traces_behind') == [0]:
            return metrics


def start_gather(*options, **others):
    gather = Gather('--metrics', '127.0.0.1:0', *options, **others)
    # It is said before the address of the devices.
    said = [json.loads(line) for line in gather.lines]
    return gather, next(event['url'] for event in said if event['event'] == 'metrics')


class Device:
    """A recorded program that does what it is told."""

    def __init__(self, name, firmware, address):
        self.process = Process([GROWER], stdin=subprocess.PIPE, environment={
            'LD_PRELOAD': SHIM, 'HEAPSONDE_MODE': 'aggregate', 'HEAPSONDE_AGGREGATE_INTERVAL': '1', 'HEAPSONDE_DEVICE': name,
            'HEAPSONDE_LABELS': f'firmware={firmware},site=lab 2', 'HEAPSONDE_CONNECT': address})

    def do(self, command):
        self.process.process.stdin.write(command.encode())
        self.process.process.stdin.flush()
        self.process.next_line()

    def end(self):
        self.process.process.stdin.close()
        expect(self.process.finish() == 0, 'the program ends as it would alone')


def report_of(gather, name):
    done = subprocess.run([COMMAND, 'report', '--json', os.path.join(gather.folder, name)], capture_output=True, check=True)
    return json.loads(done.stdout)


def gathered():
    gather, url = start_gather('--firmware-label', 'firmware')
    devices = [Device('gw-1', '1.4', gather.address), Device('gw-2', '1.5', gather.address), Device('gw-3', '1.5', gather.address)]
    for commands in ('ccc', 'cll'):
        for device, command in zip(devices, commands):
            device.do(command)
    # Each program's ticks come at their own time; the further ones leave what is in use as it is.
    while True:
        metrics = scrape(url)
        if values(metrics, 'heapsonde_gather_devices_connected') == [3] and \
                values(metrics, 'heapsonde_site_live_bytes', firmware='1.5')[:1] == [800000] and \
                values(metrics, 'heapsonde_process_allocations_total', device='gw-1')[:1] >= [100]:
            live, blocks = ([values(metrics, 'heapsonde_process_live_' + what) for what in ('bytes', 'blocks')])
            reports = [report_of(gather, name) for name in gather.traces()]
            if sorted(live) == sorted(report['live_bytes'] for report in reports) and max(map(len, (live, reports))) == 3 and \
                    sorted(blocks) == sorted(report['live_count'] for report in reports):
                break
        for device in devices:
            device.do('t')
        time.sleep(0.05)
    expect(sum(values(metrics, 'heapsonde_site_live_bytes')) == sum(live), 'the sites are all that is in use')
    sites = [dict(labels)['site'] for labels in metrics['heapsonde_site_live_bytes']]
    expect(any('fleet_grower+0x' in site and ' < ' in site for site in sites), f'{sites}')
    expect(values(metrics, 'heapsonde_process_allocations_total', device='gw-1') [0] >= 100, 'allocations')
    expect(values(metrics, 'heapsonde_gather_devices_connected') == [3], 'devices')
    expect(values(metrics, 'heapsonde_gather_streams_total') == [3], 'streams')
    expect(values(metrics, 'heapsonde_process_info', device='gw-2', label_site='lab 2', label_firmware='1.5', program='fleet_grower') == [1],
           f"{metrics['heapsonde_process_info']}")
    body, kind = fetch(url, accept=OPEN_METRICS)
    expect(kind.startswith('application/openmetrics-text; version=1.0.0'), kind)
    expect(exposition.read(body, open_metrics=True).keys() == metrics.keys(), 'the same in OpenMetrics')
    exposition.check_with_promtool(fetch(url)[0])
    for device in devices:
        device.end()
        gather.event('ended')
    metrics = scrape(url)
    expect(not values(metrics, 'heapsonde_process_live_bytes') and not values(metrics, 'heapsonde_site_live_bytes'), 'they have ended')
    expect(values(metrics, 'heapsonde_gather_devices_connected') == [0] and values(metrics, 'heapsonde_gather_devices_seen') == [3], 'seen')
    gather.stop()


def returning():
    """What a process has allocated counts once, however often its stream is refused and goes on; sites are those of connected ones."""
    gather, url = start_gather()
    device = Device('gw', '1', gather.address)
    device.do('c')
    # The file is used when a tick is known, which takes another one.
    while not values(scrape(url), 'heapsonde_site_live_bytes'):
        device.do('t')
        time.sleep(0.05)
    device.end()
    gather.event('ended')
    gather.stop()
    with open(os.path.join(gather.folder, gather.traces()[0]), 'rb') as file:
        trace = file.read()
    gather, url = start_gather(folder='again')

    def seen(what):
        return sum(values(scrape(url), what))

    def connect(offset):
        peer = Peer(gather.port).prove().stream(trace[40:56], pairs={'executable': '/bin/x', 'pid': '7', 'device': 'gw'})
        expect(peer.want() == offset, f'from {offset} on')
        return peer
    peer = connect(0)
    for at in range(0, len(trace), 16384):
        peer.data(at, trace[at:at + 16384])
    peer.acknowledged(len(trace))

    def while_connected(peer, *names):
        """In one answer. Who was not heard for four seconds is given up: once more then."""
        while values(metrics := scrape(url), 'heapsonde_process_connected') != [1]:
            peer.close()
            peer = connect(len(trace))
        return peer, tuple(sum(values(metrics, name)) for name in names)

    def refuse(peer, number):
        while True:
            with contextlib.suppress(ConnectionError):
                peer.frame(7, b'no room')
            peer.is_closed()
            if sum(values(scrape(url), 'heapsonde_gather_refused_total', reason='refused-by-device')) >= number:
                return
            peer = connect(len(trace))
    sums = 'heapsonde_site_live_bytes', 'heapsonde_site_allocated_bytes_total'
    peer, (in_use, allocated, live) = while_connected(peer, *sums, 'heapsonde_process_live_bytes')
    expect(in_use >= 50000 and allocated >= in_use == live, f'{in_use} {allocated}')
    for number in (1, 2):
        refuse(peer, number)
        gather.refused('refused-by-device', number)
        # It is counted before it is no process any more.
        while seen('heapsonde_process_info'):
            time.sleep(0.05)
        expect(not seen('heapsonde_site_live_bytes'), 'refused')
        peer, again = while_connected(connect(len(trace)), *sums)
        expect(again == (in_use, allocated), 'it goes on')
    peer.leave()
    while seen('heapsonde_process_connected'):
        time.sleep(0.05)
    expect(seen('heapsonde_process_live_bytes') == in_use and not seen('heapsonde_site_live_bytes'), 'it may have been killed')
    gather.stop()


def hostile():
    """What devices say about themselves stays inside the values of labels."""
    gather, url = start_gather()
    names = ('"} 1\nx{a="', 'b\\', 'c\\"', 'd\x7f\x1b[2J', '\u202ee', 'f' * 600, '\xe9' * 300, '', '"} 1\nx{a="')
    for number, name in enumerate(names):
        trace = bytes([number + 1]) * 16
        pairs = {'executable': '/bin/' + name, 'pid': name, 'device': name,
                 'labels': f'firmware={name},a-b={name},a_b=2,__name__=x,={name},{"k" * 200}=v,le=1,trace=0'}
        peer = Peer(gather.port).prove().stream(trace, pairs=pairs)
        peer.want()
        peer.data(0, make_header(trace))
        peer.acknowledged(4096)
    for accept in ('text/plain', OPEN_METRICS):
        body, _ = fetch(url, accept=accept)
        metrics = exposition.read(body, open_metrics=accept == OPEN_METRICS)
        expect(values(metrics, 'heapsonde_process_trace_bytes') == [4096] * len(names), f"{metrics['heapsonde_process_trace_bytes']}")
        expect(len(values(metrics, 'heapsonde_process_info')) == len(names), 'each has its labels')
        expect('\u202e' not in body.decode(), 'the direction of writing')
    exposition.check_with_promtool(fetch(url)[0])
    # A trace that is no trace of sums, and one that is damaged, say nothing about memory.
    expect(not values(metrics, 'heapsonde_process_live_bytes'), 'nothing is known')
    Peer(gather.port).send(b'nonsense that is long enough to be no greeting ' * 10)
    gather.refused('no-hello')
    expect(values(scrape(url), 'heapsonde_gather_refused_total', reason='no-hello') == [1], 'what was refused')
    gather.stop()


def status_of(url, **options):
    try:
        fetch(url, **options)
    except urllib.error.HTTPError as error:
        return error.code
    return 200


def refused():
    """Beyond this machine with a token only; with one, nobody comes without it."""
    done = subprocess.run([COMMAND, 'gather', '--metrics', '0.0.0.0:0', '--dir', os.path.join(work, 'none')], capture_output=True, text=True,
                          check=False)
    expect(done.returncode == 1 and '--token' in done.stderr, f'{done.returncode} {done.stderr}')
    done = subprocess.run([COMMAND, 'gather', '--token', 'x', '--dir', os.path.join(work, 'none')], capture_output=True, text=True, check=False)
    expect(done.returncode == 2 and '--metrics' in done.stderr, f'{done.returncode} {done.stderr}')
    gather, url = start_gather('--token', 'secret')
    expect([status_of(url), status_of(url, token='wrong'), status_of(url, token='secret')] == [401, 401, 200], 'the token')
    expect(status_of(url.replace('/metrics', '/other'), token='secret') == 404, 'no other page')
    gather.stop()


class Relay:
    """A control socket before that of a process, which notes what is asked."""

    def __init__(self, path, behind):
        self.asked, self.behind = [], behind
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(8)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            near = self.listener.accept()[0]
            far = socket.socket(socket.AF_UNIX)
            with near, far:
                far.connect(self.behind)
                request = b''
                while not request.endswith(b'\n') and (part := near.recv(4096)):
                    request += part
                far.sendall(request)
                answer = b''
                while part := far.recv(65536):
                    answer += part
                if not answer.startswith(b'error late '):  # this thread had no processor for a while; it is asked again
                    self.asked.append(request.decode().strip())
                near.sendall(answer)

    def dumps(self):
        return sum(request.startswith('get-dump') for request in self.asked)


def controlled():
    """ctl serve: the numbers of `ctl status`, and the functions that hold memory."""
    target = Process([TARGET], stdin=subprocess.PIPE, environment={
        'LD_PRELOAD': PROF, 'MALLOC_CONF': f'prof:true,experimental_hs_sample:1,experimental_hs_control_path:{work}/%p.sock'})
    target.next_line()
    for _ in range(2):
        target.process.stdin.write(b'keep\n')
        target.process.stdin.flush()
        target.wait_for(lambda line: line == 'kept\n')
    pid = str(target.process.pid)
    reach = ['--socket', os.path.join(work, f'{pid}.sock'), pid]
    # The thread that answers comes to run when it does.
    while subprocess.run([COMMAND, 'ctl', *reach, 'status'], capture_output=True, check=False).returncode:
        expect(target.process.poll() is None, 'the program has ended')
        time.sleep(0.05)
    relay = Relay(os.path.join(work, 'relay.sock'), reach[1])
    server = Process([COMMAND, 'ctl', '--socket', os.path.join(work, 'relay.sock'), pid, 'serve'])
    url = server.next_line().strip() + '/metrics'
    body, _ = fetch(url)
    metrics = exposition.read(body)
    status = json.loads(subprocess.run([COMMAND, 'ctl', '--json', *reach, 'status'], capture_output=True, check=True).stdout)
    for name, key in (('live_bytes', 'live_bytes'), ('live_blocks', 'live_objects'), ('samples_total', 'samples_total'),
                      ('dropped_samples_total', 'samples_dropped'),
                      ('shortened_samples_total', 'samples_shortened'), ('sample_interval_bytes', 'sample_bytes')):
        expect(values(metrics, 'heapsonde_process_' + name, pid=pid) == [status[key]], f'{name}: {metrics}')
    sites = {dict(labels)['site']: value for labels, value in metrics['heapsonde_site_live_bytes'].items()}
    expect([value for site, value in sites.items() if site.startswith('keep_block < keep_blocks < main')] == [2000000], f'{sites}')
    expect(len(sites) == 20 or sum(sites.values()) == status['live_bytes'], f'{sites}')
    expect(exposition.read(fetch(url, accept=OPEN_METRICS)[0], open_metrics=True).keys() == metrics.keys(), 'OpenMetrics')
    exposition.check_with_promtool(body)
    # A dump is taken only for what is new, and for nobody who does not want the sites.
    expect(relay.dumps() == 1 and relay.asked.count('status') == 2, f'{relay.asked}')
    target.process.stdin.write(b'keep\n')
    target.process.stdin.flush()
    target.wait_for(lambda line: line == 'kept\n')
    few = exposition.read(fetch(url + '?sites=no')[0])
    expect(few.keys() == metrics.keys() - {'heapsonde_site_live_bytes', 'heapsonde_site_live_blocks'}, f'{few.keys()}')
    expect(relay.dumps() == 1, f'{relay.asked}')
    expect(values(exposition.read(fetch(url)[0]), 'heapsonde_site_live_bytes')[:1] == [3000000], 'what is new')
    expect(relay.dumps() == 2, f'{relay.asked}')
    # A new rate is in the head of a dump, so that the old one says nothing any more.
    subprocess.run([COMMAND, 'ctl', *reach, 'rate', '4096'], capture_output=True, check=True)
    for _ in range(2):
        metrics = exposition.read(fetch(url)[0])
        expect(values(metrics, 'heapsonde_process_sample_interval_bytes') == [4096], 'the new rate')
        expect(relay.dumps() == 3, f'{relay.asked}')
    server.end()
    target.end()


def prometheus():
    """Prometheus itself scrapes, and answers with what was served."""
    program = shutil.which('prometheus')
    if not program:
        print('skipped: there is no prometheus')
        shutil.rmtree(work)
        sys.exit(77)
    gather, url = start_gather('--token', 'secret word')
    peer = Peer(gather.port).prove().stream(b'p' * 16, pairs={'executable': '/bin/"x\\', 'pid': '7', 'device': 'gw'})
    peer.want()
    peer.data(0, make_header(b'p' * 16))
    peer.acknowledged(4096)
    host = url.removeprefix('http://').removesuffix('/metrics')
    with open(os.path.join(work, 'prometheus.yml'), 'w', encoding='utf-8') as file:
        file.write('scrape_configs:\n  - job_name: heapsonde\n    scrape_interval: 1s\n    authorization: {credentials: secret word}\n'
                   f'    static_configs: [{{targets: ["{host}"]}}]\n')
    for port in harness.ports.free():
        server = Process([program, f'--config.file={work}/prometheus.yml', f'--storage.tsdb.path={work}/tsdb',
                          f'--web.listen-address=127.0.0.1:{port}'])
        while server.process.poll() is None:
            try:
                query = 'http://127.0.0.1:%d/api/v1/query?query=heapsonde_process_trace_bytes' % port
                with urllib.request.urlopen(query) as answer:
                    found = json.load(answer)['data']['result']
                if found:
                    expect(found[0]['value'][1] == '4096' and found[0]['metric']['program'] == '"x\\', f'{found}')
                    server.end()
                    gather.stop()
                    return
            except OSError:
                pass
            time.sleep(0.1)


harness.main({'gathered': gathered, 'returning': returning, 'hostile': hostile, 'refused': refused, 'controlled': controlled, 'prometheus': prometheus})
