# SPDX-License-Identifier: MIT OR Apache-2.0
"""qemu/system: what is left out for want of a build is in the results, with the reason."""
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True
SYSTEM = os.path.join(os.path.dirname(os.path.realpath(__file__)), '../../qemu/system')


def load():
    loader = importlib.machinery.SourceFileLoader('system', SYSTEM)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('system', loader))
    loader.exec_module(module)
    return module


class Absent(unittest.TestCase):
    def results(self, only):
        """What a guest that boots, without any build, writes: the status and output of each test."""
        system = load()
        with tempfile.TemporaryDirectory(prefix='heapsonde-') as folder, \
                unittest.mock.patch.multiple(system, ROOT=folder, LOGS=folder, tests_of=lambda architecture, only: [],
                                             Guest=unittest.mock.Mock(return_value=unittest.mock.Mock(release='6.1', processor_seconds=0)),
                                             GUESTS=[], tempfile=unittest.mock.Mock()):
            system.OPTIONS.cases, system.OPTIONS.memory, system.OPTIONS.skip_idle = None, 1024, False
            system.run_guest('arm64', re.compile(only), True)
            suite = ElementTree.parse(os.path.join(folder, 'tests-system-arm64.xml')).getroot()
        return {case.get('name'): (case.get('status'), case.findtext('system-out')) for case in suite if case.get('name') != 'system.boot'}

    def test_attach(self):
        for only in ('^inject', 'inject.dynamic.counts'):
            with self.subTest(only):
                self.assertEqual(self.results(only), {
                    'inject.all': ('notrun', 'SKIPPED: no build/aarch64-host, which qemu/host --quick makes')})

    def test_others(self):
        self.assertEqual(self.results('recorder.plain'), {})


class SecondBuild(unittest.TestCase):
    def test_its_programs_are_built(self):
        """Of a build whose own guest there is none, scripts/test builds what the guest of another one runs."""
        rows = os.path.join(os.path.dirname(SYSTEM), 'rows.sh')
        system = load()
        for _, preset, program in system.SMALL_ATTACH:
            if preset in system.GUESTS_OF:
                said = subprocess.run(['bash', '-c', '. "$0" && echo "${guest_targets[$1]}"', rows, preset], stdout=subprocess.PIPE, text=True, check=True)
                self.assertIn(program, said.stdout.split())


if __name__ == '__main__':
    unittest.main()
