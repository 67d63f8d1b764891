// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The bytes of the recorder family's files: frames of a kind, a length and LZ4 or plain bytes, which together are one
// stream of fields, little-endian.
#ifndef HEAPSONDE_HOST_CONVERT_RECORDER_STREAM_H
#define HEAPSONDE_HOST_CONVERT_RECORDER_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define HS_RECORDER_FRAME_MAX (1u << 20) // of plain bytes; the recorder's are half as long

struct hs_recorder_stream {
    FILE *in;
    uint8_t *packed, *plain; // HS_RECORDER_FRAME_MAX each
    size_t at, length;
    uint64_t plain_bytes, most; // of the frames that were read; what they may have
    bool is_refused;            // they have more, so it ended
    bool ended;                 // the file ended, or makes no sense from here on
    bool cut;                   // it did so within a frame, or was damaged there
};

int hs_recorder_stream__start(struct hs_recorder_stream *stream, FILE *in, uint64_t most); // 0 or -ENOMEM
void hs_recorder_stream__free(struct hs_recorder_stream *stream);

// After a refusal: reads the other frames, and returns how many plain bytes there are in all.
uint64_t hs_recorder_stream__count_rest(struct hs_recorder_stream *stream);

// Takes `length` bytes; `to` may be NULL. False: there are fewer, and the stream has ended.
bool hs_recorder_stream__take(struct hs_recorder_stream *stream, void *to, uint64_t length);
// 0 at the end.
uint64_t hs_recorder_stream__number(struct hs_recorder_stream *stream, unsigned bytes);
uint64_t hs_recorder_stream__varint(struct hs_recorder_stream *stream);

#endif
