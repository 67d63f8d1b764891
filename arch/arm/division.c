// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The division of 32 bits that the compiler calls where the processor has none. libgcc has it unrolled, in 500 bytes;
// nothing that has to be fast divides here. Division by zero gives all bits, as little as it means.
#include <stdint.h>

#define LIBRARY(name) __asm__(name) __attribute__((weak, visibility("hidden")))

// The quotient in r0, the remainder in r1.
uint64_t divide(uint32_t number, uint32_t by) LIBRARY("__aeabi_uidivmod");
uint64_t divide(uint32_t number, uint32_t by)
{
    uint32_t quotient = 0, rest = 0;
    for (unsigned bit = 32; bit--;) {
        uint32_t carried = rest >> 31;
        rest = rest << 1 | number >> 31;
        number <<= 1;
        quotient <<= 1;
        if (carried || rest >= by) {
            rest -= by;
            quotient |= 1;
        }
    }
#ifdef __ARM_BIG_ENDIAN
    return (uint64_t)quotient << 32 | rest;
#else
    return (uint64_t)rest << 32 | quotient;
#endif
}

uint64_t divide_alone(uint32_t number, uint32_t by) LIBRARY("__aeabi_uidiv") __attribute__((alias("__aeabi_uidivmod")));
