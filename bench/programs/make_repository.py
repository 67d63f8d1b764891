# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes a git repository with a long history, the same every time: make_repository.py FOLDER COMMITS"""
import os
import random
import subprocess
import sys

folder, commits = sys.argv[1], int(sys.argv[2])
environment = dict(os.environ, GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL="/dev/null")
subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True, env=environment)
numbers = random.Random(1)
words = [f"word{n}" for n in range(500)]
files = {f"folder{n % 7}/file{n}.txt": [" ".join(numbers.choices(words, k=8)) for _ in range(200)] for n in range(40)}
stream = []
for number in range(commits):
    names = list(files) if number == 0 else numbers.sample(list(files), 3)
    for name in names:
        for _ in range(5):
            files[name][numbers.randrange(len(files[name]))] = " ".join(numbers.choices(words, k=8))
    stream.append(
        f"commit refs/heads/main\ncommitter A <a@example.org> {1600000000 + number * 600} +0000\ndata <<END\nchange {number}\nEND\n"
    )
    for name in names:
        text = "\n".join(files[name]) + "\n"
        stream.append(f"M 100644 inline {name}\ndata {len(text)}\n{text}\n")
subprocess.run(["git", "-C", folder, "fast-import", "--quiet"], input="".join(stream).encode(), check=True, env=environment)
