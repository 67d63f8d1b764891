# SPDX-License-Identifier: MIT OR Apache-2.0
"""heapsonde attach and detach with real processes (test_ends.py: their ends). Arguments: cases with commas between them and a
target; none: all cases are listed."""
import contextlib
import ctypes
import glob
import hashlib
import json
import os
import platform
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import patience  # noqa: E402

COMMAND = os.environ['HEAPSONDE_TEST_COMMAND']
SKIPPED = 77
ROUNDS = int(os.environ.get('HEAPSONDE_TEST_ROUNDS', '0'))  # scripts/soak has more
FIRST_ROUNDS = 18  # allocations before the first word
STRIDE = int(os.environ.get('HEAPSONDE_TEST_STRIDE', '1'))  # of the calls before which a command is killed, every how many-th
FIRST_AT, SECOND_AT = (0, 1) if platform.machine() == 'aarch64' else (14, 13)  # registers of a system call's arguments
TRACEME, DETACH, SYSCALL, SETOPTIONS, GETREGSET, SEIZE, INTERRUPT = 0, 17, 24, 0x4200, 0x4204, 0x4206, 0x4207
WALL, CLONE_NEWNS, CLONE_NEWUSER, MS_BIND, MS_REC, MS_PRIVATE, NOBODY = 0x40000000, 0x20000, 0x10000000, 1 << 12, 1 << 14, 1 << 18, 65534
CLONE_NEWPID, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, PR_SET_PTRACER = 0x20000000, 22, 38, 0x59616d61
OPENAT2 = 437
KILL, TRAP, ERRNO, UNKNOWN = '80000000', '30000', '50001', '60000'  # answers of filters
TRACESYSGOOD, EXITKILL, NT_PRSTATUS = 1, 1 << 20, 1
CAPBSET_DROP, CAP_SETUID, CAP_SYS_CHROOT, CAP_SYS_PTRACE, CAP_SYS_ADMIN = 24, 7, 18, 19, 21
# The register of a system call's number; pwrite64, ptrace.
NUMBER_AT, CALLS_THAT_CHANGE = {'aarch64': (8, (68, 117)), 'armv7l': (7, (181, 26)), 'mips64': (2, (5017, 5099))}.get(platform.machine(), (15, (18, 101)))


def program_of(words):
    """What attaches and detaches, and its arguments. Tests of another program replace this."""
    return [COMMAND, *words]


def hide(folder):
    """This process has an empty folder of its own there from now on. False: the kernel forbids it."""
    libc = ctypes.CDLL(None)
    return libc.unshare(CLONE_NEWNS) == 0 and libc.mount(b'none', b'/', None, MS_REC | MS_PRIVATE, None) == 0 and \
        libc.mount(b'none', folder.encode(), b'tmpfs', 0, None) == 0


def hide_tmp():
    return hide('/tmp')


def is_possible(change):
    """Whether the kernel lets a process do that."""
    pid = os.fork()
    if pid == 0:
        os._exit(0 if change() else 1)
    return os.waitpid(pid, 0)[1] == 0


class Target:
    """A process that answers."""

    def __init__(self, program, folder, with_own_tmp=False, user=None, enter=None):
        self.folder = folder
        self.hides_tmp = with_own_tmp and is_possible(hide_tmp) and not any(os.path.realpath(path).startswith('/tmp/') for path in (program, folder))
        self.started = time.clock_gettime(time.CLOCK_BOOTTIME) - 1 / os.sysconf('SC_CLK_TCK')
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                                        preexec_fn=hide_tmp if self.hides_tmp else enter, user=user, group=user)
        self.pid = self.process.pid
        with contextlib.suppress(OSError):  # of an earlier process with this number
            os.remove(f'/tmp/perf-{self.pid}.map')
        assert self.answer() == 'ready'

    def answer(self):
        return self.process.stdout.readline().strip()

    def ask(self, words):
        self.process.stdin.write(words + '\n')
        return int(self.answer())

    def run(self, *words, expected=0, enter=None):
        done = subprocess.run(program_of(words), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, check=False,
                              cwd=self.folder, preexec_fn=enter)
        assert done.returncode == expected, (words, done.returncode, done.stderr, done.stdout)
        return done.stderr + done.stdout

    def attach(self, name='t.dat', *options):
        path = os.path.join(self.folder, name)
        self.run('attach', str(self.pid), '-o', path, *options)
        return path

    def detach(self):
        return self.run('detach', str(self.pid))

    def text(self):
        """Of every mapping of a file's code."""
        digest = hashlib.sha256()
        with open(f'/proc/{self.pid}/maps', encoding='utf-8') as maps, open(f'/proc/{self.pid}/mem', 'rb') as memory:
            for line in maps:
                words = line.split()
                if words[1] == 'r-xp' and len(words) > 5 and words[5].startswith('/'):
                    start, end = (int(word, 16) for word in words[0].split('-'))
                    memory.seek(start)
                    digest.update(memory.read(end - start))
        return digest.hexdigest()

    def mapped_files(self):
        with open(f'/proc/{self.pid}/maps', encoding='utf-8') as maps:
            return sorted({words[5] for words in map(str.split, maps) if len(words) > 5 and words[5].startswith('/')})

    def threads(self):
        return os.listdir(f'/proc/{self.pid}/task')

    def state(self):
        """What must be the same after an attach and a detach, while the program has one thread. The kernel lists a thread a
        little longer than it takes to tell whoever joins it that it has ended."""
        while len(self.threads()) > 1:
            time.sleep(0.001)
        with open(f'/proc/{self.pid}/status', encoding='utf-8') as file:
            signals = [line for line in file if line.startswith(('SigBlk', 'SigIgn', 'SigCgt', 'TracerPid'))]
        return self.text(), self.mapped_files(), sorted(os.listdir(f'/proc/{self.pid}/fd')), signals

    def leave(self):
        self.process.stdin.write('leave\n')
        assert self.process.wait() == 3, self.process.returncode


