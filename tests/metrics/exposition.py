# SPDX-License-Identifier: MIT OR Apache-2.0
"""A strict reader of Prometheus' text format 0.0.4 and of OpenMetrics 1.0: whatever is not exactly so is an error."""
import re
import shutil
import subprocess

NAME = re.compile(r'[a-zA-Z_:][a-zA-Z0-9_:]*\Z')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|\Z)')
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)\Z')
LONGEST_VALUE = 128


class Wrong(Exception):
    pass


def need(condition, text):
    if not condition:
        raise Wrong(text)


def labels_of(text, line):
    labels = {}
    at = 0
    while text and at < len(text):
        label = LABEL.match(text, at)
        need(label, f'labels: {line!r}')
        name, value, comma = label.groups()
        need(name not in labels and not name.startswith('__'), f'label {name}: {line!r}')
        need(value != '' and len(value.encode()) <= 2 * LONGEST_VALUE, f'value of {name}: {line!r}')
        need(all(c >= ' ' and c != '\x7f' for c in value), f'control character: {line!r}')
        labels[name] = re.sub(r'\\(.)', lambda found: {'n': '\n'}.get(found[1], found[1]), value)
        at = label.end()
        need(not comma or at < len(text), f'comma at the end: {line!r}')
    return labels


def read(body, open_metrics=False):
    """{name: {frozenset of labels: value}}; names of counters end in _total."""
    text = body.decode('utf-8')
    need(text.endswith('\n'), 'the last line does not end')
    lines = text.split('\n')[:-1]
    if open_metrics:
        need(lines.pop() == '# EOF', 'no EOF')
    need('# EOF' not in lines, 'EOF in the middle')
    families, metrics, name, kind = {}, {}, None, None
    for line in lines:
        words = line.split(' ', 3)
        if words[:2] == ['#', 'HELP']:
            need(NAME.match(words[2]) and words[2] not in families and words[3].endswith('.'), line)
            name, kind = words[2], None
        elif words[:2] == ['#', 'TYPE']:
            need(words[2] == name and kind is None and words[3] in ('gauge', 'counter'), line)
            kind = families[name] = words[3]
            need((kind == 'counter' and not open_metrics) == name.endswith('_total'), f'name: {line}')
        else:
            found = SAMPLE.match(line)
            need(found and kind, f'no sample: {line!r}')
            need(found[1] == name + ('_total' if open_metrics and kind == 'counter' else ''), f'of another family: {line!r}')
            labels = frozenset(labels_of(found[2], line).items())
            of_name = metrics.setdefault(found[1], {})
            need(labels not in of_name, f'twice: {line!r}')
            of_name[labels] = float(found[3])
            need(kind != 'counter' or of_name[labels] >= 0, f'a counter below 0: {line!r}')
    return metrics


def values(metrics, name, **labels):
    """The values of the samples that have these labels."""
    return [value for found, value in metrics.get(name, {}).items() if set(labels.items()) <= found]


def check_with_promtool(body):
    """What Prometheus' own tool says, where it is installed."""
    tool = shutil.which('promtool')
    if not tool:
        return
    done = subprocess.run([tool, 'check', 'metrics'], input=body, capture_output=True, check=False)
    need(done.returncode == 0 and not done.stderr, f'promtool: {done.stdout.decode()}{done.stderr.decode()}')
