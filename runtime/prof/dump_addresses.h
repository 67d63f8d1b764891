// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Numbers for addresses: 1, 2, ... in the order in which they are met.
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
    uint32_t mask; // slots - 1
    uint32_t count;
};

#pragma GCC visibility push(hidden)
// The address's number; *is_new says whether it was given just now. 0 without memory, or for address 0.
uint32_t hs_dump_addresses__number(struct hs_dump_addresses *addresses, uint64_t address, bool *is_new);

// Closes the table: slots[0, count) are then the addresses in ascending order, and nothing may be looked up by the
// function above any more.
void hs_dump_addresses__sort(struct hs_dump_addresses *addresses);

void hs_dump_addresses__free(struct hs_dump_addresses *addresses);
#pragma GCC visibility pop

#endif
