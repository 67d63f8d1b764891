# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is looked at in a running gatherer."""
import os
import socket


def memory_of(gather):
    """KiB; a sanitizer keeps what was freed."""
    if os.environ.get('HEAPSONDE_TEST_SANITIZED'):
        return 0
    with open(f'/proc/{gather.process.pid}/status', encoding='ascii') as file:
        for line in file:
            if line.startswith('VmRSS'):
                return int(line.split()[1])
    return 0


def descriptors_of(gather):
    return len(os.listdir(f'/proc/{gather.process.pid}/fd'))


def free_udp_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]
