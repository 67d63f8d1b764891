// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Two functions to be bound lazily, which call another library lazily.
#include <math.h>

__attribute__((visibility("default"))) int stepping_library_first(int value);
__attribute__((visibility("default"))) int stepping_library_second(double a, double b, double c, double d, int value);

int stepping_library_first(int value)
{
    return value + (int)cbrt(value);
}

int stepping_library_second(double a, double b, double c, double d, int value)
{
    return value + (int)(erf(a) + tgamma(b) + c + d);
}
