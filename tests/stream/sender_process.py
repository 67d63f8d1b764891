# SPDX-License-Identifier: MIT OR Apache-2.0
"""The process that sends for a recorded program."""
import ctypes
import os
import signal
import sys
import time

# Where it waits for bytes, for sockets or for a lock that it does not have: whoever stands still there holds none.
WAITING = {'x86_64': {'futex': 202, 'ppoll': 271}, 'aarch64': {'futex': 98, 'ppoll': 73}}


def find_sender(program):
    """None while there is none."""
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/stat', encoding='latin-1') as file:
                name, _, rest = file.read().partition(' (')[2].rpartition(') ')
        except OSError:
            continue
        if name == 'heapsonde' and int(rest.split()[1]) == program:
            return int(pid)
    return None


def system_call_of(pid):
    with open(f'/proc/{pid}/syscall', encoding='ascii') as file:
        first = file.read().split()[0]
    return int(first) if first.lstrip('-').isdigit() else None


def state_of(pid):
    with open(f'/proc/{pid}/stat', encoding='latin-1') as file:
        return file.read().rpartition(') ')[2][0]


def stands_waiting(pid):
    return state_of(pid) == 'S' and system_call_of(pid) in WAITING[os.uname().machine].values()


def can_be_seen():
    return os.uname().machine in WAITING and os.path.exists('/proc/self/syscall')


# ---- a sender that runs before its program goes on ----

TRACE_ME, CONTINUE, DETACH, SET_OPTIONS, GET_MESSAGE = 0, 7, 17, 0x4200, 0x4201
OPTION_CLONE, EVENT_CLONE, WAIT_ALL = 8, 3, 0x40000000


def trace(request, pid=0, data=None):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    if libc.ptrace(request, pid, None, data) != 0:
        raise OSError(ctypes.get_errno(), f'ptrace {request}')


def be_traced():
    """For subprocess.Popen(preexec_fn=)."""
    trace(TRACE_ME)


def first_clone(program):
    """The next thread or process that it starts, which runs; the program stands still."""
    while True:
        _, status = os.waitpid(program, WAIT_ALL)
        if not os.WIFSTOPPED(status):
            raise ChildProcessError(f'{program} has ended without a sender')
        if status >> 8 == signal.SIGTRAP | EVENT_CLONE << 8:
            break
        number = os.WSTOPSIG(status)
        trace(CONTINUE, program, 0 if number == signal.SIGTRAP else number)
    message = ctypes.c_ulong()
    trace(GET_MESSAGE, program, ctypes.byref(message))
    os.waitpid(message.value, WAIT_ALL)
    trace(DETACH, message.value)
    return message.value


def let_sender_run_first(program, patience):
    """The sender of a program that begins with be_traced(): it has come to where it waits before its program has taken
    another step. The program stands still until it is detached with let_go()."""
    os.waitpid(program, WAIT_ALL)
    trace(SET_OPTIONS, program, OPTION_CLONE)
    trace(CONTINUE, program)
    while True:
        started = first_clone(program)
        if os.path.exists(f'/proc/{started}') and tgid_of(started) == started:
            break
        trace(CONTINUE, program)
    until = time.monotonic() + patience
    while not stands_waiting(started) and time.monotonic() < until:
        time.sleep(0.001)
    return started


def let_go(program):
    trace(DETACH, program)


def tgid_of(pid):
    with open(f'/proc/{pid}/status', encoding='latin-1') as file:
        return next(int(line.split()[1]) for line in file if line.startswith('Tgid:'))


# ---- a sender that stands still ----


def freeze_sender(program, patience):
    """Its pid. It stands still, and holds no lock."""
    if not can_be_seen():
        print('SKIPPED: it cannot be seen here where a process waits')
        sys.exit(77)
    until = time.monotonic() + patience
    while time.monotonic() < until:
        sender = find_sender(program)
        if not sender:
            time.sleep(0.01)
            continue
        os.kill(sender, signal.SIGSTOP)
        while state_of(sender) != 'T' and time.monotonic() < until:
            time.sleep(0.001)
        if system_call_of(sender) in WAITING[os.uname().machine].values():
            return sender
        os.kill(sender, signal.SIGCONT)
        time.sleep(0.001)
    raise TimeoutError(f'{program} has no sender that waits')
