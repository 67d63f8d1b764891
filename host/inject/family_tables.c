// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/family_tables.h"

#include "format/trace_format.h"

enum { NONE = HS_ATTACH_NONE, MALLOC = HS_RECORD_MALLOC, CALLOC = HS_RECORD_CALLOC, ALIGNED = HS_RECORD_ALIGNED };

// Numbers of arguments follow the name.
#define GIVES(name, kind, size)                                                                                        \
    {                                                                                                                  \
        name, HS_ATTACH_GIVES, kind, size, NONE, NONE, false, NULL                                                     \
    }
#define COUNTS(name, count, size)                                                                                      \
    {                                                                                                                  \
        name, HS_ATTACH_GIVES, CALLOC, size, count, NONE, false, NULL                                                  \
    }
#define THROWS(name, kind, size, silent)                                                                               \
    {                                                                                                                  \
        name, HS_ATTACH_GIVES, kind, size, NONE, NONE, false, silent                                                   \
    }
#define STORES(name, block, size)                                                                                      \
    {                                                                                                                  \
        name, HS_ATTACH_STORES, ALIGNED, size, NONE, block, false, NULL                                                \
    }
#define TAKES(name, block)                                                                                             \
    {                                                                                                                  \
        name, HS_ATTACH_TAKES, 0, NONE, NONE, block, false, NULL                                                       \
    }
#define MOVES(name, block, size)                                                                                       \
    {                                                                                                                  \
        name, HS_ATTACH_MOVES, MALLOC, size, NONE, block, false, NULL                                                  \
    }
#define MOVES_MANY(name, block, count, size)                                                                           \
    {                                                                                                                  \
        name, HS_ATTACH_MOVES, MALLOC, size, count, block, false, NULL                                                 \
    }
#define FORWARDED(name, what, block, count, size)                                                                      \
    {                                                                                                                  \
        name, what, MALLOC, size, count, block, true, NULL                                                             \
    }
#define END                                                                                                            \
    {                                                                                                                  \
        NULL, 0, 0, 0, 0, 0, false, NULL                                                                               \
    }

#define USUAL                                                                                                          \
    GIVES("malloc", MALLOC, 0), TAKES("free", 0), COUNTS("calloc", 0, 1), MOVES("realloc", 0, 1),                      \
        STORES("posix_memalign", 0, 2), GIVES("aligned_alloc", ALIGNED, 1), GIVES("memalign", ALIGNED, 1),             \
        GIVES("valloc", ALIGNED, 0), GIVES("pvalloc", ALIGNED, 0), TAKES("free_sized", 0),                             \
        TAKES("free_aligned_sized", 0), FORWARDED("cfree", HS_ATTACH_TAKES, 0, NONE, NONE),                            \
        FORWARDED("vfree", HS_ATTACH_TAKES, 0, NONE, NONE), FORWARDED("reallocarray", HS_ATTACH_MOVES, 0, 1, 2),       \
        FORWARDED("reallocf", HS_ATTACH_REPLACES, 0, NONE, 1)

static const struct hs_family_function usual[] = {USUAL, END};

static const struct hs_family_function jemalloc[] = {
    USUAL,
    GIVES("mallocx", MALLOC, 0),
    MOVES("rallocx", 0, 1),
    {"xallocx", HS_ATTACH_RESIZES, MALLOC, 1, NONE, 0, false, NULL},
    TAKES("dallocx", 0),
    TAKES("sdallocx", 0),
    END,
};

// snmalloc for Rust has these, with or without those of C.
static const struct hs_family_function snmalloc_rust[] = {
    GIVES("sn_rust_alloc", ALIGNED, 1),
    GIVES("sn_rust_alloc_zeroed", ALIGNED, 1),
    TAKES("sn_rust_dealloc", 0),
    MOVES("sn_rust_realloc", 0, 3),
    END,
};

