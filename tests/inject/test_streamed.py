# SPDX-License-Identifier: MIT OR Apache-2.0
"""heapsonde attach with a host that takes the stream: it has everything, and after the detach nothing is left of the sender.
Arguments: a case and a target; no case: all are listed."""
import contextlib
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_attach  # noqa: E402
import test_sample  # noqa: E402
from test_attach import COMMAND, children_of, report  # noqa: E402


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


def check_left(target):
    for path in glob.glob(f'/proc/{target.pid}/task/*'):
        assert not children_of(target.pid, os.path.basename(path)), path


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


test_sample.CASES = {case.__name__: case for case in (traced, sampled)}

if __name__ == '__main__':
    sys.exit(test_attach.run_cases(test_sample.CASES, test_sample.carry_out))
