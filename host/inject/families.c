// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/families.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct finding {
    struct hs_allocator_sets *sets;
    const struct hs_inject_modules *modules;
    const struct hs_inject_module *module;
    bool interposed;
    bool is_full;
};

// ---- symbols of a module -------------------------------------------------------------------------------------------

typedef bool symbol_visitor(void *context, const char *name, const ElfW(Sym) * symbol); // false: enough

static bool visit_table(const struct hs_inject_module *module, uint32_t type, symbol_visitor *visit, void *context)
{
    struct hs_elf_symbols symbols;
    if (!hs_elf_file__symbols(&module->file, type, &symbols))
        return true;
    for (size_t i = 0; i < symbols.count; i++) {
        const ElfW(Sym) *symbol = &symbols.symbols[i];
        if (symbol->st_shndx != SHN_UNDEF && symbol->st_value && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
            !visit(context, hs_elf_symbols__name(&symbols, i), symbol))
            return false;
    }
    return true;
}

static void visit_functions(const struct hs_inject_module *module, bool exported_only, symbol_visitor *visit,
                            void *context)
{
    if (visit_table(module, SHT_DYNSYM, visit, context) && !exported_only)
        visit_table(module, SHT_SYMTAB, visit, context);
}

// ---- the functions of a set ----------------------------------------------------------------------------------------

struct set_filling {
    const struct hs_family *family;
    struct hs_allocator_set *set;
    const char *prefix;
    size_t prefix_length;
    unsigned signs; // a bit for each that was found
    bool has_internal;
    bool is_full;
};

static bool is_in(const struct hs_allocator_set *set, const struct hs_family_function *is)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->each[i].is == is)
            return true;
    return false;
}

static void add(struct set_filling *filling, const struct hs_family_function *is, struct hs_function function)
{
    struct hs_allocator_set *set = filling->set;
    if (is_in(set, is))
        return; // from the other table of symbols
    filling->is_full |= set->count == HS_SET_FUNCTIONS;
    if (filling->is_full)
        return;
    set->each[set->count].is = is;
    set->each[set->count++].function = function;
}

static bool take_function(void *context, const char *name, const ElfW(Sym) * symbol)
{
    struct set_filling *filling = context;
    const struct hs_family *family = filling->family;
    if (family->internal && !strncmp(name, family->internal, strlen(family->internal)))
        filling->has_internal = true;
    if (strncmp(name, filling->prefix, filling->prefix_length))
        return true;
    const struct hs_function function = {filling->set->module, filling->set->module->bias + symbol->st_value,
                                         symbol->st_size};
    name += filling->prefix_length;
    for (size_t i = 0; i < HS_FAMILY_SIGNS && family->signs[i]; i++)
        if (!strcmp(name, family->signs[i]))
            filling->signs |= 1u << i;
    if (family->usable_size && !strcmp(name, family->usable_size))
        filling->set->usable_size = function.address;
    for (const struct hs_family_function *is = family->functions; is->name; is++)
        if (!strcmp(name, is->name)) {
            add(filling, is, function);
            break;
        }
    return true;
}

static bool has_all_signs(const struct set_filling *filling)
{
    for (size_t i = 0; i < HS_FAMILY_SIGNS && filling->family->signs[i]; i++)
        if (!(filling->signs & 1u << i))
            return false;
    if (filling->family->internal && !filling->has_internal && filling->set->count < HS_FAMILY_MANY)
        return false;
    return filling->set->count >= filling->family->least && !filling->is_full;
}

static bool is_known(const struct finding *finding, const char *name)
{
    for (size_t i = 0; i < finding->sets->count; i++)
        if (finding->sets->each[i].module == finding->module && !strcmp(finding->sets->each[i].name, name))
            return true;
    return false;
}

static struct hs_allocator_set *new_set(struct finding *finding)
{
    if (finding->sets->count == HS_SETS) {
        finding->is_full = true;
        return NULL;
    }
    struct hs_allocator_set *set = &finding->sets->each[finding->sets->count];
    memset(set, 0, sizeof *set);
    set->module = finding->module;
    return set;
}

// True: the module has the family under this prefix.
static bool look_for(struct finding *finding, const struct hs_family *family, const char *prefix)
{
    struct hs_allocator_set *set = new_set(finding);
    struct set_filling filling = {.family = family, .set = set, .prefix = prefix, .prefix_length = strlen(prefix)};
    if (!set)
        return false;
    snprintf(set->name, sizeof set->name, "%s%s", family->title ? "" : prefix,
             family->title ? family->title : family->functions->name);
    if (is_known(finding, set->name))
        return true;
    visit_functions(finding->module, family->is_exported, take_function, &filling);
    if (!has_all_signs(&filling))
        return false;
    finding->sets->count++;
    return true;
}

// ---- every prefix --------------------------------------------------------------------------------------------------

enum { PREFIXES = 16, PREFIX_SIZE = HS_SET_NAME - 24 };