def report(path, *options):
    done = subprocess.run([COMMAND, 'report', '--json', *options, path], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def names_in(path):
    """Of functions of which it has stacks."""
    done = subprocess.run([COMMAND, 'export', '--format', 'collapsed', '--cost', 'allocated', path], stdout=subprocess.PIPE, text=True,
                          check=True)
    return done.stdout


def mapped_near(target):
    """Bytes of mappings without a file that a jump of any machine can reach from the program."""
    with open(f'/proc/{target.pid}/maps', encoding='utf-8') as maps:
        lines = [line.split() for line in maps]
    first = int(lines[0][0].split('-')[0], 16)
    ends = [[int(word, 16) for word in words[0].split('-')] for words in lines if len(words) < 6]
    return sum(end - start for start, end in ends if start - first < 64 << 20)


def attached_often(target):
    """Later recordings do not use up what room there is near the allocator, although their memory stays."""
    target.attach('t0.dat')
    target.detach()
    before = mapped_near(target)
    for turn in range(1, 4):
        trace = target.attach(f't{turn}.dat')
        allocated = target.ask('work 20')
        target.detach()
        assert report(trace)['allocations'] == allocated
    assert mapped_near(target) - before < 1 << 20, (before, mapped_near(target))
    target.leave()


def open_files(target):
    """Of all threads: those of the recorder have descriptors of their own."""
    for path in glob.glob(f'/proc/{target.pid}/task/*/fd/*'):
        with contextlib.suppress(OSError):  # it was closed meanwhile
            yield os.readlink(path)


def counts(target):
    """What is recorded is what the program says, again after a detach; then everything is as before."""
    before = target.state()
    for turn in range(2):
        trace = target.attach(f't{turn}.dat')
        held = target.ask('held')
        allocated = target.ask(f'work {200 + turn}') + 1
        old = target.ask('old') if turn == 0 else 0
        # It would be for returning pages of modules to the kernel, but any module may be unloaded.
        assert not any(path.endswith('/pagemap') for path in open_files(target))
        target.detach()
        target.ask('work 10')
        assert target.state() == before, (before, target.state())
        summary = report(trace)
        assert summary['allocations'] == allocated, (summary['allocations'], allocated)
        assert summary['unknown_frees'] == old, summary['unknown_frees']
        assert summary['older_bytes'] == (held or None), (summary['older_bytes'], held)
        said = f'{"some " if held else "an unknown number"}.* of older blocks are not in the trace; {old} of them were freed since'
        assert re.search(said, target.run('report', trace))
        assert re.search(said, target.run('export', '--format', 'json', '-o', os.path.join(target.folder, 'e'), trace))
        assert summary['live_count'] == 0 and not summary['dropped'] and not summary['cut_stacks'], summary
    target.leave()


def exits(target):
    """A process that ends while it is recorded has a whole trace."""
    trace = target.attach()
    allocated = target.ask('work 50')
    target.leave()
    summary = report(trace)
    assert summary['allocations'] >= allocated, summary
    assert summary['state'] == 'closed', summary['state']


@contextlib.contextmanager
def kept_busy(target):
    """A thread of the process allocates all the time. At the end, the code is as before."""
    before_text = target.text()
    target.ask('busy')
    yield
    assert target.text() == before_text
    target.leave()


def busy(target):
    """While a thread allocates all the time."""
    with kept_busy(target):
        for turn in range(ROUNDS or 10):
            target.attach(f't{turn}.dat')
            target.ask('work 20')
            target.detach()


def clean_up(target):
    """The process has survived the end of a command, and a detach puts back what that has changed."""
    assert target.ask('work 3') > 0
    subprocess.run(program_of(('detach', '-q', str(target.pid))), stderr=subprocess.DEVNULL, check=False)


def kill_at_any_time(target, *options, rounds=ROUNDS or 20):
    """Kills commands that attach with these options."""
    chance = random.Random(int(os.environ.get('HEAPSONDE_TEST_SEED', '1')))
    for _ in range(rounds):
        command = subprocess.Popen(program_of(('attach', '-q', str(target.pid), *options)), stderr=subprocess.DEVNULL)
        time.sleep(chance.random() * 0.06)
        command.kill()
        command.wait()
        clean_up(target)


def killed(target):
    """The command is killed at any time; the process goes on, and the next detach cleans up."""
    with kept_busy(target):
        kill_at_any_time(target, '-o', os.path.join(target.folder, 'k.dat'))
        target.attach()
        target.detach()


def children_of(pid, thread=None):
    with open(f'/proc/{pid}/task/{thread or pid}/children', encoding='ascii') as file:
        return [int(number) for number in file.read().split()]


class Calls:
    """Stops a command before each of its system calls."""

    def __init__(self, words, output=2, errors=2):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        self.registers, self.status = (ctypes.c_ulong * 64)(), None
        command = program_of(words)
        self.pid = os.fork()
        if self.pid == 0:
            self.libc.ptrace(TRACEME, 0, None, None)
            os.dup2(output, 1)
            os.dup2(errors, 2)
            os.execv(command[0], command)
        os.waitpid(self.pid, 0)
        self.libc.ptrace(SETOPTIONS, self.pid, None, TRACESYSGOOD | EXITKILL)

    def __iter__(self):
        """Yields the number of each call; at the end there is a status."""
        is_entry, signal_number = False, 0
        area = (ctypes.c_ulong * 2)(ctypes.addressof(self.registers), 0)  # struct iovec
        while True:
            assert self.libc.ptrace(SYSCALL, self.pid, None, signal_number) == 0
            _, self.status = os.waitpid(self.pid, 0)
            if not os.WIFSTOPPED(self.status):
                return
            signal_number = os.WSTOPSIG(self.status)
            if signal_number != signal.SIGTRAP | 0x80:
                continue
            signal_number = 0
            is_entry = not is_entry
            area[1] = ctypes.sizeof(self.registers)
            assert self.libc.ptrace(GETREGSET, self.pid, NT_PRSTATUS, ctypes.addressof(area)) == 0
            if is_entry:
                yield self.registers[NUMBER_AT]

    def opens(self, path):
        """Whether the call is an openat of that path."""
        with open(f'/proc/{self.pid}/mem', 'rb') as memory:
            memory.seek(self.registers[SECOND_AT])
            return memory.read(len(path) + 1) == path.encode() + b'\0'

    def seizes(self, call, thread):
        """Whether the call makes it trace that thread."""
        return call == CALLS_THAT_CHANGE[1] and self.registers[FIRST_AT] == SEIZE and self.registers[SECOND_AT] == thread


def end_at(words, number, output=2, ends_child=False):
    """Ends the command, or the program that it has started, before the command's call of that number that could change a process.
    True: there was such a call. The command has the program's status. To end the program, only calls count while there is one."""
    calls, expected = Calls(words, output), 0
    for call in calls:
        if call not in CALLS_THAT_CHANGE:
            continue
        children = children_of(calls.pid)
        number -= 1 if children or not ends_child else 0
        if number == 0 and not ends_child:
            os.kill(calls.pid, signal.SIGKILL)
            os.waitpid(calls.pid, 0)
            return True
        if number == 0 and not expected:
            os.kill(children[0], signal.SIGKILL)
            expected = 128 + signal.SIGKILL
    assert os.WIFEXITED(calls.status) and os.WEXITSTATUS(calls.status) == expected, (words, number, calls.status)
    return expected != 0


def killed_at_each_call(target):
    """The same, before each call by which the command changes the process; another attach is possible after each."""
    before = target.state()
    number = 1
    attach = ('attach', '-q', str(target.pid), '-o', os.path.join(target.folder, 'k.dat'))
    detach = ('detach', '-q', str(target.pid))
    while end_at(attach, number):
        clean_up(target)
        number += STRIDE
    assert number > 50, number
    target.detach()
    number = 1
    while True:
        trace = target.attach()
        was_killed = end_at(detach, number)
        clean_up(target)
        assert report(trace)['state'] == 'closed', number
        if not was_killed:
            break
        number += STRIDE
    assert number > 20, number
    assert target.state() == before, (before, target.state())
    target.leave()


def stopped(target):
    """No thread of ours could work in a stopped process; when it goes on, it is recorded."""
    os.kill(target.pid, signal.SIGSTOP)
    os.waitpid(target.pid, os.WUNTRACED)
    message = target.run('attach', str(target.pid), expected=1)
    assert 'is stopped' in message, message
    os.kill(target.pid, signal.SIGCONT)
    os.waitpid(target.pid, os.WCONTINUED)
    trace = target.attach()
    allocated = target.ask('work 20')
    target.detach()
    assert report(trace)['allocations'] == allocated
    target.leave()


def waits(target):
    """While a thread waits in the kernel for a child of vfork, where it cannot be stopped, the others go on."""
    thread = target.ask('wait')

    def traced_state():
        with open(f'/proc/{target.pid}/task/{thread}/status', encoding='utf-8') as file:
            values = dict(line.split(':\t', 1) for line in file)
        return values['State'][0], int(values['TracerPid'])

    while traced_state()[0] != 'D':
        time.sleep(0.001)
    began = time.monotonic()
    command = subprocess.Popen(program_of(('attach', '-q', str(target.pid), '-o', os.path.join(target.folder, 't.dat'))),
                               stderr=subprocess.PIPE, text=True)
    while not traced_state()[1]:
        time.sleep(0.001)
    for _ in range(20):
        assert target.ask('work 5') > 0
    assert target.ask('go') == 1
    message = command.communicate()[1]
    if command.returncode:
        assert 'cannot be stopped; try again later' in message and time.monotonic() - began > 30, message
        clean_up(target)
        target.attach()
    target.ask('work 20')
    target.detach()
    target.leave()


def lent(target):
    """doctor says that the only thread waits in the kernel; the attach would, after a while."""
    target.process.stdin.write('lend\n')
    while value_of('State', target.pid) != 'D':
        time.sleep(0.001)
    assert 'waits in the kernel' in target.run('doctor', str(target.pid), expected=1)
    os.kill(children_of(target.pid)[0], signal.SIGKILL)
    assert target.answer() == '0'
    is_recorded(target)
    target.leave()


def stopped_meanwhile(target):
    """A stop is not lost that comes at any time of an attach or a detach."""
    seed = int(os.environ.get('HEAPSONDE_TEST_SEED', '1'))
    print('seed', seed)
    chance = random.Random(seed)
    recorded = False  # A command that finds the process stopped changes nothing, so the next one may not be needed.
    for turn in range(ROUNDS or 10):
        for words in (['attach', '-o', os.path.join(target.folder, f'{turn}.dat')], ['detach']):
            needless = 'is recorded already' if recorded else 'is neither recorded'
            command = subprocess.Popen(program_of((*words, str(target.pid))), stderr=subprocess.PIPE, text=True)
            for _ in range(3):
                time.sleep(chance.random() * 0.01)
                os.kill(target.pid, signal.SIGSTOP)
                os.waitpid(target.pid, os.WUNTRACED)
                os.kill(target.pid, signal.SIGCONT)
                os.waitpid(target.pid, os.WCONTINUED)
            message = command.communicate()[1]
            if not command.returncode:
                assert recorded == (words[0] == 'detach'), message
                recorded = not recorded
            elif 'is stopped' not in message and 'a signal has stopped' not in message:
                assert needless in message and recorded == (words[0] == 'attach'), message
        target.ask('work 20')
    target.leave()


def at_once(target):
    """Of several commands at the same time, one attaches, and one detaches."""
    before = target.state()
    for turn in range(ROUNDS or 5):
        path = os.path.join(target.folder, f'{turn}.dat')
        for words in (['attach', '-o', path], ['detach']):
            commands = [subprocess.Popen(program_of((*words, str(target.pid))), stderr=subprocess.PIPE, text=True) for _ in range(4)]
            messages = [command.communicate()[1] for command in commands]
            assert sorted(command.returncode for command in commands) == [0, 1, 1, 1], messages
            if words[0] == 'attach':
                allocated = target.ask('work 20')
        assert report(path)['allocations'] == allocated
    assert target.state() == before, (before, target.state())
    target.leave()


def refused(target):
    """With a sentence, and nothing is touched."""
    before = target.state()
    assert 'is neither recorded nor sampled' in target.run('detach', str(target.pid), expected=1)
    assert 'there is no process' in target.run('attach', '2147483647', expected=1)
    assert 'number of a process' in target.run('attach', 'x', expected=2)
    if is_privileged() and os.path.exists('/proc/2/comm') and value_of('Name', 2) == 'kthreadd':
        assert 'is a thread of the kernel' in target.run('attach', '2', expected=1)
    assert 'can be recorded' in target.run('doctor', str(target.pid))
    target.attach()
    assert 'is recorded already' in target.run('attach', str(target.pid), expected=1)
    assert 'is recorded already' in target.run('doctor', str(target.pid), expected=1)
    assert f'process {target.pid} is not recorded any more' in target.run('detach', str(target.pid))
    assert target.state() == before, (before, target.state())
    message = target.run('attach', str(target.pid), '-o', '/proc/self/nothing/t.dat', expected=1)
    assert 'folder' in message, message
    target.attach()
    target.ask('busy')
    thread = max(int(thread) for thread in target.threads() if thread != str(target.pid))
    libc = ctypes.CDLL(None, use_errno=True)
    for traced in (thread, target.pid):
        assert libc.ptrace(SEIZE, traced, 0, 0) == 0
        for words in ('attach', 'doctor', 'detach'):
            assert f'is traced by process {os.getpid()} already' in target.run(words, str(target.pid), expected=1)
    target.process.kill()
    os.waitpid(thread, WALL)


@contextlib.contextmanager
def another(target, **how):
    """A process of the same program."""
    with open(f'/proc/{target.pid}/cmdline', encoding='utf-8') as file:
        other = Target(file.read().split('\0')[0], target.folder, **how)
    try:
        yield other
    finally:
        other.process.kill()
        other.process.wait()


def says_no(target, sentence, enter=None, pid=None):
    """doctor says so beforehand."""
    pid = str(pid or target.pid)
    for words in (('doctor', pid), ('attach', pid, '-o', os.path.join(target.folder, 'refused.dat'))):
        message = target.run(*words, expected=1, enter=enter)
        assert sentence in message, (words, message)
    assert not os.path.exists(os.path.join(target.folder, 'refused.dat'))


def is_refused(target, sentence, enter=None):
    """Nothing is touched."""
    def all_of_it():
        with open(f'/proc/{target.pid}/maps', encoding='utf-8') as maps:
            return maps.read(), target.state()
    before = all_of_it()
    says_no(target, sentence, enter)
    assert all_of_it() == before


def is_recorded(target, enter=None):
    assert 'can be recorded' in target.run('doctor', str(target.pid), enter=enter)
    trace = os.path.join(target.folder, f'{target.pid}.dat')
    target.run('attach', str(target.pid), '-o', trace, enter=enter)
    allocated = target.ask('work 20')
    target.run('detach', str(target.pid), enter=enter)
    assert report(trace)['allocations'] == allocated


def without_privilege():
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    return True


def without_ptrace():
    """Root without CAP_SYS_PTRACE, as in a container."""
    return ctypes.CDLL(None).prctl(CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0) == 0


def in_user_namespace():
    return ctypes.CDLL(None).unshare(CLONE_NEWUSER) == 0


def root_of_user_namespace():
    """As in a container that has one, without the capability."""
    if not in_user_namespace():
        return False
    with open('/proc/self/uid_map', 'w', encoding='ascii') as file:
        file.write('0 0 1')
    return without_ptrace()


def in_user_namespace_without_privilege():
    return without_privilege() and in_user_namespace()


def under_yama(scope, pid=0, folder=None, user=NOBODY):
    """What a kernel with yama says. Yama itself refuses nothing here: what it would refuse is a file of the process that cannot
    be opened."""
    def enter():
        done = hide('/proc/sys/kernel')
        if done:
            os.mkdir('/proc/sys/kernel/yama')
            with open('/proc/sys/kernel/yama/ptrace_scope', 'w', encoding='ascii') as file:
                file.write(f'{scope}\n')
        if done and folder:
            closed = os.path.join(folder, 'closed')
            with open(closed, 'w', encoding='ascii'):
                pass
            os.chown(closed, NOBODY, NOBODY)
            os.chmod(closed, 0)
            done = ctypes.CDLL(None).mount(closed.encode(), f'/proc/{pid}/mem'.encode(), None, MS_BIND, None) == 0
        if user:
            without_privilege()
        return done
    return enter


def forbidden(target):
    """Without privilege: of another user, of an undumpable program, of yama, of another user namespace, of filters that cannot be
    read. With it, such processes are recorded."""
    os.chmod(target.folder, 0o777)
    is_refused(target, 'belongs to user 0', without_privilege)
    if is_possible(without_ptrace):
        is_refused(target, 'root without the capability CAP_SYS_PTRACE', without_ptrace)
    if is_possible(root_of_user_namespace):
        is_refused(target, 'root without the capability CAP_SYS_PTRACE', root_of_user_namespace)
    target.attach()
    assert 'belongs to user 0' in target.run('detach', str(target.pid), expected=1, enter=without_privilege)
    target.detach()
    with another(target, user=NOBODY) as other:
        is_recorded(other, without_privilege)
        scopes = {1: under_yama(1, other.pid, target.folder), 2: under_yama(2), 3: under_yama(3, user=0)}
        for scope, enter in scopes.items():
            if is_possible(enter):
                is_refused(other, f'/proc/sys/kernel/yama/ptrace_scope is {scope}: ', enter)
        if is_possible(in_user_namespace_without_privilege):
            is_refused(other, 'is in a user namespace', in_user_namespace_without_privilege)
        assert other.ask('hide') == 0
        is_refused(other, 'is not dumpable', without_privilege)
        is_recorded(other)
        assert other.ask('filter 0') == 0
        is_recorded(other)
    with another(target, user=NOBODY) as other:
        assert other.ask('filter 0') == 0
        is_refused(other, 'CAP_SYS_ADMIN', without_privilege)
    if is_possible(in_user_namespace):
        with another(target, user=NOBODY, enter=in_user_namespace) as other:
            is_recorded(other)
            is_recorded(other, without_privilege)


def chrooted(target):
    """A program that sees no file but its own is recorded."""
    os.chmod(target.folder, 0o777)
    folder = os.path.join(target.folder, 'root')
    os.mkdir(folder)
    shutil.copy(target.process.args[0], os.path.join(folder, 'program'))
    other = Target('/program', target.folder, enter=lambda: os.chroot(folder) or os.chdir('/'))
    try:
        assert 'can be recorded' in target.run('doctor', str(other.pid))
        target.run('attach', str(other.pid), '-o', '/t.dat')
        allocated = other.ask('work 20')
        other.detach()
        assert report(os.path.join(folder, 't.dat'))['allocations'] == allocated
        is_refused(other, 'belongs to user 0', without_privilege)
        os.mkdir(os.path.join(folder, 'of_it'))
        os.symlink('/of_it', os.path.join(folder, 'link'))
        other.run('attach', str(other.pid), '-o', '/link/t.dat')
        other.detach()
        assert os.path.exists(os.path.join(folder, 'of_it/t.dat'))
        other.run('attach', str(other.pid), '-o', '/link/t.dat', enter=filtered_by(OPENAT2, ERRNO))  # as before Linux 5.6
        other.detach()
        before = other.state()
        for name, sentence in ((target.folder + '/t.dat', 'the folder ' + target.folder), ('/of_it', 'is a folder'), ('/of_it/', 'is a folder'),
                               ('/program/t.dat', 'the folder /program')):
            assert sentence in target.run('attach', str(other.pid), '-o', name, expected=1)
        assert other.state() == before
        other.leave()
    finally:
        other.process.kill()
        other.process.wait()


def filtered(target):
    """Filters are read beforehand: what would end the process or forbids too much is refused, what lets all pass is not."""
    before = target.text()
    target.ask('filter 0')
    trace = target.attach()
    allocated = target.ask('work 5')
    target.detach()
    assert report(trace)['allocations'] == allocated
    for kind, sentence in ((2, 'forbids pwritev'), (1, 'would end it for pwritev')):
        assert target.ask(f'filter {kind}') == 0
        is_refused(target, sentence)
    assert target.text() == before
    target.leave()


def answers(target):
    """A filter's answer may depend on arguments, may be unknown to the kernel, and be for one thread alone. It counts what the
    recorder calls at any time."""
    would_end, forbids = 'would end it for ', 'forbids '
    for name, answer, question, sentence in (('mmap', KILL, '2 4 4', would_end), ('mmap', ERRNO, '2 4 4', forbids), ('clone', KILL, '0 100 100', would_end),
                                             ('clone', ERRNO, '0 100 100', forbids), ('clone', KILL, '0 400 0', would_end), ('prctl', KILL, '0 ffffffff f', would_end),
                                             ('socket', KILL, '0 ff 1', would_end), ('madvise', KILL, '2 ff 12', would_end),
                                             ('fcntl', KILL, '1 ffff 406', would_end), ('openat', ERRNO, '2 40 40', forbids),
                                             ('getrusage', KILL, '0 0 0', would_end), ('getppid', UNKNOWN, '0 0 0', would_end)):
        with another(target) as other:
            assert other.ask(f'answer {name} {answer} {question}') == 0
            is_refused(other, sentence + name)
    for kind in range(2):
        with another(target) as other:
            assert other.ask(f'compute {kind}') == 0
            is_refused(other, would_end + 'getppid')
    with another(target) as other:  # as an own process of a stream would be
        assert other.ask(f'answer clone {KILL} 0 10000 0') == 0
        assert would_end + 'clone' in other.run('attach', str(other.pid), '--connect', '127.0.0.1:1', expected=1)
        assert would_end + 'clone' in other.run('attach', str(other.pid), expected=1, enter=lambda: os.putenv('MEMORY_PROFILER_ENABLE_SERVER', '1'))
        is_recorded(other)
    for name, answer in (('gettid', KILL), ('process_vm_readv', TRAP)):
        with another(target) as other:
            assert other.ask(f'apart {name} {answer} 0 0 0') == 0
            says_no(other, f'would end it for {name}')
            assert other.ask('work 5') > 0
    for name in ('mremap', 'process_vm_readv'):
        with another(target) as other:  # which chooses the filter while it is recorded
            trace = other.attach()
            assert other.ask(f'answer {name} {KILL} 0 0 0') == 0
            allocated = other.ask('work 5')
            other.detach()
            assert report(trace)['allocations'] == allocated
            other.leave()
    assert target.ask('answer mmap 50001 2 6 6') == 0  # as of a service that may have no code in memory that it writes to
    is_recorded(target)
    target.leave()


def filtered_by(number, answer):
    """The command has a filter with that answer to one call."""
    steps = ((0x20, 0, 0, 0), (0x15, 0, 1, number), (6, 0, 0, int(answer, 16)), (6, 0, 0, 0x7fff0000))
    code = ctypes.create_string_buffer(b''.join(struct.pack('=HBBI', *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack('@HP', len(steps), ctypes.addressof(code)))

    def enter():
        libc = ctypes.CDLL(None)
        return code and libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 and libc.prctl(PR_SET_SECCOMP, 2, program, 0, 0) == 0
    return enter


def as_a_service(enter):
    """SIGCHLD is ignored, and core files are written."""
    def begin():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        most = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (most, most))
        enter()
    return begin


def own_filter(target):
    """Where a filter of the command forbids ptrace or ends it, and where it does not."""
    ptrace, getppid = CALLS_THAT_CHANGE[1], {'aarch64': 173}.get(platform.machine(), 110)
    for answer in (ERRNO, TRAP, KILL):
        is_refused(target, 'this command has a filter of system calls (seccomp) that forbids ptrace', as_a_service(filtered_by(ptrace, answer)))
    assert not glob.glob(os.path.join(target.folder, 'core*'))
    is_recorded(target, filtered_by(getppid, ERRNO))
    assert target.ask('filter 0') == 0
    is_refused(target, 'this command has one, too', filtered_by(getppid, ERRNO))
    target.leave()


def first_ended(target):
    """Others of its threads go on."""
    assert target.ask('first') == 0
    while value_of('State', target.pid) != 'Z':
        time.sleep(0.001)
    says_no(target, f'the first thread of process {target.pid} has ended, and others go on')
    assert 'has ended, and others go on' in target.run('detach', str(target.pid), expected=1)


def freezers():
    """Of both versions of cgroups: the file that freezes a new one, what it is told, and where that is seen."""
    with open('/proc/self/mountinfo', encoding='utf-8') as mounts:
        for line in mounts:
            words, rest = (part.split() for part in line.split(' - '))
            if rest[0] == 'cgroup2' or 'freezer' in rest[2].split(','):
                folder = os.path.join(words[4], f'heapsonde-test-{os.getpid()}')
                try:
                    os.mkdir(folder)
                except OSError:
                    continue
                yield (folder, 'cgroup.freeze', '1', '0', 'cgroup.events', 'frozen 1') if rest[0] == 'cgroup2' else \
                    (folder, 'freezer.state', 'FROZEN', 'THAWED', 'freezer.state', 'FROZEN')
                os.rmdir(folder)


def frozen(target):
    """Its threads would not go on after a stop."""
    def tell(folder, file, words):
        with open(os.path.join(folder, file), 'w', encoding='ascii') as stream:
            stream.write(words)

    def says(folder, file, words):
        with open(os.path.join(folder, file), encoding='ascii') as stream:
            return words in stream.read()
    found = False
    for folder, switch, freezes, thaws, seen, words in freezers():
        with another(target) as other:
            try:
                tell(folder, 'cgroup.procs', str(other.pid))
                tell(folder, switch, freezes)
            except OSError:  # an older kernel, or not this hierarchy
                continue
            try:
                while not says(folder, seen, words):
                    time.sleep(0.001)
                says_no(other, f'process {other.pid} is frozen')
            finally:
                tell(folder, switch, thaws)
            found = True
            is_recorded(other)
    return 0 if found else skip('no cgroup may be frozen here')


def in_pid_namespace():
    """With the /proc of another one."""
    if ctypes.CDLL(None).unshare(CLONE_NEWPID):
        return False
    child = os.fork()
    if child:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    return True


def without_others():
    """/proc shows a user his own processes alone."""
    libc = ctypes.CDLL(None)
    return libc.unshare(CLONE_NEWNS) == 0 and libc.mount(b'none', b'/', None, MS_REC | MS_PRIVATE, None) == 0 and \
        libc.mount(b'proc', b'/proc', b'proc', 0, b'hidepid=2') == 0 and without_privilege()


def unseen(target):
    """/proc is that of other processes, or does not show this one."""
    if is_possible(in_pid_namespace):
        is_refused(target, '/proc shows another namespace of processes', in_pid_namespace)
    if is_possible(without_others):
        os.chmod(target.folder, 0o777)
        is_refused(target, f'process {target.pid} is hidden from this user', without_others)
    target.leave()


def of_32_bits(target):
    """A program that only waits for signals, made without a compiler for it."""
    # mov eax, 29 (pause); int 0x80; jmp to the first; and for ARM mov r7, 29; svc 0; b to the first
    machine, flags, code, sentence = {
        'x86_64': (3, 0, bytes.fromhex('b81d000000cd80ebf7'), 'no command attaches to it'),
        'aarch64': (40, 0x05000200, struct.pack('<3I', 0xe3a0701d, 0xef000000, 0xeafffffc), 'heapsonde-attach for 32-bit ARM'),
    }[platform.machine()]
    start = 0x10000 + 52 + 32
    path = os.path.join(target.folder, 'narrow')
    with open(path, 'wb') as file:
        file.write(struct.pack('<16sHHIIIIIHHHHHH', b'\x7fELF\1\1\1', 2, machine, 1, start, 52, 0, flags, 52, 32, 1, 0, 0, 0))
        file.write(struct.pack('<8I', 1, 0, 0x10000, 0x10000, 84 + len(code), 84 + len(code), 5, 0x1000) + code)
    os.chmod(path, 0o755)
    try:
        process = subprocess.Popen([path], preexec_fn=lambda: ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_long(-1), 0, 0, 0))
    except OSError as problem:
        return skip(f'32-bit programs do not run here: {problem}')
    try:
        says_no(target, 'is a 32-bit program: this command attaches to 64-bit ones; ' + sentence, pid=process.pid)
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
    target.leave()
    return 0


def skip(reason):
    print(reason)
    return SKIPPED


CASES = {case.__name__: case for case in (counts, attached_often, exits, busy, killed, killed_at_each_call, stopped, stopped_meanwhile, waits, lent, at_once, filtered,
                                          answers, own_filter, first_ended, frozen, unseen, of_32_bits, forbidden, chrooted, refused)}


def without_malloc(program, path, has_symbols):
    """A copy in which no symbol is named malloc, or that has no tables of symbols at all."""
    with open(program, 'rb') as file:
        image = bytearray(file.read())
    if has_symbols:
        image = image.replace(b'malloc\0', b'xalloc\0')
    else:
        image[0x28:0x30] = bytes(8)  # e_shoff
        image[0x3c:0x40] = bytes(4)  # e_shnum, e_shstrndx
    with open(path, 'wb') as file:
        file.write(image)
    os.chmod(path, 0o755)


def run_static(program, folder):
    """A program that no loader takes part in is recorded from its first instruction on."""
    trace = os.path.join(folder, 't.dat')
    done = subprocess.run([COMMAND, 'run', '-q', '-o', trace, '--', program], input='work 100\nold\nleave\n', text=True,
                          stdout=subprocess.PIPE, check=False)
    assert done.returncode == 3, done.returncode
    allocated = int(done.stdout.split()[1])
    rounds = report(trace, '--function', 'one_round')
    assert rounds['allocations'] == allocated + FIRST_ROUNDS, rounds['allocations']
    summary = report(trace)
    assert summary['state'] == 'closed' and not summary['dropped'] and not summary['unknown_frees'], summary
    assert rounds['live_count'] == 0, rounds
    other = os.path.join(folder, 'other')
    for has_symbols, reason in ((False, 'needs its table of symbols'), (True, 'with a table of symbols')):
        without_malloc(program, other, has_symbols)
        done = subprocess.run([COMMAND, 'run', '-o', trace, '--', other], stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 126 and 'no function malloc' in done.stderr and reason in done.stderr, done


def run_never_frees(program, folder):
    """A linker leaves free out of a static program that never calls it."""
    def check(trace):
        kept = report(trace, '--function', 'keep')
        assert kept['state'] == 'closed' and kept['allocations'] == kept['live_count'] == 100, kept
    trace = os.path.join(folder, 't.dat')
    done = subprocess.run([COMMAND, 'run', '-q', '-o', trace, '--', program], input='x' * 100, stdout=subprocess.PIPE, text=True,
                          check=False)
    assert (done.returncode, done.stdout) == (0, 'ready\n'), done
    check(trace)
    target = Target(program, folder)
    trace = target.attach('attached.dat')
    target.process.communicate('x' * 100)
    assert target.process.returncode == 0, target.process.returncode
    check(trace)


def run_killed(program, folder):
    """No program stays behind that does not run: it ends with the command, or goes on alone. If it is killed itself, the command
    says so."""
    words = ('run', '-q', '-o', os.path.join(folder, 't.dat'), '--', program)
    for ends_child in (False, True):
        stride = STRIDE * (2 if ends_child else 1)
        was_killed, number = True, 1 - stride
        while was_killed:
            number += stride
            reader, writer = os.pipe()
            was_killed = end_at(words, number, writer, ends_child)
            os.close(writer)
            with os.fdopen(reader) as output:
                assert output.read() in ('', 'ready\n')
        assert number > 50, number


STARTS = {case.__name__: case for case in (run_static, run_never_frees, run_killed)}


def value_of(name, pid='self'):
    with open(f'/proc/{pid}/status', encoding='utf-8') as file:
        return next((line.split()[1] for line in file if line.startswith(name + ':')), '0')


def can_read_filters():
    """The kernel shows filters to no process that has one itself."""
    if value_of('Seccomp') == '0' and int(value_of('CapEff'), 16) & 1 << CAP_SYS_ADMIN:
        return True
    print('not allowed here: filters of system calls (seccomp) cannot be read')
    return False


def is_allowed(target):
    """Whether the kernel lets this process trace the target, and read the filter that a container has put on both."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(SEIZE, target.pid, 0, 0):
        print('not allowed here: ptrace:', os.strerror(ctypes.get_errno()))
        return False
    libc.ptrace(INTERRUPT, target.pid, 0, 0)
    os.waitpid(target.pid, 0)
    libc.ptrace(DETACH, target.pid, 0, 0)
    return value_of('Seccomp') == '0' or can_read_filters()


def is_privileged():
    """Whether this process may do what the cases need in which others may not, and these others find the programs."""
    rights = int(value_of('CapEff'), 16)
    return all(rights & 1 << number for number in (CAP_SETUID, CAP_SYS_CHROOT, CAP_SYS_PTRACE, CAP_SYS_ADMIN)) and \
        is_possible(lambda: without_privilege() and all(os.access(file, os.R_OK) for file in (COMMAND, os.environ['HEAPSONDE_LIBRARY'])))


def carry_out(case, program):
    """Returns an exit status."""
    if case in ('forbidden', 'chrooted', 'frozen', 'unseen') and not is_privileged():
        print('only as root')
        return SKIPPED
    if case in ('filtered', 'answers') and not can_read_filters():
        return SKIPPED
    with_own_tmp = case == 'names_at_end'
    with tempfile.TemporaryDirectory(prefix='heapsonde-attach-', dir='/var/tmp' if with_own_tmp else None) as folder:
        target = Target(program, folder, with_own_tmp)
        try:
            if not is_allowed(target):
                return SKIPPED
            if case in STARTS:
                STARTS[case](program, folder)
            else:
                return CASES[case](target) or 0
        finally:
            target.process.kill()
            target.process.wait()
    return 0


def run_cases(names, carry_out_one):
    """Carries out the cases of the first argument, which have commas between them, with the program of the second one; without
    arguments, lists all names. Returns an exit status."""
    if len(sys.argv) < 3:
        print('\n'.join(names))
        return 0
    patience.begin()
    status = max(carry_out_one(case, sys.argv[2]) for case in sys.argv[1].split(','))
    patience.end()
    return status


if __name__ == '__main__':
    sys.exit(run_cases(CASES, carry_out))