// Arguments of aligned allocations: the size comes first.
static const struct hs_family_function mimalloc[] = {
    GIVES("mi_malloc", MALLOC, 0),
    TAKES("mi_free", 0),
    COUNTS("mi_calloc", 0, 1),
    MOVES("mi_realloc", 0, 1),
    GIVES("mi_zalloc", MALLOC, 0),
    GIVES("mi_malloc_small", MALLOC, 0),
    GIVES("mi_zalloc_small", MALLOC, 0),
    COUNTS("mi_mallocn", 0, 1),
    MOVES_MANY("mi_reallocn", 0, 1, 2),
    {"mi_reallocf", HS_ATTACH_REPLACES, MALLOC, 1, NONE, 0, false, NULL},
    MOVES("mi_rezalloc", 0, 1),
    MOVES_MANY("mi_recalloc", 0, 1, 2),
    MOVES("mi_expand", 0, 1),
    FORWARDED("mi__expand", HS_ATTACH_MOVES, 0, NONE, 1),
    GIVES("mi_strdup", MALLOC, NONE),
    GIVES("mi_strndup", MALLOC, NONE),
    GIVES("mi_realpath", MALLOC, NONE),
    GIVES("mi_mbsdup", MALLOC, NONE),
    GIVES("mi_wcsdup", MALLOC, NONE),
    {"mi_dupenv_s", HS_ATTACH_STORES, MALLOC, NONE, NONE, 0, false, NULL},
    GIVES("mi_malloc_aligned", ALIGNED, 0),
    GIVES("mi_malloc_aligned_at", ALIGNED, 0),
    GIVES("mi_zalloc_aligned", ALIGNED, 0),
    GIVES("mi_zalloc_aligned_at", ALIGNED, 0),
    COUNTS("mi_calloc_aligned", 0, 1),
    COUNTS("mi_calloc_aligned_at", 0, 1),
    MOVES("mi_realloc_aligned", 0, 1),
    MOVES("mi_realloc_aligned_at", 0, 1),
    MOVES("mi_rezalloc_aligned", 0, 1),
    MOVES("mi_rezalloc_aligned_at", 0, 1),
    MOVES_MANY("mi_recalloc_aligned", 0, 1, 2),
    MOVES_MANY("mi_recalloc_aligned_at", 0, 1, 2),
    MOVES_MANY("mi_aligned_recalloc", 0, 1, 2),
    MOVES_MANY("mi_aligned_offset_recalloc", 0, 1, 2),
    STORES("mi_posix_memalign", 0, 2),
    GIVES("mi_memalign", ALIGNED, 1),
    GIVES("mi_aligned_alloc", ALIGNED, 1),
    GIVES("mi_valloc", ALIGNED, 0),
    GIVES("mi_pvalloc", ALIGNED, 0),
    FORWARDED("mi_reallocarray", HS_ATTACH_MOVES, 0, 1, 2),
    TAKES("mi_free_size", 0),
    TAKES("mi_free_size_aligned", 0),
    TAKES("mi_free_aligned", 0),
    FORWARDED("mi_cfree", HS_ATTACH_TAKES, 0, NONE, NONE),
    THROWS("mi_new", MALLOC, 0, "mi_new_nothrow"),
    GIVES("mi_new_nothrow", MALLOC, 0),
    THROWS("mi_new_aligned", ALIGNED, 0, "mi_new_aligned_nothrow"),
    GIVES("mi_new_aligned_nothrow", ALIGNED, 0),
    {"mi_new_n", HS_ATTACH_GIVES, MALLOC, 1, 0, NONE, false, "mi_mallocn"},
    {"mi_new_realloc", HS_ATTACH_MOVES, MALLOC, 1, NONE, 0, false, "mi_realloc"},
    {"mi_new_reallocn", HS_ATTACH_MOVES, MALLOC, 2, 1, 0, false, "mi_reallocn"},
    GIVES("mi_heap_malloc", MALLOC, 1),
    COUNTS("mi_heap_calloc", 1, 2),
    GIVES("mi_heap_zalloc", MALLOC, 1),
    COUNTS("mi_heap_mallocn", 1, 2),
    GIVES("mi_heap_malloc_small", MALLOC, 1),
    MOVES("mi_heap_realloc", 1, 2),
    MOVES_MANY("mi_heap_reallocn", 1, 2, 3),
    {"mi_heap_reallocf", HS_ATTACH_REPLACES, MALLOC, 2, NONE, 1, false, NULL},
    MOVES("mi_heap_rezalloc", 1, 2),
    MOVES_MANY("mi_heap_recalloc", 1, 2, 3),
    GIVES("mi_heap_strdup", MALLOC, NONE),
    GIVES("mi_heap_strndup", MALLOC, NONE),
    GIVES("mi_heap_realpath", MALLOC, NONE),
    GIVES("mi_heap_malloc_aligned", ALIGNED, 1),
    GIVES("mi_heap_malloc_aligned_at", ALIGNED, 1),
    GIVES("mi_heap_zalloc_aligned", ALIGNED, 1),
    GIVES("mi_heap_zalloc_aligned_at", ALIGNED, 1),
    COUNTS("mi_heap_calloc_aligned", 1, 2),
    COUNTS("mi_heap_calloc_aligned_at", 1, 2),
    MOVES("mi_heap_realloc_aligned", 1, 2),
    MOVES("mi_heap_realloc_aligned_at", 1, 2),
    MOVES("mi_heap_rezalloc_aligned", 1, 2),
    MOVES("mi_heap_rezalloc_aligned_at", 1, 2),
    MOVES_MANY("mi_heap_recalloc_aligned", 1, 2, 3),
    MOVES_MANY("mi_heap_recalloc_aligned_at", 1, 2, 3),
    THROWS("mi_heap_alloc_new", MALLOC, 1, "mi_heap_malloc"),
    {"mi_heap_alloc_new_n", HS_ATTACH_GIVES, MALLOC, 2, 1, NONE, false, "mi_heap_mallocn"},
    END,
};

