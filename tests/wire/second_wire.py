# SPDX-License-Identifier: MIT OR Apache-2.0
"""The wire in Python, written from docs/protocol.md alone: what format/wire*.c is compared with.

Nothing here is shared with the C code, and nothing but the standard library is used. ChaCha20 works on all blocks of a
frame at once: a number holds one word of every block, 64 bits apart, so that sums do not reach the neighbour.
"""
import hashlib
import hmac
import struct

MAGIC = b'\x8fHSWIRE\n'
ANNOUNCE_MAGIC = b'\x8fHSCALL\n'
VERSION = 1
HELLO_SIZE = 48
DEVICE, HOST = 1, 2
OPEN, SHARED_KEY = 0, 1
PAYLOAD_MAX = 16384
TAG_SIZE = 16
ANNOUNCE_MAX = 1200
ANNOUNCE_HEADER = 24
ANNOUNCE_BODY_MIN = 26

AUTH, STREAM, DATA, END, ANSWER, PONG, REFUSED, PART = 1, 2, 3, 4, 5, 6, 7, 8
WANT, ACK, REQUEST, PING = 16, 17, 18, 19


class WireError(Exception):
    """What the other side sent ends the connection."""


# ---- RFC 8439 ----


def chacha20(key, counter, nonce, data):
    """Encrypts and decrypts."""
    blocks = (len(data) + 63) // 64
    every = sum(1 << 64 * i for i in range(blocks))  # one in each lane
    mask = 0xffffffff * every
    words = [w * every for w in struct.unpack('<4I8I', b'expand 32-byte k' + key)]
    words.append(sum((counter + i & 0xffffffff) << 64 * i for i in range(blocks)))
    words += [w * every for w in struct.unpack('<3I', nonce)]
    x = list(words)

    def turn(at, by):
        x[at] = (x[at] << by | x[at] >> 32 - by) & mask

    def quarter(a, b, c, d):
        for to, other, turned, by in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[to] = x[to] + x[other] & mask
            x[turned] ^= x[to]
            turn(turned, by)

    for _ in range(10):
        for column in range(4):
            quarter(column, 4 + column, 8 + column, 12 + column)
        for diagonal in range(4):
            quarter(diagonal, 4 + (diagonal + 1) % 4, 8 + (diagonal + 2) % 4, 12 + (diagonal + 3) % 4)
    stream = bytearray(64 * blocks)
    for i in range(16):
        word = (x[i] + words[i] & mask).to_bytes(8 * blocks, 'little')
        for byte in range(4):
            stream[4 * i + byte::64] = word[byte::8]
    mixed = int.from_bytes(data, 'little') ^ int.from_bytes(stream[:len(data)], 'little')
    return mixed.to_bytes(len(data), 'little')


def poly1305(key, message):
    prime = (1 << 130) - 5
    r = int.from_bytes(key[:16], 'little') & 0x0ffffffc0ffffffc0ffffffc0fffffff
    total = 0
    for at in range(0, len(message), 16):
        total = (total + int.from_bytes(message[at:at + 16] + b'\x01', 'little')) * r % prime
    return (total + int.from_bytes(key[16:], 'little') & (1 << 128) - 1).to_bytes(16, 'little')


def tag_of(key, nonce, additional, encrypted):
    def padded(text):
        return text + bytes(-len(text) % 16)

    one_time_key = chacha20(key, 0, nonce, bytes(32))
    return poly1305(one_time_key, padded(additional) + padded(encrypted) +
                    struct.pack('<QQ', len(additional), len(encrypted)))


def aead_seal(key, nonce, additional, plain):
    encrypted = chacha20(key, 1, nonce, plain)
    return encrypted + tag_of(key, nonce, additional, encrypted)


def aead_open(key, nonce, additional, body):
    encrypted, tag = body[:-TAG_SIZE], body[-TAG_SIZE:]
    if len(body) < TAG_SIZE or not hmac.compare_digest(tag, tag_of(key, nonce, additional, encrypted)):
        raise WireError('does not verify')
    return chacha20(key, 1, nonce, encrypted)


