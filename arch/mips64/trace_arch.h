// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_ARCH_MIPS64_TRACE_ARCH_H
#define HEAPSONDE_ARCH_MIPS64_TRACE_ARCH_H

// ELF e_machine, as trace files name the architecture.
#define HS_ARCH_ELF_MACHINE 8

// User addresses are below 2^48 and blocks are multiples of 16: address >> shift fits the 44 bits of a short record.
#define HS_ARCH_ADDRESS_SHIFT 4

#endif
