// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Numbers for addresses: 1, 2, ... in the order of their first lookup.
#ifndef HEAPSONDE_RUNTIME_PROF_DUMP_ADDRESSES_H
#define HEAPSONDE_RUNTIME_PROF_DUMP_ADDRESSES_H

#include <stdbool.h>
#include <stdint.h>

struct hs_dump_address {
    uint64_t address; // never 0
    uint32_t number;
};

struct hs_dump_addresses {
    struct hs_dump_address *slots;
    uint32_t mask; // number of slots - 1
    uint32_t count;
};

#pragma GCC visibility push(hidden)
// The number of the address; *is_new: it is a new one. 0: out of memory, or address 0.
uint32_t hs_dump_addresses__number(struct hs_dump_addresses *addresses, uint64_t address, bool *is_new);

// Ends the lookups: slots[0, count) become the addresses in ascending order, and the function above must not be called
// any more.
void hs_dump_addresses__sort(struct hs_dump_addresses *addresses);

void hs_dump_addresses__free(struct hs_dump_addresses *addresses);
#pragma GCC visibility pop

#endif
