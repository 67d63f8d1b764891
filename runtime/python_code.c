// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/python_code.h"

#include "arch/system.h"
#include "format/meta.h"
#include "runtime/journal.h"
#include "runtime/memory.h"
#include "runtime/stacks.h"
#include "unwind/stack_memory.h"

#include <stdatomic.h>
#include <sys/mman.h>

#define W sizeof(void *)

enum {
    NAME_ROOM = 512,
    FILE_ROOM = 2048,
    LINES_MOST = 28 << 10, // of a table: a record has to fit into a slot
    CODE_MOST = 1 << 24,   // units; more is no code object
    FIRST_SLOTS = 1024,
    LEAST_RANGE = 1 << 20
};
#define RANGE ((size_t)(W == 8 ? 1u << 30 : 1u << 25))

struct python_code_slot {
    uint64_t hash; // 0: free
    uintptr_t start;
};

// Under the stack table's lock.
static struct {
    struct python_code_slot *slots; // open addressing
    uint32_t count, room;
    uintptr_t next; // of the range
    char name[NAME_ROOM], file[FILE_ROOM];
} functions;

bool hs_python_code__begin(void)
{
    for (size_t size = RANGE; size >= LEAST_RANGE; size /= 2) {
        long range = hs_system_mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (hs_system_failed(range))
            continue;
        hs_stacks__made = (struct hs_made_range){(uintptr_t)range, size};
        functions.next = (uintptr_t)range + 16;
        return true;
    }
    return false;
}

void hs_python_code__reset(void)
{
    if (functions.slots)
        hs_memory__unmap(functions.slots, functions.room * sizeof *functions.slots);
    functions.slots = NULL;
    functions.count = functions.room = 0;
    functions.next = hs_stacks__made.start + 16;
}

// ---- texts ---------------------------------------------------------------------------------------------------------

struct python_text {
    uintptr_t at;
    size_t length; // characters
    uint32_t size; // bytes of each
};

// Bits of a text's state, in the order of the compiler's bit fields.
static uint32_t state_bits(uint32_t state, unsigned from, unsigned count)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    from = 32 - from - count;
#endif
    return state >> from & ((1u << count) - 1);
}

static bool find_text(const struct hs_python_layout *layout, uintptr_t object, struct python_text *text)
{
    if (object % W || !hs_memory_readable(object, layout->other_text))
        return false;
    uint32_t state = hs_python_number(object + 4 * W);
    *text = (struct python_text){object + (state_bits(state, 6, 1) ? layout->ascii_text : layout->other_text),
                                 hs_python_word(object + 2 * W), state_bits(state, 2, 3)};
    bool is_compact = state_bits(state, 5, 1);
    return is_compact && (text->size == 1 || text->size == 2 || text->size == 4) && text->length < CODE_MOST &&
           (!text->length || hs_memory_readable(text->at, text->length * text->size));
}

static uint32_t character_at(const struct python_text *text, size_t index)
{
    uintptr_t at = text->at + index * text->size;
    return text->size == 1   ? hs_python_byte(at)
           : text->size == 2 ? *(const volatile uint16_t *)at
                             : hs_python_number(at);
}

// UTF-8. Returns the bytes, 0 if there is not room for all.
static size_t put_character(char *to, size_t room, uint32_t character)
{
    size_t length = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    if (length > room)
        return 0;
    for (size_t i = length; i-- > 1; character >>= 6)
        to[i] = (char)(0x80 | (character & 0x3f));
    to[0] = (char)(length == 1 ? character : character | (0xf00u >> length & 0xff));
    return length;
}

static size_t copy_text(const struct python_text *text, char *to, size_t room)
{
    size_t length = 0, more = 1;
    for (size_t i = 0; i < text->length && more; i++)
        length += more = put_character(to + length, room - length, character_at(text, i));
    return length;
}

// ---- what a function says of itself --------------------------------------------------------------------------------

struct python_contents {
    struct hs_meta_code record;
    uint64_t hash;
};

static bool is_code(uintptr_t code)
{
    uintptr_t type = hs_python_word(code + W);
    if (type % W || !hs_memory_readable(type, 4 * W))
        return false;
    uintptr_t name = hs_python_word(type + 3 * W);
    return hs_memory_readable(name, 5) && __builtin_memcmp((const char *)name, "code", 5) == 0;
}

static uint64_t hash_of(uint64_t hash, const void *data, size_t length)
{
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ ((const uint8_t *)data)[i]) * UINT64_C(0x100000001b3);
    return (hash ^ length) * UINT64_C(0x9e3779b97f4a7c15);
}

