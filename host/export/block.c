// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/export/block.h"

#include "host/report/frames.h"

#include <errno.h>
#include <stdlib.h>

static const char *const kinds[] = {
    [HS_KIND_MALLOC] = "malloc",   [HS_KIND_CALLOC] = "calloc", [HS_KIND_ALIGNED] = "aligned",
    [HS_KIND_REALLOC] = "realloc", [HS_KIND_POOL] = "pool",     [HS_KIND_MMAP] = "mmap",
    [HS_KIND_MREMAP] = "mremap",   [HS_KIND_BRK] = "brk"};

void hs_block__of_row(struct hs_block *block, const struct hs_store *store, uint64_t row)
{
    const struct hs_columns *columns = hs_store__columns(store);
    const struct hs_thread *thread = hs_store__thread(store, hs_row__stream(columns, row));
    uint8_t kind = hs_row__kind(columns, row);
    *block = (struct hs_block){.time = hs_row__time(columns, row),
                               .free_time = hs_row__free_time(columns, row),
                               .address = hs_row__address(columns, row),
                               .size = hs_row__size(columns, row),
                               .tid = thread ? thread->tid : 0,
                               .thread = thread ? thread->name : "",
                               .kind = kind < HS_KIND_COUNT ? kinds[kind] : "",
                               .temporary = hs_row__flags(columns, row) & HS_ROW_TEMPORARY,
                               .stack = hs_row__stack(columns, row)};
    block->usable = block->size + hs_row__slack(columns, row);
    uint64_t end = block->free_time == HS_NEVER ? hs_store__summary(store)->end_time : block->free_time;
    block->lifetime = end > block->time ? end - block->time : 0;
}

int hs_call_sites__start(struct hs_call_sites *sites, const struct hs_subject *subject)
{
    *sites = (struct hs_call_sites){.symbols = subject->symbols};
    hs_store__nodes(subject->store, &sites->count);
    sites->of_stack = calloc(sites->count + 1, sizeof(*sites->of_stack));
    return sites->of_stack ? 0 : -ENOMEM;
}

void hs_call_sites__free(struct hs_call_sites *sites)
{
    free((void *)(uintptr_t)sites->of_stack);
    *sites = (struct hs_call_sites){0};
}

const struct hs_frame *hs_call_sites__of(struct hs_call_sites *sites, uint32_t stack)
{
    static const struct hs_frame no_stack = {.function = "[no stack]", .module = ""};
    if (!stack || stack >= sites->count)
        return &no_stack;
    if (!sites->of_stack[stack]) {
        const struct hs_frame *frame = NULL;
        uint32_t total;
        uint32_t count = hs_frames__of_stack(sites->symbols, stack, true, &frame, 1, &total);
        sites->of_stack[stack] = count ? frame : &no_stack;
    }
    return sites->of_stack[stack];
}
