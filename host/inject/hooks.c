// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/hooks.h"

#include "host/inject/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKED_AT = 4096, MOST_LOOKED_AT = 1 << 20, UNIT = 16, ALLOCATOR = 1, NEEDED = 2, LATER = 4, AT_END = 8 };

// Functions of the library with the same name take their place. sbrk is done by brk. LATER: libc itself calls it before
// there are thread-local variables. AT_END: a C library's allocator itself calls it when a thread ends.
static const struct {
    const char *name;
    unsigned how;
} functions[] = {
    {"malloc", ALLOCATOR | NEEDED},
    {"free", ALLOCATOR | NEEDED | AT_END},
    {"calloc", ALLOCATOR},
    {"realloc", ALLOCATOR},
    {"posix_memalign", ALLOCATOR},
    {"aligned_alloc", ALLOCATOR},
    {"memalign", ALLOCATOR},
    {"valloc", ALLOCATOR},
    {"pvalloc", ALLOCATOR},
    {"free_sized", ALLOCATOR},
    {"free_aligned_sized", ALLOCATOR},
    {"mmap", 0},
    {"mmap64", 0},
    {"munmap", 0},
    {"mremap", 0},
    {"brk", LATER},
    {"fork", 0},
    {"_Fork", 0},
    {"_exit", 0},
    {"_Exit", 0},
    {"quick_exit", 0},
    {"execve", 0},
    {"fexecve", 0},
    {"unshare", 0},
    {"setns", 0},
    {"setuid", 0},
    {"seteuid", 0},
    {"setreuid", 0},
    {"setresuid", 0},
    {"setgid", 0},
    {"setegid", 0},
    {"setregid", 0},
    {"setresgid", 0},
    {"setgroups", 0},
    {"syscall", 0},
    {"prctl", 0},
    {"dlclose", 0},
};

enum { FUNCTIONS = sizeof functions / sizeof *functions };

const struct hs_inject_module *hs_hooks__allocator(const struct hs_inject_modules *modules, uint64_t *malloc_at)
{
    struct hs_function function = hs_inject_modules__find(modules, NULL, "malloc");
    *malloc_at = function.address;
    return function.module;
}

// ---- the allocator's own calls -------------------------------------------------------------------------------------

static bool is_glibc(const struct hs_hooks *hooks)
{
    return hs_inject_modules__find(hooks->modules, hooks->allocator, "__libc_memalign").module;
}

// glibc frees what a thread has kept when the thread ends, by its own `free`. No other function lies between these, as
// they are one object file. Their calls of other functions are made while one of them is recorded, and pass.
static void find_own_code(const struct hs_hooks *hooks, const struct hs_function *found, struct hs_island *island)
{
    island->own = island->own_end = 0;
    if (!is_glibc(hooks))
        return;
    for (size_t i = 0; i < FUNCTIONS; i++) {
        const struct hs_function *function = &found[i];
        if (!(functions[i].how & ALLOCATOR) || !function->module)
            continue;
        if (!island->own || function->address < island->own)
            island->own = function->address;
        if (function->address + function->size > island->own_end)
            island->own_end = function->address + function->size;
    }
}

// ---- areas ---------------------------------------------------------------------------------------------------------

int hs_hooks__add_area(struct hs_hooks *hooks, uint64_t at)
{
    uint8_t *bytes = calloc(1, HS_AREA_SIZE);
    if (!bytes)
        return -ENOMEM;
    hooks->areas[hooks->area_count++] = (struct hs_area){.at = at, .bytes = bytes};
    return 0;
}

int hs_hooks__write(const struct hs_hooks *hooks)
{
    int failed = 0;
    for (size_t i = 0; i < hooks->area_count && !failed; i++)
        if (hooks->areas[i].used)
            failed =
                hs_inject_target__write(hooks->target, hooks->areas[i].at, hooks->areas[i].bytes, hooks->areas[i].used);
    return failed;
}

void hs_hooks__free(struct hs_hooks *hooks)
{
    for (size_t i = 0; i < hooks->area_count; i++)
        free(hooks->areas[i].bytes);
    hooks->area_count = 0;
    hs_families__free(&hooks->sets);
}

