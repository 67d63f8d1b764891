// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/symbol_places.h"

#include "arch/system.h"
#include "unwind/file_attachment.h"

enum { BLOCK = 1 << 15, CHAINS = 4096, SYMBOL_SIZE_MIN = 16 };

// The lower half of an address as the file has it, and the number of the place before it in the same chain.
struct symbol_place {
    uint32_t address, before;
};

// A chain has the places in some blocks of the file's addresses; places[0] is none. Never unmapped: the file that they
// belong to is not either.
struct symbol_places {
    uint32_t last[CHAINS];
    struct symbol_place places[];
};

static uint32_t *chain_of(struct symbol_places *places, uint32_t address)
{
    return &places->last[address / BLOCK % CHAINS];
}

static void fill(struct symbol_places *places, struct hs_file_symbols *symbols)
{
    struct hs_file_function function;
    for (uint32_t number = 1; hs_file_symbols_next(symbols, &function); number++) {
        uint32_t address = (uint32_t)function.address, *last = chain_of(places, address);
        places->places[number] = (struct symbol_place){address, *last};
        *last = number;
    }
}

// Memory for as many as there may be: what is not filled takes none.
static const void *make(struct hs_range file)
{
    struct hs_file_symbols symbols;
    if (!hs_file_symbols(file, &symbols))
        return NULL;
    size_t most = (size_t)(symbols.bytes.end - symbols.bytes.start) / SYMBOL_SIZE_MIN + 1;
    size_t size = sizeof(struct symbol_places) + most * sizeof(struct symbol_place);
    struct symbol_places *places = hs_system_memory(size);
    if (places)
        fill(places, &symbols);
    return places;
}

void hs_symbol_places_each(const struct hs_module *module, uintptr_t bias, uintptr_t start, size_t size,
                           void (*note)(const void *context, uintptr_t address), const void *context)
{
    struct symbol_places *places = (struct symbol_places *)hs_file_attachment_find(module, HS_ATTACHED_SYMBOLS, make);
    uint32_t first = (uint32_t)(start - bias);
    for (size_t at = 0; places && at < size + first % BLOCK; at += BLOCK)
        for (uint32_t number = *chain_of(places, first + (uint32_t)at); number; number = places->places[number].before)
            note(context, start + (uintptr_t)(intptr_t)(int32_t)(places->places[number].address - first));
}
