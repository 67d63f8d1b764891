// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/modules.h"

#include "arch/system.h"
#include "runtime/clock.h"
#include "runtime/embed.h"
#include "runtime/image.h"
#include "runtime/journal.h"
#include "runtime/log.h"
#include "runtime/mapped.h"
#include "runtime/memory.h"
#include "runtime/output.h"
#include "runtime/shared_word.h"
#include "runtime/tables.h"
#include "runtime/text.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>

// Above MANY pieces, a scan waits until scans take at most one REST-th of the time. Below, a scan is cheap.
enum { FIRST_CAPACITY = 512, PATH_LIMIT = 4096, READ_SIZE = 16384, UNSEEN_SHARE = 8, MANY = 128, REST = 16 };

struct modules_table { // by address
    struct hs_code_range *code;
    uint32_t count, capacity;
};

static struct {
    struct modules_table now;
    struct modules_table next;   // of the running scan
    uint32_t at;                 // in `now`, of the running scan: what lies behind it was not met yet
    uint32_t nameless;           // in `now`
    uint32_t known_at;           // in `now`, of the running scan: what lies before it comes before its last piece
    uint32_t added, left_out;    // by the last scan: new pieces, and pieces for which there was no room
    uint32_t names_left_out;     // those of the latter that have a name
    uint32_t most;               // entries of each table
    uint32_t unseen;             // pages of unknown code since the last scan
    uintptr_t last_unknown_page; // code that no scan explains is not scanned for again at once
    uintptr_t last, last_size;   // the piece of code that was met last; 0: none
    struct hs_code_range python; // the piece of libpython3; end 0: none
    uint64_t due_ns;             // the next scan of many pieces
    uint64_t changed;            // recorded time of the last module
    bool late;                   // a scan is put off until then
    bool unloads;                // code has gone: none is put off any more, since other code may take its place
    bool at_once;                // the running scan announces what is new; else ends are said first
    bool more;                   // code with a name that the running scan left to the next one for that
    bool failed;
    bool scanned; // what comes later may be unloaded again, in a forked child too
} modules = {.most = UINT32_MAX};

// The group that the scan is collecting; all under the stack table's lock.
static struct {
    struct hs_mapped mapped; // empty: none
    char path[PATH_LIMIT];   // as in the maps
    size_t path_length;
} group;

uintptr_t hs_modules__python;

static char buffer[READ_SIZE];
static char name[PATH_LIMIT];

// ---- what is known --------------------------------------------------------------------------------------------------

static bool known(uintptr_t address)
{
    if (address - modules.last < modules.last_size)
        return true;
    const struct hs_code_range *code = hs_code_ranges__find(modules.now.code, modules.now.count, address);
    if (code) {
        modules.last = code->start;
        modules.last_size = code->end - code->start;
    }
    return code;
}

static bool reserve(struct modules_table *table, uint32_t count)
{
    if (count <= table->capacity)
        return true;
    uint32_t capacity = table->capacity ? table->capacity : FIRST_CAPACITY;
    while (capacity < count)
        capacity *= 2;
    if (capacity > modules.most)
        capacity = modules.most;
    struct hs_code_range *code = hs_memory__map(capacity * sizeof *code);
    if (!code)
        return false;
    if (table->code) {
        __builtin_memcpy(code, table->code, table->count * sizeof *code);
        hs_memory__unmap(table->code, table->capacity * sizeof *code);
    }
    table->code = code;
    table->capacity = capacity;
    return true;
}

// ---- /proc/self/maps ------------------------------------------------------------------------------------------------

static bool collect(void); // false: no memory

static bool finish_group(void)
{
    bool good = !group.mapped.executable || collect();
    group.mapped = (struct hs_mapped){0};
    return good;
}

// The reach that an earlier scan found, if it knows the mapping. Scans go upwards.
static uint64_t reach_of(const struct hs_maps_line *mapping, bool *has_code)
{
    const struct modules_table *now = &modules.now;
    while (modules.at < now->count && now->code[modules.at].start < mapping->start)
        modules.at++;
    for (uint32_t i = modules.at; i < now->count && now->code[i].start == mapping->start; i++)
        if (now->code[i].inode == mapping->inode && now->code[i].named) {
            *has_code = true;
            return now->code[i].reach;
        }
    return hs_image__reach(mapping, name, has_code);
}

static bool add_mapping(struct hs_maps_line *mapping)
{
    if (mapping->path_length >= PATH_LIMIT)
        mapping->path_length = PATH_LIMIT;
    bool same = mapping->path_length == group.path_length &&
                __builtin_memcmp(mapping->path, group.path, group.path_length) == 0;
    if (group.mapped.end && hs_mapped__add(&group.mapped, mapping, same, name))
        return true;
    // .bss: the anonymous pages behind a module's file mappings belong to no code of their own.
    if (!mapping->path_length && !mapping->executable)
        return true;
    if (!finish_group())
        return false;
    group.path_length = mapping->path_length;
    __builtin_memcpy(group.path, mapping->path, mapping->path_length);
    hs_maps_line__copy_path(group.path, group.path_length, name, sizeof name);
    bool has_code = false;
    uint64_t reach = mapping->path_length ? reach_of(mapping, &has_code) : 0;
    hs_mapped__begin(&group.mapped, mapping, reach);
    group.mapped.executable |= has_code;
    return true;
}

