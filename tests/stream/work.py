# SPDX-License-Identifier: MIT OR Apache-2.0
"""The folder that a case works in: it is kept, and named, when the case fails, and goes when it passes or is skipped."""
import contextlib
import shutil
import tempfile

SKIPPED = 77


@contextlib.contextmanager
def folder(kind):
    path = tempfile.mkdtemp(prefix=f'heapsonde-{kind}-')
    try:
        yield path
    except BaseException as end:
        if not isinstance(end, SystemExit) or end.code not in (0, None, SKIPPED):
            print(f'its folder is kept: {path}')
            raise
        shutil.rmtree(path)
        raise
    shutil.rmtree(path)
