// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A static executable: no loader, and no program header that names .eh_frame. Exits with 0 when every frame is found.
#include "unwind/include/heapsonde/unwind.h"

#include <stdlib.h>

static int wrong;

__attribute__((noinline)) static void check(int depth)
{
    void *pcs[100];
    struct hs_backtrace_info info;
    int count = hs_backtrace_reason(pcs, 100, &info);
    wrong += info.end != HS_BACKTRACE_COMPLETE || info.guessed || count < depth + 2;
}

__attribute__((noinline)) static int recurse(int depth, int left)
{
    volatile int local = depth;
    if (left)
        recurse(depth + 1, left - 1);
    else
        check(depth);
    return local;
}

static int compare(const void *a, const void *b)
{
    recurse(3, 4);
    return *(const int *)a - *(const int *)b;
}

int main(void)
{
    int values[] = {3, 1, 2};
    recurse(1, 20);
    qsort(values, 3, sizeof *values, compare);
    return wrong != 0;
}
