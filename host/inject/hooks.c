// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/hooks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LOOKED_AT = 4096, UNIT = 16, ALLOCATOR = 1, NEEDED = 2, LATER = 4 };

// Functions of the library with the same name take their place. sbrk is done by brk. LATER: libc itself calls it before
// there are thread-local variables.
static const struct {
    const char *name;
    unsigned how;
} functions[] = {
    {"malloc", ALLOCATOR | NEEDED},
    {"free", ALLOCATOR | NEEDED},
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

struct planned {
    struct hs_function function;
    uint64_t original; // moved code; 0: not patched
};

const struct hs_inject_module *hs_hooks__allocator(const struct hs_inject_modules *modules, uint64_t *malloc_at)
{
    struct hs_function function = hs_inject_modules__find(modules, NULL, "malloc");
    *malloc_at = function.address;
    return function.module;
}

// ---- the allocator's own calls -------------------------------------------------------------------------------------

// glibc frees what a thread has kept when the thread ends, by its own `free`. No other function lies between these, as
// they are one object file.
static void find_own_code(const struct hs_hooks *hooks, const struct planned *planned, struct hs_island *island)
{
    island->own = island->own_end = 0;
    if (!hs_inject_modules__find(hooks->modules, hooks->allocator, "__libc_memalign").module)
        return;
    for (size_t i = 0; i < FUNCTIONS; i++) {
        const struct hs_function *function = &planned[i].function;
        if (!(functions[i].how & ALLOCATOR) || !function->module)
            continue;
        if (!island->own || function->address < island->own)
            island->own = function->address;
        if (function->address + function->size > island->own_end)
            island->own_end = function->address + function->size;
    }
}

// ---- one function --------------------------------------------------------------------------------------------------

static uint64_t islands_at(const struct hs_hooks *hooks)
{
    return hooks->region->at + HS_REGION_ISLANDS;
}

static bool has_room(const struct hs_hooks *hooks)
{
    return hooks->region->patch_count < HS_REGION_PATCHES &&
           hooks->islands_used + 2 * HS_INJECT_CODE <= HS_REGION_IMAGE - HS_REGION_ISLANDS;
}

static void use(struct hs_hooks *hooks, size_t length)
{
    hooks->islands_used += (length + UNIT - 1) & ~(size_t)(UNIT - 1);
}

// What was loaded from the file, so that its table of symbols is that of the program.
static bool is_of_file(const struct hs_function *function, const uint8_t *code, size_t length)
{
    const struct hs_elf_file *file = &function->module->file;
    uint64_t value = function->address - function->module->bias;
    for (size_t i = 0; i < file->segment_count; i++) {
        const Elf64_Phdr *segment = &file->segments[i];
        if (segment->p_type != PT_LOAD || value < segment->p_vaddr || value - segment->p_vaddr >= segment->p_filesz)
            continue;
        const void *there = hs_elf_file__at(file, segment->p_offset + (value - segment->p_vaddr), length);
        return there && !memcmp(there, code, length);
    }
    return false;
}

static const char *plan_patch(struct hs_hooks *hooks, struct planned *planned, struct hs_island *island, uint64_t hook)
{
    const struct hs_inject_arch *arch = hooks->target->arch;
    uint8_t code[LOOKED_AT];
    size_t length = sizeof code;
    struct hs_moved_code moved;
    while (length > 32 && hs_inject_target__read(hooks->target, planned->function.address, code, length))
        length /= 2;
    if (!is_of_file(&planned->function, code, 16))
        return "is not as in its file";
    uint64_t original = islands_at(hooks) + hooks->islands_used;
    if (!has_room(hooks))
        return "finds no room";
    if (!arch->move(&moved, planned->function.address, code, length, planned->function.size, original))
        return moved.problem;
    uint8_t *to = hooks->islands + hooks->islands_used;
    memcpy(to, moved.code, moved.length);
    struct hs_region_patch *patch = &hooks->region->patches[hooks->region->patch_count];
    *patch = (struct hs_region_patch){.at = moved.at, .consumed = (uint32_t)moved.consumed};
    size_t island_at = hooks->islands_used + ((moved.length + UNIT - 1) & ~(size_t)(UNIT - 1));
    patch->length = (uint32_t)arch->patch(patch->new, moved.at, islands_at(hooks) + island_at);
    if (!patch->length)
        return "is out of reach";
    memcpy(patch->old, code + (moved.at - planned->function.address), patch->length);
    island->hook = hook;
    island->original = original;
    use(hooks, moved.length);
    use(hooks, arch->island(hooks->islands + hooks->islands_used, island));
    planned->original = original;
    hooks->region->patch_count++;
    return NULL;
}

static uint64_t known_original(const struct planned *planned, size_t count, uint64_t address)
{
    for (size_t i = 0; i < count; i++)
        if (planned[i].original && planned[i].function.address == address)
            return planned[i].original;
    return 0;
}

static void note_unpatched(struct hs_hooks *hooks, const char *name)
{
    size_t length = strlen(hooks->unpatched);
    snprintf(hooks->unpatched + length, hooks->unpatched_size - length, "%s%s", length ? " " : "", name);
}

static int plan(struct hs_hooks *hooks, struct planned *planned, struct hs_error *error)
{
    struct hs_island island = {.words = hooks->region->words,
                               .number_at = (uint32_t)hs_inject_image__table(hooks->image)->number_at};
    for (size_t i = 0; i < FUNCTIONS; i++)
        planned[i].function = hs_inject_modules__find(
            hooks->modules, functions[i].how & ALLOCATOR ? hooks->allocator : NULL, functions[i].name);
    struct hs_island own = island;
    find_own_code(hooks, planned, &own);
    for (size_t i = 0; i < FUNCTIONS; i++) {
        uint64_t hook = hs_inject_image__function(hooks->image, functions[i].name);
        const char *problem = NULL;
        if (hooks->is_starting && functions[i].how & LATER)
            continue;
        if (!planned[i].function.module)
            problem = functions[i].how & NEEDED ? "is not there" : NULL;
        else if (!(planned[i].original = known_original(planned, i, planned[i].function.address)))
            problem = plan_patch(hooks, &planned[i], functions[i].how & ALLOCATOR ? &own : &island, hook);
        if (problem && functions[i].how & NEEDED)
            return hs_error__set(error, ENOTSUP, "%s: its function %s cannot be patched: it %s", hooks->allocator->path,
                                 functions[i].name, problem);
        if (problem)
            note_unpatched(hooks, functions[i].name);
    }
    return 0;
}

// ---- the library's table -------------------------------------------------------------------------------------------

static uint64_t real_function(const struct hs_hooks *hooks, const struct planned *planned, const char *name)
{
    bool is_allocators = !strcmp(name, "malloc_usable_size");
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (!strcmp(functions[i].name, name)) {
            if (planned[i].original)
                return planned[i].original;
            is_allocators = functions[i].how & ALLOCATOR;
        }
    struct hs_function function =
        hs_inject_modules__find(hooks->modules, is_allocators ? hooks->allocator : NULL, name);
    uint64_t original = known_original(planned, FUNCTIONS, function.address);
    return original ? original : function.address;
}

static int fill_table(struct hs_hooks *hooks, const struct planned *planned, struct hs_error *error)
{
    const struct hs_attach_table *table = hs_inject_image__table(hooks->image);
    uint64_t name_at = (uintptr_t)table->names, real_at = (uintptr_t)table->real;
    uint64_t zero = islands_at(hooks) + hooks->islands_used;
    use(hooks, hooks->target->arch->return_zero(hooks->islands + hooks->islands_used));
    for (;; real_at += sizeof(uint64_t)) {
        const char *name = hs_inject_image__at(hooks->image, name_at, 64);
        uint64_t *real = hs_inject_image__at(hooks->image, real_at, sizeof *real);
        if (!name || !real || !memchr(name, 0, 64))
            return hs_error__set(error, ENOEXEC, "the recording library is damaged");
        if (!*name)
            break;
        *real = real_function(hooks, planned, name);
        if (!*real && !strcmp(name, "malloc_usable_size"))
            *real = zero;
        name_at += strlen(name) + 1;
    }
    // Of the same allocator: its struct is glibc's. libc itself is not there yet in a program that starts.
    struct hs_attach_table *filled = hs_inject_image__table(hooks->image);
    if (!hooks->is_starting)
        filled->heap_info = hs_inject_modules__find(hooks->modules, hooks->allocator, "mallinfo2").address;
    uint32_t *resolved = hs_inject_image__at(hooks->image, (uintptr_t)table->resolved, sizeof *resolved);
    if (!resolved)
        return hs_error__set(error, ENOEXEC, "the recording library is damaged");
    *resolved = HS_ATTACH_RESOLVED;
    return 0;
}

int hs_hooks__prepare(struct hs_hooks *hooks, struct hs_error *error)
{
    struct planned planned[FUNCTIONS] = {0};
    int failed = plan(hooks, planned, error);
    return failed ? failed : fill_table(hooks, planned, error);
}
