// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/names.h"

#include "host/base/path.h"
#include "host/base/search.h"
#include "host/base/text_stream.h"
#include "host/fleet/row_binary.h"
#include "host/fleet/tsv.h"
#include "host/store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUILD_TEXT = 2 * HS_FLEET_BUILD };

// A call in the table of symbols. The strings are in an answer.
struct name_row {
    const char *build;
    uint64_t offset;
    uint32_t depth;
    const char *function, *file;
    uint32_t line;
};

struct build_row {
    const char *build, *path;
};

struct hs_fleet_names {
    struct hs_buffer stacks, symbols, builds; // answers
    struct name_row *name;
    size_t name_count;
    struct build_row *build;
    size_t build_count;
    struct hs_fleet_stack *stack;
    size_t stack_count;
};

// ---- asking --------------------------------------------------------------------------------------------------------

static char *list_of(const uint64_t *keys, size_t count)
{
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    if (!out)
        return NULL;
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%s%llu", i ? "," : "", (unsigned long long)keys[i]);
    return hs_text_stream__close(&stream);
}

static int ask(struct hs_database *database, const char *form, const char *list, struct hs_buffer *answer,
               struct hs_error *error)
{
    char *statement = NULL;
    if (asprintf(&statement, form, list) < 0)
        return hs_error__set(error, ENOMEM, "out of memory");
    int failed = hs_database__ask(database, statement, answer, error);
    free(statement);
    return failed;
}

static int ask_all(struct hs_fleet_names *names, struct hs_database *database, const char *list, struct hs_error *error)
{
    int failed = ask(database,
                     "SELECT stack, any(arrayStringConcat(arrayMap(x -> lower(hex(x)), builds), ',')), "
                     "any(arrayStringConcat(arrayMap(x -> toString(x), offsets), ',')) FROM stack WHERE stack IN (%s) "
                     "GROUP BY stack FORMAT TabSeparated",
                     list, &names->stacks, error);
    if (!failed)
        failed = ask(database,
                     "SELECT lower(hex(build)), offset, depth, any(function), any(file), any(line) FROM symbol "
                     "WHERE (build, offset) IN (SELECT b, o FROM stack ARRAY JOIN builds AS b, offsets AS o "
                     "WHERE stack IN (%s)) GROUP BY build, offset, depth FORMAT TabSeparated",
                     list, &names->symbols, error);
    if (!failed)
        failed = ask(database,
                     "SELECT lower(hex(build)), any(path) FROM build WHERE build IN (SELECT b FROM stack ARRAY JOIN "
                     "builds AS b WHERE stack IN (%s)) GROUP BY build FORMAT TabSeparated",
                     list, &names->builds, error);
    return failed;
}

// ---- tables --------------------------------------------------------------------------------------------------------

static size_t count_rows(const struct hs_buffer *answer)
{
    size_t count = 0;
    for (size_t i = 0; i < answer->count; i++)
        count += answer->bytes[i] == '\n';
    return count;
}

static int by_name_place(const void *left, const void *right)
{
    const struct name_row *a = left, *b = right;
    int order = strcmp(a->build, b->build);
    if (order)
        return order;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return (a->depth > b->depth) - (a->depth < b->depth);
}

static int by_build(const void *left, const void *right)
{
    return strcmp(((const struct build_row *)left)->build, ((const struct build_row *)right)->build);
}

static bool take_tables(struct hs_fleet_names *names)
{
    char *field[6];
    names->name = calloc(count_rows(&names->symbols) + 1, sizeof(*names->name));
    names->build = calloc(count_rows(&names->builds) + 1, sizeof(*names->build));
    if (!names->name || !names->build)
        return false;
    for (struct hs_tsv table = hs_tsv__begin(&names->symbols); hs_tsv__next(&table, field, 6);)
        names->name[names->name_count++] = (struct name_row){.build = field[0],
                                                             .offset = strtoull(field[1], NULL, 10),
                                                             .depth = (uint32_t)strtoul(field[2], NULL, 10),
                                                             .function = field[3],
                                                             .file = field[4],
                                                             .line = (uint32_t)strtoul(field[5], NULL, 10)};
    for (struct hs_tsv table = hs_tsv__begin(&names->builds); hs_tsv__next(&table, field, 2);)
        names->build[names->build_count++] = (struct build_row){field[0], field[1]};
    qsort(names->name, names->name_count, sizeof(*names->name), by_name_place);
    qsort(names->build, names->build_count, sizeof(*names->build), by_build);
    return true;
}