// Whether all code and data of the function's module can be reached from the area, and the other way round. Where
// segments of addresses bound that, a module may lie in two of them.
static bool is_near(const struct hs_hooks *hooks, const struct hs_area *area, const struct hs_function *function)
{
    const struct hs_inject_arch *arch = hooks->target->arch;
    const struct hs_inject_module *module = function->module;
    uint64_t first = area->at, last = area->at + HS_AREA_SIZE;
    if (arch->segment_bits)
        return hs_inject_arch__is_segment(arch, first, function->address) &&
               hs_inject_arch__is_segment(arch, last - 1, function->address);
    if (area->module == module && arch->has_far_patch)
        return true;
    for (size_t i = 0; i < module->file.segment_count; i++) {
        const ElfW(Phdr) *segment = &module->file.segments[i];
        if (segment->p_type != PT_LOAD)
            continue;
        uint64_t start = module->bias + segment->p_vaddr, end = start + segment->p_memsz;
        first = start < first ? start : first;
        last = end > last ? end : last;
    }
    return last - first < arch->reach;
}

static struct hs_area *area_for(struct hs_hooks *hooks, const struct hs_function *function)
{
    for (size_t i = 0; i < hooks->area_count; i++)
        if (is_near(hooks, &hooks->areas[i], function))
            return &hooks->areas[i];
    uint64_t at = 0;
    if (hooks->area_count == HS_AREAS ||
        hs_place__map(hooks->target, function->address, true, HS_AREA_SIZE, HS_AREA_SIZE, &at, NULL) || !at)
        return NULL;
    if (hs_hooks__add_area(hooks, at))
        return NULL;
    hooks->areas[hooks->area_count - 1].module = function->module;
    return &hooks->areas[hooks->area_count - 1];
}

static size_t whole_units(size_t length)
{
    return (length + UNIT - 1) & ~(size_t)(UNIT - 1);
}

static void use(struct hs_area *area, size_t length)
{
    area->used += whole_units(length);
}

static bool has_room(const struct hs_hooks *hooks, const struct hs_area *area)
{
    return hooks->region->patch_count < HS_REGION_PATCHES && hooks->planned_count < HS_REGION_PATCHES &&
           area->used + 3 * HS_INJECT_CODE <= HS_AREA_SIZE;
}

// ---- one function --------------------------------------------------------------------------------------------------

static uint64_t code_of(const struct hs_hooks *hooks, const struct hs_function *function)
{
    return function->address & ~hooks->target->arch->mode;
}

// What was loaded from the file, so that its table of symbols is that of the program.
static bool is_of_file(const struct hs_hooks *hooks, const struct hs_function *function, const uint8_t *code,
                       size_t length)
{
    const struct hs_elf_file *file = &function->module->file;
    uint64_t value = code_of(hooks, function) - function->module->bias;
    for (size_t i = 0; i < file->segment_count; i++) {
        const ElfW(Phdr) *segment = &file->segments[i];
        if (segment->p_type != PT_LOAD || value < segment->p_vaddr || value - segment->p_vaddr >= segment->p_filesz)
            continue;
        const void *there = hs_elf_file__at(file, segment->p_offset + (value - segment->p_vaddr), length);
        return there && !memcmp(there, code, length);
    }
    return false;
}

// All of the function, because any of its instructions may jump to the first ones. NULL: it cannot be read.
static uint8_t *read_code(const struct hs_hooks *hooks, const struct hs_function *function, size_t *length)
{
    *length = !function->size ? LOOKED_AT : function->size < MOST_LOOKED_AT ? function->size + UNIT : MOST_LOOKED_AT;
    uint8_t *code = malloc(*length);
    *length = code ? hs_inject_target__read_some(hooks->target, code_of(hooks, function), code, *length) : 0;
    if (*length >= UNIT)
        return code;
    free(code);
    return NULL;
}

