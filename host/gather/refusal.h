// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reasons why a connection or stream is refused or ended. Each reason is counted and shown.
#ifndef HEAPSONDE_HOST_GATHER_REFUSAL_H
#define HEAPSONDE_HOST_GATHER_REFUSAL_H

enum hs_refusal {
    HS_REFUSAL_NONE,
    HS_REFUSAL_NO_HELLO,     // connections, before the peer has proven that it has the key
    HS_REFUSAL_ROLE,         //
    HS_REFUSAL_SECURITY,     //
    HS_REFUSAL_KEY,          //
    HS_REFUSAL_SLOW,         //
    HS_REFUSAL_LEFT,         //
    HS_REFUSAL_CROWDED,      //
    HS_REFUSAL_FRAME_SIZE,   // of frames
    HS_REFUSAL_FRAME,        //
    HS_REFUSAL_ORDER,        //
    HS_REFUSAL_OFFSET,       //
    HS_REFUSAL_STREAM,       // of streams
    HS_REFUSAL_HEADER,       //
    HS_REFUSAL_LESS,         //
    HS_REFUSAL_NOT_SELECTED, //
    HS_REFUSAL_DEVICE,       // the device refused
    HS_REFUSAL_QUOTA_DEVICE, //
    HS_REFUSAL_QUOTA,        //
    HS_REFUSAL_TOO_MANY,     //
    HS_REFUSAL_FILE,         // disk full, ...
    HS_REFUSAL_REPLACED,     // not an error: the same stream came over a new connection
    HS_REFUSAL_ANNOUNCEMENT, // datagrams
    HS_REFUSAL_TOPIC,        // messages of a broker
    HS_REFUSAL_COUNT
};

// "wrong-key" for programs, and "it does not have the key" for people.
const char *hs_refusal__word(enum hs_refusal refusal);
const char *hs_refusal__text(enum hs_refusal refusal);

#endif
