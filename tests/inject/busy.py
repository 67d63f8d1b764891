# SPDX-License-Identifier: MIT OR Apache-2.0
"""A process to attach to: two threads of Python code that allocate all the time. Answers each line with how often they did, ends
with "leave"."""
import json
import sys
import threading
import time

rounds = [0, 0]


def work(number):
    while True:
        kept = [bytes(600) for _ in range(20)] + [str(value) for value in range(100)]
        json.loads(json.dumps(kept[20:]))
        rounds[number] += 1
        time.sleep(0.001)


for thread in range(len(rounds)):
    threading.Thread(target=work, args=(thread,), daemon=True).start()
while not all(rounds):
    time.sleep(0.001)
print('ready', flush=True)
for line in sys.stdin:
    if line == 'leave\n':
        sys.exit(3)
    print(sum(rounds), flush=True)
