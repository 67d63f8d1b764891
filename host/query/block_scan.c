// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/block_scan.h"

#include "host/query/scan.h"

#include <errno.h>

struct scanned {
    const struct hs_block_scan *scan;
    struct hs_matcher **matchers; // by worker
};

static int look_at_rows(void *context, unsigned worker, uint64_t first, uint64_t end)
{
    const struct scanned *scanned = context;
    struct hs_matcher *matcher = scanned->matchers[worker];
    int result = 0;
    for (uint64_t row = first; row < end && !result; row += HS_PACKED_BLOCK)
        if (hs_matcher__match(matcher, row / HS_PACKED_BLOCK))
            result = scanned->scan->work(scanned->scan->context, worker, matcher);
    return result;
}

int hs_block_scan__run(const struct hs_block_scan *scan, struct hs_error *error)
{
    struct scanned scanned = {scan, hs_matchers__create(scan->store, scan->filter, scan->workers)};
    const struct hs_scan rows = {.store = scan->store,
                                 .filter = scan->filter,
                                 .control = scan->control,
                                 .workers = scan->workers,
                                 .work = look_at_rows,
                                 .context = &scanned};
    int result = scanned.matchers ? hs_scan__run(&rows, error) : hs_error__set(error, ENOMEM, "query: out of memory");
    hs_matchers__destroy(scanned.matchers, scan->workers);
    return result;
}
