// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/unseen.h"

#include "host/report/text.h"
#include "host/symbols/elf_probe.h"
#include "host/symbols/own_allocator.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct unseen_search {
    const struct hs_subject *subject;
    struct hs_unseen *found;
    size_t count;
};

// Whether the file at the module's path is the one that was loaded.
static bool is_same_file(const struct hs_module *module)
{
    struct hs_probe probe;
    if (module->path[0] != '/' || hs_probe__file(&probe, module->path))
        return false;
    if (module->build_id_length)
        return probe.build_id_length == module->build_id_length &&
               !memcmp(probe.build_id, module->build_id, module->build_id_length);
    return module->layout && probe.layout == module->layout;
}

// The C++ libraries' operators call malloc.
static bool is_of_language(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    return !strncmp(name, "libstdc++.so", 12) || !strncmp(name, "libc++.so", 9) || !strncmp(name, "libc++abi.so", 12);
}

static bool is_in_stacks(const struct unseen_search *search, const struct hs_module *module, uint64_t address,
                         uint64_t size)
{
    size_t count;
    const struct hs_node *nodes = hs_store__nodes(search->subject->store, &count);
    const uint64_t start = module->bias + address;
    for (size_t i = 1; i < count; i++) {
        if (nodes[i].pc - start - 1 < size) // a return address
            return true;
    }
    return false;
}

bool hs_unseen__is_recorded(const struct hs_store *store, const char *function)
{
    const char *names = hs_store__info(store, "allocators");
    size_t length = strlen(function);
    for (const char *at = names; at && (at = strstr(at, function)); at += length)
        if ((at == names || at[-1] == ' ') && (at[length] == ',' || !at[length]))
            return true;
    return false;
}

struct hs_unseen_option hs_unseen__option(const char *function)
{
    struct hs_unseen_option option;
    const char *end = strstr(function, "malloc");
    const int length = end ? (int)(end - function) : 0;
    snprintf(option.text, sizeof option.text, "--allocator-symbols %.*s", length ? length : 4,
             length ? function : "none");
    return option;
}

static void add(struct unseen_search *search, const struct hs_module *module, const char *function, bool may_pass)
{
    if (search->count < HS_UNSEEN_MAX)
        search->found[search->count++] = (struct hs_unseen){module->path, function, may_pass};
}

// No dynamic linker took the recorder into such a program: it was put before the program's own malloc.
static bool is_static(const char *path)
{
    struct hs_probe probe;
    return !hs_probe__file(&probe, path) && probe.kind == HS_PROBE_ELF && !probe.has_interpreter;
}

// Libraries that are allocators are called by the recorder.
static void look_at(struct unseen_search *search, const struct hs_module *module, bool is_program)
{
    struct hs_own_functions own;
    hs_own_functions(module->path, &own);
    const bool is_malloc = own.allocator && !strcmp(own.allocator, "malloc");
    if (own.allocator && (!is_program || hs_unseen__is_recorded(search->subject->store, own.allocator)))
        return;
    if (is_malloc && is_static(module->path))
        return;
    if (own.allocator && !(is_malloc && is_in_stacks(search, module, own.allocator_address, own.allocator_size)))
        add(search, module, own.allocator, is_malloc);
    else if (own.new_name && !hs_unseen__is_recorded(search->subject->store, own.new_name) &&
             !is_in_stacks(search, module, own.new_address, own.new_size))
        add(search, module, own.new_name, true);
}

static bool was_looked_at(const struct hs_module *modules, size_t number)
{
    for (size_t i = 0; i < number; i++) {
        if (!strcmp(modules[i].path, modules[number].path))
            return true;
    }
    return false;
}

// A trace without allocations has no modules. The file is the one that ran if nothing was written to it since.
static void look_at_program(struct unseen_search *search, const char *program)
{
    const struct hs_module module = {.path = program};
    const struct hs_summary *summary = hs_store__summary(search->subject->store);
    struct stat status;
    if (program[0] != '/' || stat(program, &status) ||
        (uint64_t)status.st_ctim.tv_sec > summary->start_realtime_ns / 1000000000u)
        return;
    look_at(search, &module, true);
}

size_t hs_unseen__find(const struct hs_subject *subject, struct hs_unseen found[HS_UNSEEN_MAX])
{
    enum { MODULES_MAX = 512 };
    struct unseen_search search = {.subject = subject, .found = found};
    size_t count;
    const struct hs_module *modules = hs_store__modules(subject->store, &count);
    const char *program = hs_program_name(subject->store);
    if (!count)
        look_at_program(&search, program);
    for (size_t i = 0; i < count && i < MODULES_MAX; i++) {
        if (!was_looked_at(modules, i) && is_same_file(&modules[i]) && !is_of_language(modules[i].path))
            look_at(&search, &modules[i], !strcmp(modules[i].path, program));
    }
    return search.count;
}

static bool has_toggles(const struct hs_store *store)
{
    size_t count, i = 0;
    const struct hs_side_event *events = hs_store__side_events(store, &count);
    while (i < count && events[i].kind != HS_SIDE_TOGGLE)
        i++;
    return i < count;
}

static bool lacks_events(const struct hs_summary *summary)
{
    static const enum hs_drop reasons[] = {HS_DROP_NESTED,      HS_DROP_BUFFER, HS_DROP_MEMORY, HS_DROP_STOPPED,
                                           HS_DROP_SMALL_STACK, HS_DROP_LINK,   HS_DROP_META,   HS_DROP_MODULES};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (summary->dropped[reasons[i]])
            return true;
    }
    return summary->state == HS_STATE_STOPPED || summary->damaged_chunks || summary->capped_numbers;
}

