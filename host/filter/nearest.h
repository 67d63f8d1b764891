// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Finds the word that was probably meant by a mistyped one.
#ifndef HEAPSONDE_HOST_FILTER_NEAREST_H
#define HEAPSONDE_HOST_FILTER_NEAREST_H

#include <stddef.h>

struct hs_nearest {
    const char *word; // as typed, `length` letters of it
    size_t length;
    const char *found; // NULL: none is near
    size_t distance;
};

// Takes the candidate when nothing nearer was offered before: letters that are missing, too many, others or in the
// wrong order, at most two of them and fewer in a short word. - and _ are the same.
void hs_nearest__offer(struct hs_nearest *nearest, const char *candidate);

#endif
