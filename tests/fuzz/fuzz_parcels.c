// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Messages of a broker, in the open: to a folder of traces, and as answers to a sender.
#include "host/gather/outbox.h"
#include "host/gather/parcels.h"
#include "tests/fuzz/fuzz_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct hs_shared_key no_key;
static struct hs_parcels *parcels;
static struct hs_outbox outbox;
static uint64_t now;

static void answer(void *context, const char *topic, const uint8_t *bytes, size_t size)
{
    struct hs_parcel_answer text;
    uint8_t copy[HS_PARCEL_ANSWER_MAX];
    (void)context;
    (void)topic;
    memcpy(copy, bytes, size);
    if (!hs_parcel_answer__open(&no_key, copy, size, &text))
        abort();
}

static void stored(void *context, uint64_t claim)
{
    (void)context;
    hs_parcels__stored(parcels, claim);
}

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    FILE *nowhere = fopen("/dev/null", "w");
    struct hs_error error;
    make_folder();
    if (!nowhere)
        abort();
    struct hs_parcels_options options = {.key = &no_key, .answer = answer};
    struct hs_traces_options traces = {.directory = folder,
                                       .quota = 256 << 10,
                                       .quota_per_device = UINT64_MAX,
                                       .remove_oldest = true,
                                       .stored = stored};
    if (hs_traces__open(&options.context.traces, &traces, &error))
        abort();
    options.context.notices = hs_notices__create(HS_NOTICES_JSON, nowhere, nowhere);
    parcels = hs_parcels__create(&options);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_parcel_answer text;
    uint8_t *bytes = malloc(size + !size);
    memcpy(bytes, data, size);
    hs_parcels__take(parcels, "t", bytes, size, ++now);
    hs_parcels__tick(parcels, now);
    memcpy(bytes, data, size);
    if (hs_parcel_answer__open(&no_key, bytes, size, &text))
        hs_outbox__answer(&outbox, &text, 0, now);
    free(bytes);
    return 0;
}