static bool is_emulated(const struct hs_store *store)
{
    const char *executed = hs_store__info(store, "executed");
    return executed && *executed && strcmp(executed, hs_program_name(store)) != 0;
}

// Whether the trace has everything that the process allocated while it grew. What was mapped before an attach or a fork
// may become resident later, and the kernel counts what an emulator itself needs.
static bool tells_all(const struct hs_store *store)
{
    const struct hs_summary *summary = hs_store__summary(store);
    return !hs_store__info(store, "attached") && !hs_store__info(store, "incomplete") && !is_emulated(store) &&
           !summary->is_aggregate && !summary->forked_at_ns && !lacks_events(summary) && !has_toggles(store);
}

// With its variables, which have no place in the file, if the file is here.
static uint64_t module_bytes(const struct hs_module *module)
{
    const uint64_t mapped = module->end - module->start;
    const uint64_t loaded = module->path[0] == '/' ? hs_loaded_size(module->path) : 0;
    return mapped > loaded ? mapped : loaded;
}

// Of all files that were loaded; without modules (there was nothing to record) of the program. UINT64_MAX: not known.
static uint64_t loaded_bytes(const struct hs_store *store)
{
    size_t count;
    uint64_t bytes = 0;
    const struct hs_module *modules = hs_store__modules(store, &count);
    for (size_t i = 0; i < count; i++)
        bytes += module_bytes(&modules[i]);
    const char *program = hs_program_name(store);
    if (!count && program[0] == '/')
        bytes = hs_loaded_size(program);
    return bytes ? bytes : UINT64_MAX;
}

struct mapped_bytes {
    uint64_t files, others;
};

static struct mapped_bytes mapped_bytes(const struct hs_store *store)
{
    struct mapped_bytes bytes = {0};
    size_t count;
    const struct hs_columns *columns = hs_store__columns(store);
    const struct hs_mapping *mappings = hs_store__mappings(store, &count);
    for (uint64_t row = 0; row < columns->rows; row++) {
        const uint8_t kind = hs_row__kind(columns, row);
        if (kind != HS_KIND_MMAP && kind != HS_KIND_MREMAP)
            continue;
        const uint32_t detail = hs_row__detail(columns, row);
        const bool of_file =
            detail < count && mappings[detail].fd >= 0 && !(mappings[detail].map_flags & MAP_ANONYMOUS);
        *(of_file ? &bytes.files : &bytes.others) += hs_row__size(columns, row);
    }
    return bytes;
}

static uint64_t heap_bytes(const struct hs_store *store)
{
    size_t count;
    uint64_t bytes = hs_store__summary(store)->allocated_usable;
    const struct hs_culled *culled = hs_store__culled(store, &count);
    for (size_t i = 0; i < count; i++) {
        if (culled[i].kind == HS_CULLED_SHORT && culled[i].domain == HS_DOMAIN_HEAP)
            bytes += culled[i].usable;
    }
    return bytes;
}

uint64_t hs_unseen__memory(const struct hs_store *store)
{
    // What stacks of threads and the recorder itself may have taken, the least that is worth a word, and how many times
    // the heap it has to be.
    enum { OF_THREAD = 1 << 20, OF_NODE = 128, OF_RECORDER = 4 << 20, LEAST = 8 << 20, TIMES = 8 };
    size_t threads, nodes;
    hs_store__threads(store, &threads);
    hs_store__nodes(store, &nodes);
    const uint64_t grown = hs_store__summary(store)->resident_growth;
    uint64_t known = OF_RECORDER + (uint64_t)threads * OF_THREAD + (uint64_t)nodes * OF_NODE;
    const uint64_t heap = heap_bytes(store);
    if (grown < known + LEAST || heap > grown / TIMES || !tells_all(store))
        return 0;
    const uint64_t loaded = loaded_bytes(store);
    if (loaded > grown)
        return 0;
    known += heap + loaded + mapped_bytes(store).files;
    const uint64_t rest = grown > known ? grown - known : 0;
    return rest < LEAST || heap > rest / TIMES ? 0 : rest;
}

struct hs_unseen_advice hs_unseen__advice(const struct hs_store *store, uint64_t bytes)
{
    struct hs_unseen_advice advice;
    const bool maps = mapped_bytes(store).others >= bytes / 2;
    snprintf(
        advice.text, sizeof advice.text,
        "has needed at least %s that no recorded allocation explains: it may have its own allocator; %s",
        hs_text__bytes(bytes).text,
        maps ? "the mappings that it made are in the trace ('heapsonde ask TRACE maps', and the page's view of maps)"
             : "on AMD64 and AArch64, record it with --allocator-symbols or --allocator-at, or let it use the "
               "system's malloc");
    return advice;
}

void hs_report__unseen_json(struct hs_json *json, const struct hs_subject *subject)
{
    struct hs_unseen found[HS_UNSEEN_MAX];
    const size_t count = hs_unseen__find(subject, found);
    hs_json__open_array(json, "unseen");
    for (size_t i = 0; i < count; i++) {
        hs_json__open_object(json, NULL);
        hs_json__string(json, "module", found[i].module);
        hs_json__string(json, "function", found[i].function);
        hs_json__close_object(json);
    }
    hs_json__close_array(json);
    hs_json__number(json, "unseen_bytes", subject->restriction ? 0 : hs_unseen__memory(subject->store));
}
