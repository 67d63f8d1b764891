# SPDX-License-Identifier: MIT OR Apache-2.0
"""A thousand simulated processes announce themselves, stream and leave, for as long as asked: soak.py SECONDS COUNT.

No byte may be lost, the memory of the host has to stay flat, and no descriptor may be left."""
import sys
import time

from harness import Gather, expect, main, make_key, start_devices, succeed
from check_common import descriptors_of, free_udp_port, memory_of

SECONDS, COUNT = int(sys.argv[2]), int(sys.argv[3])


def sample(gather, devices, seconds):
    """Memory in KiB and descriptors, once a second."""
    samples = []
    while devices.process.poll() is None and len(samples) < seconds:
        samples.append((memory_of(gather), descriptors_of(gather)))
        time.sleep(1)
    return samples


def settled(gather):
    """Its descriptors, once all of its threads have theirs."""
    before, now = -1, descriptors_of(gather)
    while before != now:
        time.sleep(0.5)
        before, now = now, descriptors_of(gather)
    return now


def soak():
    key = make_key()
    port = free_udp_port()
    gather = Gather('--key-file', key, '--select', 'device =~ "^device-"', '--quota', '2G', '--quota-remove-oldest',
                    environment={'HEAPSONDE_ANNOUNCE_PORT': str(port)})
    idle = settled(gather)
    devices = start_devices('--count', COUNT, '--key', key, '--announce', port, '--seconds', SECONDS, '--size', 200000,
                            '--cuts', 1, '--verify', gather.folder)
    samples = sample(gather, devices, SECONDS + 60)
    succeed(devices)
    ended = next(int(line.split()[1]) for line in devices.lines if line.startswith('ended '))
    expect(f'verified {ended}\n' in devices.lines, f'{devices.lines}')
    # The last connections close once their acknowledgement has come.
    for _ in range(20):
        if descriptors_of(gather) <= idle + 2:
            break
        time.sleep(1)
    left = descriptors_of(gather) - idle
    summary = gather.stop()
    third = len(samples) // 3
    middle, last = (max(memory for memory, _ in part) for part in (samples[third:2 * third], samples[2 * third:]))
    print(f'{ended} streams, {summary["received"]} bytes, {summary["removed"]} removed for the quota; memory at most '
          f'{middle} KiB in the middle and {last} KiB at the end; at most {max(count for _, count in samples)} '
          f'descriptors, {left} left; refused {summary["refused"]}')
    expect(summary['streams'] == ended and summary['unfinished'] == 0, f'{summary}')
    expect(ended >= COUNT, 'some have never come to their end')
    expect(last <= middle * 1.1 + 4096, f'the memory grows: {samples}')
    expect(left <= 2, f'{left} descriptors are left')


main({'soak': soak})
