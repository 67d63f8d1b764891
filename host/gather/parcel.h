// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Messages that carry a trace through a broker, as bytes (docs/mqtt.md). Each is complete in itself: a hello, and
// frames as in a connection. The keys of its frames come from the shared key and this hello, so a broker can neither
// read nor change it, nor exchange parts of two messages. Whether a message is new is decided by what it says: which
// bytes of which trace it has.
#ifndef HEAPSONDE_HOST_GATHER_PARCEL_H
#define HEAPSONDE_HOST_GATHER_PARCEL_H

#include "format/wire.h"
#include "host/gather/device.h"
#include "host/gather/refusal.h"
#include "host/gather/shared_key.h"

#include <sys/uio.h>

#define HS_PARCEL_MAGIC        "\x8fHSPOST\n"
#define HS_PARCEL_SESSION_SIZE 24
#define HS_PARCEL_PIECES       64
#define HS_PARCEL_PIECE        (HS_WIRE_PAYLOAD_MAX - 8)
#define HS_PARCEL_DATA_MAX     ((size_t)HS_PARCEL_PIECES * HS_PARCEL_PIECE)
#define HS_PARCEL_PAIRS_MAX    ((size_t)8192)
// The size of a message with this many bytes of a trace, at most.
#define HS_PARCEL_SIZE(data) (HS_WIRE_HELLO_SIZE + ((data) / HS_PARCEL_PIECE + 4) * HS_WIRE_FRAME_MAX)
#define HS_PARCEL_MAX        HS_PARCEL_SIZE(HS_PARCEL_DATA_MAX)
#define HS_PARCEL_TEXT       256
#define HS_PARCEL_ANSWER_MAX                                                                                           \
    (HS_WIRE_HELLO_SIZE + HS_WIRE_LENGTH_SIZE + HS_WIRE_KIND_SIZE + 56 + HS_PARCEL_TEXT + HS_WIRE_TAG_SIZE)

// Who sends: random for each run of a program, and counted up with each message. No two messages have the same.
struct hs_parcel_from {
    uint8_t session[HS_PARCEL_SESSION_SIZE];
    uint64_t number;
};

void hs_parcel_from__begin(struct hs_parcel_from *from);

// What a device sends: the bytes [first, end) of a trace.
struct hs_parcel {
    struct hs_parcel_from from;
    uint8_t trace_id[HS_TRACE_ID_SIZE];
    uint64_t first, end;
    bool ended; // the trace ends at `end`
    const uint8_t *pairs;
    size_t pairs_length;
    struct iovec pieces[HS_PARCEL_PIECES]; // of what was opened: in the message; to be written: pieces[0]
    int count;
};

// Writes a message; `parcel->from.number` is used up by the caller. The only piece has at most HS_PARCEL_DATA_MAX
// bytes, and `out` has room for HS_PARCEL_SIZE of it. Returns the size.
size_t hs_parcel__write(const struct hs_shared_key *key, const struct hs_parcel *parcel, uint8_t *out);

// Opens a message in place; all of it is valid, or nothing is used. HS_REFUSAL_ROLE: it is an answer. Without a key, a
// whole trace file is a message, too: all of a trace that has ended.
enum hs_refusal hs_parcel__open(const struct hs_shared_key *key, uint8_t *bytes, size_t size, struct hs_parcel *parcel);

// What a gatherer answers to a message.
struct hs_parcel_answer {
    struct hs_parcel_from from, to; // `to`: who is answered, and which message
    uint8_t trace_id[HS_TRACE_ID_SIZE];
    enum hs_wire_kind kind;    // ACK; END: the trace has ended, and all of it is on the disk; REFUSED
    uint64_t has;              // the number of bytes that the gatherer has
    char text[HS_PARCEL_TEXT]; // REFUSED: why
};

size_t hs_parcel_answer__write(const struct hs_shared_key *key, const struct hs_parcel_answer *answer,
                               uint8_t out[HS_PARCEL_ANSWER_MAX]);
// In place. False: it is no answer of somebody with this key.
bool hs_parcel_answer__open(const struct hs_shared_key *key, uint8_t *bytes, size_t size,
                            struct hs_parcel_answer *answer);

// The topic of the answers to one sender: TOPIC/ack/SESSION. False: there is no room for it.
bool hs_parcel__answer_topic(char *to, size_t size, const char *topic, const uint8_t session[HS_PARCEL_SESSION_SIZE]);

#endif
