# SPDX-License-Identifier: MIT OR Apache-2.0
"""scripts/totals.py shows what failed in a test, wherever its output says so."""
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), '../..'))
TOTALS = os.path.join(ROOT, 'scripts/totals.py')
sys.path.insert(0, os.path.dirname(TOTALS))
from failed_lines import MOST_LINES, failed_lines  # noqa: E402

TAP_PASSED = """# Subtest: works {0}
ok {0} - works {0}
  ---
  duration_ms: 0.4
  ...
"""
TAP_FAILED = """# Subtest: breaks {0}
not ok {0} - breaks {0}
  ---
  duration_ms: 417.7
  location: 'page.test.mjs:3:1'
  error: |-
    it is {0}
  stack: |-
    TestContext.<anonymous> (page.test.mjs:3:37)
  ...
"""
UNITTEST = """test_one (test_x.Case.test_one) ... ok
test_two (test_x.Case.test_two) ... FAIL
{0}
======================================================================
FAIL: test_two (test_x.Case.test_two)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "test_x.py", line 10, in test_two
    self.assertEqual(found, 3)
AssertionError: 2 != 3

----------------------------------------------------------------------
Ran 2 tests in 0.1s

FAILED (failures=1)
{0}
"""
NOISE = '\n'.join(f'noise {number}' for number in range(300))


def of(*parts):
    lines = failed_lines('\n'.join(parts))
    gaps = [line for line in lines if line.startswith('[')]
    return '\n'.join(lines), len(lines) - len(gaps)


class Lines(unittest.TestCase):
    def test_tap(self):
        """One of many that fails, in the middle; all others pass, also the last."""
        passed = [TAP_PASSED.format(number) for number in range(1, 100)]
        shown, count = of(*passed[:40], TAP_FAILED.format(41), *passed[41:], '1..99', '# pass 98', '# fail 1')
        for line in ('not ok 41 - breaks 41', '    it is 41', '    TestContext.<anonymous> (page.test.mjs:3:37)', '# fail 1'):
            self.assertIn('\n' + line, shown)
        self.assertNotIn('works 40\n', shown)
        self.assertLessEqual(count, MOST_LINES)

    def test_tap_inside(self):
        """A subtest of a subtest."""
        inside = '\n'.join('    ' + line for line in TAP_FAILED.format(1).splitlines())
        shown, _ = of(NOISE, inside, NOISE)
        self.assertIn('    not ok 1 - breaks 1\n', shown)
        self.assertIn('it is 1\n', shown)

    def test_tap_many(self):
        """Each is named, and the first ones are shown whole."""
        shown, count = of(*[TAP_FAILED.format(number) for number in range(1, 13)], *[TAP_PASSED.format(number) for number in range(13, 60)])
        for number in range(1, 13):
            self.assertIn(f'not ok {number} - breaks {number}', shown)
        self.assertIn('it is 1\n', shown)
        self.assertLessEqual(count, MOST_LINES)

    def test_tap_expected(self):
        shown, _ = of('not ok 1 - later # TODO it is not made', 'not ok 2 - there is no browser # SKIP', NOISE)
        self.assertNotIn('not ok', shown)

    def test_not_tap(self):
        shown, _ = of(NOISE, '✖ breaks (0.2ms)', '  Error: it is wrong', '', '✔ works (0.1ms)', NOISE)
        self.assertIn('✖ breaks (0.2ms)\n  Error: it is wrong\n', shown)

    def test_unittest(self):
        shown, count = of(UNITTEST.format(NOISE))
        self.assertIn('FAIL: test_two (test_x.Case.test_two)', shown)
        self.assertIn('    self.assertEqual(found, 3)\nAssertionError: 2 != 3\n', shown)
        self.assertLessEqual(count, MOST_LINES)

    def test_traceback(self):
        shown, _ = of(NOISE, 'Traceback (most recent call last):', '  File "x.py", line 1', '    x()', 'OSError: it is wrong', NOISE)
        self.assertIn('    x()\nOSError: it is wrong\n[', shown)

    def test_sanitizer(self):
        shown, _ = of(NOISE, '==7==ERROR: AddressSanitizer: heap-use-after-free', '    #0 in f x.c:1', '', 'SUMMARY: AddressSanitizer: x', NOISE)
        self.assertIn('    #0 in f x.c:1\n\nSUMMARY: AddressSanitizer: x\n[', shown)

    def test_lines(self):
        """Those that are certain are shown also behind a hundred that only may be meant."""
        lines = ['x.c:12:F:core:reads:0: Assertion \'1 == 2\' failed', 'WRONG: the trace is empty', 'a.out: x.c:5: main: Assertion `a\' failed.',
                 'x.c:9:2: runtime error: shift of 64', 'FAILED: no end']
        for line in lines:
            shown, count = of(*['heapsonde: error: as it has to be'] * 100, NOISE, line, NOISE)
            self.assertIn(f'\n{line}\n', shown)
            self.assertLessEqual(count, MOST_LINES)
        shown, _ = of(NOISE, 'x.c:1:2: error: no such file', NOISE)
        self.assertIn('x.c:1:2: error: no such file', shown)

    def test_last(self):
        """Of an output that says nothing of the kind, the last lines; of none, none; of a short one, each once."""
        self.assertEqual(failed_lines(NOISE), ['[275 lines]', *NOISE.splitlines()[-25:]])
        self.assertEqual(failed_lines(''), [])
        self.assertEqual(failed_lines('before\nFAILED: it\nafter\n'), ['before', 'FAILED: it', 'after'])

    def test_long_line(self):
        self.assertLess(len('\n'.join(failed_lines('error: ' + 1000000 * 'x'))), 1000)


