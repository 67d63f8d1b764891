# SPDX-License-Identifier: MIT OR Apache-2.0
"""heapsonde attach with a host that takes the stream: it has everything, and after the detach nothing is left of the sender.
Arguments: a case and a target; no case: all are listed."""
import contextlib
import fcntl
import glob
import os
import re
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_attach  # noqa: E402
import test_sample  # noqa: E402
from test_attach import COMMAND, children_of, report, value_of  # noqa: E402


SMALLEST_PIPE = 4096


class Host:
    """heapsonde gather."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, 'host')
        self.process = subprocess.Popen([COMMAND, 'gather', '--listen', '127.0.0.1:0', '-d', self.folder], stdout=subprocess.PIPE, text=True)
        self.address = self.wait_for('listening on ').split()[-1]

    def wait_for(self, words):
        for line in self.process.stdout:
            if words in line:
                return line
        raise AssertionError(f'gather has not said "{words}"')


@contextlib.contextmanager
def host(target):
    gather = Host(target.folder)
    try:
        yield gather
    finally:
        gather.process.terminate()
        gather.process.wait()


def memory_of(pid, name):
    """KiB of memory in mappings of files whose names end so."""
    with open(f'/proc/{pid}/smaps', encoding='utf-8') as file:
        parts = re.split(r'^(?=[0-9a-f]+-[0-9a-f]+ )', file.read(), flags=re.M)
    return sum(int(re.search(r'^Rss: +(\d+)', part, re.M)[1]) for part in parts if re.search(name + r'(?: \(deleted\))?$', part.split('\n')[0]))


def children_of_all(target):
    return [child for path in glob.glob(f'/proc/{target.pid}/task/*') for child in children_of(target.pid, os.path.basename(path))]


def check_left(target):
    assert not children_of_all(target)


def traced(target):
    """The bytes of a spill file are free, although it stays mapped."""
    with host(target) as gather:
        for policy in ('drop', 'spill'):
            spill = os.path.join(target.folder, f'{policy}.spill')
            os.environ['HEAPSONDE_SPILL_FILE'] = spill
            trace = target.attach(f'{policy}.dat', '--connect', gather.address, '--stream-policy', policy)
            gather.wait_for('began')
            allocated = target.ask('work 200')
            assert (memory_of(target.pid, spill) > 0) == (policy == 'spill')
            target.detach()
            check_left(target)
            assert memory_of(target.pid, spill) == 0
            received = os.path.join(gather.folder, gather.wait_for('ended').split()[-1])
            assert report(received)['allocations'] == report(trace)['allocations'] == allocated
    target.leave()


def sampled(target):
    with host(target) as gather:
        target.sample(test_sample.ALL, '--connect', gather.address)
        gather.wait_for('began')
        allocated = target.ask('work 20')
        path = target.dump()
        target.detach()
        check_left(target)
        assert test_sample.totals(path)[1] == allocated
    target.leave()


def waiting_in(pipe):
    """Bytes that nobody has read."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def piped(target):
    """A pipe that is full holds a detach until its reader has everything; one that nobody reads leaves nothing."""
    pipe = os.path.join(target.folder, 'pipe')
    os.mkfifo(pipe)
    target.attach('unread.dat', '--connect', pipe)
    while value_of('State', children_of_all(target)[0]) != 'Z':
        time.sleep(0.001)
    target.detach()
    check_left(target)
    with open(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), 'rb', buffering=0) as reader:
        fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, SMALLEST_PIPE)
        trace = target.attach('read.dat', '--connect', pipe)
        target.ask('work 200')
        while not waiting_in(reader):
            time.sleep(0.001)
        command = subprocess.Popen(test_attach.program_of(('detach', '-q', str(target.pid))))
        while report(trace)['state'] != 'closed' or len(target.threads()) > 2:  # that of the detach is left
            time.sleep(0.001)
        os.set_blocking(reader.fileno(), True)
        while reader.read(SMALLEST_PIPE):
            pass
        assert command.wait() == 0
    check_left(target)
    target.leave()


test_sample.CASES = {case.__name__: case for case in (traced, piped, sampled)}

if __name__ == '__main__':
    sys.exit(test_attach.run_cases(test_sample.CASES, test_sample.carry_out))
