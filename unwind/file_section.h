// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Sections and symbol tables within the bytes of an ELF file of this machine's class and byte order. All reads are
// bounded; damaged files give false.
#ifndef HEAPSONDE_UNWIND_FILE_SECTION_H
#define HEAPSONDE_UNWIND_FILE_SECTION_H

#include "unwind/module.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_file_section {
    struct hs_range bytes; // in the mapped file, where nothing need be aligned
    uintptr_t address;     // as the file has it, without the bias; 0: the section is not loaded
    bool loaded;
};

// The rest of a symbol table.
struct hs_file_symbols {
    struct hs_range bytes;
    struct hs_range names; // ends with a NUL, or is empty
    uint32_t names_section;
};

struct hs_file_function {
    uintptr_t address; // as the file has it; ARM: with the Thumb bit
    uintptr_t size;    // 0: unknown
    const char *name;  // in the mapped file; NULL: unknown
};

#pragma GCC visibility push(hidden)
// A section by its name. Compressed sections and those without bytes are not found.
bool hs_file_section(struct hs_range file, const char *name, struct hs_file_section *section);

// The next section that holds code, from the section *number on, which is advanced past it. False when there is none.
bool hs_file_code_section(struct hs_range file, size_t *number, struct hs_file_section *section);

// The symbol table: .symtab, or .dynsym when it has been stripped. Without the names of its symbols, which
// hs_file_symbols_with_names() adds.
bool hs_file_symbols(struct hs_range file, struct hs_file_symbols *symbols);
void hs_file_symbols_with_names(struct hs_range file, struct hs_file_symbols *symbols);

// The next symbol that is a defined function. False at the end of the table.
bool hs_file_symbols_next(struct hs_file_symbols *symbols, struct hs_file_function *function);
#pragma GCC visibility pop

#endif
