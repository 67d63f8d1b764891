// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Shared by the files of a symbol session.
#ifndef HEAPSONDE_HOST_SYMBOLS_SESSION_H
#define HEAPSONDE_HOST_SYMBOLS_SESSION_H

#include "host/base/hash_index.h"
#include "host/symbols/module.h"
#include "host/symbols/strings.h"

struct hs_answer {
    uint64_t address;
    int module;
    const struct hs_frames *frames;
};

struct hs_symbols {
    struct hs_symbols_options options;
    struct hs_strings *strings;
    struct hs_module_symbols **modules;
    size_t module_count;
    size_t module_capacity;
    struct hs_answer *answers;
    size_t answer_count, answer_room;
    struct hs_hash_index index; // answers by address and module
};

#endif