// Adds a patch for the function, whose island is completed here. `is`: it leads to a record.
static const char *plan_code(struct hs_hooks *hooks, const struct hs_function *function, struct hs_island *island,
                             const struct hs_family_function *is, const uint8_t *code, size_t length)
{
    const bool has_record = is != NULL;
    const struct hs_inject_arch *arch = hooks->target->arch;
    struct hs_moved_code moved = {.may_call = is && !is->silent};
    struct hs_area *area = area_for(hooks, function);
    if (!is_of_file(hooks, function, code, UNIT))
        return "is not as in its file";
    if (!area || !has_room(hooks, area))
        return "finds no room";
    const uint64_t mode = function->address & arch->mode, original = area->at + area->used + mode;
    if (!arch->move(&moved, function->address, code, length, (size_t)function->size, area->at + area->used))
        return moved.problem;
    size_t record = area->used + whole_units(moved.length);
    size_t island_at = record + (has_record ? whole_units(sizeof(struct hs_attach_function)) : 0);
    struct hs_region_patch *patch = &hooks->region->patches[hooks->region->patch_count];
    *patch = (struct hs_region_patch){.at = moved.at, .consumed = (uint32_t)moved.consumed};
    patch->length = (uint32_t)arch->patch(patch->new, moved.at | mode, area->at + island_at);
    if (!patch->length)
        return "is out of reach";
    memcpy(patch->old, code + (moved.at - code_of(hooks, function)), patch->length);
    memcpy(area->bytes + area->used, moved.code, moved.length);
    island->at = area->at + island_at;
    island->original = original;
    island->signing = moved.signing;
    island->function = has_record ? area->at + record : 0;
    area->used = island_at;
    use(area, arch->island(area->bytes + island_at, island));
    hooks->planned[hooks->planned_count++] =
        (struct hs_planned){*function, original, has_record ? area : NULL, has_record ? record : 0};
    hooks->region->patch_count++;
    return NULL;
}

static const char *plan_patch(struct hs_hooks *hooks, const struct hs_function *function, struct hs_island *island,
                              const struct hs_family_function *is)
{
    size_t length;
    uint8_t *code = read_code(hooks, function, &length);
    const char *problem = code ? plan_code(hooks, function, island, is, code, length) : "cannot be read";
    free(code);
    return problem;
}

static uint64_t known_original(const struct hs_hooks *hooks, uint64_t address)
{
    for (size_t i = 0; i < hooks->planned_count; i++)
        if (hooks->planned[i].function.address == address)
            return hooks->planned[i].original;
    return 0;
}

// What a function did before, whether it is patched or not; 0: there is none.
static uint64_t original_of(const struct hs_hooks *hooks, uint64_t address)
{
    uint64_t original = known_original(hooks, address);
    return original ? original : address;
}

static void add_name(char *names, size_t size, const char *name)
{
    size_t length = strlen(names);
    if (length + strlen(name) + 3 <= size)
        snprintf(names + length, size - length, "%s%s", length ? ", " : "", name);
}

static void note_recorded(struct hs_hooks *hooks, const char *name)
{
    add_name(hooks->result->allocators, sizeof hooks->result->allocators, name);
}

static bool has_name(const char *names, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = names; at; at = strchr(at, ','), at = at ? at + 2 : NULL)
        if (!strncmp(at, name, length) && (!at[length] || at[length] == ','))
            return true;
    return false;
}

static void note_unpatched(struct hs_hooks *hooks, const char *name)
{
    add_name(hooks->result->unpatched, sizeof hooks->result->unpatched, name);
}

static struct hs_island empty_island(const struct hs_hooks *hooks)
{
    const struct hs_attach_table *table = hooks->image ? hs_inject_image__table(hooks->image) : NULL;
    return (struct hs_island){.is_loaded = !table,
                              .words = hooks->region->words,
                              .number_at = table ? (uint32_t)table->number_at : 0,
                              .no_record = table ? table->no_record : 0};
}

// A linker leaves free out of a static program that never calls it.
static bool is_never_called(const struct hs_hooks *hooks, const char *name)
{
    return !strcmp(name, "free") && !hs_inject_modules__find(hooks->modules, NULL, name).module;
}

