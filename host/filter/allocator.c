// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/filter/allocator.h"

#include "host/base/path.h"
#include "host/base/strings.h"

#include <string.h>

#define LEAST_PAGE 4096

// Other allocators are libraries of their own; without any it is the C library's.
enum hs_allocator hs_allocator__of(const struct hs_store *store)
{
    static const char *const others[] = {"libtcmalloc", "libmimalloc", "librpmalloc", "libsnmalloc", "libhoard"};
    enum hs_allocator allocator = HS_ALLOCATOR_UNKNOWN;
    size_t count;
    const struct hs_module *modules = hs_store__modules(store, &count);
    for (size_t i = 0; i < count; i++) {
        const char *name = hs_path__name(modules[i].path);
        if (hs_string__begins_with(name, "libjemalloc"))
            return HS_ALLOCATOR_JEMALLOC;
        for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++) {
            if (hs_string__begins_with(name, others[k]))
                return HS_ALLOCATOR_UNKNOWN;
        }
        if (!strcmp(name, "libc.so.6") || hs_string__begins_with(name, "libc-2."))
            allocator = HS_ALLOCATOR_GLIBC;
    }
    return allocator;
}

// glibc has two words in front of a mapped block and none behind it; of others one word of the next block is usable. A
// mapping begins at a page, unless an alignment was asked for.
bool hs_allocator__is_mapped(const struct hs_store *store, uint64_t row)
{
    const struct hs_columns *columns = hs_store__columns(store);
    uint64_t two_words = 2 * (uint64_t)columns->pointer_size;
    uint64_t usable = hs_row__size(columns, row) + hs_row__slack(columns, row);
    if (!two_words || usable % two_words)
        return false;
    return hs_row__kind(columns, row) == HS_KIND_ALIGNED || hs_row__address(columns, row) % LEAST_PAGE == two_words;
}
