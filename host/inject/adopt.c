// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocators within a program whose dynamic linker has loaded the recording library.
#include "host/inject/hooks.h"
#include "host/inject/inject.h"
#include "host/inject/steer.h"
#include "host/inject/trap_signal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct adopting {
    const struct hs_inject_request *request;
    struct hs_inject_result *result;
    struct hs_error *error;
    struct hs_inject_target target;
    struct hs_inject_modules modules;
    struct hs_attach_table table;
    struct hs_hooks hooks;
    struct hs_region region; // of which only the patches are used: nothing ends this recording but the program
};

enum { AT_ENTRY_NUMBER = 9, MOST_ENTRIES = 64 };

// Where the dynamic linker jumps to when all libraries are loaded and have been initialised; 0: not known.
static uint64_t entry_of(pid_t pid)
{
    char path[64];
    uintptr_t pairs[2 * MOST_ENTRIES], entry = 0;
    snprintf(path, sizeof path, "/proc/%d/auxv", (int)pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, pairs, sizeof pairs);
    if (file >= 0)
        close(file);
    for (ssize_t i = 0; (i + 2) * (ssize_t)sizeof *pairs <= length; i += 2)
        if (pairs[i] == AT_ENTRY_NUMBER)
            entry = pairs[i + 1];
    return entry;
}

static int find_table(struct adopting *adopting)
{
    for (size_t i = 0; i < adopting->modules.count; i++) {
        const struct hs_inject_module *module = &adopting->modules.each[i];
        uint64_t at = module->role == HS_INJECT_MODULE_OURS ? hs_inject_modules__value(module, HS_ATTACH_SYMBOL) : 0;
        if (at && !hs_inject_target__read(&adopting->target, at, &adopting->table, sizeof adopting->table) &&
            adopting->table.magic == HS_ATTACH_MAGIC && adopting->table.adopted)
            return 0;
    }
    return hs_error__set(adopting->error, ENOENT, "the recording library was not loaded, or is of another version");
}

static int write_all(struct adopting *adopting)
{
    const struct hs_inject_target *target = &adopting->target;
    char names[HS_ATTACH_NAMES] = "";
    snprintf(names, sizeof names, "%s", adopting->result->allocators);
    int failed = hs_hooks__write(&adopting->hooks);
    if (!failed)
        failed = hs_inject_target__write(target, (uintptr_t)adopting->table.adopted_names, names, sizeof names);
    if (!failed)
        failed = hs_region__write_patches(&adopting->region, target);
    adopting->result->patches = adopting->region.patch_count;
    return failed ? hs_inject_target__not_written(target, failed, adopting->error) : 0;
}

static int adopt(struct adopting *adopting)
{
    struct hs_inject_target *target = &adopting->target;
    struct hs_hooks *hooks = &adopting->hooks;
    const struct hs_trap_signal signal = hs_trap_signal__of(target);
    uint64_t entry = entry_of(target->pid);
    int failed = entry ? hs_inject_steer__run_to(target, entry, adopting->error)
                       : hs_error__set(adopting->error, ENOENT, "its first instruction was not found");
    if (!failed)
        failed = hs_trap_signal__put_back(target, &signal, adopting->error);
    if (failed == -ENOTSUP) // no place for the call: it is recorded all the same
        failed = 0;
    if (!failed)
        failed = hs_inject_target__read_mappings(target, adopting->error);
    if (!failed)
        failed = hs_inject_modules__open(&adopting->modules, target, adopting->error);
    if (!failed)
        failed = find_table(adopting);
    if (!failed)
        failed = hs_families__find(&hooks->sets, &adopting->modules, true, &adopting->request->named, adopting->error);
    if (failed)
        return failed;
    hooks->target = target;
    hooks->modules = &adopting->modules;
    hooks->region = &adopting->region;
    hooks->adopted = (uintptr_t)adopting->table.adopted;
    hooks->result = adopting->result;
    failed = hs_hooks__prepare(hooks, adopting->error);
    return failed ? failed : write_all(adopting);
}

static void release(struct adopting *adopting)
{
    hs_hooks__free(&adopting->hooks);
    hs_inject_modules__close(&adopting->modules);
    hs_inject_target__close(&adopting->target);
    free(adopting);
}

int hs_inject__adopt(const struct hs_inject_request *request, struct hs_inject_result *result, bool *executed,
                     struct hs_error *error)
{
    const bool is_asked_for = request->named.prefixes || request->named.places;
    *result = (struct hs_inject_result){0};
    *executed = false;
    struct adopting *adopting = calloc(1, sizeof *adopting);
    if (!adopting)
        return hs_error__set(error, ENOMEM, "out of memory");
    *adopting = (struct adopting){.request = request, .result = result, .error = error, .target = {.memory = -1}};
    int failed = hs_inject_steer__start(&adopting->target, request->pid, executed, error);
    if (!failed && *executed)
        failed = adopt(adopting);
    if (failed) // -ESRCH: it has ended, or goes on with another program
        kill(request->pid, is_asked_for && failed != -ESRCH ? SIGKILL : SIGCONT);
    release(adopting);
    return failed;
}

int hs_inject__adopt_joined(const struct hs_inject_request *request, struct hs_inject_result *result,
                            struct hs_error *error)
{
    bool executed = false;
    *result = (struct hs_inject_result){0};
    struct adopting *adopting = calloc(1, sizeof *adopting);
    if (!adopting)
        return hs_error__set(error, ENOMEM, "out of memory");
    *adopting = (struct adopting){.request = request, .result = result, .error = error, .target = {.memory = -1}};
    int failed = hs_inject_steer__hold(&adopting->target, request->pid, &executed, error);
    adopting->target.is_joined = true;
    if (!failed)
        failed = executed ? adopt(adopting) : hs_error__set(error, ESRCH, "process %d has ended", (int)request->pid);
    hs_inject_target__keep(&adopting->target);
    release(adopting);
    return failed;
}

bool hs_inject__has_allocators(const char *path)
{
    const struct hs_inject_arch *arch = hs_inject_arch__native();
    const struct hs_named_allocators none = {NULL, NULL};
    struct hs_inject_module module = {.role = HS_INJECT_MODULE_PROGRAM, .path = (char *)(uintptr_t)path};
    const struct hs_inject_modules modules = {.each = &module, .count = 1};
    struct hs_allocator_sets sets = {0};
    if (!arch || hs_elf_file__open(&module.file, path, arch->machine))
        return false;
    bool found =
        hs_families__are_imported(&module) || (!hs_families__find(&sets, &modules, true, &none, NULL) && sets.count);
    hs_families__free(&sets);
    hs_elf_file__close(&module.file);
    return found;
}

static bool names(const struct hs_elf_file *file, uint32_t type, const char *name)
{
    struct hs_elf_symbols symbols;
    if (!hs_elf_file__symbols(file, type, &symbols))
        return false;
    for (size_t i = 0; i < symbols.count; i++)
        if (!strcmp(hs_elf_symbols__name(&symbols, i), name))
            return true;
    return false;
}

enum hs_inject_program hs_inject__program(const char *path)
{
    const struct hs_inject_arch *arch = hs_inject_arch__native();
    struct hs_elf_file file;
    if (!arch || hs_elf_file__open(&file, path, arch->machine))
        return HS_INJECT_PROGRAM_OTHER;
    bool traces = names(&file, SHT_DYNSYM, "ptrace") || names(&file, SHT_SYMTAB, "ptrace");
    hs_elf_file__close(&file);
    return traces ? HS_INJECT_PROGRAM_TRACES : HS_INJECT_PROGRAM_USUAL;
}
