# SPDX-License-Identifier: MIT OR Apache-2.0
"""heapsonde-attach, the program for boards, with real processes. Arguments: cases with commas between them and a target."""
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_attach  # noqa: E402
from test_attach import Target, at_once, busy, counts, exits, killed, killed_at_each_call, names_in, report  # noqa: E402

PROGRAM = os.environ['HEAPSONDE_TEST_ATTACH']
LIBRARY = os.environ['HEAPSONDE_LIBRARY']
SAMPLER = os.path.join(os.path.dirname(LIBRARY), 'libheapsonde-prof.so')


def program_of(words):
    """Of the words of the command those of the program."""
    action, *more = words
    return [PROGRAM, '--detach', *more] if action == 'detach' else [PROGRAM, '--library', LIBRARY, *more] if action == 'attach' else [test_attach.COMMAND, *words]


class Onboard(Target):
    """A process that is attached to by a copy of the program that has the libraries beside it, and nothing else."""

    def __init__(self, program, folder, with_own_tmp=False):
        super().__init__(program, folder, with_own_tmp)
        self.there = os.path.join(folder, 'there')
        os.mkdir(self.there)
        for file in (PROGRAM, LIBRARY, SAMPLER):
            shutil.copy(file, self.there)
        self.program = os.path.join(self.there, 'heapsonde-attach')

    def on_board(self, *words, expected=0, **more):
        done = subprocess.run([self.program, *words], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, check=False,
                              cwd=self.folder, env=more)
        assert done.returncode == expected, (words, done.returncode, done.stderr)
        return done.stderr + done.stdout

    def attach(self, name='t.dat', *options):
        self.on_board('-o', name, str(self.pid), *options)
        return os.path.join(self.folder, name)

    def detach(self):
        said = self.on_board('--detach', str(self.pid))
        assert f'process {self.pid} is not recorded any more' in said, said

    def start(self, *options):
        """In the way of 'heapsonde attach --on': it says when it has attached."""
        process = subprocess.Popen([self.program, *options, str(self.pid)], cwd=self.folder, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout.readline() == 'attached\n', process.stderr.read()
        return process


def refused(target):
    """With a sentence, and nothing is touched."""
    before = target.state()
    pid = str(target.pid)
    for words, status, said in ((('--detach', pid), 1, 'is neither recorded nor sampled'), (('2147483647',), 1, 'there is no process'),
                                (('x',), 2, 'the number of one process'), ((pid, pid), 2, 'the number of one process'), ((), 2, 'number'),
                                (('--for', '5 apples', pid), 2, "not '5 apples'"), (('--for', '0', pid), 2, '--for needs a time'),
                                (('--library', '/proc/self/nothing', pid), 1, '/proc/self/nothing'), (('--nothing', pid), 2, 'nothing'),
                                (('--allocator-at', 'x', pid), 2, 'FUNCTION=ADDRESS'), (('--names', '1:2;'), 2, '--names'),
                                (('--pipe', '/proc/self/nothing/p', '2147483647'), 1, 'there is no process')):
        message = target.on_board(*words, expected=status)
        assert said in message and message.startswith(('heapsonde-attach: ', target.program)), (words, message)
    assert 'Usage: ' in target.on_board('--help')
    target.attach()
    assert f"is recorded already; 'heapsonde-attach --detach {pid}' ends that" in target.on_board(pid, expected=1)
    target.detach()
    assert target.state() == before, (before, target.state())


def rest_of(process, names):
    """What comes after the end: the files with names."""
    out, errors = process.stdout.read(), process.stderr.read()
    assert process.wait() == 0, errors
    assert ('\nfile ' in '\n' + out) == names and out.endswith('refused 0\n'), out
    return errors


def ended(target):
    """By the end of its input, by a signal, by the end of the time, and by the end of the process. Each time it sends the names."""
    before = target.state()
    process = target.start('--until-input-ends', '-o', 'a.dat')
    allocated = target.ask('work 5')
    process.stdin.close()
    process.stdin = None
    assert 'is not recorded any more' in rest_of(process, False)
    assert report(os.path.join(target.folder, 'a.dat'))['allocations'] == allocated
    process = target.start('--until-input-ends', '-o', 'b.dat')
    process.send_signal(signal.SIGHUP)
    rest_of(process, False)
    process = target.start('--until-input-ends', '-o', 'c.dat', '--for', '1ms')
    rest_of(process, False)
    assert target.state() == before, (before, target.state())
    target.on_board('-o', 'd.dat', '--for', '1ms', str(target.pid), HEAPSONDE_MAX_DEPTH='2')
    assert target.state() == before, (before, target.state())
    said = target.on_board('--sample', '-o', 'dump', '--for', '1ms', str(target.pid), MALLOC_CONF='prof_final:true')
    assert f'process {target.pid} is not sampled any more' in said, said
    assert os.path.exists(os.path.join(target.folder, 'dump')), os.listdir(target.folder)
    process = target.start('--until-input-ends', '-o', 'e.dat')
    assert target.ask('made') == 0
    target.leave()
    errors = rest_of(process, True)
    os.remove(f'/tmp/perf-{target.pid}.map')
    assert f'process {target.pid} has ended' in errors, errors
    assert 'allocate_below' in names_in(os.path.join(target.folder, 'e.dat'))


test_attach.Target, test_attach.program_of = Onboard, program_of
test_attach.CASES = {case.__name__: case for case in (at_once, busy, counts, ended, exits, killed, killed_at_each_call, refused)}

if __name__ == '__main__':
    if not PROGRAM:
        print('heapsonde-attach is not built: the compiler has no static libc')
        sys.exit(test_attach.SKIPPED)
    sys.exit(test_attach.run_cases(test_attach.CASES, test_attach.carry_out))
