# SPDX-License-Identifier: MIT OR Apache-2.0
"""The lints find what they are for, and do not let a list of known faults outlive them."""
import unittest

import calls
import documented
import includes
import names
import prose
import tidy


class Includes(unittest.TestCase):
    def test_a_circle_of_units(self):
        edges = [('host/query/a.c', 'host/query/b.h'), ('host/query/b.h', 'host/query/c.h'), ('host/query/c.c', 'host/query/a.h'),
                 ('host/query/d.c', 'host/query/a.h'), ('host/query/a.c', 'host/query/a.h')]
        self.assertEqual(includes.check(edges), ['units include one another: host/query/a host/query/b host/query/c'])

    def test_arrows_point_down(self):
        for start, end, good in (('shims/trace/a.c', 'runtime/b.h', True), ('runtime/b.c', 'shims/trace/a.h', False),
                                 ('host/a/b.c', 'runtime/b.h', False), ('host/query/a.c', 'runtime/b.h', False),
                                 ('runtime/b.c', 'host/query/a.h', False), ('host/import/a.c', 'host/query/b.h', True),
                                 ('host/query/b.c', 'host/import/a.h', False), ('format/a.c', 'arch/b.h', False),
                                 ('host/unwind/a.c', 'unwind/b.h', True), ('unwind/b.c', 'runtime/b.h', False)):
            self.assertEqual(not list(includes.against([(start, end)])), good, f'{start} -> {end}')


class Calls(unittest.TestCase):
    TEXTS = {'host/query/a.c': 'int hs_a(void)\n{\n    return hs_b();\n}\n', 'host/query/b.c': 'int hs_b(void)\n{\n    return hs_a();\n}\n',
             'host/query/c.c': 'int hs_c(void)\n{\n    return hs_a();\n}\n'}

    def test_a_circle_of_calls(self):
        self.assertEqual(calls.check(list(calls.calls(self.TEXTS))), ['units call one another: host/query/a host/query/b'])

    def test_what_two_sources_define_is_no_arrow(self):
        texts = {**self.TEXTS, 'host/query/d.c': 'int hs_b(void)\n{\n}\n'}
        self.assertEqual(calls.check(list(calls.calls(texts))), [])


class Prose(unittest.TestCase):
    def test_long_lines(self):
        words = ' '.join(['word'] * 40)
        text = f'# {words}\n\n- {words}\n  and on\n\n| {words} |\n\n```\n{words}\n```\n\n    {words}\n\n{"x" * 200}\nshort\n'
        self.assertEqual(prose.too_long(text), [3])
        again = prose.rewritten(text)
        self.assertEqual(prose.too_long(again), [])
        self.assertEqual(again.split(), text.split())
        self.assertTrue(all(line.startswith('  ') for line in again.splitlines()[3:4]))

    def test_what_is_not_divided(self):
        lines = prose.wrapped(['a ' * 58 + '`heapsonde run --on` [a long link](where.md) 1. - end'])
        self.assertEqual([line.split(' ')[0] for line in lines], ['a', '`heapsonde'])
        self.assertIn('[a long link](where.md) 1. -', lines[1])


class Tidy(unittest.TestCase):
    def test_what_clang_knows_of_a_command(self):
        words = 'cc -DA=1 -I /a -I/b -O2 -fno-shrink-wrap -Wall -std=gnu11 -include x.h -o a.o -c a.c'.split()
        self.assertEqual(tidy.kept(words), ['-DA=1', '-I', '/a', '-I/b', '-std=gnu11', '-include', 'x.h'])


class Documented(unittest.TestCase):
    def test_what_a_page_lacks(self):
        text = 'the `csv` and "json" of `export/FORMAT`, and parquet'
        self.assertEqual(documented.missing('format', ['csv', 'json', 'export/FORMAT'], 'a.md', text), [])
        self.assertEqual(documented.missing('format', ['csv', 'parquet'], 'a.md', text), ['a.md does not have the format parquet'])

    def test_the_tables_are_read(self):
        self.assertIn('heaptrack', documented.formats())
        self.assertEqual(documented.formats('    X(one, a)\n    X(two-three, b)'), ['one', 'two-three'])
        self.assertIn('map/N', documented.endpoints())
        self.assertIn('export/FORMAT', documented.endpoints())

    def test_what_a_build_does_not_say(self):
        build = '  heapsonde_optional(A liba "no one" x)\nheapsonde_optional_loaded(B libb "no two --all" x)\n'
        rows = '| liba | `HEAPSONDE_WITH_A=OFF` | `heapsonde one` |\n| libb | `HEAPSONDE_WITH_B=OFF` | `two --all` |\n'
        self.assertEqual(list(documented.unsaid(rows, build)), [])
        self.assertEqual(len(list(documented.unsaid(rows, build.replace('one', 'ones').replace('--all', '-a')))), 2)
        self.assertEqual(list(documented.unsaid(rows.split('\n', maxsplit=1)[0], build)), ['docs/installing.md does not have HEAPSONDE_WITH_B'])


class Names(unittest.TestCase):
    def test_functions_that_leave_their_file(self):
        texts = {'host/query/a.c': '#define RARE static __attribute__((cold))\nint bad__one(int a,\n            int b)\n{\n}\n'
                                   'int hs_good(void)\n{\n}\nstatic int own(void)\n{\n}\nRARE int cold(void)\n{\n}\n',
                 'host/query/a.h': 'extern int some_limit;\nint bad__one(int a, int b);\nextern int hs_limit;\n',
                 'shims/trace/a.c': 'void *malloc(size_t size)\n{\n}\n'}
        wrong, needed = names.check(texts, [])
        self.assertEqual(wrong, ['name: bad__one host/query/a.c', 'name: some_limit host/query/a.h'])
        self.assertEqual(needed, [])
        self.assertEqual(names.check(texts, wrong)[0], [])
        self.assertTrue(names.check(texts, wrong + ['name: gone host/query/a.c'])[0])

    def test_a_tag_stands_for_one_thing_in_one_half(self):
        texts = {'host/a.c': 'struct thing {\n};\n', 'host/b.c': 'enum thing { A };\n', 'runtime/a.c': 'struct thing {\n};\n',
                 'arch/arm/rule.h': 'enum hs_rule_kind { A };\n', 'arch/amd64/rule.h': 'enum hs_rule_kind { B };\n'}
        self.assertEqual(names.check(texts, [])[0], ['tag: thing host host/a.c host/b.c'])


if __name__ == '__main__':
    unittest.main()
