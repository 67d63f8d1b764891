// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/jit_names.h"

#include "host/base/id_map.h"
#include "host/base/path.h"
#include "host/symbols/jit_dump.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_VISITS = 4096,
    MOST_LINES = 1 << 16, // of a function
    LINE_NAME = 16        // offset of the file's name in an entry of a DEBUG_INFO record
};

bool hs_jit_names__is_file(const char *path)
{
    const char *name = hs_path__name(path);
    bool is_map = !strncmp(name, "perf-", 5);
    if (!is_map && strncmp(name, "jit-", 4) != 0)
        return false;
    name += is_map ? 5 : 4;
    size_t digits = strspn(name, "0123456789");
    return digits && !strcmp(name + digits, is_map ? ".map" : ".dump");
}

// ---- adding --------------------------------------------------------------------------------------------------------

static int add(struct hs_jit_names *names, const struct hs_jit_function *function)
{
    if (names->count == HS_JIT_NAMES_MOST) {
        names->left_out++;
        return 0;
    }
    if (!function->name_length || function->end <= function->start) {
        names->damaged++;
        return 0;
    }
    if (!HS_ARRAY_HAS_ROOM(names->function, names->count, names->room))
        return -ENOMEM;
    names->function[names->count] = *function;
    names->function[names->count].order = names->added++;
    names->count++;
    names->is_sorted = false;
    return 0;
}

static uint64_t end_of(uint64_t start, uint64_t size)
{
    return size > UINT64_MAX - start ? UINT64_MAX : start + size;
}

// A hexadecimal number and the blank behind it. *at moves behind both.
static bool read_number(char **at, uint64_t *number)
{
    char *end;
    if (!isxdigit((unsigned char)**at))
        return false;
    errno = 0;
    *number = strtoull(*at, &end, 16);
    if (errno || *end != ' ')
        return false;
    *at = end + 1;
    return true;
}

static int add_line(struct hs_jit_names *names, char *line, size_t length)
{
    uint64_t start, size;
    char *at = line;
    if (!read_number(&at, &start) || !read_number(&at, &size)) {
        names->damaged++;
        return 0;
    }
    const struct hs_jit_function function = {.start = start,
                                             .end = end_of(start, size),
                                             .name = at,
                                             .name_length = (uint32_t)(length - (size_t)(at - line))};
    return add(names, &function);
}

// The last line is half if it has no end.
static int add_map(struct hs_jit_names *names, char *text, size_t length)
{
    int result = 0;
    char *line = text;
    for (char *end; !result && (end = memchr(line, '\n', length - (size_t)(line - text))); line = end + 1) {
        *end = '\0';
        if (end != line)
            result = add_line(names, line, (size_t)(end - line));
    }
    names->damaged += !result && (size_t)(line - text) < length;
    return result;
}

// ---- dumps ---------------------------------------------------------------------------------------------------------

struct adding_dump {
    struct hs_jit_names *names;
    struct hs_jit_dump dump;
    struct hs_id_map by_index;  // the last function of each code index
    struct hs_jit_record lines; // of the function that comes next; body NULL: none
};

static int add_of_dump(struct adding_dump *with, struct hs_jit_function *function, uint64_t index)
{
    const size_t number = with->names->count;
    function->is_of_dump = true;
    function->is_swapped = with->dump.is_swapped;
    int result = add(with->names, function);
    return result || with->names->count == number ? result : hs_id_map__set(&with->by_index, index, (uint32_t)number);
}

static int load(struct adding_dump *with, const struct hs_jit_record *record)
{
    const uint8_t *body = record->body;
    const char *name = (const char *)body + HS_JIT_LOAD_NAME;
    size_t length = record->length > HS_JIT_LOAD_NAME ? strnlen(name, record->length - HS_JIT_LOAD_NAME) : 0;
    if (!length) {
        with->names->damaged++;
        return 0;
    }
    const uint64_t start = hs_jit_dump__long(&with->dump, body + 16);
    struct hs_jit_function function = {.start = start,
                                       .end = end_of(start, hs_jit_dump__long(&with->dump, body + 24)),
                                       .time = with->dump.has_times ? record->time : 0,
                                       .name = name,
                                       .name_length = (uint32_t)length};
    if (with->lines.body && hs_jit_dump__long(&with->dump, with->lines.body) == start) {
        function.lines = with->lines.body;
        function.lines_length = (uint32_t)with->lines.length;
    }
    with->lines.body = NULL;
    return add_of_dump(with, &function, hs_jit_dump__long(&with->dump, body + 32));
}