// The bytes of a bytes object.
static bool find_bytes(const struct hs_python_layout *layout, uintptr_t object, struct hs_bytes *bytes)
{
    if (object % W || !hs_memory_readable(object, layout->bytes_text))
        return false;
    *bytes = (struct hs_bytes){(const uint8_t *)(object + layout->bytes_text), hs_python_word(object + 2 * W)};
    return bytes->length < CODE_MOST && (!bytes->length || hs_memory_readable((uintptr_t)bytes->data, bytes->length));
}

static bool find_units(const struct hs_python_layout *layout, const struct hs_python_code *code, uint32_t *units)
{
    struct hs_bytes bytes;
    uintptr_t count = hs_python_word(code->code + 2 * W);
    if (layout->run == HS_PYTHON_ONE_FRAME) {
        if (!find_bytes(layout, hs_python_word(code->code + layout->code_bytes), &bytes))
            return false;
        count = bytes.length / 2;
    }
    *units = (uint32_t)count;
    return count < CODE_MOST;
}

static bool read_contents(const struct hs_python_layout *layout, struct hs_python_code *code,
                          struct python_contents *contents)
{
    struct python_text name, file;
    struct hs_bytes lines;
    if (!is_code(code->code) || !find_units(layout, code, &code->units) || !find_text(layout, code->name, &name) ||
        !find_text(layout, hs_python_word(code->code + layout->code_file), &file) ||
        !find_bytes(layout, code->lines, &lines))
        return false;
    if (lines.length > LINES_MOST)
        lines.length = LINES_MOST;
    contents->record = (struct hs_meta_code){
        .first_line = code->first_line,
        .kind = layout->lines,
        .function = {(const uint8_t *)functions.name, copy_text(&name, functions.name, NAME_ROOM)},
        .file = {(const uint8_t *)functions.file, copy_text(&file, functions.file, FILE_ROOM)},
        .lines = lines};
    uint64_t hash = code->first_line | (uint64_t)code->units << 32;
    hash = hash_of(hash, functions.name, contents->record.function.length);
    hash = hash_of(hash, functions.file, contents->record.file.length);
    contents->hash = hash_of(hash, lines.data, lines.length) | 1;
    return true;
}

// ---- addresses -----------------------------------------------------------------------------------------------------

static struct python_code_slot *slot_of(struct python_code_slot *slots, uint32_t room, uint64_t hash)
{
    uint32_t at = (uint32_t)(hash >> 32);
    while (slots[at % room].hash && slots[at % room].hash != hash)
        at++;
    return &slots[at % room];
}

static bool grow(void)
{
    uint32_t room = functions.room ? 2 * functions.room : FIRST_SLOTS;
    struct python_code_slot *slots = hs_memory__map(room * sizeof *slots);
    if (!slots)
        return false;
    for (uint32_t i = 0; i < functions.room; i++)
        if (functions.slots[i].hash)
            *slot_of(slots, room, functions.slots[i].hash) = functions.slots[i];
    // A process that is forked in between has none, or the new ones.
    struct python_code_slot *old = functions.slots;
    uint32_t old_room = functions.room;
    functions.slots = NULL;
    atomic_signal_fence(memory_order_seq_cst);
    functions.room = room;
    atomic_signal_fence(memory_order_seq_cst);
    functions.slots = slots;
    atomic_signal_fence(memory_order_seq_cst);
    if (old)
        hs_memory__unmap(old, old_room * sizeof *old);
    return true;
}

// The record comes before the first node: a process may be killed in between.
static bool add(struct python_code_slot *slot, const struct hs_python_code *code, struct python_contents *contents)
{
    uintptr_t left = hs_stacks__made.start + hs_stacks__made.size - functions.next;
    if (code->units + 2 > left)
        return false;
    contents->record.start = functions.next;
    contents->record.end = functions.next + code->units + 2;
    if (!hs_journal__code(&contents->record))
        return false;
    *slot = (struct python_code_slot){contents->hash, functions.next};
    functions.next += code->units + 2;
    functions.count++;
    return true;
}

static bool name(const struct hs_python_layout *layout, struct hs_python_code *code)
{
    struct python_contents contents;
    if (!read_contents(layout, code, &contents) || (functions.count * 2 >= functions.room && !grow()))
        return false;
    struct python_code_slot *slot = slot_of(functions.slots, functions.room, contents.hash);
    if (!slot->hash && !add(slot, code, &contents))
        return false;
    code->start = slot->start;
    return true;
}

bool hs_python_code__name(const struct hs_python_layout *layout, struct hs_python_code *code, uint32_t tid)
{
    if (!hs_stacks__lock(tid))
        return false;
    bool good = name(layout, code);
    hs_stacks__unlock();
    return good;
}
