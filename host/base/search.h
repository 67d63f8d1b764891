// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Binary search.
#ifndef HEAPSONDE_BASE_SEARCH_H
#define HEAPSONDE_BASE_SEARCH_H

#include <stddef.h>

// How many items come before what is searched, which is the index of the first one that does not: `is_before`, an
// expression with the index `i`, is true for them and false for the rest of the `count` items.
#define HS_SEARCH(count, i, is_before)                                                                                 \
    __extension__({                                                                                                    \
        size_t search_low = 0, search_high = (count);                                                                  \
        while (search_low < search_high) {                                                                             \
            const size_t i = search_low + (search_high - search_low) / 2;                                              \
            if (is_before)                                                                                             \
                search_low = i + 1;                                                                                    \
            else                                                                                                       \
                search_high = i;                                                                                       \
        }                                                                                                              \
        search_low;                                                                                                    \
    })

// The last of them, or the first item if there are none.
#define HS_SEARCH_LAST(count, i, is_before)                                                                            \
    __extension__({                                                                                                    \
        const size_t search_before = HS_SEARCH(count, i, is_before);                                                   \
        search_before ? search_before - 1 : 0;                                                                         \
    })

#endif
