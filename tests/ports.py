# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ports of servers that end and come back, or that choose none by themselves. The kernel gives these to nobody else: they are
below those that it chooses from. And no other test gets one that this process was given, also while nobody listens there."""
import random
import socket

held = []


def free():
    """One after the other, without an end."""
    with open('/proc/sys/net/ipv4/ip_local_port_range', encoding='ascii') as file:
        end = int(file.read().split()[0])
    while True:
        port = random.randrange(min(10000, end - 1000), end)
        if hold(port):
            yield port


def hold(port):
    """Takes it for as long as this process lives, if nobody has it. It is bound alone, and shared afterwards: a server that sets
    SO_REUSEADDR, as they do, can listen there, and connections are refused until one does."""
    holder = socket.socket()
    try:
        holder.bind(('127.0.0.1', port))
    except OSError:
        holder.close()
        return False
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.append(holder)
    return True