// The functions that the library has under the same names.
static int plan_usual(struct hs_hooks *hooks, struct hs_error *error)
{
    struct hs_function found[FUNCTIONS];
    struct hs_island island = empty_island(hooks), own = island;
    for (size_t i = 0; i < FUNCTIONS; i++) {
        bool is_allocators = functions[i].how & ALLOCATOR;
        found[i] = (struct hs_function){0};
        if (!is_allocators || hooks->allocator)
            found[i] =
                hs_inject_modules__find(hooks->modules, is_allocators ? hooks->allocator : NULL, functions[i].name);
    }
    if (hooks->allocator)
        find_own_code(hooks, found, &own);
    for (size_t i = 0; i < FUNCTIONS; i++) {
        unsigned how = functions[i].how;
        struct hs_island *used = how & AT_END ? &own : &island;
        const char *problem = NULL;
        if ((hooks->is_starting && how & LATER) || (how & ALLOCATOR && !hooks->allocator))
            continue;
        used->hook = hs_inject_image__function(hooks->image, functions[i].name);
        if (!used->hook)
            continue; // the library leaves it alone
        if (!found[i].module)
            problem = how & NEEDED && !is_never_called(hooks, functions[i].name) ? "is not there" : NULL;
        else if (!known_original(hooks, found[i].address))
            problem = plan_patch(hooks, &found[i], used, NULL);
        if (problem && how & NEEDED)
            return hs_error__set(error, ENOTSUP, "%s: its function %s cannot be patched: it %s", hooks->allocator->path,
                                 functions[i].name, problem);
        if (problem)
            note_unpatched(hooks, functions[i].name);
    }
    if (hooks->allocator)
        note_recorded(hooks, "malloc");
    return 0;
}

// ---- further allocators --------------------------------------------------------------------------------------------

static const struct hs_function *function_of(const struct hs_allocator_set *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++)
        if (!strcmp(set->each[i].is->name, name))
            return &set->each[i].function;
    return NULL;
}

// What is called in place of a function that throws. 0: there is none.
static uint64_t silent_function(const struct hs_hooks *hooks, const struct hs_allocator_set *set,
                                const struct hs_family_function *is)
{
    const struct hs_function *function = function_of(set, is->silent);
    struct hs_function usual = {0};
    if (!function && is->size == 0 && is->kind == set->each[0].is->kind) {
        usual = hs_inject_modules__find(hooks->modules, set->module, "malloc");
        function = &usual;
    }
    return function ? original_of(hooks, function->address) : 0;
}

static const char *fill_record(struct hs_hooks *hooks, const struct hs_allocator_set *set,
                               const struct hs_family_function *is, const struct hs_planned *planned)
{
    struct hs_attach_function record = {.original = planned->original,
                                        .usable = original_of(hooks, set->usable_size),
                                        .silent = is->silent ? silent_function(hooks, set, is) : 0,
                                        .what = is->what,
                                        .kind = is->kind,
                                        .size = is->size,
                                        .count = is->count,
                                        .block = is->block};
    memcpy(planned->area->bytes + planned->record, &record, sizeof record);
    return is->silent && !record.silent ? "throws exceptions" : NULL;
}

static const char *fill_records(struct hs_hooks *hooks, const struct hs_allocator_set *set, size_t first,
                                const char **name)
{
    const char *problem = NULL;
    for (size_t i = first; i < hooks->planned_count && !problem; i++)
        for (size_t j = 0; j < set->count && !problem; j++) {
            if (set->each[j].function.address != hooks->planned[i].function.address)
                continue;
            *name = set->each[j].is->name;
            problem = fill_record(hooks, set, set->each[j].is, &hooks->planned[i]);
            break;
        }
    return problem;
}

static const char *plan_functions(struct hs_hooks *hooks, const struct hs_allocator_set *set, const char **name)
{
    struct hs_island island = empty_island(hooks);
    island.hook = hooks->adopted;
    for (size_t i = 0; i < set->count; i++) {
        const struct hs_function *function = &set->each[i].function;
        *name = set->each[i].is->name;
        if (known_original(hooks, function->address))
            continue; // two names, or recorded by its usual one
        const char *problem = plan_patch(hooks, function, &island, set->each[i].is);
        if (problem && !set->each[i].is->forwards)
            return problem;
    }
    return NULL;
}

