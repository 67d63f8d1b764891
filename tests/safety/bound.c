// SPDX-License-Identifier: MIT OR Apache-2.0
#include <stdlib.h>

void *allocate_bound(size_t size);
void *allocate_bound(size_t size)
{
    return malloc(size);
}
