// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Each table is read once: a function is put to the first address behind its start, and then on to the addresses behind
// that one which have no nearer function.
#include "runtime/prof/dump_symbols.h"

#include "arch/system.h"
#include "runtime/mapped.h"
#include "runtime/memory.h"
#include "runtime/text.h"
#include "unwind/file_section.h"

#include <fcntl.h>
#include <sys/mman.h>

enum { HEAD = 512 }; // bytes by which a file is recognised as the one that was loaded

struct hs_dump_file {
    const uint8_t *bytes;
    uint64_t size;
};

// ---- the files ------------------------------------------------------------------------------------------------------

// The same bytes, as far as the memory can be read.
static bool is_loaded_file(const struct hs_dump_module *module, const struct hs_dump_file *file)
{
    uint8_t head[HEAD];
    size_t length = hs_memory__read((uintptr_t)module->mapped.start, head, sizeof head);
    return module->mapped.offset <= file->size && file->size - module->mapped.offset >= length &&
           __builtin_memcmp(head, file->bytes + module->mapped.offset, length) == 0;
}

static struct hs_dump_file map_file(struct hs_dump_facts *facts, const struct hs_dump_module *module)
{
    struct hs_dump_file file = {NULL, 0}, none = {NULL, 0};
    struct hs_file_status status = {0};
    if (module->path[0] != '/')
        return none;
    hs_maps_line__copy_path(module->path, module->path_length, facts->line, sizeof facts->line);
    long fd = hs_system_open(facts->line, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return none;
    long bytes = -1;
    if (hs_system_status((int)fd, &status) == 0 && status.size && status.size <= SIZE_MAX / 2)
        bytes = hs_system_mmap(NULL, (size_t)status.size, PROT_READ, MAP_PRIVATE, (int)fd, 0);
    hs_system_close((int)fd);
    if (hs_system_failed(bytes))
        return none;
    file = (struct hs_dump_file){(const uint8_t *)bytes, status.size};
    if (is_loaded_file(module, &file))
        return file;
    hs_memory__unmap((void *)file.bytes, (size_t)file.size);
    return none;
}

// ---- names of one module's addresses --------------------------------------------------------------------------------

struct part {
    const struct hs_dump_address *addresses; // sorted
    struct hs_dump_symbol *symbols;
    uint32_t count;
};

// The first address at or behind `start`.
static uint32_t first_from(const struct part *part, uint64_t start)
{
    uint32_t low = 0, high = part->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (part->addresses[middle].address < start)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// If code has two names, the one that is not internal is used.
static bool is_better(const struct hs_dump_symbol *left, const struct hs_dump_symbol *right)
{
    if (!right->name || left->start != right->start)
        return !right->name || left->start > right->start;
    return left->name[0] != '_' && right->name[0] == '_';
}

static void offer(const struct part *part, const struct hs_dump_symbol *symbol)
{
    uint32_t at = first_from(part, symbol->start);
    if (at < part->count && is_better(symbol, &part->symbols[at]))
        part->symbols[at] = *symbol;
}

static bool covers(const struct hs_dump_symbol *symbol, uint64_t address)
{
    return symbol->name && (!symbol->size || address - symbol->start < symbol->size);
}

static void spread(const struct part *part)
{
    for (uint32_t i = 1; i < part->count; i++)
        if (part->symbols[i - 1].name && is_better(&part->symbols[i - 1], &part->symbols[i]))
            part->symbols[i] = part->symbols[i - 1];
    for (uint32_t i = 0; i < part->count; i++)
        if (!covers(&part->symbols[i], part->addresses[i].address))
            part->symbols[i].name = NULL;
}

static uint64_t code_address(uint64_t value)
{
#if defined(__arm__) || defined(__mips__)
    return value & ~1ull; // the instruction set's bit
#else
    return value;
#endif
}

static void name_part(const struct part *part, const struct hs_dump_file *file, const struct hs_image *image)
{
    struct hs_range range = {file->bytes + image->origin, file->bytes + file->size};
    struct hs_file_symbols table;
    struct hs_file_function function;
    if (!hs_file_symbols(range, &table))
        return;
    hs_file_symbols_with_names(range, &table);
    while (hs_file_symbols_next(&table, &function)) {
        if (!function.name || !function.name[0])
            continue;
        struct hs_dump_symbol symbol = {function.name, code_address(function.address) + image->bias, function.size};
        offer(part, &symbol);
    }
    spread(part);
}

static void name_all(struct hs_dump_symbols *symbols)
{
    const struct hs_dump_facts *facts = symbols->facts;
    struct hs_dump_address *addresses = symbols->addresses.slots;
    for (uint32_t first = 0, next; first < symbols->addresses.count; first = next) {
        const struct hs_dump_module *module = hs_dump_facts__module_of(facts, addresses[first].address);
        for (next = first + 1;
             module && next < symbols->addresses.count && addresses[next].address < module->mapped.end;)
            next++;
        if (!module)
            continue;
        struct hs_dump_file *file = &symbols->files[module - facts->modules];
        *file = map_file(symbols->facts, module);
        struct part part = {addresses + first, symbols->symbols + first, next - first};
        if (file->bytes)
            name_part(&part, file, &module->image);
    }
}

// ---- all of a snapshot ----------------------------------------------------------------------------------------------

static void collect(struct hs_dump_symbols *symbols, const struct hs_profile_snapshot *snapshot)
{
    bool is_new;
    for (uint32_t i = 0; i < snapshot->pair_count; i++) {
        if (i && snapshot->pairs[i].stack == snapshot->pairs[i - 1].stack)
            continue;
        uint32_t count = hs_dump_facts__frames(symbols->facts, snapshot->pairs[i].stack);
        for (uint32_t f = 0; f < count; f++)
            hs_dump_addresses__number(&symbols->addresses, hs_dump__address(symbols->facts->frames[f], 0), &is_new);
    }
}

void hs_dump_symbols__find(struct hs_dump_symbols *symbols, struct hs_dump_facts *facts,
                           const struct hs_profile_snapshot *snapshot)
{
    *symbols = (struct hs_dump_symbols){.facts = facts};
    collect(symbols, snapshot);
    hs_dump_addresses__sort(&symbols->addresses);
    if (!symbols->addresses.count || !facts->module_count)
        return;
    symbols->symbols = hs_memory__map(symbols->addresses.count * sizeof *symbols->symbols);
    symbols->files = hs_memory__map(facts->module_count * sizeof *symbols->files);
    if (symbols->symbols && symbols->files)
        name_all(symbols);
}

void hs_dump_symbols__free(struct hs_dump_symbols *symbols)
{
    for (uint32_t i = 0; symbols->files && i < symbols->facts->module_count; i++)
        if (symbols->files[i].bytes)
            hs_memory__unmap((void *)symbols->files[i].bytes, (size_t)symbols->files[i].size);
    if (symbols->files)
        hs_memory__unmap(symbols->files, symbols->facts->module_count * sizeof *symbols->files);
    if (symbols->symbols)
        hs_memory__unmap(symbols->symbols, symbols->addresses.count * sizeof *symbols->symbols);
    hs_dump_addresses__free(&symbols->addresses);
}

static void write_place(const struct hs_dump_module *module, struct hs_dump_output *output, uint64_t address)
{
    if (module) {
        const char *path = module->path, *base = path;
        for (size_t i = 0; i < module->path_length; i++)
            if (path[i] == '/')
                base = path + i + 1;
        hs_dump_output__bytes(output, base, (uint64_t)(path + module->path_length - base));
        hs_dump_output__text(output, "+");
        address -= module->image.bias;
    }
    hs_dump_output__text(output, "0x");
    hs_dump_output__hex(output, address);
}

void hs_dump_symbols__write(const struct hs_dump_symbols *symbols, struct hs_dump_output *output, uint64_t address)
{
    struct part part = {symbols->addresses.slots, symbols->symbols, symbols->addresses.count};
    uint32_t at = first_from(&part, address);
    bool known = symbols->symbols && at < part.count && part.addresses[at].address == address && part.symbols[at].name;
    if (known)
        hs_dump_output__text(output, part.symbols[at].name);
    else
        write_place(hs_dump_facts__module_of(symbols->facts, address), output, address);
}
