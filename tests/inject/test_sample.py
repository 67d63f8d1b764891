# SPDX-License-Identifier: MIT OR Apache-2.0
"""heapsonde attach --sample with real processes. Arguments: a case and a target; no case: all are listed."""
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_attach  # noqa: E402
from test_allocators import Allocators, counts_of  # noqa: E402
from test_attach import ROUNDS, SKIPPED, STRIDE, Target, clean_up, kept_busy, kill_at_any_time, report  # noqa: E402

TURNS = min(ROUNDS or 3, 3)
ALL = 'prof_accum:true'  # dumps have the counts of all allocations, too


class Sampled(Target):
    """A process that answers, and is sampled."""

    def sample(self, options=ALL, *more, rate=1, expected=0):
        before = os.environ.get('MALLOC_CONF')
        os.environ['MALLOC_CONF'] = options
        try:
            return self.run('attach', f'--sample={rate}', str(self.pid), *more, expected=expected)
        finally:
            os.environ.pop('MALLOC_CONF')
            if before is not None:
                os.environ['MALLOC_CONF'] = before

    def dump(self, name='d.heap'):
        """Fetches a dump over the control socket, at which a thread answers that begins when it has a processor."""
        path = os.path.join(self.folder, name)
        while subprocess.run(test_attach.program_of(('ctl', str(self.pid), 'status')), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             cwd=self.folder, check=False).returncode:
            assert self.process.poll() is None
            time.sleep(0.01)
        self.run('ctl', str(self.pid), 'dump', '-f', 'heap_v2', '-o', path)
        return path


class SampledAllocators(Sampled, Allocators):
    """The same with several allocators."""


def facts(path):
    return {fact['key']: fact['value'] for fact in report(path)['facts']}


def totals(path):
    """Live and all samples of a dump."""
    with open(path, encoding='utf-8') as dump:
        match = re.search(r'^  t\*: (\d+): \d+ \[(\d+): \d+\]$', dump.read(), re.M)
    return int(match[1]), int(match[2])


def dumps(target, kind):
    return sorted(name for name in os.listdir(target.folder) if re.search(rf'\.{kind}[0-9]*\.heap$', name))


def counts(target):
    """Every allocation is a sample: their number is the program's own, again after a detach. Then everything is as before."""
    before = target.state()
    for turn in range(TURNS):
        target.sample()
        held = target.ask('held')
        expected = target.ask(f'work {200 + turn}') + 1
        if turn == 0:
            target.ask('old')
        path = target.dump()
        assert '\nrate: every allocation\n' in target.run('ctl', str(target.pid), 'status')
        target.detach()
        target.ask('work 10')
        assert target.state() == before, (before, target.state())
        assert totals(path) == (0, expected), (totals(path), expected)
        assert facts(path).get('older-bytes') == (str(held) if held else None), (facts(path), held)
        said = 'some .* MiB of older blocks' if held else 'older blocks'
        assert re.search(f'sampling began .* after the process had started; {said} are not in it', target.run('report', path))
        assert re.search(said, target.run('export', '--format', 'collapsed', '-o', os.path.join(target.folder, 'e'), path))
        assert not report(path)['live_count'] and facts(path)['dropped'] == '0'
    target.leave()


def then_traced(target):
    """After a detach, the other library can follow."""
    before = target.state()
    for turn in range(TURNS):
        target.sample()
        expected = target.ask('work 30')
        path = target.dump()
        target.detach()
        assert totals(path) == (0, expected), (totals(path), expected)
        trace = target.attach(f'{turn}.dat')
        expected = target.ask('work 40')
        target.detach()
        assert report(trace)['allocations'] == expected
        assert target.state() == before, (before, target.state())
    target.leave()


def files(target):
    """Dumps at intervals, at a detach and at the end of the process, where they were asked for."""
    name = 'experimental_hs_name:' + os.path.join(target.folder, '%p.%s.%k%n.heap')
    target.sample(f'{ALL},prof_final:true,lg_prof_interval:14,{name}')
    expected = target.ask('work 50')
    target.detach()
    assert dumps(target, 'i'), os.listdir(target.folder)
    final, = dumps(target, 'f')
    assert totals(os.path.join(target.folder, final)) == (0, expected), final
    os.remove(os.path.join(target.folder, final))
    target.sample(f'{ALL},prof_final:true', '-o', os.path.join(target.folder, '%p-%e.%k%n.heap'))
    expected = target.ask('work 60')
    target.leave()
    final, = dumps(target, 'f')
    assert final.startswith(f'{target.pid}-attach_'), final
    assert totals(os.path.join(target.folder, final))[1] >= expected, final
    assert 'attached' in facts(os.path.join(target.folder, final))


