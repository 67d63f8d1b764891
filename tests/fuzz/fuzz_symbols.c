// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Any bytes as the file of a module: sections, symbols, debug information and the link to it are looked into as for a
// report. Every address gets an answer.
#include "host/symbols/symbols.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *data;
    size_t size;
};

static int open_copy(void *context)
{
    const struct input *input = context;
    int fd = memfd_create("fuzzed", MFD_CLOEXEC);
    if (fd < 0 || write(fd, input->data, input->size) != (ssize_t)input->size)
        abort();
    return fd;
}

static void ask(struct hs_symbols *symbols, int module, uint64_t address)
{
    const struct hs_frames *frames = hs_symbols__resolve(symbols, module, address);
    if (!frames || !frames->count)
        abort();
    for (uint32_t i = 0; i < frames->count; i++) {
        if (!frames->frame[i].function || frames->frame[i].inlined != (i + 1 < frames->count))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    struct hs_symbols_module description = {.path = "fuzzed", .open_copy = open_copy, .context = &input};
    static const char *const maps[] = {"/build=/src", ".=/here"};
    struct hs_symbols_options options = {.source_maps = maps, .source_map_count = 2};
    struct hs_symbols *symbols = hs_symbols__create(&options);
    struct hs_symbols_status status;
    char why[256];
    char wanted[256];
    int module = symbols ? hs_symbols__add_module(symbols, &description) : -1;
    if (module < 0)
        abort();
    for (uint64_t address = 0x100; address < 0x1800; address += 0x38)
        ask(symbols, module, address);
    hs_symbols__status(symbols, (size_t)module, &status);
    if (hs_symbols__explain(symbols, &status, why, sizeof(why), wanted, sizeof(wanted)) !=
        (hs_symbols_reason(&status) != NULL))
        abort();
    hs_symbols__problem(symbols, (size_t)module, why, sizeof(why));
    hs_symbols__destroy(symbols);
    return 0;
}
