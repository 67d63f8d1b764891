// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a device sends once it has proven itself, in the open: frames into a folder of traces. The first byte says into
// how many pieces the bytes come.
#include "format/chunk.h"
#include "host/gather/stream.h"
#include "tests/fuzz/fuzz_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct hs_gather_stream_context context;
static uint64_t claims;

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    FILE *nowhere = fopen("/dev/null", "w");
    struct hs_error error;
    make_folder();
    if (!nowhere)
        abort();
    struct hs_traces_options options = {
        .directory = folder, .quota = 256 << 10, .quota_per_device = UINT64_MAX, .remove_oldest = true};
    if (hs_traces__open(&context.traces, &options, &error))
        abort();
    context.notices = hs_notices__create(HS_NOTICES_JSON, nowhere, nowhere);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_gather_stream stream = {.claim = ++claims};
    enum hs_refusal refusal = HS_REFUSAL_NONE;
    uint8_t out[HS_STREAM_OUT];
    if (size < 1)
        return 0;
    size_t piece = size / (1 + data[0] % 8) + 1;
    uint8_t *bytes = malloc(size);
    size_t have = 0;
    memcpy(&stream.peer.v4, &(struct sockaddr_in){.sin_family = AF_INET}, sizeof(struct sockaddr_in));
    for (size_t at = 1; at < size && !refusal; at += piece) {
        size_t length = size - at < piece ? size - at : piece;
        memcpy(bytes + have, data + at, length);
        have += length;
        size_t used = hs_gather_stream__take(&context, &stream, bytes, have, &refusal);
        memmove(bytes, bytes + used, have - used);
        have -= used;
        hs_gather_stream__fill(&stream, out);
    }
    hs_gather_stream__close(&context, &stream, refusal);
    free(bytes);
    return 0;
}
