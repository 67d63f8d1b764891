# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ports of servers that end and come back, or that choose none by themselves. The kernel gives these to nobody else: they are
below those that it chooses from. Another test may try one at the same moment, so whoever cannot listen tries another one, or the
same again."""
import random
import socket


def free():
    """One after the other, without an end."""
    with open('/proc/sys/net/ipv4/ip_local_port_range', encoding='ascii') as file:
        end = int(file.read().split()[0])
    while True:
        port = random.randrange(min(10000, end - 1000), end)
        try:
            socket.create_server(('127.0.0.1', port)).close()
        except OSError:
            continue
        yield port
