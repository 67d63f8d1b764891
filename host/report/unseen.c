// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/unseen.h"

#include "host/symbols/elf_probe.h"
#include "host/symbols/own_allocator.h"

#include <stdio.h>
#include <string.h>
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
}