static const struct hs_family_function tcmalloc[] = {
    GIVES("tc_malloc", MALLOC, 0),
    TAKES("tc_free", 0),
    TAKES("tc_free_sized", 0),
    COUNTS("tc_calloc", 0, 1),
    MOVES("tc_realloc", 0, 1),
    STORES("tc_posix_memalign", 0, 2),
    GIVES("tc_memalign", ALIGNED, 1),
    GIVES("tc_valloc", ALIGNED, 0),
    GIVES("tc_pvalloc", ALIGNED, 0),
    GIVES("tc_malloc_skip_new_handler", MALLOC, 0),
    FORWARDED("tc_cfree", HS_ATTACH_TAKES, 0, NONE, NONE),
    THROWS("tc_new", MALLOC, 0, "tc_new_nothrow"),
    GIVES("tc_new_nothrow", MALLOC, 0),
    THROWS("tc_new_aligned", ALIGNED, 0, "tc_new_aligned_nothrow"),
    GIVES("tc_new_aligned_nothrow", ALIGNED, 0),
    THROWS("tc_newarray", MALLOC, 0, "tc_newarray_nothrow"),
    GIVES("tc_newarray_nothrow", MALLOC, 0),
    THROWS("tc_newarray_aligned", ALIGNED, 0, "tc_newarray_aligned_nothrow"),
    GIVES("tc_newarray_aligned_nothrow", ALIGNED, 0),
    TAKES("tc_delete", 0),
    TAKES("tc_delete_nothrow", 0),
    TAKES("tc_delete_sized", 0),
    TAKES("tc_delete_aligned", 0),
    TAKES("tc_delete_aligned_nothrow", 0),
    TAKES("tc_delete_sized_aligned", 0),
    TAKES("tc_deletearray", 0),
    TAKES("tc_deletearray_nothrow", 0),
    TAKES("tc_deletearray_sized", 0),
    TAKES("tc_deletearray_aligned", 0),
    TAKES("tc_deletearray_aligned_nothrow", 0),
    TAKES("tc_deletearray_sized_aligned", 0),
    END,
};

