// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocates 3,000 blocks by operator new and 1,000 by malloc, and frees half of each.
#include <cstdio>
#include <cstdlib>
#include <new>

int main()
{
    for (int i = 0; i < 4000; i++) {
        void *block = i % 4 ? ::operator new(100) : malloc(100);
        if (i % 8 < 4)
            i % 4 ? ::operator delete(block) : free(block);
    }
    puts("fine");
    return 0;
}