// All of its functions or none: blocks of which only one end is seen are worse than blocks that are not.
static int plan_set(struct hs_hooks *hooks, const struct hs_allocator_set *set, struct hs_error *error)
{
    const uint32_t patches = hooks->region->patch_count;
    const size_t planned = hooks->planned_count;
    const char *name = "";
    const char *problem = plan_functions(hooks, set, &name);
    if (!problem)
        problem = fill_records(hooks, set, planned, &name);
    if (!problem) {
        if (!has_name(hooks->result->allocators, set->name))
            note_recorded(hooks, set->name);
        return 0;
    }
    hooks->region->patch_count = patches;
    hooks->planned_count = planned;
    if (set->is_named)
        return hs_error__set(error, ENOTSUP, "%s: the allocator %s cannot be recorded: its function %s %s",
                             set->module->path, set->name, name, problem);
    note_unpatched(hooks, set->name);
    return 0;
}

void hs_hooks__leave_out(struct hs_hooks *hooks)
{
    for (size_t i = 0; i < hooks->sets.count; i++)
        if (!has_name(hooks->result->unpatched, hooks->sets.each[i].name))
            note_unpatched(hooks, hooks->sets.each[i].name);
    hs_families__free(&hooks->sets);
}

// ---- the library's table -------------------------------------------------------------------------------------------

static uint64_t real_function(const struct hs_hooks *hooks, const char *name)
{
    bool is_allocators = !strcmp(name, "malloc_usable_size");
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (!strcmp(functions[i].name, name))
            is_allocators = functions[i].how & ALLOCATOR;
    if (is_allocators && !hooks->allocator)
        return 0;
    return original_of(hooks,
                       hs_inject_modules__find(hooks->modules, is_allocators ? hooks->allocator : NULL, name).address);
}

static int fill_table(struct hs_hooks *hooks, struct hs_error *error)
{
    struct hs_area *area = &hooks->areas[0];
    const struct hs_attach_table *table = hs_inject_image__table(hooks->image);
    uint64_t name_at = (uintptr_t)table->names, real_at = (uintptr_t)table->real;
    uint64_t zero = area->at + area->used;
    if (area->used + HS_INJECT_CODE > HS_AREA_SIZE)
        return hs_error__set(error, ENOSPC, "there are too many functions");
    use(area, hooks->target->arch->return_zero(area->bytes + area->used));
    for (;; real_at += sizeof(uintptr_t)) {
        const char *name = hs_inject_image__at(hooks->image, name_at, 64);
        uintptr_t *real = hs_inject_image__at(hooks->image, real_at, sizeof *real);
        if (!name || !real || !memchr(name, 0, 64))
            return hs_error__set(error, ENOEXEC, "the recording library is damaged");
        if (!*name)
            break;
        *real = (uintptr_t)real_function(hooks, name);
        if (!*real && !strcmp(name, "malloc_usable_size"))
            *real = (uintptr_t)zero;
        name_at += strlen(name) + 1;
    }
    // Of the same allocator: its struct is glibc's. A program that starts has no older blocks.
    struct hs_attach_table *filled = hs_inject_image__table(hooks->image);
    if (!hooks->target->is_starting && hooks->allocator)
        filled->heap_info = (uintptr_t)hs_inject_modules__find(hooks->modules, hooks->allocator, "mallinfo2").address;
    filled->is_glibcs = hooks->allocator && is_glibc(hooks);
    uint32_t *resolved = hs_inject_image__at(hooks->image, (uintptr_t)table->resolved, sizeof *resolved);
    if (!resolved)
        return hs_error__set(error, ENOEXEC, "the recording library is damaged");
    *resolved = HS_ATTACH_RESOLVED;
    return 0;
}

static int by_address(const void *a, const void *b)
{
    const struct hs_region_patch *left = a, *right = b;
    return (left->at > right->at) - (left->at < right->at);
}

int hs_hooks__prepare(struct hs_hooks *hooks, struct hs_error *error)
{
    int failed = hooks->image ? plan_usual(hooks, error) : 0;
    for (size_t i = 0; i < hooks->sets.count && !failed; i++)
        failed = plan_set(hooks, &hooks->sets.each[i], error);
    if (!failed && hooks->image)
        failed = fill_table(hooks, error);
    qsort(hooks->region->patches, hooks->region->patch_count, sizeof *hooks->region->patches, by_address);
    return failed;
}
