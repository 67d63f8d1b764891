// SPDX-License-Identifier: MIT OR Apache-2.0
//
// An index is built privately and published by its slot's state; after that it never changes, so readers need no lock.
// It is relative to the text's start, so that it serves the module wherever it is loaded. Of a text that is large it is
// for one window, and there are as many as stacks have reached; beyond their number a window is looked at each time.
#include "unwind/function_bounds.h"

#include "arch/far.h"
#include "arch/system.h"
#include "unwind/eh_frame.h"
#include "unwind/exidx.h"
#include "unwind/maps.h"
#include "unwind/module_file.h"
#include "unwind/pdr.h"
#include "unwind/stack_memory.h"
#include "unwind/symbol_places.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>

enum { INDEXES = 4096, INDEX_PROBES = 64 };
enum { WHOLE_TEXT_MAX = 1 << 22, WINDOW = 1 << 15, MARGIN = 1 << 12 };
enum { INDEX_FREE, INDEX_BUSY, INDEX_COMPLETE };

// Readable code that runs at `address`.
struct text {
    const uint8_t *bytes;
    uintptr_t address;
    size_t size;
};

// The module's file, which stays mapped, its text, and where in that.
struct function_bounds_key {
    const uint8_t *file;
    size_t text_size, first, size;
    const struct hs_decoder *decoder;
};

struct function_bounds_index {
    _Atomic uint32_t state; // FREE -> BUSY (its builder's) -> COMPLETE
    struct function_bounds_key key;
    uint8_t *bits;
};
static struct function_bounds_index indexes[INDEXES] HS_FAR;

static bool in_text(const struct text *text, uintptr_t address)
{
    return address - text->address < text->size;
}

static bool find_text(const struct hs_module *module, const struct hs_range *file, uintptr_t address, struct text *text)
{
    struct hs_range segment;
    struct hs_module_load load;
    if (hs_module_segment(module, (const void *)address, &segment)) {
        *text = (struct text){segment.start, (uintptr_t)segment.start, (size_t)(segment.end - segment.start)};
        return true;
    }
    size_t file_size = (size_t)(file->end - file->start);
    if (!hs_module_load(module, address, &load) || load.offset > file_size || load.size > file_size - load.offset)
        return false;
    *text = (struct text){file->start + load.offset, load.address, load.size};
    return true;
}

// --- building

struct builder {
    const struct hs_decoder *decoder;
    const struct text *text;
    uint8_t *bits;
    struct text code;         // where instructions are: .text, or all that is executable
    uint8_t *data;            // a bit for each place in the code that holds data instead; NULL when that is not known
    uint8_t *pointed;         // the same for the text: where what may be pointers lead
    uint8_t *passed;          // and where no function starts
    const struct text *whole; // of which the text may be a window
    uintptr_t gp;             // MIPS: what the global pointer holds in all of the module; 0: not known
    uintptr_t bias;           // of the module; 0 where it is not known
};

static bool is_window(const struct builder *builder)
{
    return builder->text->size < builder->whole->size;
}

static void mark_in(const struct builder *builder, uint8_t *bits, uintptr_t address)
{
    if (!in_text(builder->text, address) || hs_decoder_rest(builder->decoder, address))
        return;
    size_t bit = hs_decoder_units(builder->decoder, address - builder->text->address);
    bits[bit / 8] |= (uint8_t)(1u << bit % 8);
}

// Untyped for callbacks.
static void mark(const void *context, uintptr_t pointer)
{
    const struct builder *builder = context;
    mark_in(builder, builder->bits, pointer & ~(uintptr_t)builder->decoder->pointer_bit);
}

static bool is_in(const struct builder *builder, const uint8_t *bits, uintptr_t address)
{
    if (!in_text(builder->text, address))
        return false;
    size_t bit = hs_decoder_units(builder->decoder, address - builder->text->address);
    return bits[bit / 8] >> bit % 8 & 1;
}

