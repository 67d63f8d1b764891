// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The kind of machine that a dump is of.
#ifndef HEAPSONDE_HOST_DUMP_MACHINE_H
#define HEAPSONDE_HOST_DUMP_MACHINE_H

#include "host/dump/dump.h"

struct hs_dump_machine {
    uint16_t machine;     // ELF e_machine; 0: unknown
    uint8_t pointer_size; // 4 or 8
    uint8_t byte_order;   // HS_BYTE_ORDER_* of format/trace_format.h
};

// The architecture in the dump ("# arch: NAME"), else derived from the names of its libraries.
struct hs_dump_machine hs_dump__machine(const struct hs_dump *dump);

#endif
