# SPDX-License-Identifier: MIT OR Apache-2.0
"""attach and detach at any time, with programs of several languages and with many threads. Arguments: cases with commas between
them, and a program (busy.*, or the target of test_attach.py); none: all cases are listed."""
import contextlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_attach  # noqa: E402
from test_attach import SKIPPED, Target, report  # noqa: E402

THREADS = 24
ALL_SIGNALS = ~(1 << 8 | 1 << 18) & (1 << 64) - 1  # that can be blocked
LIBCS_SIGNALS = 3 << 31  # that only libc itself can block in glibc
ROUNDS = test_attach.ROUNDS or 3
KILLED_ROUNDS = test_attach.ROUNDS or 5
SEED = int(os.environ.get('HEAPSONDE_TEST_SEED', random.randrange(1 << 31)))


class Busy(Target):
    """A process whose threads, not only the first one, allocate all the time."""

    def state(self):
        """What must be the same before an attach and after a detach. The kernel lists a thread a little longer than it works,
        and a thread blocks all signals while it starts another one."""
        while any(self.is_ours(thread) for thread in self.threads()):
            time.sleep(0.001)
        signals = self.signals()
        while any(f'SigBlk:\t{blocked:x}\n' in signals for blocked in (ALL_SIGNALS, ALL_SIGNALS & ~LIBCS_SIGNALS)):
            time.sleep(0.001)
            signals = self.signals()
        return self.text(), sorted(self.descriptors()), signals

    def descriptors(self):
        """Threads that a detach finds in the library read the list of mappings there until they leave it."""
        for descriptor in os.listdir(f'/proc/{self.pid}/fd'):
            with contextlib.suppress(OSError):  # it was closed meanwhile
                if os.readlink(f'/proc/{self.pid}/fd/{descriptor}') != f'/proc/{self.pid}/maps':
                    yield descriptor

    def signals(self):
        with open(f'/proc/{self.pid}/status', encoding='utf-8') as file:
            return [line for line in file if line.startswith(('SigBlk', 'SigIgn', 'SigCgt', 'TracerPid'))]

    def is_ours(self, thread):
        try:
            with open(f'/proc/{self.pid}/task/{thread}/comm', encoding='utf-8') as file:
                return file.read().startswith('heapsonde')
        except OSError:
            return False


def busy(target):
    """Whatever the threads are doing, the process goes on, and afterwards all is as before."""
    before = target.state()
    chance = random.Random(SEED)
    for _ in range(ROUNDS):
        trace = target.attach()
        assert target.ask('work 3') > 0
        time.sleep(chance.random() * 0.04)
        target.detach()
        assert target.ask('work 3') > 0
    after = target.state()
    assert after == before, (before, after)
    summary = report(trace)
    assert summary['state'] == 'closed', summary['state']
    target.leave()


def killed(target):
    """The same where the command is killed at any time."""
    before = target.state()
    test_attach.kill_at_any_time(target, '-o', os.path.join(target.folder, 'k.dat'), rounds=KILLED_ROUNDS)
    target.attach()
    target.detach()
    after = target.state()
    assert after == before, (before, after)
    target.leave()


CASES = {case.__name__: case for case in (busy, killed)}


def script(folder, *words):
    """A program that executes these words in its place."""
    path = os.path.join(folder, 'program')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('#!/bin/sh\nexec "' + '" "'.join(words) + '"\n')
    os.chmod(path, 0o755)
    return path


def built(source, folder):
    """From Go."""
    compiler, program = shutil.which('go'), os.path.join(folder, 'program')
    if not compiler:
        return None
    subprocess.run([compiler, 'build', '-o', program, source], check=True, env={'HOME': folder, **os.environ})
    return program


def program_of(file, folder):
    """None: what would be needed is not here. Other languages start slowly, so that only scripts/soak waits for them."""
    kind = os.path.splitext(file)[1]
    if not kind:
        return file
    if not test_attach.ROUNDS:
        return None
    if kind == '.go':
        return built(file, folder)
    interpreter = {'.py': '/usr/bin/python3', '.js': '/usr/bin/node'}[kind]
    return script(folder, interpreter, file) if os.path.exists(interpreter) else None


def carry_out(case, file):
    """Returns an exit status."""
    print('seed', SEED)
    with tempfile.TemporaryDirectory(prefix='heapsonde-programs-') as folder:
        program = program_of(file, folder)
        if not program:
            return SKIPPED
        target = Busy(program, folder)
        try:
            if not test_attach.is_allowed(target):
                return SKIPPED
            for _ in range(THREADS - 1 if program == file else 0):
                target.ask('busy')
            CASES[case](target)
        finally:
            target.process.kill()
            target.process.wait()
    return 0


if __name__ == '__main__':
    sys.exit(test_attach.run_cases(CASES, carry_out))