static bool is_marked(const struct builder *builder, uintptr_t address)
{
    return is_in(builder, builder->bits, address) || (builder->pointed && is_in(builder, builder->pointed, address));
}

static bool looks_like_start(const struct builder *builder, uintptr_t address)
{
    if (!in_text(&builder->code, address) || hs_decoder_rest(builder->decoder, address))
        return false;
    size_t offset = address - builder->code.address;
    return builder->decoder->starts_function(builder->code.bytes + offset, builder->code.size - offset);
}

// MIPS makes addresses of two parts. The upper one comes from the table of addresses and may lead into the first
// instructions of a function.
static bool is_upper_part(const struct builder *builder, uintptr_t pointer)
{
#ifdef HS_ARCH_GLOBAL_POINTER
    return !(uint16_t)(pointer - builder->bias);
#else
    (void)builder, (void)pointer;
    return false;
#endif
}

// Whether a value may be a pointer to a function. There are also pointers to labels within functions, and in a program
// that is loaded at a low address, integers may look like pointers. `made`: computed by an instruction, which may lead
// to any function.
static void mark_candidate(const struct builder *builder, uintptr_t pointer, bool made)
{
    uintptr_t bit = builder->decoder->pointer_bit, address = pointer & ~bit;
    if ((pointer & bit) == bit && !is_upper_part(builder, pointer) &&
        ((made && builder->pointed) || looks_like_start(builder, address)))
        mark_in(builder, builder->pointed ? builder->pointed : builder->bits, address);
}

// In code a pointer may be one or, in code that is not relocatable, what the linker wrote.
static void mark_pointer(const struct builder *builder, uintptr_t pointer, bool made)
{
    mark_candidate(builder, pointer, made);
    if (HS_WORDS_LINKED)
        mark_candidate(builder, builder->bias + pointer, made);
}

// Data between functions may look like a call by chance. It hardly leads into the code, but where calls are short and
// instructions have two sizes it must lead to what looks like a function, unless it is known where data is.
static void mark_called(const struct builder *builder, uintptr_t target)
{
    uintptr_t address = target - hs_decoder_rest(builder->decoder, target);
    if (looks_like_start(builder, address))
        mark(builder, address);
    else if (builder->data || builder->decoder->alignment != 2 || address % 16 == 0)
        mark_in(builder, builder->data ? builder->pointed : builder->bits, address);
}

// Constants that straight code makes in registers.
struct constants {
    uint32_t known; // bit n: register n
    uint32_t kept;  // those that the jump or call keeps whose delay slot comes next
    uintptr_t values[32];
};

// A word of the table of addresses that the global pointer leads to.
static bool load_address(const struct builder *builder, const struct hs_effect *effect, uintptr_t *value)
{
#ifdef HS_ARCH_GLOBAL_POINTER
    struct hs_stack_memory memory = {0, 0};
    if (!builder->gp || effect->source != HS_ARCH_GLOBAL_POINTER ||
        !hs_stack_memory_read(&memory, builder->gp + (uintptr_t)(intptr_t)effect->value, value))
        return false;
    *value += HS_WORDS_LINKED ? builder->bias : 0;
    return true;
#else
    (void)builder, (void)effect, (void)value;
    return false;
#endif
}

// Makes constants known and marks those that may lead to a function.
static void follow_constant(const struct builder *builder, struct constants *constants, const struct hs_effect *effect)
{
    uint32_t bit = effect->reg < 32 ? 1u << effect->reg : 0;
    bool from_known = effect->source < 32 && constants->known >> effect->source & 1;
    uintptr_t value = from_known ? constants->values[effect->source] : 0;
    if (effect->kind == HS_EFFECT_STORE || !bit)
        return;
    constants->known &= ~bit;
    if (effect->kind == HS_EFFECT_SET)
        value = (uintptr_t)(intptr_t)effect->value;
    else if (effect->kind == HS_EFFECT_ADD && from_known)
        value += (uintptr_t)(intptr_t)effect->value;
    else if (effect->kind == HS_EFFECT_OR && from_known)
        value |= (uintptr_t)(intptr_t)effect->value;
    else if (effect->kind != HS_EFFECT_LOAD || !load_address(builder, effect, &value))
        return;
    constants->known |= bit;
    constants->values[effect->reg] = value;
    mark_pointer(builder, value, false);
}

