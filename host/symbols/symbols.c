// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/symbols.h"

#include "host/base/array.h"
#include "host/symbols/demangle.h"
#include "host/symbols/session.h"
#include "host/symbols/source_map.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIPS_SLOT 4 // bytes of the instruction between a call and the place to which it returns

struct hs_symbols *hs_symbols__create(const struct hs_symbols_options *options)
{
    struct hs_symbols *self = calloc(1, sizeof(*self));
    if (!self)
        return NULL;
    if (options)
        self->options = *options;
    self->strings = hs_strings__create();
    if (self->strings)
        return self;
    hs_symbols__destroy(self);
    return NULL;
}

void hs_symbols__destroy(struct hs_symbols *self)
{
    if (!self)
        return;
    for (size_t i = 0; i < self->module_count; i++) {
        hs_module_symbols__close(self->modules[i]);
        free(self->modules[i]);
    }
    free(self->modules);
    free(self->answers);
    hs_hash_index__free(&self->index);
    hs_strings__destroy(self->strings);
    free(self);
}

uint64_t hs_symbols__bytes(const struct hs_symbols *self)
{
    uint64_t bytes = hs_strings__size(self->strings) + self->answer_room * sizeof(*self->answers);
    for (size_t i = 0; i < self->module_count; i++)
        bytes += self->modules[i]->bytes;
    return bytes;
}

int hs_symbols__add_module(struct hs_symbols *self, const struct hs_symbols_module *module)
{
    if (!HS_ARRAY_HAS_ROOM(self->modules, self->module_count, self->module_capacity))
        return -ENOMEM;
    struct hs_module_symbols *added = calloc(1, sizeof(*added));
    if (!added)
        return -ENOMEM;
    added->description = *module;
    added->options = &self->options;
    self->modules[self->module_count] = added;
    return (int)self->module_count++;
}

static bool is_same_module(const struct hs_symbols_module *one, const struct hs_symbols_module *other)
{
    return one->start == other->start && one->end == other->end && one->layout == other->layout &&
           one->inode == other->inode && one->recorded_ns == other->recorded_ns &&
           one->bias_of_bytes == other->bias_of_bytes && one->mapped_offset == other->mapped_offset &&
           !strcmp(one->path, other->path);
}

// What was missing is looked for again.
static bool has_all_lines(const struct hs_module_symbols *open)
{
    return open->state == HS_SYMBOLS_FOUND && open->dwarf && !open->lacks_memory &&
           !hs_dwarf__lacks_units(open->dwarf) && !open->packed;
}

void hs_symbols__hand_over(struct hs_symbols *from, struct hs_symbols *to)
{
    for (size_t i = 0; i < from->module_count && i < to->module_count; i++) {
        struct hs_module_symbols *open = from->modules[i], *other = to->modules[i];
        if (!has_all_lines(open) || other->state != HS_SYMBOLS_UNUSED ||
            !is_same_module(&open->description, &other->description) ||
            !hs_module_symbols__take_description(open, other))
            continue;
        to->modules[i] = open;
        from->modules[i] = other;
    }
}

// ---- the cache -----------------------------------------------------------------------------------------------------

struct answer_key {
    const struct hs_answer *answers;
    uint64_t address;
    int module;
};

static bool is_wanted(const void *key, uint32_t number)
{
    const struct answer_key *wanted = key;
    const struct hs_answer *answer = &wanted->answers[number];
    return answer->address == wanted->address && answer->module == wanted->module;
}

static int keep_answer(struct hs_symbols *self, uint64_t hash, const struct hs_answer *answer)
{
    if (!HS_ARRAY_HAS_ROOM(self->answers, self->answer_count, self->answer_room) ||
        hs_hash_index__add(&self->index, hash, (uint32_t)self->answer_count))
        return -ENOMEM;
    self->answers[self->answer_count++] = *answer;
    return 0;
}

static const struct hs_frames *known_answer(const struct hs_symbols *self, int key, uint64_t address, uint64_t hash)
{
    const struct answer_key wanted = {self->answers, address, key};
    const uint32_t number = hs_hash_index__find(&self->index, hash, is_wanted, &wanted);
    return number != HS_HASH_NONE ? self->answers[number].frames : NULL;
}

// ---- names ---------------------------------------------------------------------------------------------------------

static const char *readable_name(struct hs_symbols *self, const char *linked, enum hs_name_source source)
{
    char *name = hs_demangle(linked, source);
    const char *kept = name ? hs_strings__add(self->strings, name) : NULL;
    free(name);
    return kept;
}

