# SPDX-License-Identifier: MIT OR Apache-2.0
"""`heapsonde attach --on` and `detach --on`: the machine here is a shell of this one."""
import json
import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../inject'))
import test_attach  # noqa: E402
from running import COMMAND  # noqa: E402
from test_on import MAY_MOUNT, Board  # noqa: E402

PROGRAM = os.environ.get('HEAPSONDE_TEST_TARGET')


class Attached:
    """Mixed into a Board: processes of it are attached to."""

    def target(self, with_own_tmp=False, user=None, program=PROGRAM):
        if not PROGRAM:
            self.skipTest('heapsonde-attach is not built')
        target = test_attach.Target(program, '/', with_own_tmp, user)
        target.folder = self.folder
        self.addCleanup(target.process.stdin.close)
        self.addCleanup(target.process.stdout.close)
        self.addCleanup(target.process.wait)
        self.addCleanup(target.process.kill)
        if not test_attach.is_allowed(target):
            self.skipTest('ptrace is not allowed here')
        return target

    def attach(self, target, *options, way=None, said=' is recorded: '):
        """Returns when it is recorded."""
        command = subprocess.Popen([COMMAND, 'attach', '--on', way or self.way, '-o', 't.dat', '--stream-policy', 'block', *options, str(target.pid)],
                                   cwd=self.folder, env=self.variables({}), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(command.stdout.close)
        self.addCleanup(command.stderr.close)
        while True:
            line = command.stderr.readline()
            if said in line:
                return command
            self.assertTrue(line, 'it has ended')

    def end(self, command, status=0):
        errors = command.stderr.read()
        self.assertEqual(command.wait(), status, errors)
        self.assert_nothing_left()
        return errors

    def allocations(self, trace='t.dat'):
        return json.loads(self.report(trace, '--json'))['allocations']

    def names(self, trace='t.dat'):
        done = self.command('export', '--format', 'collapsed', '--cost', 'allocated', trace)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def check_interrupted(self, target, **more):
        before = target.state()
        command = self.attach(target, **more)
        allocated = target.ask('work 20')
        command.send_signal(signal.SIGINT)
        errors = self.end(command)
        self.assertIn('is not recorded any more', errors)
        self.assertIn('the trace is ' + os.path.join(self.folder, 't.dat'), errors)
        self.assertEqual(self.allocations(), allocated)
        self.assertEqual(target.state(), before)

    def check_cut(self, target, before, command):
        """The process goes on, is not recorded, and nothing is left."""
        errors = command.stderr.read()
        self.assertEqual(command.wait(), 255, errors)
        self.assertIn(f'was cut; process {target.pid} goes on', errors)
        self.wait_until(lambda: not os.listdir(self.there))
        self.wait_until(lambda: target.state() == before)
        self.assertGreater(target.ask('work 20'), 0)
        self.report('t.dat')
        target.leave()


class Here(Attached, Board):
    def test_doctor(self):
        """A number is that of a process. It is not attached to."""
        target = self.target()
        before = target.state()
        works = ('works',) * 5
        for pid, recording, states in ((target.pid, True, works), (2 ** 22 + 1, False, ('works', 'fails', 'unasked', 'works', 'works'))):
            done = self.command('doctor', '--json', '--on', self.way, str(pid))
            found = json.loads(done.stdout)
            self.assertEqual((done.returncode, found['recording'], tuple(check['state'] for check in found['checks'])),
                             (0 if recording else 1, recording, states), done.stdout)
            self.assertIn(f'process {pid}', found['checks'][1]['detail'])
            self.assert_nothing_left()
        self.assertEqual(target.state(), before)
        target.leave()

    def test_interrupted(self):
        """The end of the command ends the recording, and another one is possible."""
        target = self.target()
        self.check_interrupted(target)
        self.check_interrupted(target)
        target.leave()

    def test_for_a_time(self):
        target = self.target()
        self.assertIn('is not recorded any more', self.end(self.attach(target, '--for', '1ms')))
        self.report('t.dat')
        target.leave()

    def test_process_ends(self):
        target = self.target()
        command = self.attach(target, '--for', '1h')
        allocated = target.ask('work 20')
        target.leave()
        self.assertIn(f'process {target.pid} has ended', self.end(command))
        self.assertGreaterEqual(self.allocations(), allocated)

    def test_detached_from_elsewhere(self):
        target = self.target()
        done = self.command('detach', '--on', self.way, str(target.pid))
        self.assertEqual(done.returncode, 1)
        self.assertIn('is neither recorded nor sampled', done.stderr)
        command = self.attach(target)
        done = self.command('detach', '--on', self.way, str(target.pid))
        self.assertEqual((done.returncode, 'is not recorded any more' in done.stderr), (0, True), done.stderr)
        self.assertIn('another command has detached', self.end(command))
        target.leave()

    def test_names(self):
        """Of code that was made at run time, of a process with a /tmp of its own where that is possible."""
        target = self.target(with_own_tmp=True)
        command = self.attach(target)
        self.assertEqual(target.ask('made'), 0)
        command.send_signal(signal.SIGTERM)
        self.end(command)
        if not target.hides_tmp:
            os.remove(f'/tmp/perf-{target.pid}.map')
        self.assertIn('made_while_it_runs;allocate_below', self.names())
        target.leave()

    @unittest.skipUnless(MAY_MOUNT and PROGRAM and not os.path.realpath(PROGRAM).startswith('/tmp/'), 'needs a /tmp of its own')
    def test_names_of_another_user(self):
        """A process with mounts of its own can show there what it may not read."""
        program = os.path.join(self.folder, 'other')
        with open(program, 'w', encoding='utf-8') as file:
            file.write(f"#!/bin/sh\nexec unshare -m sh -c 'mount -t tmpfs none /tmp && exec setpriv --reuid 65534 --clear-groups \"{PROGRAM}\"'\n")
        os.chmod(program, 0o755)
        target = self.target(program=program)
        for owner, is_taken in ((65534, True), (0, False)):
            command = self.attach(target)
            self.assertEqual(target.ask('made'), 0)
            os.chown(f'/proc/{target.pid}/root/tmp/perf-{target.pid}.map', owner, owner)
            command.send_signal(signal.SIGTERM)
            self.end(command)
            self.assertEqual('made_while_it_runs' in self.names(), is_taken)
            os.remove(f'/proc/{target.pid}/root/tmp/perf-{target.pid}.map')
        target.leave()

    def test_names_of_a_run(self):
        """run --on takes them, too."""
        command = subprocess.Popen([COMMAND, 'run', '--on', self.way, '-o', 't.dat', '--', PROGRAM], cwd=self.folder, env=self.variables({}),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, errors = command.communicate('made\n')
        self.assertEqual((command.returncode, out), (0, 'ready\n0\n'), errors)
        self.assertIn('made_while_it_runs;allocate_below', self.names())
        self.assert_nothing_left()
        done = self.command('report', '--json', 't.dat')
        os.remove(f"/tmp/perf-{json.loads(done.stdout)['pid']}.map")

    def test_folder_that_the_process_sees(self):
        """It has another /tmp, and so another $TMPDIR, than the shell."""
        with_own_tmp = self.target(with_own_tmp=True)
        if not with_own_tmp.hides_tmp or not self.there.startswith('/tmp/'):
            self.skipTest('no namespace of mounts can be made, or $TMPDIR is elsewhere')
        there_before = os.listdir('/var/tmp')
        command = self.attach(with_own_tmp)
        command.send_signal(signal.SIGINT)
        self.end(command)
        # What others have there goes, too.
        self.wait_until(lambda: not [name for name in os.listdir('/var/tmp') if name.startswith('heapsonde-') and len(name) == 42 and name not in there_before])
        done = self.command('attach', '--on', self.way, '--board-folder', self.there, str(with_own_tmp.pid))
        self.assert_one_line(done, 1, f'{self.there} is not visible to the process')
        self.assert_nothing_left()
        with_own_tmp.leave()

    @unittest.skipUnless(os.getuid() == 0, 'needs root')
    def test_process_of_another_user(self):
        target = self.target(user=65534)
        self.check_interrupted(target)
        target.leave()

    def test_without_pipes(self):
        tools = os.path.join(self.folder, 'tools')
        os.mkdir(tools)
        subprocess.run(['busybox', '--install', '-s', tools], check=True)
        os.remove(os.path.join(tools, 'mkfifo'))
        os.remove(os.path.join(tools, 'mknod'))
        target = self.target()
        command = self.attach(target, way=f'exec:env -i PATH={tools} TMPDIR={self.there} {tools}/sh -c {{}}')
        allocated = target.ask('work 20')
        self.wait_until(lambda: any(os.path.getsize(os.path.join(self.there, name, 'trace')) for name in os.listdir(self.there)))
        command.send_signal(signal.SIGINT)
        self.end(command)
        self.assertEqual(self.allocations(), allocated)
        target.leave()

    def test_sampled(self):
        """The last dump comes at the end."""
        target = self.target()
        before = target.state()
        command = self.attach(target, '--sample=1', said=' is sampled: ')
        target.ask('work 20')
        command.send_signal(signal.SIGINT)
        self.assertIn('heapsonde extract ', self.end(command))
        self.assertEqual(target.state(), before)
        done = self.command('extract', '-o', 'dumps', 't.dat')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(os.listdir(os.path.join(self.folder, 'dumps'))), 1)
        self.report(os.path.join('dumps', os.listdir(os.path.join(self.folder, 'dumps'))[0]))
        target.leave()

    def test_killed_there(self):
        """As where memory is short: the recording ends, and nothing is left."""
        target = self.target()
        before = target.state()
        command = self.attach(target)
        allocated = target.ask('work 20')
        attaching = [number for number in filter(str.isdigit, os.listdir('/proc')) if self.there in self.first_word(number)]
        self.assertEqual(len(attaching), 1)
        os.kill(int(attaching[0]), signal.SIGKILL)
        errors = self.end(command, 1)
        self.assertIn(f"exit status 137 on {self.way}; 'heapsonde detach --on \"{self.way}\" {target.pid}' ends", errors)
        self.assertEqual(self.allocations(), allocated)
        self.assertEqual(target.state(), before)
        target.leave()

    @staticmethod
    def first_word(number):
        try:
            with open(f'/proc/{number}/cmdline', encoding='utf-8', errors='replace') as file:
                return file.read().split('\0')[0]
        except OSError:
            return ''

    def test_cut(self):
        """Whoever carries the sessions is killed."""
        carrier = os.path.join(self.folder, 'carrier')
        with open(carrier, 'w', encoding='ascii') as file:
            # Two commands of cat stand for the connection.
            file.write('#!/bin/sh\ncat | sh -c "$1" | cat\n')
        os.chmod(carrier, 0o755)
        target = self.target()
        before = target.state()
        command = self.attach(target, way=f'exec:{carrier} {{}}')
        target.ask('work 20')
        self.wait_for_traces()
        self.kill_behind(command, 'cat')
        self.check_cut(target, before, command)

    def test_refusals(self):
        target = self.target()
        pid = str(target.pid)
        before = target.state()
        for words, status, said in ((('--on', self.way, '2147483646'), 1, 'there is no process 2147483646 on'), (('--on', self.way, 'x'), 2, 'number of a process'),
                                    (('--on', 'exec:false {}', pid), 255, 'cannot be reached'), (('--on', 'nothing:', pid), 255, 'unknown kind of connection'),
                                    (('--on', self.way, '--board-folder', '/proc', pid), 1, '/proc is not writable')):
            for command in ('attach', 'detach'):
                self.assert_one_line(self.command(command, *words), status, said)
        os.makedirs(os.path.join(self.folder, 'shims'))
        done = self.command('attach', '--on', self.way, pid, HEAPSONDE_SHIMS=os.path.join(self.folder, 'shims'))
        self.assert_one_line(done, 1, 'correct HEAPSONDE_SHIMS')
        done = self.command('attach', '--on', self.way, '-o', '/proc/self/nothing/t.dat', pid)
        self.assertEqual(done.returncode, 1)
        self.assertIn('folder', done.stderr)
        target.attach('local.dat')
        done = self.command('attach', '--on', self.way, pid)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"is recorded already; 'heapsonde detach --on \"{self.way}\" {pid}' ends that", done.stderr)
        target.detach()
        self.assertEqual(target.state(), before)
        self.assert_nothing_left()
        target.leave()


if __name__ == '__main__':
    unittest.main(verbosity=2)