// Code that no instruction before it leads to, if calls before it never come back. A function starts there if the
// return address is pushed before anything is called; what is not called directly is found so.
struct function_bounds_block {
    uintptr_t start;  // past padding; 0: control comes from before
    uintptr_t reach;  // the farthest target of a branch in this function
    bool has_room;    // it has lowered the stack pointer
    bool after_end;   // nothing but padding since the last path has ended
    bool after_call;  // the same since a call
    bool behind_call; // control may come back from the call before `start`
    bool in_slot;     // the next instruction is in a delay slot
};

static bool lowers(const struct hs_instruction *instruction, unsigned sp)
{
    for (unsigned i = 0; i < instruction->count && i < HS_EFFECTS_MAX; i++) {
        const struct hs_effect *effect = &instruction->effects[i];
        if (effect->reg == sp &&
            ((effect->kind == HS_EFFECT_ADD && effect->value < 0) || effect->kind == HS_EFFECT_SUB_REGISTER))
            return true;
    }
    return false;
}

static bool stores(const struct hs_instruction *instruction, unsigned reg)
{
    for (unsigned i = 0; i < instruction->count && i < HS_EFFECTS_MAX; i++)
        if (instruction->effects[i].kind == HS_EFFECT_STORE && instruction->effects[i].reg == reg)
            return true;
    return false;
}

// The first instruction of a block. No branch crosses or reaches the start of a function.
static void start_block(const struct builder *builder, struct function_bounds_block *block, uintptr_t address)
{
    // If arguments are pushed for calls, a push alone gives no information.
    bool may_start = builder->decoder->ra != HS_DECODER_NO_REGISTER || (block->after_end && address % 16 == 0);
    if (may_start && block->reach < address && looks_like_start(builder, address))
        mark(builder, address);
    if (is_marked(builder, address))
        block->reach = 0;
    block->start = block->after_end || block->reach < address ? address : 0;
    block->behind_call = !block->after_end;
    block->has_room = block->after_end = block->after_call = false;
}

static void follow_block(const struct builder *builder, struct function_bounds_block *block, uintptr_t address,
                         const struct hs_instruction *instruction)
{
    const struct hs_decoder *decoder = builder->decoder;
    if (block->in_slot) {
        block->in_slot = false;
        return;
    }
    if ((block->after_end || block->after_call) && (instruction->flow != HS_FLOW_NEXT || instruction->count))
        start_block(builder, block, address);
    block->has_room = block->has_room || lowers(instruction, decoder->sp);
    bool pushes = stores(instruction, decoder->ra) && lowers(instruction, decoder->sp);
    if (block->start && (pushes || (!block->behind_call && block->has_room && stores(instruction, decoder->ra))))
        mark(builder, block->start);
    if (instruction->flow == HS_FLOW_BRANCH && instruction->target > block->reach)
        block->reach = instruction->target;
    block->after_end = block->after_end || hs_instruction__ends_path(instruction);
    block->after_call = block->after_call || instruction->flow == HS_FLOW_CALL;
    block->in_slot = instruction->delay_slot;
    if (block->after_end || block->after_call)
        block->start = 0;
}

static void follow_constants(const struct builder *builder, struct constants *constants,
                             const struct hs_instruction *instruction)
{
    uint32_t kept = UINT32_MAX;
    for (unsigned i = 0; i < instruction->count && i < HS_EFFECTS_MAX; i++)
        follow_constant(builder, constants, &instruction->effects[i]);
    if (instruction->flow == HS_FLOW_CALL)
        kept = (uint32_t)builder->decoder->callee_saved;
    else if (hs_instruction__ends_path(instruction))
        kept = 0;
    constants->known &= constants->kept;
    constants->kept = kept;
    if (instruction->delay_slot)
        return;
    constants->known &= kept;
    constants->kept = UINT32_MAX;
}