// Its lines are those of the old place.
static int move(struct adding_dump *with, const struct hs_jit_record *record)
{
    const uint8_t *body = record->body;
    const uint64_t index = record->length < HS_JIT_MOVE_LENGTH ? 0 : hs_jit_dump__long(&with->dump, body + 40);
    const uint32_t number = hs_id_map__find(&with->by_index, index);
    if (record->length < HS_JIT_MOVE_LENGTH || number >= with->names->count) {
        with->names->damaged++;
        return 0;
    }
    struct hs_jit_function function = with->names->function[number];
    function.start = hs_jit_dump__long(&with->dump, body + 24);
    function.end = end_of(function.start, hs_jit_dump__long(&with->dump, body + 32));
    function.time = with->dump.has_times ? record->time : 0;
    function.lines = NULL;
    return add_of_dump(with, &function, index);
}

static int add_record(struct adding_dump *with, const struct hs_jit_record *record)
{
    switch (record->kind) {
    case HS_JIT_LOAD:
        return load(with, record);
    case HS_JIT_MOVE:
        return move(with, record);
    case HS_JIT_DEBUG_INFO:
        with->lines = *record;
        if (record->length < HS_JIT_LINES)
            with->lines.body = NULL;
        return 0;
    default:
        return 0;
    }
}

static int add_dump(struct hs_jit_names *names, const uint8_t *bytes, size_t length)
{
    struct adding_dump with = {.names = names};
    struct hs_jit_record record;
    int result = hs_jit_dump__start(&with.dump, bytes, length);
    while (!result && (result = hs_jit_dump__next(&with.dump, &record)) == 1)
        result = add_record(&with, &record);
    hs_id_map__free(&with.by_index);
    names->damaged += result == -EBADMSG;
    return result == -ENOMEM ? result : 0;
}

int hs_jit_names__add(struct hs_jit_names *names, uint8_t *text, size_t length)
{
    if (!HS_ARRAY_HAS_ROOM(names->text, names->text_count, names->text_room)) {
        free(text);
        return -ENOMEM;
    }
    names->text[names->text_count++] = text;
    text[length] = '\0';
    return hs_jit_dump__is(text, length) ? add_dump(names, text, length) : add_map(names, (char *)text, length);
}

void hs_jit_names__free(struct hs_jit_names *names)
{
    for (size_t i = 0; i < names->text_count; i++)
        free(names->text[i]);
    free(names->text);
    free(names->function);
    *names = (struct hs_jit_names){0};
}

// ---- finding -------------------------------------------------------------------------------------------------------

// The functions in the order of their starts are a tree: the root is in the middle, each half is a tree below it.
static size_t middle(size_t low, size_t high)
{
    return low + (high - low) / 2;
}

static int compare(const void *left, const void *right)
{
    const struct hs_jit_function *a = left, *b = right;
    return a->start != b->start ? (a->start > b->start) - (a->start < b->start)
                                : (a->order > b->order) - (a->order < b->order);
}

// Removes functions of maps that later ones with the same start cover: at one place, runtimes make very many.
static void remove_covered(struct hs_jit_names *names)
{
    struct hs_jit_function *all = names->function;
    uint64_t start = 0, covered = 0; // of the functions of maps behind, which begin at `start`
    size_t kept = names->count;
    for (size_t i = names->count; i > 0; i--) {
        const struct hs_jit_function function = all[i - 1];
        if (function.start != start)
            covered = 0;
        start = function.start;
        if (!function.is_of_dump && function.end <= covered)
            continue;
        if (!function.is_of_dump)
            covered = function.end;
        all[--kept] = function;
    }
    names->count -= kept;
    memmove(all, all + kept, names->count * sizeof(*all));
}

