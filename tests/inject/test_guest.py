# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attaching in a guest of qemu/system for whose machine there is no host command: heapsonde-attach does it, and start_command
starts programs as 'heapsonde run' does. What a trace has to say is noted there, and compared here, where the host's command is.
Arguments: a case; in the guest: a folder, the build's folder of programs and a case."""
import glob
import json
import os
import platform
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BOX, PROGRAMS = os.environ.get('HEAPSONDE_TEST_BOX'), os.environ.get('HEAPSONDE_TEST_PROGRAMS')
NOTED = []
HAS_LIBC_ALONE = platform.machine() == 'mips64'  # no samples, no other allocators, and how many bytes are older is not known


class Later:
    """A value of a report, to which these tests say what it has to be."""

    def __init__(self, words, key):
        self.place = {'words': words, 'key': key}

    def note(self, relation, value):
        NOTED.append({**self.place, 'relation': relation, 'value': value})
        return True

    def __eq__(self, value):
        return self.note('==', value)

    def __ge__(self, value):
        return self.note('>=', value)

    def __bool__(self):
        return not self.note('false', None)

    def __getitem__(self, key):
        return Later(self.place['words'], key)

    __hash__ = None


def moved(path):
    """Folders in a folder do not come out of the guest."""
    folder, name = os.path.split(path)
    return f'{folder}.{name}' if 'attach_' in folder else path


def report(path, *options):
    return Later([*options, moved(path)], None)


def holds(values, noted):
    value, expected = values[noted['key']], noted['value']
    return {'==': value == expected, '>=': value is not None and expected is not None and value >= expected,
            'false': not value}[noted['relation']]


def use(programs):
    """Sets the programs and the libraries of a build."""
    os.environ['HEAPSONDE_TEST_PROGRAMS'] = programs
    os.environ['HEAPSONDE_TEST_COMMAND'] = os.path.join(programs, 'start_command')
    os.environ['HEAPSONDE_LIBRARY'] = library(programs, 'trace')


def library(programs, kind):
    return os.path.realpath(os.path.join(programs, f'../lib/libheapsonde-{kind}.so'))


def program_of(words):
    """heapsonde-attach for the words of heapsonde."""
    action, *more = words
    programs = os.environ['HEAPSONDE_TEST_PROGRAMS']
    attach, = glob.glob(os.path.join(programs, '../lib/heapsonde/*/heapsonde-attach'))
    return [attach, *(('--detach',) if action == 'detach' else ('--library', library(programs, 'prof' if '--sample' in more else 'trace'))), *more]


# ---- in the guest ----------------------------------------------------------------------------------------------------


def counts(target):
    """What is recorded is what the program says, again after a detach; then everything is as before."""
    before = target.state()
    for turn in range(2):
        trace = target.attach(f't{turn}.dat')
        held = target.ask('held')
        allocated = target.ask(f'work {20 + turn}') + 1
        old = target.ask('old') if turn == 0 else 0
        target.detach()
        target.ask('work 3')
        assert target.state() == before, (before, target.state())
        summary = report(trace)
        assert summary['allocations'] == allocated and summary['unknown_frees'] == old and summary['older_bytes'] == (None if HAS_LIBC_ALONE else held or None)
        assert summary['live_count'] == 0 and not summary['dropped'] and not summary['cut_stacks']
    target.leave()


def run_static(program, folder):
    """A program that no loader takes part in is recorded from its first instruction on."""
    trace = os.path.join(folder, f'{os.path.basename(program)}.dat')
    done = subprocess.run([os.environ['HEAPSONDE_TEST_COMMAND'], 'run', '-o', trace, '--', program], input='work 10\nold\nleave\n', text=True,
                          stdout=subprocess.PIPE, check=False)
    assert done.returncode == 3, done.returncode
    # Of a file without a build ID, the host has to be told that it is this machine's.
    summary = report(trace, '--sysroot', '/', '--function', 'one_round')
    assert summary['allocations'] == int(done.stdout.split()[1]) + 18 and summary['live_count'] == 0
    summary = report(trace)
    assert summary['state'] == 'closed' and not summary['dropped'] and not summary['unknown_frees']


def several_allocators(module, program, folder):
    """Of a running program and of one that is started."""
    target = module.Allocators(program, folder)
    before = target.state()
    trace = target.attach('toy.dat', '--allocator-symbols', 'toy_')
    numbers = target.ask('work 20')
    target.detach()
    assert target.state() == before
    module.check(trace, numbers)
    target.leave()
    trace = os.path.join(folder, 'adopted.dat')
    os.environ['HEAPSONDE_OUTPUT'] = trace
    done = subprocess.run([os.environ['HEAPSONDE_TEST_COMMAND'], 'adopt', '--allocator-symbols', 'toy_', '--', program, '0'],
                          input='work 20\nleave\n', text=True, stdout=subprocess.PIPE, check=False)
    del os.environ['HEAPSONDE_OUTPUT']
    assert done.returncode == 3, done.returncode
    module.check(trace, module.counts_of(done.stdout.splitlines()[1]))