static bool is_data(const struct builder *builder, uintptr_t address)
{
    size_t bit = hs_decoder_units(builder->decoder, address - builder->code.address);
    return builder->data && builder->data[bit / 8] >> bit % 8 & 1;
}

static void note_data(const struct builder *builder, const struct hs_instruction *instruction)
{
    for (uintptr_t offset = 0; builder->data && offset < instruction->data_size;
         offset += builder->decoder->alignment) {
        uintptr_t address = instruction->data + offset;
        size_t bit = hs_decoder_units(builder->decoder, address - builder->code.address);
        if (!in_text(&builder->code, address) || is_data(builder, address))
            return;
        builder->data[bit / 8] |= (uint8_t)(1u << bit % 8);
    }
}

// Marks where no function starts: within an instruction, where control continues from the instruction before, and at an
// instruction that depends on a comparison before it. Control does not continue after a delay slot.
static void mark_passed(const struct builder *builder, uintptr_t address, const struct hs_instruction *instruction,
                        bool in_slot)
{
    uintptr_t unit = builder->decoder->alignment, next = address + instruction->size;
    for (uintptr_t within = address + unit; within < next; within += unit)
        mark_in(builder, builder->passed, within);
    bool goes_on = instruction->flow == HS_FLOW_NEXT || instruction->flow == HS_FLOW_BRANCH;
    if (instruction->conditional)
        mark_in(builder, builder->passed, address);
    else if (goes_on && !in_slot &&
             (!hs_instruction__is_padding(instruction) || is_in(builder, builder->passed, address)))
        mark_in(builder, builder->passed, next);
}

static void mark_in_instruction(const struct builder *builder, uintptr_t address,
                                const struct hs_instruction *instruction, struct constants *constants,
                                struct function_bounds_block *block)
{
    if (builder->passed)
        mark_passed(builder, address, instruction, block->in_slot);
    if (instruction->flow == HS_FLOW_CALL && instruction->target)
        mark_called(builder, instruction->target);
    if (instruction->flow == HS_FLOW_NEXT && instruction->target)
        mark_pointer(builder, instruction->target, builder->decoder->alignment == 1);
    else if (instruction->count == 1 && instruction->effects[0].kind == HS_EFFECT_SET)
        mark_pointer(builder, (uintptr_t)(intptr_t)instruction->effects[0].value, false);
    // Calls from elsewhere are not seen in a window: functions are known there by how they start.
    if (builder->decoder->ra != HS_DECODER_NO_REGISTER || is_window(builder))
        follow_block(builder, block, address, instruction);
    if (!builder->data && !builder->gp)
        return;
    note_data(builder, instruction);
    follow_constants(builder, constants, instruction);
}

// Whether the code at `at` is of the decoder's kind, where there are two. That holds up to *judged. `from`: where the
// data before it ends, which says nothing.
static bool is_likely(const struct builder *builder, const uint8_t *from, const uint8_t *at, const uint8_t **judged)
{
    enum { STRETCH = 64 };
    const uint8_t *end = builder->code.bytes + builder->code.size;
    size_t before = (size_t)(at - from), after = (size_t)(end - at);
    *judged = after > STRETCH ? at + STRETCH : end;
    if (!builder->decoder->is_likely)
        return true;
    before = before < STRETCH ? before - before % 4 : STRETCH;
    return builder->decoder->is_likely(at - before, before + (after < 2 * STRETCH ? after : 2 * STRETCH));
}

