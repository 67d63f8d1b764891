// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the device keeps of one connection (runtime/stream/link.h).
#ifndef HEAPSONDE_RUNTIME_STREAM_LINK_STATE_H
#define HEAPSONDE_RUNTIME_STREAM_LINK_STATE_H

#include "format/wire.h"

enum { HS_REQUEST_MAX = 512 };

// A request of the host and its answer.
struct hs_answer {
    uint32_t status, length;
    int body; // a file that is sent before the text; -1: none
    char text[6144];
};

enum hs_link_state { HS_LINK_NONE, HS_LINK_CONNECTING, HS_LINK_HELLO, HS_LINK_AUTH, HS_LINK_OPEN };

struct hs_link {
    enum hs_link_state state;
    int socket;
    uint64_t began_ns, heard_ns;
    uint8_t *received; // HS_WIRE_FRAME_MAX bytes
    uint8_t *frame;    // the frame that is being sent, HS_WIRE_FRAME_MAX bytes
    uint32_t received_length, frame_length, frame_sent;

    // What has to be sent:
    bool auth_told, stream_told, end_told, pong_due;
    bool is_shut;     // nothing more is sent
    bool is_replaced; // another host has taken the stream: it is closed at the next turn
    // The host wants the stream from `sent` on.
    bool wants;
    uint64_t sent;
    // The answer to be sent. The next request is read when it was sent.
    bool answer_due;
    uint32_t answer_to;
    uint64_t body_sent;
    // Why there is no stream.
    const char *refusal;

    struct hs_wire_direction in, out;
    struct hs_answer answer;
    uint8_t hello[HS_WIRE_HELLO_SIZE];
};

// Whether connections need the shared key, and the key.
struct hs_link_security {
    bool encrypted;
    uint32_t length;
    uint8_t key[HS_WIRE_SHARED_KEY_MAX];
    uint8_t announce_key[HS_WIRE_KEY_SIZE];
};
extern struct hs_link_security hs_link_security;

#endif
