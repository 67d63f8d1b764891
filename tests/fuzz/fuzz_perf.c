// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A ring of samples whose bytes and positions are anything. The first 17 bytes: head, tail, what the events ask for.
#include "runtime/perf/ring.h"
#include "runtime/perf/sample.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE = 4096, START = 17 };

static volatile uint8_t sink;

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    static const uint64_t types[] = {HS_SAMPLE_SHORT, HS_SAMPLE_IP, HS_SAMPLE_STACK, HS_SAMPLE_CHAIN, HS_SAMPLE_PAGE};
    static uint64_t record[HS_RING_RECORD_MAX / 8];
    uint64_t head, tail;
    if (size < START)
        return 0;
    memcpy(&head, input, 8);
    memcpy(&tail, input + 8, 8);
    uint8_t *data = calloc(1, SIZE);
    memcpy(data, input + START, size - START < SIZE ? size - START : SIZE);
    struct hs_kernel_ring ring = {.head = &head, .tail = &tail, .data = data, .size = SIZE};
    for (size_t length, rounds = 0; (length = hs_kernel_ring__next(&ring, record)); rounds++) {
        struct hs_perf_sample sample;
        uint8_t *exact = malloc(length);
        memcpy(exact, record, length);
        hs_perf_sample__read(exact, length, types[input[16] % 5], &sample);
        for (size_t i = 0; sample.kind == HS_SAMPLE_TAKEN && i < sample.snapshot.size; i++)
            sink += sample.snapshot.copy[i];
        for (size_t i = 0; i < sample.chain_length; i++)
            sink += (uint8_t)sample.chain[i];
        free(exact);
        if (rounds > SIZE / 8)
            abort(); // every record is taken once
    }
    if (hs_kernel_ring__unread(&ring))
        abort();
    free(data);
    return 0;
}