// Calls, blocks, and where there is data in code or a table of addresses, the pointers in it. Returns whether most of
// the code is of the other kind, where there are two.
static bool mark_in_code(const struct builder *builder)
{
    const struct hs_decoder *decoder = builder->decoder;
    const uint8_t *start = builder->code.bytes, *end = start + builder->code.size;
    uint32_t context = 0;
    struct constants constants = {.kept = UINT32_MAX};
    struct function_bounds_block block = {.after_end = !is_window(builder)};
    int others = 0;
    for (const uint8_t *at = start, *from = start, *judged = start; at < end;) {
        uintptr_t address = builder->code.address + (uintptr_t)(at - start);
        struct hs_instruction instruction;
        bool data = is_data(builder, address), judge = !data && at >= judged,
             unlikely = judge && !is_likely(builder, from, at, &judged);
        others += unlikely - (judge && !unlikely);
        if (data || unlikely || !decoder->decode(at, (size_t)(end - at), address, &context, &instruction) ||
            !instruction.size) {
            at = unlikely ? judged : at + decoder->alignment;
            from = data ? at : from;
            context = 0;
            // The end of a stretch of the other kind is an arbitrary place, possibly within a function.
            block = (struct function_bounds_block){.after_end = !unlikely};
            continue;
        }
        mark_in_instruction(builder, address, &instruction, &constants, &block);
        at += instruction.size;
    }
    return others > 0;
}

#ifdef HS_ARCH_HAS_EXIDX // ARM
// Functions in assembler among code of the other kind may be recognisable only by the zero words before them.
// Elsewhere, such words are more often constants.
static void mark_behind_zeros(const struct builder *builder)
{
    enum { ALIGNMENT = 16 };
    const struct text *code = &builder->code;
    for (size_t offset = ALIGNMENT - code->address % ALIGNMENT; offset < code->size; offset += ALIGNMENT) {
        const uint8_t *at = code->bytes + offset;
        uintptr_t address = code->address + offset;
        if (!(at[-1] | at[-2] | at[-3] | at[-4]) && (at[0] | at[1]) && !is_data(builder, address - 4))
            mark(builder, address);
    }
}
#else
static void mark_behind_zeros(const struct builder *builder)
{
    (void)builder;
}
#endif

// The words of the module's data that lead to what looks like a function: tables of methods and callbacks.
static void mark_pointers(const struct builder *builder, const struct hs_module *module)
{
    struct hs_range data;
    for (size_t i = 0; hs_module_data(module, i, &data); i++) {
        struct hs_stack_memory memory = {0, 0}; // the program may have made its data unreadable
        const uintptr_t size = HS_WORD_SIZE;
        uintptr_t at = ((uintptr_t)data.start + size - 1) & ~(size - 1), end = (uintptr_t)data.end, word;
        for (; at < end && end - at >= size; at += size)
            if (hs_stack_memory_read(&memory, at, &word))
                mark_pointer(builder, word, false);
    }
}

#ifdef HS_ARCH_HAS_EXIDX
static void mark_index(const struct builder *builder, const struct hs_module *module)
{
    struct hs_exidx exidx;
    uint32_t from = (uint32_t)builder->text->address, start;
    if (!hs_exidx_of_module(module, &exidx))
        return;
    uint32_t i = hs_exidx_entries_before(&exidx, from);
    for (i -= i > 0; hs_exidx_start(&exidx, i, &start) && (start < from || in_text(builder->text, start)); i++)
        mark(builder, start);
}
#endif

// The part of the text that the section table calls code: beside it there may be constants and names. Where there is
// data in code as well, only .text: stubs may be of the other kind of code.
static bool find_code(struct builder *builder, const struct hs_module *module, uintptr_t bias)
{
    const struct text *text = builder->text, *whole = builder->whole;
    struct hs_range file;
    struct hs_file_section section;
    uintptr_t first = UINTPTR_MAX, end = 0, text_end = text->address + text->size;
    if (!hs_module_file(module, &file))
        return false;
    for (size_t i = 0; hs_file_code_section(file, &i, &section);) {
        uintptr_t start = bias + section.address, size = (uintptr_t)(section.bytes.end - section.bytes.start);
        if (!in_text(whole, start) || size > whole->size - (start - whole->address))
            continue;
        first = start < first ? start : first;
        end = start + size > end ? start + size : end;
    }
    if (first >= end)
        return false;
    first = first > text->address ? first : text->address;
    end = end < text_end ? end : text_end;
    builder->code = (struct text){text->bytes + (first - text->address), first, first < end ? end - first : 0};
    return true;
}

