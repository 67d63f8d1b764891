# SPDX-License-Identifier: MIT OR Apache-2.0
"""The folder that a case works in: it is kept, and named, when the case fails, and goes when it passes or is skipped."""
import contextlib
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import patience  # noqa: E402

SKIPPED = 77


@contextlib.contextmanager
def folder(kind):
    path = tempfile.mkdtemp(prefix=f'heapsonde-{kind}-')
    patience.begin()
    try:
        yield path
    except BaseException as end:
        if not isinstance(end, SystemExit) or end.code not in (0, None, SKIPPED):
            print(f'its folder is kept: {path}')
            patience.end_all_of(path)
            raise
        shutil.rmtree(path)
        raise
    shutil.rmtree(path)
