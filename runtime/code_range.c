// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/code_range.h"

#include <stddef.h>

enum { NESTED = 16 };

const struct hs_code_range *hs_code_ranges__find(const struct hs_code_range *code, uint32_t count, uintptr_t address)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (code[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    // A module may lie in a hole of another one.
    for (uint32_t back = 1; back <= NESTED && back <= low; back++)
        if (address < code[low - back].end)
            return &code[low - back];
    return NULL;
}

bool hs_code_ranges__hold(const struct hs_code_range *code, uint32_t count, uintptr_t pc)
{
    return hs_code_ranges__find(code, count, hs_code_range__call_of(pc));
}
