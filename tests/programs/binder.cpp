// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What binding.cpp loads afresh for each round: every function that is called here is bound by that call.
#include "program.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

extern "C" int bound_plain(int number);
EXPORTED int binder_plain(int number);
EXPORTED int binder_tls(int number);
EXPORTED int binder_allocate(int number);

static thread_local volatile char room[4096]; // more than the loader has left beside the threads

// A walk that comes out of the loader a word or two off does not get past a frame as large as this one.
int binder_plain(int number)
{
    volatile char held[400];
    held[0] = 1;
    return bound_plain(number) + held[0];
}

#ifdef WITH_RESOLVER
extern "C" int bound_resolved(int number);
EXPORTED int binder_resolved(int number);

int binder_resolved(int number)
{
    return bound_resolved(number) + 1;
}
#endif

int binder_tls(int number)
{
    room[number] = static_cast<char>(number);
    return room[number] + 2;
}

int binder_allocate(int number)
{
    char *block = static_cast<char *>(keep(malloc(333)));
    block = static_cast<char *>(keep(realloc(block, 4444)));
    free(block);
    free(keep(calloc(5, 55)));
    delete static_cast<char *>(keep(new char));
    delete[] static_cast<char *>(keep(new char[66]));
    return number;
}