struct prefixes {
    const struct hs_family *family;
    char each[PREFIXES][PREFIX_SIZE];
    size_t count;
};

static bool is_allowed(const struct hs_family *family, const char *prefix)
{
    for (size_t i = 0; i < 2 && family->prefixes[i]; i++)
        if (!strcmp(family->prefixes[i], prefix))
            return true;
    return !family->prefixes[0];
}

static bool take_prefix(void *context, const char *name, const ElfW(Sym) * symbol)
{
    struct prefixes *prefixes = context;
    const char *sign = prefixes->family->signs[0];
    size_t length = strlen(name), sign_length = strlen(sign);
    char prefix[PREFIX_SIZE];
    (void)symbol;
    if (length < sign_length || length - sign_length >= PREFIX_SIZE || strcmp(name + length - sign_length, sign))
        return true;
    snprintf(prefix, sizeof prefix, "%.*s", (int)(length - sign_length), name);
    for (size_t i = 0; i < prefixes->count; i++)
        if (!strcmp(prefixes->each[i], prefix))
            return true;
    if (is_allowed(prefixes->family, prefix))
        strcpy(prefixes->each[prefixes->count++], prefix);
    return prefixes->count < PREFIXES;
}

// Exported functions under the usual names are those of the program's own allocator, or interposed in libraries.
static bool is_recorded_already(const struct finding *finding, const struct hs_family *family, const char *prefix)
{
    struct hs_function first = hs_inject_modules__find(finding->modules, NULL, "malloc");
    if (*prefix || strcmp(family->functions->name, "malloc"))
        return false;
    if (finding->interposed)
        return family->is_exported || finding->module->role != HS_INJECT_MODULE_PROGRAM;
    return family->is_exported && first.module == finding->module;
}

static void look_for_all(struct finding *finding, const struct hs_family *family)
{
    struct prefixes prefixes = {.family = family};
    visit_functions(finding->module, family->is_exported, take_prefix, &prefixes);
    for (size_t i = 0; i < prefixes.count; i++)
        if (!is_recorded_already(finding, family, prefixes.each[i]))
            look_for(finding, family, prefixes.each[i]);
}

static bool take_out_of_memory(void *context, const char *name, const ElfW(Sym) * symbol)
{
    bool *found = context;
    (void)symbol;
    *found = strstr(name, "handleOOM") != NULL; // of jemalloc's operators
    return !*found;
}

// A library that is an allocator has operators of its own. The operators of a program call malloc, except jemalloc's.
static bool has_own_operators(const struct finding *finding, size_t sets_before)
{
    bool found = false;
    if (finding->module->role == HS_INJECT_MODULE_PROGRAM)
        visit_functions(finding->module, false, take_out_of_memory, &found);
    else
        found = !finding->interposed &&
                (finding->sets->count > sets_before ||
                 hs_inject_modules__find(finding->modules, NULL, "malloc").module == finding->module);
    return found;
}

static void look_at_module(struct finding *finding)
{
    size_t before = finding->sets->count;
    for (const struct hs_family *family = hs_families; family->functions; family++)
        look_for_all(finding, family);
    if (has_own_operators(finding, before))
        look_for(finding, &hs_family_operators, "");
}

// A program may call a library's functions by their own names.
static bool is_of_family(const char *name)
{
    for (const struct hs_family *family = hs_families; family->functions; family++) {
        const struct hs_family_function *is = family->functions;
        while (strcmp(family->functions->name, "malloc") && is->name && strcmp(name, is->name))
            is++;
        if (is->name && !strcmp(name, is->name))
            return strcmp(family->functions->name, "malloc") != 0;
    }
    return false;
}

bool hs_families__are_imported(const struct hs_inject_module *module)
{
    struct hs_elf_symbols symbols;
    bool found = false;
    bool is_good = hs_elf_file__symbols(&module->file, SHT_DYNSYM, &symbols);
    for (size_t i = 0; is_good && i < symbols.count && !found; i++)
        if (symbols.symbols[i].st_shndx == SHN_UNDEF)
            found = is_of_family(hs_elf_symbols__name(&symbols, i));
    return found;
}

static bool is_looked_at(const struct hs_inject_module *module)
{
    return module->role == HS_INJECT_MODULE_PROGRAM || module->role == HS_INJECT_MODULE_LIBRARY;
}

// ---- what the user named -------------------------------------------------------------------------------------------

// One word of a list; false: there are no more.
static bool next_word(const char **list, char *word, size_t size)
{
    if (!*list || !**list)
        return false;
    size_t length = strcspn(*list, ",");
    snprintf(word, size, "%.*s", (int)(length < size ? length : size - 1), *list);
    *list += length + ((*list)[length] == ',');
    return true;
}

