// SPDX-License-Identifier: MIT OR Apache-2.0
//
// .pdr, the procedure descriptors that MIPS assemblers write: a record of 32 bytes for each function, with the frame
// that its body has. The section is not loaded; it is read in the module's file and survives strip.
//
// Records are in no order, and hold the lower half of an address: each file that is asked about gets an index once.
#ifndef HEAPSONDE_UNWIND_PDR_H
#define HEAPSONDE_UNWIND_PDR_H

#include "unwind/cfi.h"
#include "unwind/module.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_pdr {
    struct hs_range bytes;
    bool big_endian;
};

struct hs_pdr_record {
    uint32_t address;        // where the function starts, as the file has it
    uint32_t saved;          // bit n: register n is saved
    int32_t saved_offset;    // where the highest of them is, from the CFA; the others are below it in order
    int32_t frame_size;      // CFA - frame register
    uint32_t frame_register; // sp or s8
    uint32_t return_register;
};

// An entry of the index: the address of a function in the upper half, the number of its record in the lower.
typedef uint64_t hs_pdr_entry;

#pragma GCC visibility push(hidden)
// The CFI row of all call sites of the function around `address`, which starts at *start if no function without a
// record comes after it. False when there is no record, or one that does not say where the return address is: clang's,
// and those of hand-written code.
bool hs_pdr_find_cfi_row(const struct hs_module *module, uintptr_t address, uintptr_t *start,
                         struct hs_cfi_row *cfi_row);

// Calls `note` with the address of each function that has a record and starts in the `size` bytes from `start` on, and
// perhaps of one before them.
void hs_pdr_each_start(const struct hs_module *module, uintptr_t start, size_t size,
                       void (*note)(const void *context, uintptr_t address), const void *context);

size_t hs_pdr_count(const struct hs_pdr *pdr);

// `number` is below hs_pdr_count().
void hs_pdr_read(const struct hs_pdr *pdr, size_t number, struct hs_pdr_record *record);

// The place of register `number` in the record, relative to the CFA. False: it is not saved.
bool hs_pdr_slot(const struct hs_pdr_record *record, unsigned number, int32_t *offset);

// Whether the record gives a frame and the place of the return address in it.
bool hs_pdr_usable(const struct hs_pdr_record *record);

// Fills and sorts an index of hs_pdr_count() entries.
void hs_pdr_make_index(const struct hs_pdr *pdr, hs_pdr_entry *index);

// The last record that starts at or before `address`, the lower half of one. False when none does.
bool hs_pdr_search(const hs_pdr_entry *index, size_t count, uint32_t address, size_t *number);
#pragma GCC visibility pop

#endif
