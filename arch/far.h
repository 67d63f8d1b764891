// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Large tables. Where the code model is tiny, code reaches what is within 1 MiB of it by one instruction (arch/NAME/
// shim_options.txt); tables of 128 KiB and more that are marked with HS_FAR lie behind everything else, and code asks
// for their address with HS_FAR_AT. A table that should be marked and is not makes the linker fail.
#ifndef HEAPSONDE_ARCH_FAR_H
#define HEAPSONDE_ARCH_FAR_H

#ifdef __AARCH64_CMODEL_TINY__
// A name that the compiler takes for zeroed memory, and that no linker puts among the rest of it.
#define HS_FAR __attribute__((section(".sbss.far")))
#define HS_FAR_AT(object)                                                                                              \
    ({                                                                                                                 \
        __typeof__(object) *hs_far_address;                                                                            \
        __asm__("adrp %0, %1\n\tadd %0, %0, :lo12:%1" : "=r"(hs_far_address) : "S"(&(object)));                        \
        hs_far_address;                                                                                                \
    })
#else
#define HS_FAR
#define HS_FAR_AT(object) (&(object))
#endif

#endif
