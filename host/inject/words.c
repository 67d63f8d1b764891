// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/words.h"

// The fields of its struct pthread are told as {bits, count, offset}.
enum { NUMBER_BITS = 32, LARGEST = 1 << 20 };

static bool read_symbol(const struct hs_inject_target *target, const struct hs_inject_modules *modules,
                        const char *name, void *value, size_t size)
{
    uint64_t at = hs_inject_modules__find_any(modules, name);
    return at && !hs_inject_target__read(target, at, value, size);
}

bool hs_words__told(const struct hs_inject_target *target, const struct hs_inject_modules *modules,
                    struct hs_thread_words *words)
{
    uint32_t size, number[3], below = 0;
    *words = target->arch->words[0]; // glibc's
    if (!read_symbol(target, modules, "_thread_db_sizeof_pthread", &size, sizeof size) ||
        !read_symbol(target, modules, "_thread_db_pthread_tid", number, sizeof number) || number[0] != NUMBER_BITS ||
        size > LARGEST || number[2] >= size)
        return false;
    if (target->arch->is_thread_below &&
        !read_symbol(target, modules, "_thread_db_const_thread_area", &below, sizeof below))
        return false;
    words->tid = (int64_t)number[2] - below;
    return true;
}