// Returns the length of the lines that were complete.
static size_t scan_lines(size_t filled, bool *good)
{
    struct hs_maps_line mapping;
    size_t line = 0;
    for (size_t i = 0; i < filled && *good; i++) {
        if (buffer[i] != '\n')
            continue;
        hs_maps_line__parse(&mapping, buffer + line);
        if (mapping.end > mapping.start)
            *good = add_mapping(&mapping);
        line = i + 1;
    }
    return line;
}

static bool scan(void)
{
    size_t filled = 0;
    bool good = true;
    long got, fd = HS_SYSTEM_OPEN_OWN("maps");
    if (fd < 0)
        return false;
    modules.at = 0;
    group.mapped = (struct hs_mapped){0};
    while (good && (got = hs_system_read((int)fd, buffer + filled, sizeof buffer - 1 - filled)) > 0) {
        filled += (size_t)got;
        size_t done = scan_lines(filled, &good);
        filled -= done;
        for (size_t i = 0; done && i < filled; i++)
            buffer[i] = buffer[done + i];
        // No path that long can be opened.
        if (filled == sizeof buffer - 1)
            filled /= 2;
    }
    hs_system_close((int)fd);
    return good && finish_group();
}

// ---- from one scan to the next --------------------------------------------------------------------------------------

// Negative: `left` comes first. 0: the same code.
static int compare(const struct hs_code_range *left, const struct hs_code_range *right)
{
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    if (left->end != right->end)
        return left->end < right->end ? -1 : 1;
    if (left->inode != right->inode)
        return left->inode < right->inode ? -1 : 1;
    return 0;
}

static bool is_known(const struct hs_code_range *code)
{
    const struct modules_table *now = &modules.now;
    while (modules.known_at < now->count && compare(&now->code[modules.known_at], code) < 0)
        modules.known_at++;
    return modules.known_at < now->count && compare(&now->code[modules.known_at], code) == 0;
}

// Names are worth more than to know when code without one ends.
static bool has_room(const struct hs_code_range *code)
{
    return modules.now.count + modules.added < (code->named ? modules.most : modules.most / 2);
}

static void announce(const struct hs_code_range *code)
{
    struct hs_image image;
    const char *path = name[0] ? name : "[path too long]";
    hs_image__read(&image, &group.mapped, name);
    hs_embed__remember(path);
    if (!modules.scanned)
        hs_tables__note((uintptr_t)image.tables, (uintptr_t)image.tables_end);
    // Nodes that were journalled meanwhile are to be found in it.
    if (!modules.late || modules.unloads)
        modules.changed = hs_clock__now();
    hs_journal__module(modules.changed, code->start, code->end, image.bias, image.build_id, image.build_id_length,
                       path);
    if (!image.build_id_length && image.layout)
        hs_journal__layout(image.layout, code->inode);
    if (!modules.python.end && hs_text__starts_with(hs_text__base_name(path), "libpython3."))
        modules.python = *code;
}

// What is known has its place, and what is gone keeps it until that is said.
static bool collect(void)
{
    struct modules_table *next = &modules.next;
    const struct hs_code_range code = {.start = (uintptr_t)group.mapped.start,
                                       .end = (uintptr_t)group.mapped.end,
                                       .reach = (uintptr_t)group.mapped.reach,
                                       .inode = group.mapped.inode,
                                       .named = group.path_length != 0};
    bool known = is_known(&code);
    if (!known && code.named && !modules.at_once) {
        modules.more = true;
        return true;
    }
    if (!known && !has_room(&code)) {
        modules.left_out++;
        modules.names_left_out += code.named;
        return true;
    }
    if (!reserve(next, next->count + 1))
        return false;
    modules.added += !known;
    next->code[next->count++] = code;
    if (!known && code.named)
        announce(&code);
    return true;
}

// Moves the entries of `now` that are not in `next` to the front. Returns their number.
static uint32_t part_missing(void)
{
    struct modules_table *now = &modules.now, *next = &modules.next;
    uint32_t missing = 0;
    for (uint32_t i = 0, k = 0; i < now->count; i++) {
        while (k < next->count && compare(&next->code[k], &now->code[i]) < 0)
            k++;
        if (k == next->count || compare(&next->code[k], &now->code[i]) != 0)
            now->code[missing++] = now->code[i];
    }
    now->count = missing;
    return missing;
}

