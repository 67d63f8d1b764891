// SPDX-License-Identifier: MIT OR Apache-2.0
//
// An index is built privately and published by its slot's state; after that it never changes, so readers need no lock.
// It is relative to the text's start, so that it serves the module wherever it is loaded.
#include "unwind/function_bounds.h"

#include "arch/system.h"
#include "unwind/eh_frame.h"
#include "unwind/exidx.h"
#include "unwind/maps.h"
#include "unwind/module_file.h"
#include "unwind/pdr.h"
#include "unwind/stack_memory.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { INDEXES = 64 };
enum { INDEX_FREE, INDEX_BUSY, INDEX_COMPLETE };

// Readable code that runs at `address`.
struct text {
    struct hs_range bytes;
    uintptr_t address;
};

struct index {
    _Atomic uint32_t state; // FREE -> BUSY (its builder's) -> COMPLETE
    const uint8_t *file;    // the key: the module's file, which stays mapped, where its text ends, and the decoder
    size_t size;
    const struct hs_decoder *decoder;
    uint8_t *bits;
};
static struct index indexes[INDEXES];

static size_t text_size(const struct text *text)
{
    return (size_t)(text->bytes.end - text->bytes.start);
}

static bool in_text(const struct text *text, uintptr_t address)
{
    return address - text->address < text_size(text);
}

static bool text_in_file(const struct hs_module *module, uintptr_t address, struct text *text)
{
    struct hs_range file;
    struct hs_module_load load;
    if (!hs_module_load(module, address, &load) || !hs_module_file(module, &file) ||
        load.offset > (size_t)(file.end - file.start) || load.size > (size_t)(file.end - file.start) - load.offset)
        return false;
    *text = (struct text){{file.start + load.offset, file.start + load.offset + load.size}, load.address};
    return true;
}

static bool find_text(const struct hs_module *module, uintptr_t address, struct text *text)
{
    struct hs_range segment;
    if (hs_module_segment(module, (const void *)address, &segment)) {
        *text = (struct text){segment, (uintptr_t)segment.start};
        return true;
    }
    return text_in_file(module, address, text);
}

// --- building

struct builder {
    const struct hs_decoder *decoder;
    const struct text *text;
    uint8_t *bits;
};

static void mark(const struct builder *builder, uintptr_t address)
{
    if (!in_text(builder->text, address) || address % builder->decoder->alignment)
        return;
    size_t bit = (address - builder->text->address) / builder->decoder->alignment;
    builder->bits[bit / 8] |= (uint8_t)(1u << bit % 8);
}

static bool looks_like_start(const struct builder *builder, uintptr_t address)
{
    if (!in_text(builder->text, address) || address % builder->decoder->alignment)
        return false;
    size_t offset = address - builder->text->address;
    return builder->decoder->starts_function(builder->text->bytes.start + offset, text_size(builder->text) - offset);
}

// A code pointer, which on ARM has bit 0 set when the code is Thumb's.
static uintptr_t code_address(const struct builder *builder, uintptr_t pointer)
{
    return builder->decoder->alignment > 1 ? pointer & ~(uintptr_t)1 : pointer;
}

static void mark_symbols(const struct builder *builder, const struct hs_module *module, uintptr_t bias)
{
    struct hs_range file;
    struct hs_file_symbols symbols;
    struct hs_file_function function;
    if (!hs_module_file(module, &file) || !hs_file_symbols(file, &symbols))
        return;
    while (hs_file_symbols_next(&symbols, &function))
        mark(builder, code_address(builder, bias + function.address));
}

// Compilers and linkers leave data between functions: a call found there by chance must at least lead to what looks
// like a function. Where instructions have one size there is little chance.
static void mark_called(const struct builder *builder, uintptr_t target)
{
    uintptr_t address = code_address(builder, target);
    if (builder->decoder->alignment == 4 || address % 16 == 0 || looks_like_start(builder, address))
        mark(builder, address);
}

static void mark_calls(const struct builder *builder)
{
    const struct hs_decoder *decoder = builder->decoder;
    const uint8_t *end = builder->text->bytes.end;
    uint32_t context = 0;
    for (const uint8_t *at = builder->text->bytes.start; at < end;) {
        uintptr_t address = builder->text->address + (uintptr_t)(at - builder->text->bytes.start);
        struct hs_instruction instruction;
        if (!decoder->decode(at, (size_t)(end - at), address, &context, &instruction) || !instruction.size) {
            at += decoder->alignment;
            context = 0;
            continue;
        }
        if (instruction.flow == HS_FLOW_CALL && instruction.target)
            mark_called(builder, instruction.target);
        at += instruction.size;
    }
}

