// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Uses the operators of own_new.cpp.
#include "program.h"

#include <new>

extern "C" int own_new_made();
extern "C" int own_new_gone();

int main()
{
    void *kept = nullptr;
    for (size_t i = 0; i < 1000; i++) {
        operator delete(kept);
        kept = operator new(i);
        operator delete(operator new(2 * i), 2 * i);
    }
    say("%d made, %d gone\n", own_new_made(), own_new_gone());
    operator delete(kept);
    return 0;
}