static const char *module_of(const struct hs_fleet_names *names, const char *build)
{
    const struct build_row wanted = {.build = build};
    const struct build_row *row = bsearch(&wanted, names->build, names->build_count, sizeof(*row), by_build);
    return row ? hs_path__name(row->path) : "";
}

// The first of the calls at a place, and their number.
static const struct name_row *names_at(const struct hs_fleet_names *names, const char *build, uint64_t offset,
                                       size_t *count)
{
    const struct name_row wanted = {.build = build, .offset = offset};
    const size_t low = HS_SEARCH(names->name_count, i, by_name_place(&names->name[i], &wanted) < 0);
    for (*count = 0; low + *count < names->name_count; (*count)++) {
        const struct name_row *row = &names->name[low + *count];
        if (strcmp(row->build, build) || row->offset != offset)
            break;
    }
    return &names->name[low];
}

// ---- stacks --------------------------------------------------------------------------------------------------------

static struct hs_fleet_frame *add_frame(struct hs_fleet_stack *stack, size_t *room)
{
    if (stack->count == *room) {
        *room = *room ? 2 * *room : 32;
        struct hs_fleet_frame *bigger = realloc(stack->frames, *room * sizeof(*bigger));
        if (!bigger)
            return NULL;
        stack->frames = bigger;
    }
    return &stack->frames[stack->count++];
}

static bool add_place(const struct hs_fleet_names *names, struct hs_fleet_stack *stack, size_t *room, const char *build,
                      uint64_t offset)
{
    size_t count;
    const struct name_row *name = names_at(names, build, offset, &count);
    const char *module = module_of(names, build);
    if (!*module && offset < HS_CUT_LIMIT)
        return true; // the reason for a cut
    for (size_t i = 0; i < count || !i; i++) {
        struct hs_fleet_frame *frame = add_frame(stack, room);
        if (!frame)
            return false;
        *frame = (struct hs_fleet_frame){.function = count ? name[i].function : "",
                                         .file = count ? name[i].file : "",
                                         .line = count ? name[i].line : 0,
                                         .module = module,
                                         .offset = offset,
                                         .inlined = i + 1 < count};
    }
    return true;
}

static bool take_stack(struct hs_fleet_names *names, char **field)
{
    struct hs_fleet_stack *stack = &names->stack[names->stack_count++];
    size_t room = 0;
    char *builds = field[1], *offsets = field[2], *build, *offset;
    stack->key = strtoull(field[0], NULL, 10);
    while ((build = strsep(&builds, ",")) && *build && (offset = strsep(&offsets, ",")))
        if (!add_place(names, stack, &room, build, strtoull(offset, NULL, 10)))
            return false;
    return true;
}

static int by_key(const void *left, const void *right)
{
    const struct hs_fleet_stack *a = left, *b = right;
    return (a->key > b->key) - (a->key < b->key);
}

static bool take_stacks(struct hs_fleet_names *names)
{
    char *field[3];
    names->stack = calloc(count_rows(&names->stacks) + 1, sizeof(*names->stack));
    if (!names->stack)
        return false;
    for (struct hs_tsv table = hs_tsv__begin(&names->stacks); hs_tsv__next(&table, field, 3);)
        if (!take_stack(names, field))
            return false;
    qsort(names->stack, names->stack_count, sizeof(*names->stack), by_key);
    return true;
}

int hs_fleet_names__read(struct hs_database *database, const uint64_t *keys, size_t count,
                         struct hs_fleet_names **result, struct hs_error *error)
{
    struct hs_fleet_names *names = calloc(1, sizeof(*names));
    char *list = names ? list_of(keys, count) : NULL;
    int failed = list ? 0 : hs_error__set(error, ENOMEM, "out of memory");
    if (!failed && count)
        failed = ask_all(names, database, list, error);
    if (!failed && !(take_tables(names) && take_stacks(names)))
        failed = hs_error__set(error, ENOMEM, "out of memory");
    free(list);
    if (failed) {
        hs_fleet_names__free(names);
        return failed;
    }
    *result = names;
    return 0;
}

void hs_fleet_names__free(struct hs_fleet_names *names)
{
    if (!names)
        return;
    for (size_t i = 0; i < names->stack_count; i++)
        free(names->stack[i].frames);
    free(names->stack);
    free(names->name);
    free(names->build);
    hs_buffer__free(&names->stacks);
    hs_buffer__free(&names->symbols);
    hs_buffer__free(&names->builds);
    free(names);
}

const struct hs_fleet_stack *hs_fleet_names__stack(const struct hs_fleet_names *names, uint64_t key)
{
    const struct hs_fleet_stack wanted = {.key = key};
    return names->stack_count ? bsearch(&wanted, names->stack, names->stack_count, sizeof(wanted), by_key) : NULL;
}
