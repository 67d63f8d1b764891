// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The device's side of one connection: hello, keys, frames (docs/protocol.md, section 2). Never blocks. Used only by
// the sender.
#ifndef HEAPSONDE_RUNTIME_STREAM_LINK_H
#define HEAPSONDE_RUNTIME_STREAM_LINK_H

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
    bool is_shut; // nothing more is sent
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

// Takes a socket that is connecting or connected.
bool hs_link__open(struct hs_link *link, int socket, bool connected);
void hs_link__close(struct hs_link *link);

// Closes this side of the connection when everything was sent. Still reads what the host sends.
void hs_link__shut(struct hs_link *link);

// Reads, processes and writes as much as possible without waiting. False: the connection has to be closed.
bool hs_link__turn(struct hs_link *link, uint64_t now_ns);

// Whether there is data to send for which the socket had no room.
bool hs_link__is_full(const struct hs_link *link);

// ---- callbacks of the sender ----

// Whether connections need the shared key, and the key.
struct hs_link_security {
    bool encrypted;
    uint32_t length;
    uint8_t key[HS_WIRE_SHARED_KEY_MAX];
    uint8_t announce_key[HS_WIRE_KEY_SIZE];
};
extern struct hs_link_security hs_link_security;

// Writes the payload of STREAM, at most HS_WIRE_PAYLOAD_MAX bytes. Returns its length.
uint32_t hs_sender__describe(uint8_t *payload);
// A host wants the stream from `offset` on. NULL, or the reason for a refusal.
const char *hs_sender__want(struct hs_link *link, uint64_t offset);
void hs_sender__acknowledged(const struct hs_link *link, uint64_t offset);
// The host has closed its side correctly.
void hs_sender__closed_by_host(const struct hs_link *link);
// Copies bytes from `offset` on to `to`. Returns their number; 0: none now.
uint32_t hs_sender__read(uint64_t offset, uint8_t *to, uint32_t length);
// Whether the stream ends at `offset`.
bool hs_sender__ends_at(uint64_t offset);
// Carries out the request `text`, of at most HS_REQUEST_MAX - 1 bytes. Each shim has its own.
void hs_requests__carry_out(const char *text, struct hs_answer *answer);

#endif
