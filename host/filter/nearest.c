// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/filter/nearest.h"

#include <stdbool.h>
#include <string.h>

enum { LONGEST = 63 };

static bool same(char left, char right)
{
    return (left == '_' ? '-' : left) == (right == '_' ? '-' : right);
}

static size_t least(size_t left, size_t right)
{
    return left < right ? left : right;
}

// The edit distance: inserted, removed and changed letters, and swapped neighbours.
static size_t distance(const char *left, size_t left_length, const char *right, size_t right_length)
{
    size_t rows[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= left_length; i++) {
        for (size_t k = 0; k <= right_length; k++) {
            size_t *cell = &rows[i][k];
            *cell = i ? i : k;
            if (!i || !k)
                continue;
            *cell = rows[i - 1][k - 1] + !same(left[i - 1], right[k - 1]);
            *cell = least(*cell, least(rows[i - 1][k], rows[i][k - 1]) + 1);
            if (i > 1 && k > 1 && same(left[i - 1], right[k - 2]) && same(left[i - 2], right[k - 1]))
                *cell = least(*cell, rows[i - 2][k - 2] + 1);
        }
    }
    return rows[left_length][right_length];
}

void hs_nearest__offer(struct hs_nearest *nearest, const char *candidate)
{
    size_t length = strlen(candidate);
    if (length > LONGEST || nearest->length > LONGEST)
        return;
    size_t found = distance(nearest->word, nearest->length, candidate, length);
    size_t allowed = nearest->length < 3 ? 0 : nearest->length < 6 ? 1 : 2;
    if (found > allowed || (nearest->found && found >= nearest->distance))
        return;
    nearest->found = candidate;
    nearest->distance = found;
}