def sampled(target):
    """Every allocation is a sample; what the file of the end says is what the program says."""
    before = target.state()
    for turn in range(2):
        path = os.path.join(target.folder, f'{turn}.heap')
        os.environ['MALLOC_CONF'] = 'prof_accum:true,prof_final:true,experimental_hs_sample:1'
        target.run('attach', '--sample', '-o', path, str(target.pid))
        allocated = target.ask(f'work {20 + turn}')
        target.detach()
        assert target.state() == before, (before, target.state())
        with open(path, encoding='utf-8') as dump:
            match = re.search(r'^  t\*: (\d+): \d+ \[(\d+): \d+\]$', dump.read(), re.M)
        assert (int(match[1]), int(match[2])) == (0, allocated), (match[0], allocated)
    del os.environ['MALLOC_CONF']
    target.leave()


def refused_to_sample(target):
    """Where the sampling library cannot be put into a process."""
    before = target.state()
    message = target.run('attach', '--sample', '-o', os.path.join(target.folder, 'h'), str(target.pid), expected=1)
    assert 'not sampled' in message, message
    assert target.state() == before, (before, target.state())
    target.leave()


def in_guest(folder, programs, case):
    use(programs)
    sys.path.insert(0, HERE)
    import test_attach  # pylint: disable=import-outside-toplevel
    import test_allocators  # pylint: disable=import-outside-toplevel
    test_attach.report = test_allocators.report = report
    test_attach.program_of = program_of

    def carry_out(name, *functions):
        for function in functions:
            print(f'{function.__name__} of {name}', flush=True)
            place = os.path.join(folder, f'{function.__name__}.{name}')
            os.mkdir(place)
            target = test_attach.Target(os.path.join(programs, name), place)
            try:
                function(target)
            finally:
                target.process.kill()
                target.process.wait()
            for file in os.listdir(place):
                os.rename(os.path.join(place, file), moved(os.path.join(place, file)))

    sample = refused_to_sample if HAS_LIBC_ALONE else sampled
    if case == 'dynamic':
        carry_out('attach_dynamic', counts, test_attach.busy, sample, test_attach.exits)
    elif case == 'killed':
        carry_out('attach_dynamic', test_attach.killed_at_each_call)
    elif case == 'allocators':
        several_allocators(test_allocators, os.path.join(programs, 'allocators_toy'), folder)
    elif case == 'musl':
        carry_out('attach_musl_static', counts, sample)
        run_static(os.path.join(programs, 'attach_musl_static'), folder)
    else:
        carry_out('attach_static', counts, sample)
        run_static(os.path.join(programs, 'attach_static'), folder)
    with open(os.path.join(folder, 'noted'), 'w', encoding='utf-8') as file:
        json.dump(NOTED, file)


# ---- outside ---------------------------------------------------------------------------------------------------------


def compare(folder):
    with open(os.path.join(folder, 'noted'), encoding='utf-8') as file:
        noted = json.load(file)
    values, wrong = {}, 0
    for each in noted:
        words = tuple(each['words'])
        if words not in values:
            done = subprocess.run([os.environ['HEAPSONDE_TEST_COMMAND'], 'report', '--json', *words], stdout=subprocess.PIPE, text=True, check=True)
            values[words] = json.loads(done.stdout)
        if not holds(values[words], each):
            print('WRONG:', each, values[words][each['key']])
            wrong += 1
    print(len(noted), 'values compared')
    return 1 if wrong else 0


def main():
    if len(sys.argv) > 2:
        in_guest(*sys.argv[1:])
        return 0
    with tempfile.TemporaryDirectory(prefix='attach-', dir=os.path.join(BOX, 'tmp')) as folder:
        environment = {'HEAPSONDE_TEST_ROUNDS': '2', 'HEAPSONDE_TEST_STRIDE': '47', 'PYTHONDONTWRITEBYTECODE': '1', 'LC_ALL': 'C.UTF-8',
                       'PATH': os.environ['PATH'], 'TMPDIR': folder}
        runner = os.path.join(HERE, '../../qemu/guest/in_guest')
        python = os.path.join(os.environ['HEAPSONDE_TEST_ROOT'], 'usr/bin/python3.11')
        done = subprocess.run([runner, BOX, os.environ['HEAPSONDE_TEST_SECONDS'], python, os.path.abspath(__file__), folder, PROGRAMS, sys.argv[1]],
                              env=environment, cwd=folder, check=False)
        return done.returncode or compare(folder)


if __name__ == '__main__':
    sys.exit(main())
