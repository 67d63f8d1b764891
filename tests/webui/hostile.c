// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocates in functions whose names are changed after it is linked: markup, marks of direction, a very long one.
#include <stdlib.h>

void *kept[3];

__attribute__((noinline)) void name_markup(void)
{
    kept[0] = malloc(111111);
}

__attribute__((noinline)) void name_direction(void)
{
    kept[1] = malloc(222222);
}

__attribute__((noinline)) void name_long(void)
{
    kept[2] = malloc(333333);
}

int main(void)
{
    name_markup();
    name_direction();
    name_long();
    return !kept[0] || !kept[1] || !kept[2];
}
