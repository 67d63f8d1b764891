// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/trace_symbols.h"

#include "format/trace_format.h"
#include "host/symbols/given_names.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGEST_COPY (1ull << 32)

struct hs_module_copy {
    const struct hs_store *store;
    const char *path;
};

// ---- embedded copies -----------------------------------------------------------------------------------------------

static int write_all(int fd, const uint8_t *bytes, uint64_t length)
{
    while (length) {
        ssize_t written = write(fd, bytes, length);
        if (written <= 0)
            return -EIO;
        bytes += written;
        length -= (uint64_t)written;
    }
    return 0;
}

static int copy_to_memory_file(const struct hs_store *store, size_t index, uint64_t length)
{
    uint8_t *bytes = length <= LARGEST_COPY ? malloc(length + 1) : NULL;
    if (!bytes)
        return -ENOMEM;
    int result = hs_store__read_embedded(store, index, bytes, NULL);
    int fd = result ? result : memfd_create("heapsonde-module", MFD_CLOEXEC);
    if (fd >= 0 && write_all(fd, bytes, length)) {
        close(fd);
        fd = -EIO;
    }
    free(bytes);
    return fd;
}

static int open_copy(void *context)
{
    const struct hs_module_copy *copy = context;
    size_t count = 0;
    const struct hs_embedded *embedded = hs_store__embedded(copy->store, &count);
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(embedded[i].name, copy->path))
            return copy_to_memory_file(copy->store, i, embedded[i].length);
    }
    return -ENOENT;
}

// ---- places that are no code ---------------------------------------------------------------------------------------

enum { CUTS = 9, PLACE_NOTHING = 1, PLACE_GUESS, PLACE_CUT };

static const struct hs_frame nothing = {.function = "[unknown]", .module = "", .kind = HS_FRAME_ADDRESS};
static const struct hs_frame guess = {.function = "[guessed caller]", .module = ""};
static const struct hs_frame cuts[CUTS] = {{.function = "[cut: complete]", .module = ""},
                                           {.function = "[cut: no unwind information]", .module = ""},
                                           {.function = "[cut: damaged unwind information]", .module = ""},
                                           {.function = "[cut: broken stack]", .module = ""},
                                           {.function = "[cut: too deep]", .module = ""},
                                           {.function = "[cut: copied part of the stack too small]", .module = ""},
                                           {.function = "[cut: file is missing]", .module = ""},
                                           {.function = "[cut: too much work]", .module = ""},
                                           {.function = "[cut: unknown reason]", .module = ""}};
static const struct hs_frames nothing_frames = {&nothing, 1}, guess_frames = {&guess, 1};
static const struct hs_frames cut_frames[CUTS] = {{&cuts[0], 1}, {&cuts[1], 1}, {&cuts[2], 1},
                                                  {&cuts[3], 1}, {&cuts[4], 1}, {&cuts[5], 1},
                                                  {&cuts[6], 1}, {&cuts[7], 1}, {&cuts[8], 1}};

static int add_marks(struct hs_places *places)
{
    bool good = hs_places__add(places, &(struct hs_place){.frames = &nothing_frames, .module = -1}, false) &&
                hs_places__add(places, &(struct hs_place){.frames = &guess_frames, .module = -1}, false);
    for (size_t i = 0; good && i < CUTS; i++)
        good = hs_places__add(places, &(struct hs_place){.frames = &cut_frames[i], .module = -1}, false);
    return good ? 0 : -ENOMEM;
}

// ---- the session ---------------------------------------------------------------------------------------------------

// The maps are read when its first address is met: later than it was loaded.
static uint64_t loaded_at(const struct hs_store *store, const struct hs_module *module)
{
    return hs_store__summary(store)->start_realtime_ns ? hs_store__latest_realtime_ns(store, module->load_time) : 0;
}

static int add_modules(struct hs_trace_symbols *self)
{
    for (size_t i = 0; i < self->module_count; i++) {
        const struct hs_module *module = &self->modules[i];
        self->copies[i] = (struct hs_module_copy){self->store, module->path};
        struct hs_symbols_module description = {.start = module->start,
                                                .end = module->end,
                                                .bias = module->bias,
                                                .path = module->path,
                                                .build_id = module->build_id,
                                                .build_id_length = module->build_id_length,
                                                .layout = module->layout,
                                                .inode = module->inode,
                                                .recorded_ns = loaded_at(self->store, module),
                                                .open_copy = open_copy,
                                                .context = &self->copies[i]};
        int result = hs_symbols__add_module(self->symbols, &description);
        if (result < 0)
            return result;
    }
    return 0;
}