# ---- RFC 5869 ----


def hkdf(salt, material, info, size):
    secret = hmac.new(salt or bytes(32), material, hashlib.sha256).digest()
    output = block = b''
    for number in range(1, 256):
        if len(output) >= size:
            break
        block = hmac.new(secret, block + info + bytes([number]), hashlib.sha256).digest()
        output += block
    return output[:size]


# ---- hellos, frames, pairs, announcements ----


def hello(role, security, random):
    return struct.pack('<8sHBB4x32s', MAGIC, VERSION, role, security, random)


def read_hello(text):
    """The role and the security."""
    magic, version, role, security, reserved, _ = struct.unpack('<8sHBBI32s', text)
    if magic != MAGIC or version != VERSION or reserved or role not in (DEVICE, HOST) or security not in (OPEN, SHARED_KEY):
        raise WireError('no hello of this version')
    return role, security


def connection_keys(shared_key, device_hello, host_hello):
    """The key of what the device sends, and of what the host sends."""
    keys = hkdf(device_hello + host_hello, shared_key, b'heapsonde wire 1', 64)
    return keys[:32], keys[32:]


class Direction:
    """One direction of a connection; without a key in the open."""

    def __init__(self, key=None):
        self.key = key
        self.number = 0

    def nonce(self):
        self.number += 1
        return struct.pack('<4xQ', self.number - 1)

    def seal(self, kind, payload=b''):
        body = bytes([kind, 0, 0, 0]) + payload
        length = struct.pack('<I', len(body) + (TAG_SIZE if self.key else 0))
        nonce = self.nonce()
        return length + (aead_seal(self.key, nonce, length, body) if self.key else body)

    def body_size(self, length):
        size, = struct.unpack('<I', length)
        least = 4 + (TAG_SIZE if self.key else 0)
        if not least <= size <= least + PAYLOAD_MAX:
            raise WireError(f'no frame has {size} bytes')
        return size

    def open(self, frame):
        """The kind and the payload of a whole frame."""
        length, body = frame[:4], frame[4:]
        if self.body_size(length) != len(body):
            raise WireError('not one whole frame')
        nonce = self.nonce()
        if self.key:
            body = aead_open(self.key, nonce, length, body)
        if any(body[1:4]):
            raise WireError('a kind has one byte')
        return body[0], body[4:]


def pack_pairs(pairs):
    def string(text):
        text = text.encode() if isinstance(text, str) else text
        return struct.pack('<H', len(text)) + text

    return b''.join(string(key) + string(value) for key, value in pairs.items())


def read_pairs(text):
    """What is damaged ends the list."""
    strings = []
    while len(text) >= 2:
        length, = struct.unpack_from('<H', text)
        if len(text) < 2 + length:
            break
        strings.append(text[2:2 + length].decode(errors='replace'))
        text = text[2 + length:]
    return dict(zip(strings[::2], strings[1::2]))


def announce_key(shared_key):
    return hkdf(b'', shared_key, b'heapsonde announce 1', 32)


def announcement(body, shared_key=None, nonce=bytes(12)):
    head = struct.pack('<8sHBx', ANNOUNCE_MAGIC, VERSION, SHARED_KEY if shared_key else OPEN)
    if shared_key:
        return head + nonce + aead_seal(announce_key(shared_key), nonce, head, body)
    return head + bytes(12) + body


def read_announcement(datagram, shared_key=None):
    """Trace id, port, time and pairs."""
    head, nonce, body = datagram[:12], datagram[12:24], datagram[24:]
    expected = struct.pack('<8sHBx', ANNOUNCE_MAGIC, VERSION, SHARED_KEY if shared_key else OPEN)
    if head != expected or len(datagram) > ANNOUNCE_MAX:
        raise WireError('no announcement of this kind')
    if shared_key:
        body = aead_open(announce_key(shared_key), nonce, head, body)
    if len(body) < ANNOUNCE_BODY_MIN:
        raise WireError('an announcement without its beginning')
    trace, port, since = struct.unpack_from('<16sHQ', body)
    return trace, port, since, read_pairs(body[ANNOUNCE_BODY_MIN:])