def readable(target):
    """What jeprof makes of a dump at an ordinary rate."""
    target.sample(rate='4K')
    target.ask('work 2000')
    target.ask('busy')
    path = target.dump()
    with open(path, encoding='utf-8') as dump:
        assert dump.readline() == 'heap_v2/4096\n'
    done = subprocess.run(['jeprof', '--text', '--alloc_space', target.process.args[0], path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)
    assert done.returncode == 0 and 'one_round' in done.stdout, (done.stdout, done.stderr)
    target.detach()
    target.leave()


def busy(target):
    """While a thread allocates all the time."""
    with kept_busy(target):
        for turn in range(ROUNDS or 10):
            target.sample(rate=1 if turn % 2 else '2K')
            target.ask('work 20')
            assert totals(target.dump())[1] > 0
            target.detach()


def killed(target):
    """The command is killed at any time; the process goes on, and the next detach cleans up."""
    with kept_busy(target):
        kill_at_any_time(target, '--sample=1')
        target.sample()
        target.detach()


def killed_at_each_call(target):
    """The same, before each call by which the command changes the process; another attach is possible after each."""
    before = target.state()
    number = 1
    attach = ('attach', '--sample=1', '-q', str(target.pid))
    detach = ('detach', '-q', str(target.pid))
    while test_attach.end_at(attach, number):
        clean_up(target)
        number += STRIDE
    assert number > 50, number
    target.detach()
    number, was_killed = 1 - STRIDE, True
    while was_killed:
        number += STRIDE
        target.sample()
        was_killed = test_attach.end_at(detach, number)
        clean_up(target)
    assert number > 20, number
    assert target.state() == before, (before, target.state())
    target.leave()


def refused(target):
    """With a sentence, and nothing is touched: what does not go together."""
    before = target.state()
    pid = str(target.pid)
    for wrong in ('--sample=0', '--sample=much', '--cull=5'):
        assert target.run('attach', '--sample', wrong, pid, expected=2), wrong
    target.sample()
    for words in (('attach', pid), ('attach', '--sample', pid), ('doctor', pid)):
        assert 'is sampled already' in target.run(*words, expected=1), words
    assert f'process {pid} is not sampled any more' in target.run('detach', pid)
    target.attach()
    for words in (('attach', pid), ('attach', '--sample', pid), ('doctor', pid)):
        assert 'is recorded already' in target.run(*words, expected=1), words
    target.detach()
    assert target.state() == before, (before, target.state())
    assert 'can be' in target.run('doctor', pid)
    target.run('attach', '--sample', '--for', '10ms', pid)
    assert target.state() == before, (before, target.state())
    target.leave()


def allocators(target):
    """Of several allocators in a program, from the attach on, again after a detach."""
    before = target.state()
    for _ in range(2):
        target.sample(ALL, '--allocator-symbols', 'toy_')
        expected = target.ask('work 100')
        path = target.dump()
        target.detach()
        target.ask('work 3')
        assert target.state() == before, (before, target.state())
        for name, count in expected.items():
            rounds = report(path, '--function', name)
            assert (rounds['allocations'], rounds['live_count']) == (count, 0), (name, rounds, count)
        assert ', ' in facts(path)['allocators']
    target.leave()


def forks(target):
    """A forked child is sampled, too."""
    name = 'experimental_hs_name:' + os.path.join(target.folder, '%p.%k%n.heap')
    target.sample(f'{ALL},prof_final:true,experimental_hs_final_always:true,{name}')
    target.ask('fork')
    target.detach()
    target.leave()
    own = f'{target.pid}.f0.heap'
    child, = (found for found in dumps(target, 'f') if found != own)
    with open(os.path.join(target.folder, 'child'), encoding='utf-8') as file:
        for name, count in counts_of(file.read()).items():
            if name != 'round_toy':
                rounds = report(os.path.join(target.folder, child), '--function', name)
                assert rounds['allocations'] == count, (name, rounds, count)


CASES = {case.__name__: case for case in (counts, then_traced, files, readable, busy, killed, killed_at_each_call, refused)}
OF_ALLOCATORS = {case.__name__: case for case in (allocators, forks)}


def carry_out(case, program):
    """Returns an exit status."""
    with tempfile.TemporaryDirectory(prefix='heapsonde-sample-') as folder:
        os.environ['XDG_RUNTIME_DIR'] = folder
        os.environ.pop('MALLOC_CONF', None)
        os.chdir(folder)
        of_allocators = OF_ALLOCATORS.get(case)
        target = (SampledAllocators if of_allocators else Sampled)(program, folder)
        try:
            if not test_attach.is_allowed(target):
                return SKIPPED
            (of_allocators or CASES[case])(target)
        finally:
            target.process.kill()
            target.process.wait()
            os.chdir('/')
    return 0


if __name__ == '__main__':
    sys.exit(test_attach.run_cases([*CASES, *OF_ALLOCATORS], carry_out))
