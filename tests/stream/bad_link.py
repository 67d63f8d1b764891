#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""A slow link that loses packets, between this network namespace and another one: two TUN devices, and in between what tc's
netem would do, for kernels that have none. Says "ready" once packets pass, ends with a signal, and then says what it did.
"""
import argparse
import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import signal
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
CLONE_NEWNET = 0x40000000
MTU = 1500


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--namespace', required=True, help='the other end is in this one')
    parser.add_argument('--name', required=True, help='of the device, at both ends')
    parser.add_argument('--here', required=True, help='address of this end')
    parser.add_argument('--there', required=True, help='address of the other end')
    parser.add_argument('--rate', type=int, default=64000, help='bits a second, each way')
    parser.add_argument('--loss', type=float, default=0.05, help='part of the packets that are lost, each way')
    parser.add_argument('--delay', type=float, default=0.3, help='seconds, each way')
    parser.add_argument('--queue', type=int, default=30, help='packets that wait for the link, each way')
    parser.add_argument('--seed', type=int, default=1)
    return parser.parse_args()


def open_tun(name):
    fd = os.open('/dev/net/tun', os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack('16sH22x', name.encode(), IFF_TUN | IFF_NO_PI))
    return fd


def enter(namespace):
    with open(namespace, 'rb') as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f'setns {namespace}')


def set_up(name, address, peer):
    subprocess.run(['ip', 'addr', 'add', address, 'peer', peer, 'dev', name], check=True)
    subprocess.run(['ip', 'link', 'set', name, 'mtu', str(MTU), 'up'], check=True)


def open_ends(options):
    here = open_tun(options.name)
    set_up(options.name, options.here, options.there)
    own = '/proc/self/ns/net'
    with open(own, 'rb') as back:
        enter(f'/var/run/netns/{options.namespace}')
        there = open_tun(options.name)
        set_up(options.name, options.there, options.here)
        enter(f'/proc/self/fd/{back.fileno()}')
    return here, there


class Way:
    """One direction: packets wait for the link, take their time on it, and some are lost."""

    def __init__(self, options, source, target, numbers):
        self.options, self.source, self.target, self.numbers = options, source, target, numbers
        self.on_the_way = []  # (when it arrives, number, packet)
        self.free_at = 0.0
        self.passed = self.lost = self.refused = self.bytes = 0

    def take(self):
        packet = os.read(self.source, 65536)
        now = time.monotonic()
        seconds = len(packet) * 8 / self.options.rate
        if self.free_at - now > self.options.queue * MTU * 8 / self.options.rate:
            self.refused += 1
            return
        self.free_at = max(self.free_at, now) + seconds
        if self.numbers.random() < self.options.loss:
            self.lost += 1
            return
        heapq.heappush(self.on_the_way, (self.free_at + self.options.delay, self.passed, packet))
        self.passed += 1
        self.bytes += len(packet)

    def deliver(self):
        while self.on_the_way and self.on_the_way[0][0] <= time.monotonic():
            try:
                os.write(self.target, heapq.heappop(self.on_the_way)[2])
            except OSError:  # the device is down: as lost as any other
                self.lost += 1

    def next_delivery(self):
        return self.on_the_way[0][0] if self.on_the_way else float('inf')


def run(ways):
    while True:
        due = min(way.next_delivery() for way in ways) - time.monotonic()
        readable, _, _ = select.select([way.source for way in ways], [], [], max(0, min(due, 1)))
        for way in ways:
            way.deliver()
            if way.source in readable:
                way.take()


def main():
    options = parse_options()
    numbers = random.Random(options.seed)
    here, there = open_ends(options)
    ways = {'to the host': Way(options, there, here, numbers), 'to the device': Way(options, here, there, numbers)}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print('ready', flush=True)
    try:
        run(list(ways.values()))
    finally:
        for name, way in ways.items():
            print(json.dumps({'way': name, 'passed': way.passed, 'bytes': way.bytes, 'lost': way.lost, 'refused': way.refused}))


main()