class Totals(unittest.TestCase):
    def test_failed(self):
        with tempfile.TemporaryDirectory(prefix='heapsonde-') as folder:
            suite = ElementTree.Element('testsuite')
            ElementTree.SubElement(suite, 'testcase', name='works', status='run', time='1')
            case = ElementTree.SubElement(suite, 'testcase', name='webui.page', status='fail', time='2')
            ElementTree.SubElement(case, 'system-out').text = TAP_FAILED.format(1) + '\n'.join(map(TAP_PASSED.format, range(2, 99)))
            path = os.path.join(folder, 'tests-host.xml')
            ElementTree.ElementTree(suite).write(path)
            done = subprocess.run(['/usr/bin/python3', TOTALS, path], stdout=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn('failed: webui.page (host)\n', done.stdout)
        self.assertIn('    | not ok 1 - breaks 1\n', done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1], '1 passed, 1 failed')

    def test_last_line(self):
        """Whatever a file has, or a terminal cannot show."""
        case = '<testsuite><testcase name="a" status="fail" time="1"><system-out>\u2716 \u00e9</system-out></testcase></testsuite>'
        for content, last in (
                (case, '0 passed, 1 failed'),
                ('', '0 passed, 1 failed'),
                (case[:40], '0 passed, 1 failed'),
                ('\0\1', '0 passed, 1 failed'),
                (case.replace('"1"', '"soon"'), '0 passed, 1 failed'),
                ('<?xml version="1.0" encoding="none"?>' + case, '0 passed, 1 failed'),
                ('<a><testcase status="run"/><testcase name="b" status="run"/><testcase/></a>', '2 passed, 1 failed'),
                ('<a><testcase status="notrun"><skipped/></testcase></a>', '0 passed, 0 failed, 1 skipped')):
            with tempfile.TemporaryDirectory(prefix='heapsonde-') as folder:
                path = os.path.join(folder, 'tests-host.xml')
                with open(path, 'w', encoding='utf-8') as file:
                    file.write(content)
                done = subprocess.run(['/usr/bin/python3', TOTALS, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      env={**os.environ, 'PYTHONIOENCODING': 'ascii'}, check=False)
            self.assertEqual(done.stdout.splitlines()[-1:], [last], (content, done.stderr))
            self.assertEqual(done.returncode, 'passed, 0' not in last, content)

    def test_long_output(self):
        """What fails at the end of megabytes is in the file of a row, whole."""
        with tempfile.TemporaryDirectory(prefix='heapsonde-') as folder:
            os.makedirs(os.path.join(folder, 'build/host'))
            os.makedirs(os.path.join(folder, 'logs'))
            os.symlink(os.path.join(ROOT, 'qemu'), os.path.join(folder, 'qemu'))
            with open(os.path.join(folder, 'build/host/CTestTestfile.cmake'), 'w', encoding='utf-8') as file:
                file.write('add_test(recorder.long sh "-c" "yes | head -c 2000000; echo FAILED: it is wrong; yes | head -n 100; exit 1")\n')
            script = ('. "$1/scripts/lib.sh"; . "$1/scripts/tasks.sh"; . "$1/qemu/rows.sh"; '
                      'root=$2 logs=$2/logs; test_row host')
            subprocess.run(['bash', '-c', script, 'bash', ROOT, folder], stdout=subprocess.DEVNULL, check=True)
            done = subprocess.run(['/usr/bin/python3', TOTALS, os.path.join(folder, 'logs/tests-host.xml')], stdout=subprocess.PIPE,
                                  text=True, check=False)
        self.assertIn('    | FAILED: it is wrong\n', done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1], '0 passed, 1 failed')


if __name__ == '__main__':
    unittest.main()