static int add_described(struct hs_trace_symbols *self, const struct hs_symbols_module *modules)
{
    int result = 0;
    for (size_t i = 0; result >= 0 && i < self->module_count; i++)
        result = hs_symbols__add_module(self->symbols, &modules[i]);
    return result < 0 ? result : 0;
}

static int set_frames(void *self, uint32_t node, const struct hs_frames *frames)
{
    return hs_trace_symbols__set(self, node, frames);
}

struct hs_trace_symbols *hs_trace_symbols__create(const struct hs_store *store,
                                                  const struct hs_symbols_options *options)
{
    return hs_trace_symbols__create_with(store, options, NULL);
}

struct hs_trace_symbols *hs_trace_symbols__create_with(const struct hs_store *store,
                                                       const struct hs_symbols_options *options,
                                                       const struct hs_symbols_module *modules)
{
    struct hs_trace_symbols *self = calloc(1, sizeof(*self));
    if (!self)
        return NULL;
    struct hs_symbols_options *used = &self->options;
    *used = options ? *options : (struct hs_symbols_options){0};
    used->machine = hs_store__summary(store)->machine;
    used->pointer_size = hs_store__summary(store)->pointer_size;
    used->byte_order = hs_store__summary(store)->byte_order;
    self->jit = (struct hs_jit_code){.store = store, .options = used};
    pthread_mutex_init(&self->lock, NULL);
    self->store = store;
    self->modules = hs_store__modules(store, &self->module_count);
    self->nodes = hs_store__nodes(store, &self->node_count);
    self->symbols = hs_symbols__create(used);
    self->place = calloc(self->node_count + 1, sizeof(*self->place));
    self->copies = calloc(self->module_count + 1, sizeof(*self->copies));
    if (self->symbols && self->place && self->copies && !hs_places__init(&self->places) && !add_marks(&self->places) &&
        !(modules ? add_described(self, modules) : add_modules(self)) &&
        !hs_given_names__read(store, self->symbols, set_frames, self))
        return self;
    hs_trace_symbols__destroy(self);
    return NULL;
}

struct hs_trace_symbols *hs_trace_symbols__create_made(const struct hs_store *store, const struct hs_node *nodes,
                                                       const struct hs_frames *frames, size_t count)
{
    struct hs_trace_symbols *self = calloc(1, sizeof(*self));
    if (!self)
        return NULL;
    pthread_mutex_init(&self->lock, NULL);
    self->store = store;
    self->nodes = nodes;
    self->node_count = count;
    self->place = calloc(count + 1, sizeof(*self->place));
    bool made = self->place && !hs_places__init(&self->places);
    for (size_t node = 0; made && node < count; node++) {
        const struct hs_place place = {.frames = &frames[node], .until = HS_NEVER, .module = -1};
        self->place[node] = hs_places__add(&self->places, &place, false);
        made = self->place[node];
    }
    if (made)
        return self;
    hs_trace_symbols__destroy(self);
    return NULL;
}

