# SPDX-License-Identifier: MIT OR Apache-2.0
"""How recordings by heapsonde attach end: after a time, and with their process or its program; and the names of run-time code that
they then have. Arguments: cases with commas between them and the target of test_attach.py; none: all cases are listed."""
import ctypes
import errno
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_attach  # noqa: E402
from test_attach import CALLS_THAT_CHANGE, COMMAND, STRIDE, Calls, names_in, report  # noqa: E402

PIDFD_OPEN = 434
PPOLL, OPENAT = (73, 56) if platform.machine() == 'aarch64' else (271, 257)


def for_a_time(target):
    """--for ends it by itself."""
    before = target.state()
    trace = target.attach('t.dat', '--for', '100ms')
    assert target.state() == before, (before, target.state())
    age = report(trace)['attached_after_ns']
    assert 0 <= age <= 1e9 * (time.clock_gettime(time.CLOCK_BOOTTIME) - target.started), age
    unit = 's' if age >= 1e9 else 'ms' if age >= 1e6 else 'us' if age >= 1e3 else 'ns'
    assert re.search(rf'attached +[0-9.]+ {unit} after the process had started', target.run('report', trace)), age
    target.leave()


def names(target):
    """The names of code that was made at run time are in the trace after a detach, also of a second recording. A map that is
    a link, a FIFO or a folder is not read, which is said."""
    map_file = f'/tmp/perf-{target.pid}.map'
    for turn in range(2):
        trace = target.attach(f't{turn}.dat')
        assert target.ask('made') == 0
        target.detach()
        assert 'made_while_it_runs;allocate_below' in names_in(trace), names_in(trace)
    for kind, (make, remove) in enumerate(((lambda path: os.symlink(os.path.join(target.folder, 'map'), path), os.remove),
                                           (os.mkfifo, os.remove), (os.mkdir, os.rmdir))):
        trace = target.attach(f'l{kind}.dat')
        assert target.ask('made') == 0
        shutil.move(map_file, os.path.join(target.folder, 'map'))
        make(map_file)
        said = target.detach()
        remove(map_file)
        assert '1 file with names of run-time code was not used' in said, said
        assert 'made_while_it_runs' not in names_in(trace), names_in(trace)
    target.leave()


def attach_for_an_hour(target, trace, preexec_fn=None):
    """Returns once it records."""
    command = subprocess.Popen([COMMAND, 'attach', str(target.pid), '-o', trace, '--for', '1h'], stderr=subprocess.PIPE, text=True,
                               preexec_fn=preexec_fn)
    while 'the trace is' not in command.stderr.readline():
        assert command.poll() is None
    return command


def refuse_pidfd():
    """As kernels before 5.3 do: pidfd_open does not exist for this process from now on."""
    filters = struct.pack('HBBI' * 4, 0x20, 0, 0, 0, 0x15, 0, 1, PIDFD_OPEN, 0x06, 0, 0, 0x50000 | errno.ENOSYS, 0x06, 0, 0, 0x7fff0000)
    program = ctypes.create_string_buffer(filters, len(filters))
    libc = ctypes.CDLL(None, use_errno=True)
    words = struct.pack('HP', 4, ctypes.addressof(program))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, words):  # no new privileges, a filter
        raise OSError(ctypes.get_errno(), 'prctl')


def ends_untold(target):
    """The end of the process ends --for, too, where the kernel does not tell it."""
    command = attach_for_an_hour(target, os.path.join(target.folder, 't.dat'), refuse_pidfd)
    waits = False
    while not waits:
        assert command.poll() is None
        with open(f'/proc/{command.pid}/syscall', encoding='ascii') as file:
            waits = file.read().startswith(f'{PPOLL} ')
    target.leave()
    said = command.communicate()[1]
    assert command.returncode == 0 and 'has ended' in said, said