// A function is known by its name and by `where`; "" or NULL: by its name alone. NULL: out of memory.
static const char *identity_of(struct hs_symbols *self, const char *function, const char *where)
{
    if (!where || !*where)
        return function;
    size_t length = strlen(function) + 1, size = length + strlen(where);
    char *text = malloc(size + 1);
    if (!text)
        return NULL;
    memcpy(text, function, length);
    memcpy(text + length, where, size - length + 1);
    const char *kept = hs_strings__add_bytes(self->strings, text, size);
    free(text);
    return kept;
}

static const char *short_module_name(const char *path)
{
    if (strstr(path, "vdso") && !strchr(path, '/'))
        return "[vdso]";
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static const char *offset_name(struct hs_symbols *self, const struct hs_module_symbols *module, uint64_t address)
{
    char *text = NULL;
    // The vdso has no file to look an offset up in, so its offset counts from where it is mapped.
    const char *name = short_module_name(module->description.path);
    uint64_t base = *name == '[' ? module->description.start : module->description.bias;
    if (asprintf(&text, "%s+0x%" PRIx64, *name ? name : "[main program]", address - base) < 0)
        return NULL;
    const char *kept = hs_strings__add(self->strings, text);
    free(text);
    return kept;
}

static const char *address_name(struct hs_symbols *self, uint64_t address)
{
    char text[32];
    snprintf(text, sizeof(text), "0x%" PRIx64, address);
    return hs_strings__add(self->strings, text);
}

static struct hs_frames *new_frames(struct hs_symbols *self, uint32_t count)
{
    struct hs_frames *frames = hs_strings__memory(self->strings, sizeof(*frames) + count * sizeof(struct hs_frame));
    if (!frames)
        return NULL;
    frames->frame = (struct hs_frame *)(frames + 1);
    frames->count = count;
    return frames;
}

static struct hs_frames *single_frame(struct hs_symbols *self, const char *name, enum hs_frame_kind kind,
                                      const char *module, uint64_t address)
{
    struct hs_frames *frames = new_frames(self, 1);
    const char *identity = name ? identity_of(self, name, module) : NULL;
    if (!frames || !identity)
        return NULL;
    *(struct hs_frame *)(frames + 1) = (struct hs_frame){.function = name,
                                                         .kind = kind,
                                                         .role = hs_frame_role(name, module),
                                                         .module = module,
                                                         .identity = identity,
                                                         .address = address};
    return frames;
}

// A return address is that of the instruction behind the call, which may belong to another line or function: what is
// looked up lies within the call. On MIPS an instruction of any line and function stands between the two.
unsigned hs_call_length(uint16_t machine)
{
    return machine == EM_MIPS ? MIPS_SLOT + 1 : 1;
}

static const char *outermost(const struct hs_dwarf_frame *frames, uint32_t count)
{
    return count && frames[count - 1].function ? frames[count - 1].function : "";
}

// Fills `found`. The root of a goroutine is entered by a return to its second instruction, with no call before it: on
// MIPS, the place of the call is in another function then.
static uint32_t find_frames(const struct hs_symbols *self, struct hs_module_symbols *module, uint64_t address,
                            struct hs_dwarf_frame *found)
{
    const uint64_t behind = address - module->description.bias, call = behind - hs_call_length(self->options.machine);
    uint32_t count = hs_module_symbols__frames(module, call, found);
    if (self->options.machine != EM_MIPS)
        return count;
    struct hs_dwarf_frame slot[HS_DWARF_MOST_FRAMES];
    uint32_t slots = hs_module_symbols__frames(module, behind - MIPS_SLOT, slot);
    if (!slots || !strcmp(outermost(slot, slots), outermost(found, count)))
        return count;
    memcpy(found, slot, slots * sizeof(*slot));
    return slots;
}

static const char *source_file(struct hs_symbols *self, const struct hs_dwarf_frame *found)
{
    char path[4096];
    char mapped[4096];
    const struct hs_symbols_options *options = &self->options;
    if (!found->file || !*found->file)
        return NULL;
    bool complete = found->file[0] == '/' || !found->directory || found->directory[0] != '/';
    snprintf(path, sizeof(path), "%s%s%s", complete ? "" : found->directory, complete ? "" : "/", found->file);
    return hs_strings__add(self->strings, hs_source_map__apply(options->source_maps, options->source_map_count, path,
                                                               mapped, sizeof(mapped)));
}

static struct hs_frames *module_frames(struct hs_symbols *self, struct hs_module_symbols *module, uint64_t address)
{
    struct hs_dwarf_frame found[HS_DWARF_MOST_FRAMES];
    const char *path = module->description.path;
    hs_module_symbols__open(module);
    uint32_t count = find_frames(self, module, address, found);
    if (!count)
        return single_frame(self, offset_name(self, module, address), HS_FRAME_OFFSET, path, address);
    struct hs_frames *frames = new_frames(self, count);
    if (!frames)
        return NULL;
    struct hs_frame *frame = (struct hs_frame *)(frames + 1);
    for (uint32_t i = 0; i < count; i++) {
        bool named = found[i].function && *found[i].function;
        frame[i].function =
            named ? readable_name(self, found[i].function, found[i].source) : offset_name(self, module, address);
        frame[i].linked = named ? hs_strings__add(self->strings, found[i].function) : NULL;
        frame[i].kind = named ? HS_FRAME_NAMED : HS_FRAME_OFFSET;
        frame[i].file = source_file(self, &found[i]);
        frame[i].line = found[i].line;
        frame[i].inlined = i + 1 < count;
        frame[i].module = path;
        frame[i].address = address;
        if (!frame[i].function)
            return NULL;
        frame[i].identity = identity_of(self, frame[i].function, named && found[i].declared ? found[i].declared : path);
        if (!frame[i].identity)
            return NULL;
        frame[i].role = hs_frame_role(frame[i].function, path);
    }
    return frames;
}

const struct hs_frames *hs_symbols__resolve(struct hs_symbols *self, int module, uint64_t return_address)
{
    if (self->options.machine == EM_ARM)
        return_address &= ~(uint64_t)1; // says Thumb, and is no part of an address
    bool known = module >= 0 && (size_t)module < self->module_count;
    int key = known ? module : -1;
    const uint64_t hash = hs_hash__pair(return_address, (unsigned)key);
    const struct hs_frames *frames = known_answer(self, key, return_address, hash);
    if (frames)
        return frames;
    frames = known ? module_frames(self, self->modules[module], return_address)
                   : single_frame(self, address_name(self, return_address), HS_FRAME_ADDRESS, "", return_address);
    const struct hs_answer answer = {return_address, key, frames};
    return frames && !keep_answer(self, hash, &answer) ? frames : NULL;
}

const struct hs_frames *hs_symbols__named(struct hs_symbols *self, const struct hs_frames *from)
{
    struct hs_frames *frames = new_frames(self, from->count);
    if (!frames)
        return NULL;
    struct hs_frame *frame = (struct hs_frame *)(frames + 1);
    for (uint32_t i = 0; i < from->count; i++) {
        frame[i] = from->frame[i];
        frame[i].function = readable_name(self, from->frame[i].function, false);
        frame[i].linked = hs_strings__add(self->strings, from->frame[i].function);
        frame[i].file = from->frame[i].file ? hs_strings__add(self->strings, from->frame[i].file) : NULL;
        frame[i].module = hs_strings__add(self->strings, from->frame[i].module);
        if (!frame[i].function || !frame[i].module)
            return NULL;
        const char *where = frame[i].file ? frame[i].file : frame[i].module;
        if (from->frame[i].identity)
            where = hs_frame__declared(&from->frame[i]);
        frame[i].identity = identity_of(self, frame[i].function, where);
        if (!frame[i].identity)
            return NULL;
        frame[i].role = hs_frame_role(frame[i].function, frame[i].module);
    }
    return frames;
}

// Keys that no module has.
static int key_of_made(uint32_t function)
{
    return -2 - (int)function;
}

const struct hs_frames *hs_symbols__known_made(struct hs_symbols *self, uint32_t function, uint64_t return_address)
{
    const int key = key_of_made(function);
    return known_answer(self, key, return_address, hs_hash__pair(return_address, (unsigned)key));
}

// What it is called says nothing about its role: any language may have a function `malloc`.
const struct hs_frames *hs_symbols__add_made(struct hs_symbols *self, uint32_t function, const struct hs_frame *from)
{
    char mapped[4096];
    const struct hs_symbols_options *options = &self->options;
    const int key = key_of_made(function);
    struct hs_frames *frames = new_frames(self, 1);
    if (!frames)
        return NULL;
    struct hs_frame *frame = (struct hs_frame *)(frames + 1);
    *frame = *from;
    frame->function = readable_name(self, from->function, false);
    frame->linked = hs_strings__add(self->strings, from->function);
    frame->module = HS_RUN_TIME_CODE;
    if (from->file)
        frame->file =
            hs_strings__add(self->strings, hs_source_map__apply(options->source_maps, options->source_map_count,
                                                                from->file, mapped, sizeof(mapped)));
    frame->identity =
        frame->function ? identity_of(self, frame->function, frame->file ? frame->file : frame->module) : NULL;
    const struct hs_answer answer = {from->address, key, frames};
    const uint64_t hash = hs_hash__pair(from->address, (unsigned)key);
    return frame->identity && !keep_answer(self, hash, &answer) ? frames : NULL;
}

// ---- what is wrong -------------------------------------------------------------------------------------------------

size_t hs_symbols__module_count(const struct hs_symbols *self)
{
    return self->module_count;
}

enum hs_symbols_state hs_symbols__state(const struct hs_symbols *self, size_t module)
{
    return self->modules[module]->state;
}
