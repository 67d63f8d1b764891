// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What massif and DHAT have in common: how they write frames, programs and times.
#include "host/dump/text.h"

// The mapping of a module of which only the path is known.
static uint32_t mapping_of(struct hs_dump_builder *builder, const char *path, size_t length)
{
    const char *kept = hs_dump_builder__string(builder, path, length);
    uint32_t known = kept ? hs_id_map__find(&builder->by_path, (uintptr_t)kept) : HS_DUMP_NONE;
    if (!kept || known != UINT32_MAX)
        return known;
    known = (uint32_t)builder->dump->mapping_count;
    const struct hs_dump_mapping mapping = {.path = kept, .executable = true};
    if (hs_dump_builder__add_mapping(builder, &mapping) || hs_id_map__set(&builder->by_path, (uintptr_t)kept, known))
        return HS_DUMP_NONE;
    return known;
}

// FILE:LINE
static bool take_place(struct hs_dump_builder *builder, const char *text, size_t length, struct hs_dump_line *line)
{
    const char *colon = memrchr(text, ':', length);
    struct hs_line digits = {colon ? colon + 1 : text, text + length};
    uint64_t number;
    if (!colon || !hs_line__number(&digits, &number) || digits.at < digits.end || number > UINT32_MAX)
        return true; // no place, which a name may end with
    line->line = (uint32_t)number;
    line->file = hs_dump_builder__string(builder, text, (size_t)(colon - text));
    return line->file;
}

// Where the text has it for the last time; NULL: nowhere.
static const char *last_of(const struct hs_line *text, const char *what)
{
    const size_t length = strlen(what), size = (size_t)(text->end - text->at);
    for (size_t left = size < length ? 0 : size - length + 1; left--;)
        if (!memcmp(text->at + left, what, length))
            return text->at + left;
    return NULL;
}

// What stands in parentheses at the end: " (in MODULE)" or " (FILE:LINE)". False: out of memory.
static bool take_end(struct hs_dump_builder *builder, struct hs_line *text, struct hs_dump_location *location,
                     struct hs_dump_line *line)
{
    const char *open = last_of(text, " (in ");
    open = open ? open : last_of(text, " (");
    if (!open || open == text->at || text->end[-1] != ')')
        return true;
    struct hs_line inner = {open + 2, text->end - 1};
    if (hs_line__take(&inner, "in ")) {
        location->mapping = mapping_of(builder, inner.at, (size_t)(inner.end - inner.at));
        text->end = open;
        return location->mapping != HS_DUMP_NONE;
    }
    if (!take_place(builder, inner.at, (size_t)(inner.end - inner.at), line))
        return false;
    text->end = line->file ? open : text->end;
    return true;
}

static uint32_t add_frame(struct hs_dump_builder *builder, const char *kept, const struct hs_line *address,
                          struct hs_line text)
{
    struct hs_dump_location location = {.mapping = HS_DUMP_NONE};
    struct hs_dump_line line = {.function = NULL};
    if (!take_end(builder, &text, &location, &line))
        return HS_DUMP_NONE;
    const bool is_unknown = address->end > address->at && text.end - text.at == 3 && !memcmp(text.at, "???", 3);
    const struct hs_line name = is_unknown ? *address : text;
    line.function = hs_dump_builder__string(builder, name.at, (size_t)(name.end - name.at));
    const uint32_t added = line.function ? hs_dump_builder__add_location(builder, &location) : HS_DUMP_NONE;
    if (added == HS_DUMP_NONE || hs_dump_builder__add_line(builder, added, &line) ||
        hs_id_map__set(&builder->by_name, (uintptr_t)kept, added))
        return HS_DUMP_NONE;
    return added;
}

uint32_t hs_dump_builder__valgrind_frame(struct hs_dump_builder *builder, const char *text, size_t length)
{
    struct hs_line rest = {text, text + length}, address = rest;
    uint64_t number;
    if (hs_line__take(&rest, "0x") && hs_line__hex(&rest, &number) && hs_line__take(&rest, ": "))
        address.end = rest.at - 2;
    else
        address.end = rest.at = text;
    const bool is_unknown = hs_line__begins(&rest, "???");
    const char *key = is_unknown ? text : rest.at;
    const char *kept = hs_dump_builder__string(builder, key, (size_t)(rest.end - key));
    if (!kept)
        return HS_DUMP_NONE;
    const uint32_t known = hs_id_map__find(&builder->by_name, (uintptr_t)kept);
    return known != UINT32_MAX ? known : add_frame(builder, kept, &address, rest);
}

int hs_dump_builder__valgrind_run(struct hs_dump_builder *builder, const char *command, size_t length)
{
    const char *space = memchr(command, ' ', length);
    const size_t program = space ? (size_t)(space - command) : length;
    const int failed = hs_dump_builder__add_fact(builder, "command", strlen("command"), command, length);
    return failed ? failed : hs_dump_builder__add_fact(builder, "executable", strlen("executable"), command, program);
}

int hs_dump_builder__valgrind_time(struct hs_dump_builder *builder, const char *unit, uint64_t *ns)
{
    static const struct {
        const char *unit;
        uint64_t ns;
        const char *said; // what a ns stands for
        const char *clock;
    } units[] = {{"i", 1, "instruction", "instructions"},
                 {"instrs", 1, "instruction", "instructions"},
                 {"B", 1, "allocated or freed byte", "bytes"},
                 {"ns", 1, NULL, NULL},
                 {"\xc2\xb5s", 1000, NULL, NULL},
                 {"us", 1000, NULL, NULL},
                 {"ms", 1000000, NULL, NULL},
                 {"s", 1000000000, NULL, NULL}};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(unit, units[i].unit) != 0)
            continue;
        char text[80];
        *ns = units[i].ns;
        builder->dump->clock = units[i].clock;
        const int length = units[i].said ? snprintf(text, sizeof(text), "1 ns stands for one %s", units[i].said) : 0;
        return length ? hs_dump_builder__add_fact(builder, "times", strlen("times"), text, (size_t)length) : 0;
    }
    return -EINVAL;
}