// The words of the module's data that lead to what looks like a function: tables of methods and callbacks.
static void mark_pointers(const struct builder *builder, const struct hs_module *module)
{
    struct hs_range data;
    for (size_t i = 0; hs_module_data(module, i, &data); i++) {
        struct hs_stack_memory memory = {0, 0}; // the program may have made its data unreadable
        uintptr_t at = ((uintptr_t)data.start + sizeof at - 1) & ~(sizeof at - 1), end = (uintptr_t)data.end, word;
        for (; at < end && end - at >= sizeof at; at += sizeof at)
            if (hs_stack_memory_read(&memory, at, &word) && looks_like_start(builder, code_address(builder, word)))
                mark(builder, code_address(builder, word));
    }
}

#ifdef HS_ARCH_HAS_EXIDX
static void mark_index(const struct builder *builder, const struct hs_module *module)
{
    struct hs_exidx exidx;
    uint32_t start;
    if (!hs_exidx_of_module(module, &exidx))
        return;
    for (uint32_t i = 0; hs_exidx_start(&exidx, i, &start); i++)
        mark(builder, start);
}
#endif

static void build(const struct builder *builder, const struct hs_module *module)
{
    uintptr_t bias;
    if (hs_module_bias(module, &bias))
        mark_symbols(builder, module, bias);
    hs_eh_frame_each_start(module, (void (*)(const void *, uintptr_t))mark, builder);
#ifdef HS_ARCH_HAS_PDR
    hs_pdr_each_start(module, (void (*)(const void *, uintptr_t))mark, builder);
#endif
#ifdef HS_ARCH_HAS_EXIDX
    mark_index(builder, module);
#endif
    mark_pointers(builder, module);
    mark_calls(builder);
}

// --- looking up

static const struct index *find_index(const struct hs_decoder *decoder, const struct text *text, const uint8_t *file)
{
    for (int i = 0; i < INDEXES; i++) {
        const struct index *index = &indexes[i];
        if (atomic_load_explicit(&index->state, memory_order_acquire) == INDEX_COMPLETE && index->file == file &&
            index->size == text_size(text) && index->decoder == decoder)
            return index;
    }
    return NULL;
}

static struct index *claim_index(void)
{
    for (int i = 0; i < INDEXES; i++) {
        uint32_t state = INDEX_FREE;
        if (atomic_compare_exchange_strong_explicit(&indexes[i].state, &state, INDEX_BUSY, memory_order_acquire,
                                                    memory_order_relaxed))
            return &indexes[i];
    }
    return NULL;
}

static const struct index *build_index(const struct hs_decoder *decoder, const struct hs_module *module,
                                       const struct text *text, const uint8_t *file)
{
    struct index *index = claim_index();
    if (!index)
        return NULL;
    size_t bytes = (text_size(text) / decoder->alignment + 8) / 8;
    long memory = hs_system_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (hs_system_failed(memory)) {
        atomic_store_explicit(&index->state, INDEX_FREE, memory_order_release);
        return NULL;
    }
    const struct builder builder = {decoder, text, (uint8_t *)memory};
    build(&builder, module);
    index->file = file;
    index->size = text_size(text);
    index->decoder = decoder;
    index->bits = builder.bits;
    atomic_store_explicit(&index->state, INDEX_COMPLETE, memory_order_release);
    return index;
}

static const struct index *index_of(const struct hs_decoder *decoder, const struct hs_module *module,
                                    const struct text *text)
{
    struct hs_range file;
    if (!hs_module_file(module, &file))
        return NULL;
    const struct index *index = find_index(decoder, text, file.start);
    return index ? index : build_index(decoder, module, text, file.start);
}

static bool is_start(const struct index *index, size_t bit)
{
    return index->bits[bit / 8] >> bit % 8 & 1;
}

// The function around `address` by the index; without one, everything that may belong to it.
static void set_bounds(const struct index *index, const struct text *text, uintptr_t address, struct hs_code *code)
{
    size_t unit = index ? index->decoder->alignment : 16, all = text_size(text) / unit;
    size_t half = HS_ANALYSIS_CODE_MAX / 2 / unit, at = (address - text->address) / unit;
    size_t first = at, last = at + 1, lowest = at > half ? at - half : 0, highest = all - at > half ? at + half : all;
    while (first > lowest && !(index && is_start(index, first)))
        first--;
    while (last < highest && !(index && is_start(index, last)))
        last++;
    code->bytes = text->bytes.start + first * unit;
    code->size = last == all ? text_size(text) - first * unit : (last - first) * unit;
    code->address = text->address + first * unit;
}

bool hs_function_bounds(const struct hs_decoder *decoder, const struct hs_module *module, uintptr_t address,
                        struct hs_code *code)
{
    struct text text;
    if (!find_text(module, address, &text))
        return false;
    const struct index *index = index_of(decoder, module, &text);
    set_bounds(index, &text, address, code);
    return true;
}

bool hs_function_is_entry(const struct hs_module *module, uintptr_t address)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)module->start;
    uintptr_t bias;
    return hs_module_bias(module, &bias) && header->e_entry && ((bias + header->e_entry) & ~(uintptr_t)1) == address;
}