# ---- dumps in the stream of a sampled process ----

HEADER_SIZE = 4096
CHUNK = struct.Struct('<IHHIIIIQQQII')
CHUNK_DUMP, CHUNK_LAST = 9, 16


def crc32c_table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
        yield byte


CRC = list(crc32c_table())


def crc32c(data, crc=0):
    crc ^= 0xffffffff
    for byte in data:
        crc = CRC[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xffffffff


def chunk(kind, payload, flags=0, number=0, letter=0, sequence=0):
    """A chunk as docs/format.md has it, with its padding."""
    head = CHUNK.pack(0x4b434853, kind, flags, len(payload), len(payload), number, letter, sequence, 0, 0,
                      crc32c(payload), 0)[:-4]
    head += struct.pack('<I', crc32c(head))
    return head + payload + bytes(-(len(head) + len(payload)) % 8)


def chunks(stream):
    """Flags, kind, number, letter, sequence and payload of every whole chunk."""
    at = HEADER_SIZE
    while at + CHUNK.size <= len(stream):
        magic, kind, flags, stored, _, number, letter, sequence, _, _, crc, own = CHUNK.unpack_from(stream, at)
        if magic != 0x4b434853 or own != crc32c(stream[at:at + CHUNK.size - 4]):
            raise WireError(f'no chunk at {at}')
        payload = stream[at + CHUNK.size:at + CHUNK.size + stored]
        if len(payload) < stored:
            return
        if not flags & 2 and crc32c(payload) != crc:
            raise WireError(f'the chunk at {at} is damaged')
        yield kind, flags, number, letter, sequence, payload
        at += (CHUNK.size + stored + 7) // 8 * 8


def dumps(stream):
    """Number -> letter of its kind and bytes, of every dump that is whole; and how many are said to be missing."""
    found, missing, parts, last = {}, 0, b'', None
    if len(stream) < HEADER_SIZE:
        return found, missing
    order = '<' if stream[12] == 1 else '>'
    for kind, flags, number, letter, sequence, payload in chunks(stream):
        if kind == 7:
            missing = struct.unpack_from(order + '64Q', payload)[16 + 6]
        if kind != CHUNK_DUMP:
            continue
        if sequence == 0 and not flags & CHUNK_LAST:
            parts, last = b'', number
        if last != number or sequence != len(parts):
            last = None
            continue
        parts += payload
        if flags & CHUNK_LAST:
            found[number] = chr(letter), parts
            last = None
    return found, missing


# ---- golden.txt ----

GOLDEN_LENGTHS = list(range(0, 140, 7)) + [11, 12, 13, 59, 60, 61, 124, 255, 256, 1000, 16383, 16384]


def golden():
    """Name, number and bytes of every line that test_golden.c makes, too."""
    def pattern(length, seed):
        return bytes((i * 7 + seed) % 256 for i in range(length))

    key = b'correct horse battery staple'
    hellos = hello(DEVICE, SHARED_KEY, pattern(32, 1)), hello(HOST, SHARED_KEY, pattern(32, 2))
    keys = connection_keys(key, *hellos)
    for name, text in zip(('hello-device', 'hello-host', 'key-device', 'key-host'), hellos + keys):
        yield name, len(text), text
    for name, key_of_direction in ('frame-device', keys[0]), ('frame-host', keys[1]), ('frame-open', None):
        direction = Direction(key_of_direction)
        for length in GOLDEN_LENGTHS if key_of_direction else GOLDEN_LENGTHS[:5]:
            frame = direction.seal(DATA, pattern(length, length))
            yield name, length, frame if length <= 2000 else frame[-TAG_SIZE:]
    for length in 26, 100, 1000:
        yield 'announcement', length, announcement(pattern(length, length), key, pattern(12, 3))
        yield 'announcement-open', length, announcement(pattern(length, length))


if __name__ == '__main__':
    for line_name, line_number, line_bytes in golden():
        print(line_name, line_number, line_bytes.hex())
