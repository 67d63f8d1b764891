// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The functions in the ELF symbol tables of a module, sorted by address. Used where there is no DWARF.
#ifndef HEAPSONDE_HOST_SYMBOLS_SYMBOL_TABLE_H
#define HEAPSONDE_HOST_SYMBOLS_SYMBOL_TABLE_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_symbol {
    uint64_t start;
    uint64_t end;
    const char *name; // as linked, owned by the Dwfl
    uint8_t rank;     // among symbols at one address, the lowest rank is used
};

struct hs_symbol_table {
    struct hs_symbol *symbols;
    size_t count;
    Elf *file; // the module's own, for its versions
};

// Reads .symtab, or else .dynsym, and mini debug information, merged by libdwfl. An empty table is not an error.
int hs_symbol_table__load(struct hs_symbol_table *table, Dwfl_Module *module);
void hs_symbol_table__free(struct hs_symbol_table *table);

// The linker name of the function that contains `address`, or NULL.
const char *hs_symbol_table__find(const struct hs_symbol_table *table, uint64_t address);

// Whether a name of the table, or NULL, ends in "@VERSION" or "@@VERSION" of a version that the module defines. In a
// file that has only the debug information, versions have no names: anything that may be one counts.
bool hs_symbol_table__is_versioned(const struct hs_symbol_table *table, const char *name);

#endif