// Code that is gone stays known until that is said. There is room.
static void keep_missing(void)
{
    const struct modules_table *now = &modules.now;
    struct modules_table *next = &modules.next;
    uint32_t from = next->count, missing = now->count;
    next->count += missing;
    for (uint32_t to = next->count; missing;)
        if (from && compare(&next->code[from - 1], &now->code[missing - 1]) > 0)
            next->code[--to] = next->code[--from];
        else
            next->code[--to] = now->code[--missing];
}

static void count_nameless(void)
{
    modules.nameless = 0;
    for (uint32_t i = 0; i < modules.now.count; i++)
        modules.nameless += !modules.now.code[i].named;
}

static bool read_maps(void)
{
    modules.unseen = 0;
    modules.more = false;
    modules.next.count = 0;
    modules.known_at = modules.added = modules.left_out = modules.names_left_out = 0;
    if (reserve(&modules.now, 1) && reserve(&modules.next, 1) && scan() &&
        reserve(&modules.next, modules.now.count + modules.added))
        return true;
    if (!modules.failed)
        hs_log(HS_LOG_WARN, "the list of modules cannot be read or kept: names will be missing", NULL, 0);
    modules.failed = true;
    return false;
}

static void count_left_out(void)
{
    uint64_t *most = &hs_output__live()->dropped[HS_DROP_MODULES];
    if (*most < modules.names_left_out)
        hs_shared_word__add(most, modules.names_left_out - *most);
}

// Any code may be gone if some was left out.
static bool say_unloaded(uint32_t missing, bool all, void (*unloaded)(const struct hs_code_range *code, uint32_t count))
{
    static const struct hs_code_range everything = {.end = UINTPTR_MAX};
    if (!missing && !all)
        return false;
    modules.unloads = true;
    if (all)
        unloaded(&everything, 1);
    else
        unloaded(modules.now.code, missing);
    for (uint32_t i = 0; i < missing; i++)
        hs_journal__unload(modules.now.code[i].start);
    return true;
}

static bool update(void (*unloaded)(const struct hs_code_range *code, uint32_t count))
{
    bool had_all = !modules.left_out;
    uint64_t began = hs_clock__monotonic_ns();
    modules.at_once = !unloaded;
    if (!read_maps())
        return false;
    uint32_t missing = part_missing();
    for (uint32_t i = 0; i < missing; i++)
        if (modules.now.code[i].start == modules.python.start) {
            modules.python = (struct hs_code_range){0};
            __atomic_store_n(&hs_modules__python, 0, __ATOMIC_RELEASE);
        }
    bool said = unloaded && say_unloaded(missing, !had_all, unloaded);
    if (!unloaded)
        keep_missing();
    struct modules_table now = modules.next;
    modules.next = modules.now;
    modules.now = now;
    modules.last_size = 0;
    // For what is new, and for what had no room.
    if (modules.more || (said && missing && modules.left_out)) {
        update(NULL);
        return said;
    }
    count_left_out();
    count_nameless();
    modules.late = false;
    modules.scanned = true;
    uint64_t ended = hs_clock__monotonic_ns();
    modules.due_ns = ended + REST * (ended - began);
    return said;
}

// What is put off waits for new code without a name, or for time.
static bool is_due(void)
{
    if (modules.unseen <= (modules.nameless + modules.left_out) / UNSEEN_SHARE)
        return false;
    bool early = modules.now.count >= MANY && !modules.unloads && hs_clock__monotonic_ns() < modules.due_ns;
    modules.late |= early;
    return !early;
}

static void see(uintptr_t call)
{
    bool is_new = !known(call) && modules.last_unknown_page != call >> 12;
    if (!is_new && !modules.late)
        return;
    if (is_new)
        modules.last_unknown_page = call >> 12;
    modules.unseen += is_new;
    if (is_due()) {
        update(NULL);
        if (known(call))
            modules.last_unknown_page = 0;
    }
}

void hs_modules__see(uintptr_t pc)
{
    uintptr_t call = hs_code_range__call_of(pc);
    see(call);
    if (call - modules.python.start < modules.python.end - modules.python.start)
        __atomic_store_n(&hs_modules__python, modules.python.start, __ATOMIC_RELEASE);
}

void hs_modules__catch_up(void)
{
    if (modules.late && is_due())
        update(NULL);
}

bool hs_modules__is_settled(void)
{
    return !modules.unseen;
}

void hs_modules__settle(void)
{
    if (!hs_modules__is_settled())
        update(NULL);
}

bool hs_modules__rescan(void (*unloaded)(const struct hs_code_range *code, uint32_t count))
{
    modules.last_unknown_page = 0;
    return modules.now.count && update(unloaded);
}

void hs_modules__set_limit(size_t bytes)
{
    modules.most = (uint32_t)(bytes / 2 / sizeof(struct hs_code_range));
}

void hs_modules__reset(void)
{
    modules.now.count = 0;
    modules.last_size = 0;
    modules.nameless = modules.unseen = modules.left_out = 0;
    modules.last_unknown_page = 0;
    modules.late = modules.unloads = false;
}
