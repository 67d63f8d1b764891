# SPDX-License-Identifier: MIT OR Apache-2.0
"""Each script that people run says with --help what it does, and does nothing else."""
import os
import subprocess
import unittest

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../scripts')


class Help(unittest.TestCase):
    def test_each_script(self):
        scripts = [name for name in sorted(os.listdir(SCRIPTS)) if '.' not in name]
        self.assertIn('demo', scripts)
        for name in scripts:
            with self.subTest(name):
                done = subprocess.run([os.path.join(SCRIPTS, name), '--help'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      stdin=subprocess.DEVNULL, text=True, timeout=100, check=False)
                self.assertEqual(done.returncode, 0, done.stdout)
                with open(os.path.join(SCRIPTS, name), encoding='utf-8') as file:
                    self.assertIn(done.stdout.splitlines()[0], file.read())


if __name__ == '__main__':
    unittest.main()
