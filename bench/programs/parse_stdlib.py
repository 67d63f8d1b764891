# SPDX-License-Identifier: MIT OR Apache-2.0
"""Parses every module of the standard library (or the first N of them, by name) and counts the syntax nodes."""
import ast
import os
import sys
import sysconfig

limit = int(sys.argv[1]) if len(sys.argv) > 1 else None
paths = []
for folder, folders, files in os.walk(sysconfig.get_path("stdlib")):
    folders[:] = sorted(name for name in folders if name not in ("dist-packages", "site-packages", "__pycache__"))
    paths += [os.path.join(folder, name) for name in sorted(files) if name.endswith(".py")]
nodes = 0
for path in paths[:limit]:
    with open(path, "rb") as source:
        try:
            nodes += sum(1 for _ in ast.walk(ast.parse(source.read(), path)))
        except (SyntaxError, ValueError):
            pass
print(f"{len(paths[:limit])} files, {nodes} syntax nodes")