def names_at_end(target):
    """The same where --for ends it, here because the process has ended, in a /tmp of its own that is gone then."""
    trace = os.path.join(target.folder, 't.dat')
    command = attach_for_an_hour(target, trace)
    assert target.ask('made') == 0
    assert target.hides_tmp != os.path.exists(f'/tmp/perf-{target.pid}.map')
    target.leave()
    said = command.communicate()[1]
    assert command.returncode == 0, said
    if not target.hides_tmp:
        os.remove(f'/tmp/perf-{target.pid}.map')
    assert 'made_while_it_runs;allocate_below' in names_in(trace), names_in(trace)


def ends_meanwhile(target):
    """The command says so, whichever file of the process it is about to open."""
    for file, before in (('exe', 0), ('mem', 1)):
        process = subprocess.Popen(target.process.args, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdout.readline() == b'ready\n'
        with open(os.path.join(target.folder, file), 'w+', encoding='utf-8') as errors:
            calls = Calls(('attach', str(process.pid), '-o', os.path.join(target.folder, 't.dat')), errors=errors.fileno())
            for call in calls:
                if call != OPENAT or not calls.opens(f'/proc/{process.pid}/{file}'):
                    continue
                before -= 1
                if before < 0:
                    process.kill()
                    process.wait()
            errors.seek(0)
            said = errors.read()
        assert os.WEXITSTATUS(calls.status) == 1 and f'process {process.pid} has ended' in said, (file, said)


def executes(target):
    """A process that executes another program at any time of an attach goes on with that, and the command says so."""
    for number in range(1, 1000, 9 * STRIDE):
        target.ask('busy')
        asked = False
        with open(os.path.join(target.folder, 'errors'), 'w+', encoding='utf-8') as errors:
            calls = Calls(('attach', '-q', str(target.pid), '-o', os.path.join(target.folder, 'x.dat')), errors=errors.fileno())
            for call in calls:
                number -= call in CALLS_THAT_CHANGE
                if not number and not asked:
                    target.process.stdin.write('execute\n')
                    asked = True
            errors.seek(0)
            said = errors.read()
        if not asked:
            break
        assert target.answer() == 'ready'
        assert not said if os.WEXITSTATUS(calls.status) == 0 else 'has executed another program' in said or 'has ended' in said, said
    assert not asked and os.WEXITSTATUS(calls.status) == 0, said
    target.detach()
    target.leave()
    library = os.path.join(target.folder, 'library')
    os.mkfifo(library)  # that its dynamic linker waits for
    starting = subprocess.Popen(target.process.args, env={**os.environ, 'LD_PRELOAD': library})
    try:
        for words in ('doctor', 'attach'):
            assert 'has just begun to load its program' in target.run(words, str(starting.pid), expected=1)
    finally:
        starting.kill()
        starting.wait()


def status_of(thread):
    with open(f'/proc/{thread}/status', encoding='utf-8') as file:
        return dict(line.split(':\t', 1) for line in file)


def executes_while_seized(target):
    """The same while the command stops the threads one after the other: the execve waits for the command, which waits for it."""
    target.ask('busy')
    target.ask('later')
    _, second, third = sorted(int(thread) for thread in target.threads())
    asked = False
    with open(os.path.join(target.folder, 'errors'), 'w+', encoding='utf-8') as errors:
        calls = Calls(('attach', '-q', str(target.pid), '-o', os.path.join(target.folder, 'x.dat')), errors=errors.fileno())
        for call in calls:
            if asked or not calls.seizes(call, third) or int(status_of(second)['TracerPid']) != calls.pid:
                continue
            target.process.stdin.write('go\n')
            asked = True
            while not status_of(second)['State'].startswith('Z'):
                time.sleep(0.001)
        errors.seek(0)
        said = errors.read()
    assert asked and (target.answer() == 'ready' or target.answer() == 'ready')  # the first may be of 'go'
    assert os.WEXITSTATUS(calls.status) == 1 and 'has executed another program' in said, said
    target.leave()


test_attach.CASES = {case.__name__: case for case in (for_a_time, names, ends_untold, names_at_end, ends_meanwhile, executes, executes_while_seized)}

if __name__ == '__main__':
    sys.exit(test_attach.run_cases(test_attach.CASES, test_attach.carry_out))