#ifdef HS_ARCH_GLOBAL_POINTER
static uintptr_t find_global_pointer(const struct hs_module *module, uintptr_t bias)
{
    struct hs_file_section section;
    if (!hs_module_file_section(module, ".got", &section) || !section.loaded)
        return 0;
    return bias + section.address + HS_ARCH_GLOBAL_POINTER_FROM_GOT;
}
#endif

static void map_places(struct builder *builder, size_t size)
{
    uint8_t *memory = hs_system_memory(3 * size);
    if (!memory)
        return;
    builder->pointed = memory;
    builder->passed = builder->pointed + size;
    if (builder->decoder->data_in_code)
        builder->data = builder->passed + size;
}

// `found`: the code's bounds are known.
static void build_from_code(struct builder *builder, const struct hs_module *module, bool found)
{
    size_t size = hs_decoder_units(builder->decoder, builder->text->size) / 8 + 1;
    if (found)
        map_places(builder, size);
    if (!is_window(builder))
        mark_pointers(builder, module);
    if (mark_in_code(builder))
        mark_behind_zeros(builder);
    if (!builder->pointed)
        return;
    for (size_t i = 0; i < size; i++)
        builder->bits[i] |= builder->pointed[i] & (uint8_t)~builder->passed[i];
    hs_system_munmap(builder->pointed, 3 * size);
}

static void build(struct builder *builder, const struct hs_module *module)
{
    uintptr_t bias, start = builder->text->address;
    size_t size = builder->text->size;
    bool found = false;
    if (hs_module_bias(module, &bias)) {
        builder->bias = bias;
        hs_symbol_places_each(module, bias, start, size, mark, builder);
        mark(builder, hs_module_entry(module));
        found = find_code(builder, module, bias);
#ifdef HS_ARCH_GLOBAL_POINTER
        builder->gp = find_global_pointer(module, bias);
#endif
    }
    hs_eh_frame_each_start(module, start, size, mark, builder);
#ifdef HS_ARCH_HAS_PDR
    hs_pdr_each_start(module, start, size, mark, builder);
#endif
#ifdef HS_ARCH_HAS_EXIDX
    mark_index(builder, module);
#endif
    build_from_code(builder, module, found);
}

// --- looking up

// A look for the ends of a function, which goes from one index to the next.
struct search {
    const struct hs_module *module;
    const struct text *text;
    struct function_bounds_key key;
    const struct function_bounds_index *index;
    size_t start, size; // what it is asked about: its margins know less
    bool failed;        // there was no room for one
};

static uint8_t *build_bits(const struct search *search)
{
    const struct function_bounds_key *key = &search->key;
    const struct text *whole = search->text;
    struct text text = {whole->bytes + key->first, whole->address + key->first, key->size};
    size_t bytes = (hs_decoder_units(key->decoder, key->size) + 8) / 8;
    struct builder builder = {.decoder = key->decoder, .text = &text, .code = text, .whole = whole};
    builder.bits = hs_system_memory(bytes);
    if (builder.bits)
        build(&builder, search->module);
    return builder.bits;
}

static bool is_of(const struct function_bounds_index *index, const struct function_bounds_key *key)
{
    return index->key.file == key->file && index->key.text_size == key->text_size && index->key.first == key->first &&
           index->key.decoder == key->decoder;
}

