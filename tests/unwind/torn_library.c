// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A library whose functions and data are on pages of their own. Nothing of it is run, and it has nothing to run at the
// end.
#define PIECE __attribute__((visibility("default"), aligned(65536)))

enum { WORDS = 16384 };

int torn_first(int (*callback)(int), int argument);
int torn_second(int (*callback)(int), int argument);
int torn_third(int (*callback)(int), int argument);

PIECE volatile int torn_data[WORDS] = {1};

PIECE int torn_first(int (*callback)(int), int argument)
{
    return callback(argument + torn_data[1]) + argument;
}

PIECE int torn_second(int (*callback)(int), int argument)
{
    volatile int local[100];
    local[argument % 100] = callback(argument);
    return callback(local[2] + torn_data[0]) + argument;
}

PIECE int torn_third(int (*callback)(int), int argument)
{
    return callback(argument + torn_data[2]) + argument;
}
