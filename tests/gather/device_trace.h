// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a simulated device has recorded: chunks of random bytes, or a trace that there is, under an id of its own.
#ifndef HEAPSONDE_TESTS_GATHER_DEVICE_TRACE_H
#define HEAPSONDE_TESTS_GATHER_DEVICE_TRACE_H

#include "format/trace_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device_trace {
    struct hs_file_header header;
    uint8_t *bytes; // header and body
    size_t size;
};

struct device_trace_options {
    uint64_t size;
    const char *file; // NULL: random chunks
    bool same;        // all bodies alike; one is made
};

// Makes it anew. Returns NULL, or what is wrong.
const char *device_trace__make(struct device_trace *trace, const struct device_trace_options *options, uint32_t pid,
                               uint64_t (*random)(void));

#endif