static uint64_t set_reach(struct hs_jit_function *all, size_t low, size_t high)
{
    if (low == high)
        return 0;
    const size_t root = middle(low, high);
    const uint64_t left = set_reach(all, low, root), right = set_reach(all, root + 1, high);
    uint64_t reach = all[root].end;
    reach = left > reach ? left : reach;
    reach = right > reach ? right : reach;
    all[root].reach = reach;
    return reach;
}

struct search {
    const struct hs_jit_function *all;
    uint64_t address, time;
    unsigned visits;
    const struct hs_jit_function *of_map, *of_dump, *earliest;
    bool depends;
};

static bool is_later(const struct hs_jit_function *a, const struct hs_jit_function *b)
{
    return !b || (a->time != b->time ? a->time > b->time : a->order > b->order);
}

static void take(struct search *search, const struct hs_jit_function *function)
{
    if (!function->is_of_dump) {
        if (is_later(function, search->of_map))
            search->of_map = function;
        return;
    }
    if (search->earliest && search->earliest->time != function->time)
        search->depends = true;
    if (!search->earliest || is_later(search->earliest, function))
        search->earliest = function;
    if (function->time <= search->time && is_later(function, search->of_dump))
        search->of_dump = function;
}

// Damaged or made-up files may have very many functions at one place.
static void visit(struct search *search, size_t low, size_t high)
{
    while (low < high && search->visits < MOST_VISITS) {
        const size_t root = middle(low, high);
        const struct hs_jit_function *function = &search->all[root];
        search->visits++;
        if (function->reach <= search->address)
            return;
        if (function->start <= search->address) {
            visit(search, root + 1, high);
            if (search->address < function->end)
                take(search, function);
        }
        high = root;
    }
}

const struct hs_jit_function *hs_jit_names__find(struct hs_jit_names *names, uint64_t address, uint64_t time,
                                                 bool *depends)
{
    struct search search = {.address = address, .time = time};
    if (!names->is_sorted && names->count) {
        qsort(names->function, names->count, sizeof(*names->function), compare);
        remove_covered(names);
        set_reach(names->function, 0, names->count);
        names->is_sorted = true;
    }
    search.all = names->function;
    visit(&search, 0, names->count);
    *depends = search.depends;
    if (search.of_dump || search.earliest)
        return search.of_dump ? search.of_dump : search.earliest;
    return search.of_map;
}

// ---- text ----------------------------------------------------------------------------------------------------------

// The last entry at or before the address. An empty name with the byte 0xff stands for that of the entry before.
static void find_line(const struct hs_jit_function *function, uint64_t address, const char **file, uint32_t *line)
{
    const struct hs_jit_dump order = {.is_swapped = function->is_swapped};
    const uint8_t *at = function->lines + HS_JIT_LINES, *end = function->lines + function->lines_length;
    uint64_t nearest = 0, left = hs_jit_dump__long(&order, function->lines + 8);
    const char *last = NULL;
    left = left < MOST_LINES ? left : MOST_LINES;
    for (; left && end - at > LINE_NAME; left--) {
        const char *name = (const char *)at + LINE_NAME;
        const size_t most = (size_t)(end - at) - LINE_NAME, length = strnlen(name, most);
        const uint64_t start = hs_jit_dump__long(&order, at);
        if (length == most)
            return;
        last = strcmp(name, "\xff") != 0 ? name : last;
        if (last && start <= address && start >= nearest) {
            nearest = start;
            *file = last;
            *line = hs_jit_dump__word(&order, at + 8);
        }
        at += LINE_NAME + length + 1;
    }
}

void hs_jit_names__text(const struct hs_jit_function *function, uint64_t address, struct hs_jit_text *to)
{
    const char *file = NULL;
    uint32_t line = 0;
    hs_jit_text__split(to, function->name, function->name_length);
    if (function->lines)
        find_line(function, address, &file, &line);
    if (file && *file) {
        to->file = file;
        to->line = line;
    }
}
