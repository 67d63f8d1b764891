// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The wire between a recorded process and a host: constants, hellos, frames, announcements. docs/protocol.md is the
// specification. Nothing here reads or writes a socket; both halves use it. All functions are async-signal-safe and use
// no memory except their arguments.
#ifndef HEAPSONDE_FORMAT_WIRE_H
#define HEAPSONDE_FORMAT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_WIRE_MAGIC           "\x8fHSWIRE\n"
#define HS_WIRE_VERSION         1
#define HS_WIRE_HELLO_SIZE      48
#define HS_WIRE_RANDOM_SIZE     32
#define HS_WIRE_KEY_SIZE        32 // of one direction
#define HS_WIRE_SHARED_KEY_MIN  16
#define HS_WIRE_SHARED_KEY_MAX  1024
#define HS_WIRE_TAG_SIZE        16
#define HS_WIRE_LENGTH_SIZE     4
#define HS_WIRE_KIND_SIZE       4
#define HS_WIRE_PAYLOAD_MAX     16384
#define HS_WIRE_FRAME_MAX       (HS_WIRE_LENGTH_SIZE + HS_WIRE_KIND_SIZE + HS_WIRE_PAYLOAD_MAX + HS_WIRE_TAG_SIZE)
#define HS_WIRE_STREAM_MIN      32 // of the payload of STREAM: the part before the pairs
#define HS_ANNOUNCE_MAGIC       "\x8fHSCALL\n"
#define HS_ANNOUNCE_PORT        43513
#define HS_ANNOUNCE_GROUP4      "239.255.72.83"
#define HS_ANNOUNCE_GROUP6      "ff02::4853"
#define HS_ANNOUNCE_MAX         1200
#define HS_ANNOUNCE_HEADER_SIZE 24
#define HS_ANNOUNCE_BODY_MIN    26 // the part before the pairs

enum { HS_WIRE_DEVICE = 1, HS_WIRE_HOST = 2 };
enum { HS_WIRE_OPEN = 0, HS_WIRE_SHARED_KEY = 1 };

enum hs_wire_kind {
    HS_WIRE_AUTH = 1,
    HS_WIRE_STREAM = 2,
    HS_WIRE_DATA = 3,
    HS_WIRE_END = 4,
    HS_WIRE_ANSWER = 5,
    HS_WIRE_PONG = 6,
    HS_WIRE_REFUSED = 7,
    HS_WIRE_PART = 8,
    HS_WIRE_WANT = 16,
    HS_WIRE_ACK = 17,
    HS_WIRE_REQUEST = 18,
    HS_WIRE_PING = 19
};

struct hs_wire_hello {
    uint8_t role;     // HS_WIRE_DEVICE or HS_WIRE_HOST
    uint8_t security; // HS_WIRE_OPEN or HS_WIRE_SHARED_KEY
    uint8_t random[HS_WIRE_RANDOM_SIZE];
};

void hs_wire_hello__write(const struct hs_wire_hello *hello, uint8_t bytes[HS_WIRE_HELLO_SIZE]);
// False: not a hello, another version, or unknown values.
bool hs_wire_hello__read(const uint8_t bytes[HS_WIRE_HELLO_SIZE], struct hs_wire_hello *hello);

// The packet that one process writes at once into a pipe that several processes share. Numbers are little-endian.
#define HS_WIRE_PACKET_MAX    4096 // PIPE_BUF
#define HS_WIRE_PACKET_HEADER 64
struct hs_wire_packet {
    uint8_t trace_id[8]; // the first half; all packets of a trace have the same
    uint8_t length[4];   // of `data`
    char name[52];       // of the program's file; it ends with a zero
    uint8_t data[HS_WIRE_PACKET_MAX - HS_WIRE_PACKET_HEADER];
};
_Static_assert(offsetof(struct hs_wire_packet, data) == HS_WIRE_PACKET_HEADER, "the header has no gaps");

// One direction of a connection. Zeroed: not encrypted.
struct hs_wire_direction {
    bool encrypted;
    uint8_t key[HS_WIRE_KEY_SIZE];
    uint64_t frames; // number of the next frame
};

// Both directions from the shared key and the two hellos as they were sent.
void hs_wire__derive(struct hs_wire_direction *from_device, struct hs_wire_direction *from_host, const void *shared_key,
                     size_t shared_key_length, const uint8_t device_hello[HS_WIRE_HELLO_SIZE],
                     const uint8_t host_hello[HS_WIRE_HELLO_SIZE]);

// A frame is built in place: the payload (`length` bytes, at most HS_WIRE_PAYLOAD_MAX) is at frame +
// HS_WIRE_LENGTH_SIZE + HS_WIRE_KIND_SIZE of a buffer with HS_WIRE_TAG_SIZE bytes of room after it. Returns the size of
// the whole frame. A frame without encryption has no tag.
size_t hs_wire__seal(struct hs_wire_direction *direction, enum hs_wire_kind kind, uint8_t *frame, size_t length);

// How many bytes the frame that begins with these four has in all; 0: no frame may have such a length.
size_t hs_wire__frame_size(const struct hs_wire_direction *direction, const uint8_t length[HS_WIRE_LENGTH_SIZE]);

// Opens a whole frame of `size` bytes in place. The payload is at frame + HS_WIRE_LENGTH_SIZE + HS_WIRE_KIND_SIZE.
// False: it does not verify; close the connection.
bool hs_wire__open(struct hs_wire_direction *direction, uint8_t *frame, size_t size, enum hs_wire_kind *kind,
                   size_t *payload_length);

// ---- announcements ----

// The key of announcements, for as long as the shared key is the same.
void hs_announce__derive(uint8_t key[HS_WIRE_KEY_SIZE], const void *shared_key, size_t shared_key_length);

// `body_length` bytes of body, at least HS_ANNOUNCE_BODY_MIN, stand at datagram + HS_ANNOUNCE_HEADER_SIZE, with
// HS_WIRE_TAG_SIZE bytes of room behind. `key` NULL: not encrypted. Returns the datagram's size.
size_t hs_announce__seal(uint8_t *datagram, size_t body_length, const uint8_t *key, const uint8_t nonce[12]);
// Opens in place. Returns the length of the body at datagram + HS_ANNOUNCE_HEADER_SIZE, or -1: not an announcement, or
// not from a device with this key (NULL: it should not be encrypted).
long hs_announce__open(uint8_t *datagram, size_t size, const uint8_t *key);

// ---- pairs of strings, as in STREAM and in announcements ----

// Appends one pair at *at; false (and nothing is written) when it does not fit before `end`.
bool hs_wire_pair__write(uint8_t **at, const uint8_t *end, const char *key, const void *value, size_t length);

struct hs_wire_text {
    const char *data; // not terminated
    size_t length;
};
// Reads the pair at *at and moves on. False at the end or at damage.
bool hs_wire_pair__read(const uint8_t **at, const uint8_t *end, struct hs_wire_text *key, struct hs_wire_text *value);

// ---- secrets ----

// Zeroes secrets that are no longer needed: keys, and the directions of a connection that has ended.
void hs_wire__wipe(void *memory, size_t length);
// The same for the 2 KiB of stack below the caller, where a function has just worked on a secret.
void hs_wire__wipe_stack(void);

static inline void hs_wire__put(uint8_t *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static inline uint64_t hs_wire__get(const uint8_t *from, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

#endif
