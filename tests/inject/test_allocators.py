# SPDX-License-Identifier: MIT OR Apache-2.0
"""Allocators within a program, with attach and run. Arguments: cases with commas between them, and a program."""
import ctypes
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_attach  # noqa: E402
from test_attach import COMMAND, SKIPPED, Target, report  # noqa: E402

THREADS, SHT_SYMTAB = 3, 2


class Allocators(Target):
    """A process that answers what each of its round functions has allocated."""

    def ask(self, words):
        self.process.stdin.write(words + '\n')
        return counts_of(self.answer())


def counts_of(line):
    return {name: int(count) for name, count in (word.split('=') for word in line.split())}


def check(trace, counts, unseen=()):
    """Each count is the program's own; every block was freed by a function that is seen, too."""
    for name, count in counts.items():
        rounds = report(trace, '--function', name)
        expected = 0 if name in unseen else count
        assert rounds['allocations'] == expected, (name, rounds['allocations'], expected)
        assert rounds['live_count'] == 0, (name, rounds['live_count'])
    summary = report(trace)
    assert not summary['unknown_frees'] and not summary['dropped'], summary
    return summary


def symbols_of(program):
    """Names and values, without tools, which an emulated machine does not have."""
    with open(program, 'rb') as file:
        image = file.read()
    start, size, count = struct.unpack_from('<Q', image, 0x28)[0], *struct.unpack_from('<HH', image, 0x3a)
    sections = [struct.unpack_from('<IIQQQQIIQQ', image, start + size * number) for number in range(count)]
    table = next(section for section in sections if section[1] == SHT_SYMTAB)
    names = sections[table[6]][4]
    for at in range(table[4], table[4] + table[5], table[9]):
        name, _, _, _, value, _ = struct.unpack_from('<IBBHQQ', image, at)
        yield image[names + name:image.index(0, names + name)].decode(), value


def toy_places(program):
    """Of a toy allocator's functions, as one would find them in a disassembly."""
    places = {name.removeprefix('toy_'): value for name, value in symbols_of(program)
              if re.fullmatch('toy_(malloc|free|calloc|realloc)', name)}
    assert len(places) == 4, places
    return ','.join(f'{name}=0x{address:x}' for name, address in places.items())


def attached(target, program):
    """From the attach on, again after a detach; then the text is as before."""
    before = target.state()
    for turn, options in enumerate(([], ['--allocator-symbols', 'toy_'], ['--allocator-at', toy_places(program)])):
        trace = target.attach(f't{turn}.dat', *options)
        counts = target.ask('work 100')
        target.detach()
        target.ask('work 3')
        assert target.state() == before, (before, target.state())
        check(trace, counts, () if options else ('round_toy',))
    target.leave()


def run(program, folder, *options, expected=3, **more):
    trace = os.path.join(folder, 't.dat')
    done = subprocess.run([COMMAND, 'run', '-o', trace, *options, '--', program, '0'], input='work 100\nleave\n', text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **more)
    assert done.returncode == expected, (done.returncode, done.stderr)
    return trace, counts_of(done.stdout.splitlines()[1]) if expected == 3 else {}, done.stderr


def started(program, folder):
    """From the start of the program on; what is not recorded is named, with the option that helps."""
    trace, counts, _ = run(program, folder)
    summary = check(trace, counts, ('round_toy',))
    assert not summary['unseen'], summary['unseen']
    trace, counts, message = run(program, folder, '--allocator-symbols', 'toy_')
    check(trace, counts)
    assert 'has its own allocator' not in message, message
    trace, counts, _ = run(program, folder, '--allocator-at', toy_places(program))
    check(trace, counts)
    for wrong in (['--allocator-symbols', 'no_such_'], ['--allocator-at', 'malloc=0x10,free=0x20']):
        _, _, message = run(program, folder, *wrong, expected=126)
        # In files whose first segment holds the code, headers count as code.
        assert re.search('no_such_malloc|there is no code|was not understood', message), message
    for wrong in (['--allocator-at', 'malloc=0x10'], ['--allocator-at', 'malloc'], ['--allocator-symbols', ',']):
        run(program, folder, *wrong, expected=2)


