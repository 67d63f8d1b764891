// SPDX-License-Identifier: MIT OR Apache-2.0
//
// From a code address to the module (main program, library, vdso, anonymous code) that contains it.
#ifndef HEAPSONDE_UNWIND_MODULE_H
#define HEAPSONDE_UNWIND_MODULE_H

#include "arch/word.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_range {
    const uint8_t *start;
    const uint8_t *end;
};

struct hs_module {
    uintptr_t start;             // first mapped byte; the ELF header unless `anonymous`
    uintptr_t end;               // past the last mapped byte
    const uint8_t *eh_frame_hdr; // PT_GNU_EH_FRAME, or NULL
    bool anonymous;              // executable memory that no ELF file backs
};

#pragma GCC visibility push(hidden)
// The address at which the code at `pc` can be read: `pc` itself, unless the stack is from another machine. 0: not
// readable.
#ifdef HS_ARCH_HEADER
uintptr_t hs_code_at(uintptr_t pc);
#else
static inline uintptr_t hs_code_at(uintptr_t pc)
{
    return pc;
}
#endif

// Finds the module of the code at `pc`; of data there is none. No lock; no system call when the loader has
// _dl_find_object or the module is known.
bool hs_module_find(uintptr_t pc, struct hs_module *module);

// The loaded segment of `module` that contains `address`: what may be read without a fault. The rest of the module when
// the program headers cannot be read.
bool hs_module_segment(const struct hs_module *module, const void *address, struct hs_range *segment);

// The loaded part of the module's file around `address`, readable or not.
struct hs_module_load {
    uintptr_t address; // in memory
    size_t offset;     // in the file
    size_t size;
};
bool hs_module_load(const struct hs_module *module, uintptr_t address, struct hs_module_load *load);

// The writable segments one by one, as far as the file fills them. False at the end.
bool hs_module_data(const struct hs_module *module, size_t number, struct hs_range *data);

// The loaded range of the first program header of this type.
bool hs_module_header(const struct hs_module *module, uint32_t type, struct hs_range *range);

// Difference between addresses in memory and in the file. False when the headers cannot be read.
bool hs_module_bias(const struct hs_module *module, uintptr_t *bias);

// The same for what pointers in its memory lack; none where a loader has been.
static inline uintptr_t hs_module_words_bias(const struct hs_module *module)
{
    uintptr_t bias = 0;
    if (HS_WORDS_LINKED)
        hs_module_bias(module, &bias);
    return bias;
}

// The entry point of the module; 0: none.
uintptr_t hs_module_entry(const struct hs_module *module);

// What was no code is looked up again: the program has mapped code. Without this, it is found after a while.
void hs_module_code_appears(void);

// From now on a module of which the program has unmapped a part is none: what is left of it is code that no file backs.
// The calling thread looks, by msync(2) when it meets a module, from this function's callers and deeper ones; others go
// by what it found.
void hs_module_look(size_t page_size);

// Each module is looked at once, until this is called: what is unmapped after the look is not noticed before. By the
// thread that looks, or while it does not.
void hs_module_look_again(void);

// For the tests: pretends that the loader has no _dl_find_object.
void hs_module_ignore_loader(bool ignore);
#pragma GCC visibility pop

#endif