// Finds the index, or builds it in a free place. NULL: there is none.
static const struct function_bounds_index *find_index(const struct search *search)
{
    const struct function_bounds_key *key = &search->key;
    uint32_t place = ((uint32_t)((uintptr_t)key->file / HS_PAGE_SIZE + key->first / WINDOW) * 0x9e3779b1u) >> 16;
    for (uint32_t probe = 0; probe < INDEX_PROBES; probe++) {
        struct function_bounds_index *index = *HS_FAR_AT(indexes) + (place + probe) % INDEXES;
        uint32_t state = INDEX_FREE;
        if (atomic_compare_exchange_strong_explicit(&index->state, &state, INDEX_BUSY, memory_order_acquire,
                                                    memory_order_acquire)) {
            index->key = *key;
            index->bits = build_bits(search);
            state = index->bits ? INDEX_COMPLETE : INDEX_FREE;
            atomic_store_explicit(&index->state, state, memory_order_release);
            return state == INDEX_COMPLETE ? index : NULL;
        }
        if (state == INDEX_COMPLETE && is_of(index, key))
            return index;
    }
    return NULL;
}

// Windows lap over at both ends: code around one calls into it.
static void move_to(struct search *search, size_t place)
{
    struct function_bounds_key *key = &search->key;
    search->size = key->size = key->text_size;
    if (key->size > WHOLE_TEXT_MAX) {
        search->start = place - place % WINDOW;
        search->size = WINDOW;
        key->first = search->start ? search->start - MARGIN : 0;
        key->size -= key->first;
        if (key->size > WINDOW + 2 * MARGIN)
            key->size = WINDOW + 2 * MARGIN;
    }
    search->index = find_index(search);
    search->failed = !search->index;
}

static bool is_start(struct search *search, size_t place)
{
    if (place - search->start >= search->size)
        move_to(search, place);
    if (search->failed)
        return true;
    size_t bit = hs_decoder_units(search->key.decoder, place - search->key.first);
    return search->index->bits[bit / 8] >> bit % 8 & 1;
}

// The function around `address`; where its ends are not known, everything that may belong to it.
static void set_bounds(struct search *search, uintptr_t address, struct hs_code *code)
{
    const struct text *text = search->text;
    size_t unit = search->key.decoder->alignment, all = text->size - text->size % unit;
    size_t at = (address - text->address) / unit * unit, half = HS_ANALYSIS_CODE_MAX / 2;
    size_t lowest = at > half ? at - half : 0, highest = all - at > half ? at + half : all;
    size_t first = at, last = at + unit;
    while (first > lowest && !is_start(search, first))
        first -= unit;
    while (last < highest && !is_start(search, last))
        last += unit;
    code->bytes = text->bytes + first;
    code->size = last == all ? text->size - first : last - first;
    code->address = text->address + first;
}

bool hs_function_bounds(const struct hs_decoder *decoder, const struct hs_module *module, uintptr_t address,
                        struct hs_code *code)
{
    struct text text;
    struct hs_range file;
    // Without the file (none may be opened any more) the code itself still tells a lot.
    if (!hs_module_file(module, &file))
        file.start = file.end = (const uint8_t *)module->start;
    if (!find_text(module, &file, address, &text))
        return false;
    struct search search = {.module = module, .text = &text, .key = {file.start, text.size, 0, 0, decoder}};
    set_bounds(&search, address, code);
    return !search.failed;
}

bool hs_function_is_entry(const struct hs_module *module, uintptr_t start, uintptr_t address)
{
    enum { ENTRY_CODE = 128 };
    uintptr_t entry = hs_module_entry(module);
    return entry && (start == entry || address - entry < ENTRY_CODE);
}

#ifdef HS_ARCH_HEADER
void hs_function_bounds_forget(void)
{
    for (int i = 0; i < INDEXES; i++)
        atomic_store_explicit(&(*HS_FAR_AT(indexes))[i].state, INDEX_FREE, memory_order_relaxed);
}
#endif
