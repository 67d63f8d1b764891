// SPDX-License-Identifier: MIT OR Apache-2.0
//
// By what a frame is found again in another run or in another build of the program: by the names of its function and of
// its library's file. Addresses are others in another run, lines in another build. The file of the program itself may
// have any name. A frame without a name is found by its offset, and only in the same build of its library.
#ifndef HEAPSONDE_HOST_REPORT_FRAME_KEY_H
#define HEAPSONDE_HOST_REPORT_FRAME_KEY_H

#include "host/store/store.h"
#include "host/symbols/symbols.h"

struct hs_frame_key {
    const char *function, *library; // of one without a name: its offset
    const uint8_t *build_id;        // of one without a name
    size_t build_id_length;
};

// Where frames come from.
struct hs_frame_source {
    const struct hs_module *module; // that their paths may be of
    size_t modules;
    const char *program; // the name or the path of its file; "": unknown
    bool by_function;    // of the libraries of one side nothing is known: the texts of frames are compared alone
    size_t found;        // private: the last one
};

struct hs_frame_source hs_frame_source__of(const struct hs_store *store, bool by_function);

// The strings are those of the frame and of the source.
struct hs_frame_key hs_frame_key__of(struct hs_frame_source *source, const struct hs_frame *frame);
bool hs_frame_key__is(const struct hs_frame_key *key, const struct hs_frame_key *other);
uint64_t hs_frame_key__hash(const struct hs_frame_key *key);

// The library of a frame, as keys have it.
const char *hs_frame_key_library(const char *module, const char *program);

#endif
