// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A text in memory that is written with stdio.
//
//   struct hs_text_stream stream;
//   FILE *out = hs_text_stream__open(&stream);
//   if (out)
//       fprintf(out, ...);
//   char *text = hs_text_stream__close(&stream);
#ifndef HEAPSONDE_BASE_TEXT_STREAM_H
#define HEAPSONDE_BASE_TEXT_STREAM_H

#include <stddef.h>
#include <stdio.h>

// Not to be moved while it is open.
struct hs_text_stream {
    FILE *out; // NULL: out of memory
    char *text;
    size_t size; // bytes of the text, valid after hs_text_stream__close
};

// Returns the stream; NULL: out of memory.
FILE *hs_text_stream__open(struct hs_text_stream *self);

// Call it once after each open, also after one that failed. Returns the text with a NUL at its end, which the caller
// frees. NULL: out of memory; a text is never incomplete.
char *hs_text_stream__close(struct hs_text_stream *self);

#endif
