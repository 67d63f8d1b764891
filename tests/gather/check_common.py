# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is looked at in a running gatherer."""
import os
import socket

kept = []  # for as long as this process runs


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
    """It stays this test's: the socket that chose it hears nothing at its address, and as gather does, it lets others have
    the port at theirs who ask for this port, while the kernel gives it to nobody."""
    probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    kept.append(probe)
    probe.bind(('127.83.7.1', 0))
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return probe.getsockname()[1]
