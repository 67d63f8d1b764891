# SPDX-License-Identifier: MIT OR Apache-2.0
"""heapsonde run --follow-children=trace. Arguments: cases with commas between them and the program follow_tree, or follow_debugger; none:
all cases are listed. What programs print and exit with is compared with the same run without heapsonde."""
import glob
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_attach  # noqa: E402

patience, report, COMMAND, SKIPPED, ROUNDS = (test_attach.patience, test_attach.report, test_attach.COMMAND, test_attach.SKIPPED,
                                              test_attach.ROUNDS)
LEAVES = [7, 11, 13, 17, 19]  # that the family executes
NOBODY = 65534


def following(folder, *words):
    return [COMMAND, 'run', '-q', '--follow-children=trace', '-o', os.path.join(folder, '%e.%p.%n.dat'), '--', *words]


def run(folder, *words, environment=None):
    """Returns what the program has printed and said under heapsonde, after a comparison with a run without it."""
    bare = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False, cwd=folder, env=environment)
    done = subprocess.run(following(folder, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, cwd=folder,
                          env=environment)
    status = bare.returncode if bare.returncode >= 0 else 128 - bare.returncode
    assert (done.returncode, done.stdout) == (status, bare.stdout), (bare, done)
    return done.stdout, done.stderr


def leaves(folder):
    """How often the traces of our programs have seen the function in which leaves allocate."""
    found = []
    for path in glob.glob(os.path.join(folder, '*.dat')):
        if not os.path.basename(path).startswith(('follow_tree', 'set_uid')):
            os.remove(path)
            continue
        rounds = report(path, '--function', 'leaf_round')
        assert not rounds['cut_stacks'] and rounds['attached_after_ns'] is None, (path, rounds)
        if rounds['allocations']:
            assert rounds['state'] == 'closed' and not rounds['dropped'] and not rounds['unknown_frees'], (path, rounds)
            assert rounds['live_count'] == 0, (path, rounds)
            found.append(rounds['allocations'])
        os.remove(path)
    return sorted(found)


def family(program, folder):
    """Nobody notices the tracer, and all that was executed is recorded completely."""
    for _ in range(ROUNDS or 2):
        _, said = run(folder, program)
        assert not said, said
        assert leaves(folder) == LEAVES


def shells(program, folder):
    """Pipelines, other programs, an environment that is cleared, a session of its own."""
    script = f'''
        {program} leaf 3 | cat; (exec env -i {program} leaf 5); echo $?
        env -i sh -c '{program} leaf 9; echo $?' | tr 0-9 a-j
        setsid -w env -i {program} leaf 15; echo $?
        for number in 1 2; do env -i {program} leaf 2$number & done; wait; kill -9 $$'''
    _, said = run(folder, 'sh', '-c', script)
    assert not said, said
    assert leaves(folder) == [3, 5, 9, 15, 21, 22]
    box = shutil.which('busybox')
    if box:
        _, said = run(folder, box, 'env', '-i', box, 'sh', '-c', f'{program} leaf 6; echo $? | {box} cat')
        assert all(word in said for word in (box, 'is not recorded')) or not said, said
        assert leaves(folder) == [6]


WRAPPERS = (['env', 'A=1'], ['env', '-i', 'nice'], ['timeout', '0'], ['setsid', '-w'], ['unshare', '-fp'])


def wrapped(program, folder):
    """Of a program behind others there is one trace, which has its name."""
    for number, wrapper in enumerate(WRAPPERS, 3):
        words = [*wrapper, program, 'leaf', str(number)]
        if not shutil.which(wrapper[0]) or subprocess.run(words, stderr=subprocess.DEVNULL, check=False, cwd=folder).returncode != number:
            print('left out, it does not work here:', *wrapper)
            continue
        _, said = run(folder, *words)
        assert not said, said
        (trace,) = glob.glob(os.path.join(folder, '*.dat'))
        assert os.path.basename(trace).startswith(os.path.basename(program) + '.'), trace
        assert leaves(folder) == [number]


def filtered(program, folder):
    """What would end by a system call of the recorder is not recorded."""
    _, said = run(folder, program, 'filtered', '8')
    assert 'is not recorded' in said and ('would end it for pwritev' in said or 'cannot be read' in said), said
    assert not leaves(folder)
    _, said = run(folder, program, 'filtered', '9')
    assert said.count('is not recorded') == 1, said


HURRIED = """
import random, signal, subprocess, sys, time
chance = random.Random(int(sys.argv[2]))
known = {5, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGSEGV}
for _ in range(int(sys.argv[3])):
    child = subprocess.Popen([sys.argv[1], 'leaf', '5'], env={})
    time.sleep(chance.random() * 0.03)
    for number in chance.sample([signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT, signal.SIGTERM, signal.SIGSEGV], 2):
        child.send_signal(number)
    child.send_signal(signal.SIGCONT)
    time.sleep(chance.random() * 0.01)
    child.kill()
    assert child.wait() in known, child.returncode
"""


def hurried(program, folder):
    """Processes that are ended, stopped and continued while they start have the ends that they should have, and hold up nobody."""
    done = subprocess.run(following(folder, sys.executable, '-c', HURRIED, program, os.environ.get('HEAPSONDE_TEST_SEED', '1'), str(ROUNDS or 30)),
                          stderr=subprocess.PIPE, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done
    right = ('a signal has stopped process', 'its libraries were not loaded')
    said = [line for line in done.stderr.splitlines() if not any(words in line for words in right)]
    assert not said, said


def waiting(_, folder):
    """A program that waits for another while its libraries are loaded does not hold up that one for ever. What it says fills the pipe."""
    printed, said = run(folder, 'sh', '-c', 'LD_DEBUG=all ls / 2>&1 | sh -c "sleep 0.3; exec cat" > /dev/null; echo $?')
    assert printed == '0\n'
    assert all('not recorded: its libraries were not loaded' in line for line in said.splitlines()), said
    leaves(folder)


def left(program, folder):
    """The command ends with its program; what that has left goes on."""
    path = os.path.join(folder, 'end')
    done = subprocess.run(following(folder, program, 'left', path), stdout=subprocess.PIPE, text=True, check=True, cwd=folder)
    pid = int(done.stdout)
    with open(f'/proc/{pid}/status', encoding='utf-8') as file:
        assert 'TracerPid:\t0\n' in file.read()
    with open(path, 'w', encoding='utf-8'):
        pass
    while os.path.exists(path):
        assert os.path.exists(f'/proc/{pid}') or not os.path.exists(path)
        time.sleep(0.001)


def users(program, folder):
    """As root, a set-uid program gets its rights and is recorded."""
    if os.getuid():
        print('only as root')
        return SKIPPED
    os.chmod(folder, 0o777)
    copy = os.path.join(folder, 'set_uid')
    shutil.copy(program, copy)
    os.chown(copy, NOBODY, -1)
    os.chmod(copy, 0o4755)
    if subprocess.run([copy, 'users', '0'], stdout=subprocess.PIPE, text=True, check=True).stdout != f'0 {NOBODY}\n':
        print('set-uid has no effect here')
        return SKIPPED
    for words in (['sh', '-c', f'{copy} users 12; echo $?'], [copy, 'users', '12'], ['env', 'A=1', copy, 'users', '12']):
        _, said = run(folder, *words)
        assert not said, said
        assert leaves(folder) == [12]
    return 0


def debugger(program, folder):
    """A program that traces others can do so."""
    _, said = run(folder, 'sh', '-c', f'{program} debugger; echo $?')
    assert f'{program} (process ' in said and 'may trace programs itself' in said, said
    leaves(folder)


def killed(program, folder):
    """The command is killed at any time; the programs go on."""
    chance = random.Random(int(os.environ.get('HEAPSONDE_TEST_SEED', '1')))
    for turn in range(ROUNDS or 10):
        end = os.path.join(folder, f'end{turn}')
        script = f'for i in 1 2 3 4 5 6 7 8 9 10; do {program} leaf 7; test $? = 7 || exit 1; done; : > {end}; exit 3'
        reader, writer = os.pipe()
        command = subprocess.Popen(following(folder, 'sh', '-c', f'read line; {script}'), stdin=subprocess.PIPE, stdout=writer,
                                   stderr=subprocess.DEVNULL, cwd=folder)
        os.close(writer)
        # The dynamic linker has loaded the shell when the pipe is read from.
        command.stdin.write(b'go on\n')
        command.stdin.close()
        while not glob.glob(os.path.join(folder, 'follow_tree*.dat')) and command.poll() is None:
            time.sleep(0.001)
        time.sleep(chance.random() * 0.1)
        command.kill()
        command.wait()
        with os.fdopen(reader) as output:
            output.read()  # until the programs have ended
        assert os.path.exists(end), turn
        for path in glob.glob(os.path.join(folder, '*.dat')):
            os.remove(path)


def refused(program, folder):
    """With a sentence."""
    for options, said in ((['--on', 'exec:sh -c {}'], 'without --on'), (['--allocator-symbols', 'je_'], 'apply to one program')):
        done = subprocess.run([COMMAND, 'run', '--follow-children=trace', *options, '-o', '%p.dat', '--', program], text=True, check=False,
                              stderr=subprocess.PIPE, cwd=folder)
        assert done.returncode == 2 and said in done.stderr, done
    done = subprocess.run([COMMAND, 'run', '--follow-children=trace', '-o', 't.dat', '--', program], text=True, check=False,
                          stderr=subprocess.PIPE, cwd=folder)
    assert done.returncode == 2 and '%p' in done.stderr, done


CASES = {case.__name__: case for case in (family, shells, wrapped, filtered, hurried, waiting, left, users, debugger, killed, refused)}


def is_allowed():
    """Whether the kernel lets a process trace its child."""
    child = subprocess.Popen(['sleep', '1000'])
    try:
        return test_attach.is_allowed(child)
    finally:
        child.kill()
        child.wait()


def main():
    if len(sys.argv) < 3:
        print('\n'.join(CASES))
        return 0
    if not is_allowed():
        return SKIPPED
    patience.begin()
    status = 0
    for case in sys.argv[1].split(','):
        with tempfile.TemporaryDirectory(prefix='heapsonde-follow-') as folder:
            status = max(status, CASES[case](sys.argv[2], folder) or 0)
    patience.end()
    return status


if __name__ == '__main__':
    sys.exit(main())
