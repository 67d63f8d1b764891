// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_ARCH_ARM_TRACE_ARCH_H
#define HEAPSONDE_ARCH_ARM_TRACE_ARCH_H

// ELF e_machine, as trace files name the architecture.
#define HS_ARCH_ELF_MACHINE 40

// Blocks are multiples of 8.
#define HS_ARCH_ADDRESS_SHIFT 3

#endif