int hs_trace_symbols__follow(struct hs_trace_symbols *self, const struct hs_node *nodes, size_t count)
{
    const size_t known = self->follows ? self->node_count : 0;
    if (count > self->room) {
        const size_t room = 2 * count;
        uint32_t *grown = reallocarray(self->place, room, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        self->place = grown;
        self->room = room;
    }
    if (count > known)
        memset(self->place + known, 0, (count - known) * sizeof(*self->place));
    self->follows = true;
    self->nodes = nodes;
    self->node_count = count;
    return 0;
}

void hs_trace_symbols__destroy(struct hs_trace_symbols *self)
{
    if (!self)
        return;
    hs_symbols__destroy(self->symbols);
    hs_jit_code__free(&self->jit);
    pthread_mutex_destroy(&self->lock);
    free(self->place);
    hs_places__free(&self->places);
    free(self->copies);
    free(self);
}

void hs_trace_symbols__hand_over(struct hs_trace_symbols *from, struct hs_trace_symbols *to)
{
    if (pthread_mutex_trylock(&to->lock))
        return;
    hs_symbols__hand_over(from->symbols, to->symbols);
    pthread_mutex_unlock(&to->lock);
}

const char *hs_cut_reason(uint64_t reason)
{
    static const char *const reasons[] = {"complete",
                                          "no unwind information",
                                          "damaged unwind information",
                                          "broken stack",
                                          "too deep",
                                          "copied part of the stack too small",
                                          "file is missing",
                                          "too much work"};
    return reason < sizeof(reasons) / sizeof(reasons[0]) ? reasons[reason] : "unknown reason";
}

// Under the lock. Which function was at an address may depend on the time: such a place is of this node alone.
static uint32_t add_place(struct hs_trace_symbols *self, uint32_t node, uint64_t time)
{
    struct hs_place place = {.pc = self->nodes[node].pc};
    const struct hs_module *module = hs_store__module_during(self->store, place.pc, time, &place.from, &place.until);
    bool depends = false;
    place.module = module ? (int)(module - self->modules) : -1;
    if (hs_jit_code__may_be_in(module))
        place.frames = hs_jit_code__frames(&self->jit, self->symbols, self->follows ? 0 : node, place.pc, &depends);
    return hs_places__add(&self->places, &place, !depends);
}

static uint32_t place_of_code(struct hs_trace_symbols *self, uint32_t node)
{
    const uint64_t pc = self->nodes[node].pc, time = hs_store__node_time(self->store, node);
    uint32_t number = hs_places__find(&self->places, pc, time);
    if (number)
        return number;
    pthread_mutex_lock(&self->lock);
    number = hs_places__find(&self->places, pc, time);
    if (!number)
        number = add_place(self, node, time);
    pthread_mutex_unlock(&self->lock);
    return number ? number : PLACE_NOTHING;
}

uint32_t hs_trace_symbols__find_place(struct hs_trace_symbols *self, uint32_t node)
{
    uint32_t number;
    if (!node || node >= self->node_count)
        return PLACE_NOTHING;
    if (hs_trace_symbols__is_cut(self, node))
        number = PLACE_CUT + (self->nodes[node].pc < CUTS ? (uint32_t)self->nodes[node].pc : CUTS - 1);
    else
        number = hs_trace_symbols__is_guess(self, node) ? PLACE_GUESS : place_of_code(self, node);
    __atomic_store_n(&self->place[node], number, __ATOMIC_RELEASE);
    return number;
}

const struct hs_frames *hs_trace_symbols__find_frames(struct hs_trace_symbols *self, struct hs_place *place)
{
    pthread_mutex_lock(&self->lock);
    const struct hs_frames *frames = hs_symbols__resolve(self->symbols, place->module, place->pc);
    pthread_mutex_unlock(&self->lock);
    frames = frames ? frames : &nothing_frames;
    __atomic_store_n(&place->frames, frames, __ATOMIC_RELEASE);
    return frames;
}

int hs_trace_symbols__set(struct hs_trace_symbols *self, uint32_t node, const struct hs_frames *frames)
{
    if (!node || node >= self->node_count)
        return 0;
    const struct hs_place place = {
        .pc = self->nodes[node].pc, .frames = frames, .module = hs_trace_symbols__module(self, node)};
    pthread_mutex_lock(&self->lock);
    const uint32_t number = hs_places__add(&self->places, &place, false);
    pthread_mutex_unlock(&self->lock);
    if (number)
        __atomic_store_n(&self->place[node], number, __ATOMIC_RELEASE);
    return number ? 0 : -ENOMEM;
}

pthread_mutex_t *hs_trace_symbols__lock(struct hs_trace_symbols *self)
{
    return &self->lock;
}

struct hs_symbols *hs_trace_symbols__session(struct hs_trace_symbols *self)
{
    return self->symbols;
}

bool hs_trace_symbols__run_time_problem(struct hs_trace_symbols *self, char *line, size_t size)
{
    pthread_mutex_lock(&self->lock);
    bool found = hs_jit_code__problem(&self->jit, line, size);
    pthread_mutex_unlock(&self->lock);
    return found;
}

void hs_trace_symbols__print_problems(struct hs_trace_symbols *self, FILE *out, size_t most)
{
    char line[4 * 4096]; // a path, and the same in other places
    size_t count = 0;
    if (hs_trace_symbols__run_time_problem(self, line, sizeof(line)))
        fprintf(out, "%s\n", line);
    for (size_t i = 0; i < hs_symbols__module_count(self->symbols); i++) {
        if (!hs_symbols__problem(self->symbols, i, line, sizeof(line)))
            continue;
        for (char *at = line; *at; at++)
            *at = (unsigned char)*at < 0x20 || *at == 0x7f ? '?' : *at;
        if (count++ < most)
            fprintf(out, "%s\n", line);
    }
    if (count > most)
        fprintf(out, "... and %zu more files without symbols\n", count - most);
}

uint64_t hs_trace_symbols__bytes(struct hs_trace_symbols *self)
{
    if (pthread_mutex_trylock(&self->lock))
        return 0;
    const uint64_t bytes = hs_symbols__bytes(self->symbols) + self->node_count * sizeof(*self->place);
    pthread_mutex_unlock(&self->lock);
    return bytes;
}