def behind_another(program, folder):
    """Options that cannot be followed are refused, also behind a wrapper and a dynamic loader. Else these run as ever."""
    headers = subprocess.run(['readelf', '-lW', program], stdout=subprocess.PIPE, text=True, check=True).stdout
    loader = re.search(r'interpreter: (\S+)\]', headers)[1]
    for other in (['env'], [loader]):
        for options, expected in ((['--allocator-symbols', 'toy_'], 126), ([], 3)):
            done = subprocess.run([COMMAND, 'run', '-q', '-o', os.path.join(folder, 't.dat'), *options, '--', *other, program, '0'], input='leave\n',
                                  text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            assert done.returncode == expected, (other, options, done.returncode, done.stderr)
            assert bool(done.stdout) == (not options), done.stdout
            assert ('name it directly' in done.stderr) == bool(options) and 'not loaded' not in done.stderr, done.stderr


def forbid_tracing():
    """ptrace fails with EPERM from now on, as in some containers."""
    code = struct.pack('HBBIHBBIHBBIHBBI', 0x20, 0, 0, 0, 0x15, 0, 1, 101, 0x06, 0, 0, 0x50001, 0x06, 0, 0, 0x7fff0000)
    filters = ctypes.create_string_buffer(code)
    libc, program = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(struct.pack('HxxxxxxQ', 4, ctypes.addressof(filters)))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
        raise OSError(ctypes.get_errno(), 'prctl')


def untraceable(program, folder):
    """Where a child may not be traced, the program runs on; what was asked for is refused."""
    for options, expected in (([], 3), (['--allocator-symbols', 'toy_'], 126)):
        trace, counts, message = run(program, folder, *options, expected=expected, preexec_fn=forbid_tracing)
        assert 'may not trace its child' in message and ('which is not recorded' in message) != bool(options), message
        if not options:
            check(trace, counts, set(counts) - {'round_libc'})


def forks(program, folder):
    """A child's trace has its allocators, and names them."""
    trace = os.path.join(folder, 't.dat')
    done = subprocess.run([COMMAND, 'run', '-q', '-o', trace, '--', program, '0'], input='work 5\nfork\nleave\n', text=True,
                          stdout=subprocess.PIPE, check=False, cwd=folder)
    assert done.returncode == 3, done.returncode
    traces = [os.path.join(folder, name) for name in os.listdir(folder) if re.fullmatch(r't\.dat\.[0-9]+', name)]
    assert len(traces) == 1, os.listdir(folder)
    with open(os.path.join(folder, 'child'), encoding='utf-8') as file:
        summary = check(traces[0], counts_of(file.read()), ('round_toy',))
    assert not summary['unseen'], summary['unseen']


def stripped(program, folder):
    """Without symbols, addresses help."""
    copy = os.path.join(folder, 'stripped')
    places = toy_places(program)
    subprocess.run(['strip', '-o', copy, program], check=True)
    trace, counts, _ = run(copy, folder, '--allocator-at', places)
    total = report(trace)['allocations']
    assert total >= counts['round_toy'], (total, counts)
    assert report(trace)['live_count'] <= 100


BROKEN = '''
#include <stddef.h>
extern int gone(void);
static char room[100];
void *je_malloc(size_t size) { return size > sizeof room ? NULL : room; }
void *je_mallocx(size_t size, int flags) { return flags ? NULL : je_malloc(size); }
void *je_realloc(void *block, size_t size) { return block ? block : je_malloc(size); }
void je_free(void *block) { room[0] = block != NULL; }
void je_sdallocx(void *block, size_t size, int flags) { room[size] = block != NULL && flags; }
int main(void) { return gone(); }
'''

ENDS = '''
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
int gone(void) { return 5; }
__attribute__((constructor)) static void leave(void) { %s; }
'''


def built(folder, constructor):
    """A program with an allocator, and a library that is initialised before its first instruction."""
    for name, text, options in (('gone.c', ENDS % constructor, ['-shared', '-fPIC', '-o', 'libgone.so']),
                                ('program.c', BROKEN, ['-o', 'program', '-L.', '-lgone', '-Wl,-rpath,' + folder])):
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
            file.write(text)
        subprocess.run(['gcc', name, *options], cwd=folder, check=True)
    return os.path.join(folder, 'program')


def move_away(program):
    """The kernel cannot map the last segment. It notices that when the process has given its old memory up."""
    with open(program, 'r+b') as file:
        code = bytearray(file.read())
        at, count = struct.unpack_from('<Q', code, 32)[0], struct.unpack_from('<H', code, 56)[0]
        last = [at + 56 * i for i in range(count) if struct.unpack_from('<I', code, at + 56 * i)[0] == 1][-1]
        struct.pack_into('<Q', code, last + 16, struct.unpack_from('<Q', code, last + 16)[0] + (1 << 62))
        file.seek(0)
        file.write(code)


def ends_early(program, folder, *options):
    done = subprocess.run([COMMAND, 'run', '-q', '-o', os.path.join(folder, 't.dat'), *options, '--', program], stderr=subprocess.PIPE, text=True,
                          check=False)
    assert 'has ended' not in done.stderr, done.stderr
    return done.returncode, done.stderr


FORKS = 'int status; if (fork()) { wait(&status); _exit(WIFSIGNALED(status) ? 99 : WEXITSTATUS(status)); }'


def broken(_, folder):
    """The status of a program that ends, forks or executes another one before its first instruction is told."""
    for options in ([], ['--allocator-symbols', 'je_']):
        for constructor, status in (('', 5), (FORKS, 5), ('_exit(9)', 9), ('raise(SIGTERM)', 143),
                                    ('execl("/bin/sh", "sh", "-c", "exit 7", (char *)0)', 7)):
            result = ends_early(built(folder, constructor), folder, *options)
            assert result == (status, ''), (constructor, options, result)
    program = built(folder, '')
    os.remove(os.path.join(folder, 'libgone.so'))
    status, message = ends_early(program, folder)
    assert status == 127 and 'libgone.so' in message, (status, message)
    move_away(program)
    plain = subprocess.run([program], check=False).returncode
    assert plain < 0, plain
    for options in ([], ['--allocator-symbols', 'je_']):
        assert ends_early(program, folder, *options)[0] == 128 - plain, options


MISNAMED = '''
#include <stdio.h>
#include <stdlib.h>
struct heap { int blocks; };
__attribute__((noinline)) void *mi_malloc(struct heap *heap, size_t size) { heap->blocks++; return malloc(size); }
__attribute__((noinline)) void mi_free(struct heap *heap, void *block) { heap->blocks--; free(block); }
__attribute__((noinline)) double mi_calloc(double a, double b) { return a * b + 1; }
__attribute__((noinline)) void *mi_realloc(struct heap *heap, void *block, size_t size) { heap->blocks += !block; return realloc(block, size); }
int main(void)
{
    struct heap heap = {0};
    void *block = mi_realloc(&heap, mi_malloc(&heap, 100), 200);
    printf("%f\\n", mi_calloc(3.5, heap.blocks));
    mi_free(&heap, block);
    return heap.blocks;
}
'''

NAMED = '''
#include <stddef.h>
static char room[100];
__attribute__((noinline)) void *_mi_malloc_generic(size_t size) { return size > sizeof room ? NULL : room; }
__attribute__((noinline)) void *mi_malloc(size_t size) { char *block = _mi_malloc_generic(size); return block ? block + 16 : block; }
__attribute__((noinline)) void mi_free(void *block) { room[0] = block != NULL; }
__attribute__((noinline)) void *mi_realloc(void *block, size_t size) { return block ? block : mi_malloc(size); }
int main(void) { void *block = mi_malloc(7); mi_free(block); return 0; }
'''

# rpmalloc, snmalloc and dlmalloc, of which there are no packages: their names, and the places of their arguments.
OTHERS = '''
#include <stddef.h>
#define FUNCTION __attribute__((noinline))
static char room[8192];
static size_t used;
static void *take(size_t size) { used += (size + 63) & ~63ul; return size && used < sizeof room ? room + used : NULL; }
FUNCTION void *rpmalloc(size_t size) { return take(size); }
FUNCTION void rpfree(void *block) { room[0] = block != NULL; }
FUNCTION void *rpcalloc(size_t count, size_t size) { return take(count * size); }
FUNCTION void *rprealloc(void *block, size_t size) { return block ? take(size) : NULL; }
FUNCTION void *rpaligned_alloc(size_t alignment, size_t size) { return take(alignment ? size : 0); }
FUNCTION void *rpaligned_realloc(void *block, size_t alignment, size_t size, size_t old, unsigned flags)
{
    return block ? take(alignment && old && !flags ? size : 0) : NULL;
}
FUNCTION void *sn_malloc(size_t size) { return take(size); }
FUNCTION void sn_free(void *block) { room[1] = block != NULL; }
FUNCTION void *sn_calloc(size_t count, size_t size) { return take(count * size); }
FUNCTION void *sn_realloc(void *block, size_t size) { return block ? take(size) : NULL; }
FUNCTION void *sn_rust_alloc(size_t alignment, size_t size) { return take(alignment ? size : 0); }
FUNCTION void sn_rust_dealloc(void *block, size_t alignment, size_t size) { room[2] = block && alignment && size; }
FUNCTION void *sn_rust_realloc(void *block, size_t alignment, size_t old, size_t size) { return block ? take(alignment && old ? size : 0) : NULL; }
FUNCTION void *dlmalloc(size_t size) { return take(size); }
FUNCTION void dlfree(void *block) { room[3] = block != NULL; }
FUNCTION void *dlcalloc(size_t count, size_t size) { return take(count * size); }
FUNCTION void *dlrealloc(void *block, size_t size) { return block ? take(size) : NULL; }
FUNCTION void *dlmemalign(size_t alignment, size_t size) { return take(alignment ? size : 0); }
int main(void)
{
    dlfree(dlrealloc(dlmalloc(100), 200));
    dlfree(dlcalloc(3, 30));
    dlfree(dlmemalign(64, 640));
    rpfree(rprealloc(rpmalloc(100), 200));
    rpfree(rpcalloc(3, 30));
    rpfree(rpaligned_realloc(rpaligned_alloc(64, 640), 64, 128, 640, 0));
    sn_free(sn_realloc(sn_malloc(100), 200));
    sn_free(sn_calloc(3, 30));
    sn_rust_dealloc(sn_rust_realloc(sn_rust_alloc(64, 640), 64, 640, 320), 64, 320);
    return room[0] + room[1] + room[2] + room[3] - 4;
}
'''

# As snmalloc is in the crate of Rust: none of the functions of C.
OF_RUST = '''
#include <stddef.h>
#include <string.h>
#define FUNCTION __attribute__((noinline))
static char room[8192];
static size_t used;
FUNCTION void *sn_rust_alloc(size_t alignment, size_t size) { used += (size + alignment + 63) & ~63ul; return used < sizeof room ? room + used : NULL; }
FUNCTION void *sn_rust_alloc_zeroed(size_t alignment, size_t size) { return memset(sn_rust_alloc(alignment, size), 0, size); }
FUNCTION void sn_rust_dealloc(void *block, size_t alignment, size_t size) { room[0] = block && alignment && size; }
FUNCTION void *sn_rust_realloc(void *block, size_t alignment, size_t old, size_t size)
{
    void *moved = sn_rust_alloc(alignment, size);
    memcpy(moved, block, old < size ? old : size);
    sn_rust_dealloc(block, alignment, old);
    return moved;
}
int main(void)
{
    sn_rust_dealloc(sn_rust_realloc(sn_rust_alloc(8, 100), 8, 100, 300), 8, 300);
    sn_rust_dealloc(sn_rust_alloc_zeroed(64, 640), 64, 640);
    return room[0] - 1;
}
'''

# The same for jemalloc, without what the linker leaves out.
OF_RUST_TOO = OF_RUST[:OF_RUST.index('FUNCTION void *')] + '''
FUNCTION void *_rjem_malloc(size_t size) { used += (size + 63) & ~63ul; return used < sizeof room ? room + used : NULL; }
FUNCTION void *_rjem_mallocx(size_t size, int flags) { used += (size + 63) & ~63ul; return flags < 7 ? room + used : NULL; }
FUNCTION void *_rjem_calloc(size_t count, size_t size) { used += (count * size + 63) & ~63ul; return room + used; }
FUNCTION void _rjem_sdallocx(void *block, size_t size, int flags) { room[0] = block && size && flags < 7; }
int main(void)
{
    _rjem_sdallocx(_rjem_malloc(100), 100, 0);
    _rjem_sdallocx(_rjem_mallocx(300, 6), 300, 6);
    _rjem_sdallocx(_rjem_calloc(10, 64), 640, 0);
    return room[0] - 1;
}
'''


def misnamed(_, folder):
    """Functions that only have names of an allocator's are let alone; few of a real one, and all of others, are recorded."""
    trace = os.path.join(folder, 't.dat')
    for text, expected in ((MISNAMED, None), (MISNAMED.replace('mi_', 'tc_'), None), (NAMED, (1, 0, 7)), (OTHERS, (14, 0, 3538)), (OF_RUST, (3, 0, 1040)),
                           (OF_RUST_TOO, (3, 0, 1040))):
        with open(os.path.join(folder, 'program.c'), 'w', encoding='utf-8') as file:
            file.write(text)
        subprocess.run(['gcc', '-O1', '-fno-builtin', 'program.c', '-o', 'program'], cwd=folder, check=True)
        done = subprocess.run([COMMAND, 'run', '-q', '-o', trace, '--', './program'], cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
        plain = subprocess.run(['./program'], cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
        assert done.stdout == plain.stdout, (done.stdout, plain.stdout)
        summary, function = report(trace), report(trace, '--function', 'main')
        assert not summary['unknown_frees'] and summary['allocated_bytes'] < 1 << 20, summary
        assert expected in (None, tuple(function[name] for name in ('allocations', 'live_count', 'allocated_bytes'))), function


LOOPING = r'''
#include <stddef.h>
#ifdef __aarch64__
#define CODE "1: add x0, x0, #1\n.rept 2000\nnop\n.endr\ntst x0, #63\nb.ne 1b\nret\n"
#else
#define CODE "1: lea 1(%rdi), %rdi\n.rept 8000\nnop\n.endr\ntest $63, %dil\njne 1b\nmov %rdi, %rax\nret\n"
#endif
__asm__(".text\n.globl far_malloc\n.type far_malloc, %function\nfar_malloc:\n" CODE ".size far_malloc, . - far_malloc\n");
void *far_malloc(size_t size);
__attribute__((noinline)) size_t far_free(void *block) { return (size_t)block; }
int main(void) { return far_free(far_malloc(1)) != 64; }
'''


def looping(_, folder):
    """A function that is one long loop is not patched."""
    with open(os.path.join(folder, 'program.c'), 'w', encoding='utf-8') as file:
        file.write(LOOPING)
    subprocess.run(['gcc', 'program.c', '-o', 'program'], cwd=folder, check=True)
    program = os.path.join(folder, 'program')
    assert ends_early(program, folder) == (0, '')
    status, message = ends_early(program, folder, '--allocator-symbols', 'far_')
    assert status == 126 and 'jumps back to its beginning' in message, (status, message)


def rust(source, folder):
    """A program in Rust, with the archive of an allocator."""
    source, archive = source.split('+')
    compiler = shutil.which('rustc') or shutil.which('rustc', path=os.path.expanduser('~/.cargo/bin'))
    program, trace = os.path.join(folder, 'rust'), os.path.join(folder, 't.dat')
    if not compiler:
        print('rustc is not installed')
        return SKIPPED
    subprocess.run([compiler, '-O', '-C', 'link-args=' + archive + ' -lpthread -lm -ldl', '-o', program, source], stderr=subprocess.DEVNULL, check=True)
    done = subprocess.run([COMMAND, 'run', '-q', '-o', trace, '--', program], text=True, stdout=subprocess.PIPE, check=True)
    count = int(re.search(r'inside=(\d+)', done.stdout)[1])
    inside = report(trace, '--function', 'work_inside')
    assert inside['allocations'] == count, (inside['allocations'], count)
    assert inside['live_count'] == 0, inside
    return 0


CASES = {case.__name__: case for case in (attached, started, behind_another, untraceable, stripped, forks, broken, misnamed, looping, rust)}


def carry_out(case, program):
    with tempfile.TemporaryDirectory(prefix='heapsonde-allocators-') as folder:
        if case is rust:
            return rust(program, folder)
        target = Allocators(program, folder)
        try:
            if not test_attach.is_allowed(target):
                return SKIPPED
            if case is attached:
                attached(target, program)
            else:
                case(program, folder)
        finally:
            target.process.kill()
            target.process.wait()
    return 0


if __name__ == '__main__':
    sys.exit(test_attach.run_cases(CASES, lambda case, program: carry_out(CASES[case], program)))