static int find_prefix(struct finding *finding, const char *prefix, struct hs_error *error)
{
    const char *text = strcmp(prefix, "none") ? prefix : "";
    for (enum hs_inject_module_role role = HS_INJECT_MODULE_PROGRAM; role <= HS_INJECT_MODULE_LIBRARY; role++)
        for (size_t i = 0; i < finding->modules->count; i++) {
            finding->module = &finding->modules->each[i];
            if (finding->module->role != role || !look_for(finding, &hs_family_usual, text))
                continue;
            finding->sets->each[finding->sets->count - 1].is_named = true;
            return 0;
        }
    return hs_error__set(error, ENOENT, "neither the program nor a library of it has functions %smalloc and %sfree",
                         text, text);
}

static const struct hs_family_function *usual_function(const char *name)
{
    for (const struct hs_family_function *is = hs_family_usual.functions; is->name; is++)
        if (!strcmp(is->name, name))
            return is;
    return NULL;
}

static bool split_place(char *word, uint64_t *address)
{
    char *equals = strchr(word, '='), *end;
    if (!equals || !equals[1])
        return false;
    *equals = 0;
    errno = 0;
    *address = strtoull(equals + 1, &end, 0);
    return !errno && !*end && *address && (usual_function(word) || !strcmp(word, hs_family_usual.usable_size));
}

int hs_named_allocators__check(const struct hs_named_allocators *named, struct hs_error *error)
{
    char word[256];
    uint64_t address;
    unsigned needed = 0;
    for (const char *list = named->prefixes; next_word(&list, word, sizeof word);)
        if (!*word || strlen(word) >= PREFIX_SIZE)
            return hs_error__set(error, EINVAL, "'%s' is not a list of prefixes of names", named->prefixes);
    for (const char *list = named->places; next_word(&list, word, sizeof word);) {
        if (!split_place(word, &address))
            return hs_error__set(error, EINVAL, "'%s' is not FUNCTION=ADDRESS, with a function like malloc or free",
                                 word);
        needed |= !strcmp(word, "malloc") ? 1 : !strcmp(word, "free") ? 2 : 0;
    }
    if (named->places && needed != 3)
        return hs_error__set(error, EINVAL, "the addresses of malloc and of free are needed");
    return 0;
}

static bool is_code(const struct hs_inject_module *module, uint64_t address)
{
    for (size_t i = 0; i < module->file.segment_count; i++) {
        const ElfW(Phdr) *segment = &module->file.segments[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz)
            return true;
    }
    return false;
}

static int take_places(struct finding *finding, const char *list, struct hs_error *error)
{
    char word[256];
    uint64_t address;
    for (size_t i = 0; i < finding->modules->count; i++)
        if (finding->modules->each[i].role == HS_INJECT_MODULE_PROGRAM)
            finding->module = &finding->modules->each[i];
    struct hs_allocator_set *set = finding->module ? new_set(finding) : NULL;
    struct set_filling filling = {.family = &hs_family_usual, .set = set};
    if (!set)
        return hs_error__set(error, ENOENT, "the program's file cannot be read");
    strcpy(set->name, "malloc");
    set->is_named = true;
    while (next_word(&list, word, sizeof word)) {
        if (!split_place(word, &address))
            continue;
        if (!is_code(finding->module, address))
            return hs_error__set(error, EINVAL, "%s: there is no code at the address of %s, 0x%llx",
                                 finding->module->path, word, (unsigned long long)address);
        const struct hs_function function = {finding->module, finding->module->bias + address, 0};
        if (!strcmp(word, hs_family_usual.usable_size))
            set->usable_size = function.address;
        else
            add(&filling, usual_function(word), function);
    }
    finding->sets->count++;
    return 0;
}

static int find_named(struct finding *finding, const struct hs_named_allocators *named, struct hs_error *error)
{
    char prefix[PREFIX_SIZE];
    int failed = 0;
    for (const char *list = named->prefixes; !failed && next_word(&list, prefix, sizeof prefix);)
        failed = find_prefix(finding, prefix, error);
    finding->module = NULL;
    if (!failed && named->places)
        failed = take_places(finding, named->places, error);
    return failed;
}

int hs_families__find(struct hs_allocator_sets *sets, const struct hs_inject_modules *modules, bool interposed,
                      const struct hs_named_allocators *named, struct hs_error *error)
{
    struct finding finding = {.sets = sets, .modules = modules, .interposed = interposed};
    *sets = (struct hs_allocator_sets){.each = calloc(HS_SETS, sizeof *sets->each)};
    if (!sets->each)
        return hs_error__set(error, ENOMEM, "out of memory");
    int failed = find_named(&finding, named, error);
    for (size_t i = 0; !failed && i < modules->count; i++) {
        finding.module = &modules->each[i];
        if (is_looked_at(finding.module))
            look_at_module(&finding);
    }
    if (!failed && finding.is_full)
        failed = hs_error__set(error, E2BIG, "the program has more than %d allocators", HS_SETS);
    return failed;
}

void hs_families__free(struct hs_allocator_sets *sets)
{
    free(sets->each);
    *sets = (struct hs_allocator_sets){0};
}
