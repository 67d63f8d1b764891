#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Commands to devices through the socket in the folder of gather."""
import os
import select
import socket
import time

import harness
from harness import Gather, Peer, expect, make_header, work

PING, ANSWER, PONG, REQUEST = 19, 5, 6, 18
ANSWER_WITHIN = 10  # seconds; then the next command may go to the device


class Guest:
    """Somebody who asks one thing."""

    def __init__(self, gather, line):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(harness.PATIENCE)
        folder = os.open(gather.folder, os.O_RDONLY)
        harness.wait_until(lambda: self.is_let_in(f'/proc/self/fd/{folder}/.heapsonde-gather.socket'), 'there is no socket in the folder')
        os.close(folder)
        self.socket.sendall(line.encode() + b'\n')

    def is_let_in(self, path):
        try:
            self.socket.connect(path)
            return True
        except (FileNotFoundError, ConnectionRefusedError):
            return False

    def is_answered(self):
        return bool(select.select([self.socket], [], [], 0)[0])

    def answer(self):
        text = b''
        while part := self.socket.recv(65536):
            text += part
        self.socket.close()
        return text.decode()


def take_frame(peer):
    """The next request, or None: the device says that it is there."""
    kind, payload = peer.next_frame()
    if kind == PING:
        peer.frame(PONG)
    return payload if kind == REQUEST else None


def request(peer, guest):
    while (payload := take_frame(peer)) is None:
        expect(not guest.is_answered(), 'the guest is answered, and the device was not asked')
    return payload[:4], payload[4:].decode()


def unanswered():
    """A device that does not answer a command is not busy for ever, and its late answer is nobody else's."""
    gather = Gather()
    wanted = os.urandom(16)
    peer = Peer(gather.port).prove().stream(wanted)
    peer.want()
    peer.data(0, make_header(wanted))
    gather.event('began')
    harness.wait_until(gather.traces, 'there is no file')
    name, = gather.traces()
    began = time.monotonic()
    first = Guest(gather, f'ask {name} status')
    late, text = request(peer, first)
    expect(text == 'status', text)
    second = Guest(gather, f'ask {name} mark early')
    is_late = False
    while not (first.is_answered() and second.is_answered()):
        if take_frame(peer):
            is_late = True
            expect(time.monotonic() - began >= ANSWER_WITHIN, 'one command at a time')
    said = second.answer()
    expect(('did not answer in time' if is_late else 'another request is being carried out') in said, said)
    said = first.answer()
    expect('did not answer in time' in said, said)
    third = Guest(gather, f'ask {name} mark later')
    number, text = request(peer, third)
    while text == 'mark early':
        number, text = request(peer, third)
    expect(text == 'mark later' and number != late, f'{text} {number} {late}')
    peer.frame(ANSWER, late + bytes(4) + b'of the first')
    peer.frame(ANSWER, number + bytes(4) + b'of the third')
    said = third.answer()
    expect(said == 'ok\nstatus 0\nlength 12\n\nof the third', said)
    peer.close()
    gather.stop()


def no_descriptors():
    """Without descriptors, gather waits; then it answers who waited, too."""
    shortage = os.path.join(work, 'shortage')
    gather = Gather(environment={'LD_PRELOAD': os.environ['HEAPSONDE_TEST_NO_DESCRIPTORS'], 'TEST_SHORTAGE': shortage})
    said = Guest(gather, 'devices').answer()
    expect(said.startswith('ok\nstatus 0\n'), said)
    with open(shortage, encoding='ascii') as file:
        milliseconds = int(file.read())
    expect(milliseconds >= 1000, f'twenty tries took {milliseconds} ms: it tried all the time')
    gather.stop()


if __name__ == '__main__':
    harness.main({'unanswered': unanswered, 'no_descriptors': no_descriptors})