static const struct hs_family_function rpmalloc[] = {
    GIVES("rpmalloc", MALLOC, 0),
    TAKES("rpfree", 0),
    COUNTS("rpcalloc", 0, 1),
    MOVES("rprealloc", 0, 1),
    MOVES("rpaligned_realloc", 0, 2),
    GIVES("rpaligned_alloc", ALIGNED, 1),
    COUNTS("rpaligned_calloc", 1, 2),
    GIVES("rpmemalign", ALIGNED, 1),
    STORES("rpposix_memalign", 0, 2),
    GIVES("rpmalloc_heap_alloc", MALLOC, 1),
    GIVES("rpmalloc_heap_aligned_alloc", ALIGNED, 2),
    COUNTS("rpmalloc_heap_calloc", 1, 2),
    COUNTS("rpmalloc_heap_aligned_calloc", 2, 3),
    MOVES("rpmalloc_heap_realloc", 1, 2),
    MOVES("rpmalloc_heap_aligned_realloc", 1, 3),
    TAKES("rpmalloc_heap_free", 1),
    END,
};

#define NEW(name, kind) THROWS(name, kind, 0, name "RKSt9nothrow_t"), GIVES(name "RKSt9nothrow_t", kind, 0)
#define DELETES(name)                                                                                                  \
    TAKES(name, 0), TAKES(name "m", 0), TAKES(name "RKSt9nothrow_t", 0), TAKES(name "St11align_val_t", 0),             \
        TAKES(name "mSt11align_val_t", 0), TAKES(name "St11align_val_tRKSt9nothrow_t", 0)

static const struct hs_family_function operators[] = {
    NEW("_Znwm", MALLOC),
    NEW("_Znam", MALLOC),
    NEW("_ZnwmSt11align_val_t", ALIGNED),
    NEW("_ZnamSt11align_val_t", ALIGNED),
    DELETES("_ZdlPv"),
    DELETES("_ZdaPv"),
    END,
};

// Not those of rustc (__rust_alloc): its callers often have them inlined, so that only some calls would be seen.
const struct hs_family hs_families[] = {
    // Linkers leave out what is not called: Rust's crate calls no free.
    {.signs = {"mallocx", "sdallocx"}, .usable_size = "malloc_usable_size", .functions = jemalloc, .least = 4},
    {.signs = {"mi_free"}, .usable_size = "mi_usable_size", .functions = mimalloc, .least = 3, .internal = "_mi_"},
    {.signs = {"tc_malloc", "tc_free"},
     .usable_size = "tc_malloc_size",
     .functions = tcmalloc,
     .least = 4,
     .internal = "_ZN8tcmalloc"},
    {.signs = {"rpfree"}, .usable_size = "rpmalloc_usable_size", .functions = rpmalloc, .least = 3},
    {.signs = {"malloc", "free", "realloc"},
     .prefixes = {"sn_", "dl"},
     .usable_size = "malloc_usable_size",
     .functions = usual,
     .least = 4},
    {.signs = {"sn_rust_alloc", "sn_rust_dealloc"},
     .usable_size = "sn_rust_usable_size",
     .functions = snmalloc_rust,
     .least = 3},
    {.signs = {"malloc", "free", "calloc", "realloc"},
     .prefixes = {""},
     .usable_size = "malloc_usable_size",
     .functions = usual,
     .least = 4,
     .is_exported = true},
    {.functions = NULL},
};

const struct hs_family hs_family_usual = {
    .signs = {"malloc", "free"}, .usable_size = "malloc_usable_size", .functions = usual, .least = 2};
const struct hs_family hs_family_operators = {.signs = {"_Znwm", "_ZdlPv"},
                                              .title = "operator new",
                                              .prefixes = {""},
                                              .usable_size = "malloc_usable_size",
                                              .functions = operators,
                                              .least = 2,
                                              .is_exported = true};
