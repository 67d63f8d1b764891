// SPDX-License-Identifier: MIT OR Apache-2.0
//
// malloc_stats_print(): the nodes of mallctl() as text or as JSON. No lock is held while the caller's function runs,
// and what it allocates is not sampled.
#include "arch/system.h"
#include "runtime/prof/control_answer.h"
#include "runtime/prof/events.h"
#include "runtime/prof/options.h"
#include "runtime/prof/sampler.h"
#include "runtime/text.h"
#include "shims/prof/hooks.h"
#include "shims/prof/mallctl.h"
#include "shims/prof/nodes.h"

enum { PIECE = 4096, MARGIN = 256, ROOT_STATS = 11, STATS_ARENAS = 9, IN_MUTEXES = 5 };

struct statistics_printer {
    void (*write)(void *opaque, const char *text);
    void *opaque;
    const char *letters; // of the sections to leave out
    struct hs_text text;
    bool comma; // one is due before the next key or value
    size_t mib[HS_NODE_DEPTH];
    size_t depth;
    char piece[PIECE];
};

// ---- pieces ---------------------------------------------------------------------------------------------------------

static void flush(struct statistics_printer *printer)
{
    if (printer->text.at > printer->piece)
        printer->write(printer->opaque, printer->piece);
    hs_text__start(&printer->text, printer->piece, sizeof printer->piece);
}

static void add(struct statistics_printer *printer, const char *text)
{
    for (; *text; text++) {
        if (printer->text.at == printer->text.last)
            flush(printer);
        hs_text__add_character(&printer->text, *text);
    }
}

static void add_number(struct statistics_printer *printer, uint64_t number)
{
    if (printer->text.last - printer->text.at < MARGIN)
        flush(printer);
    hs_text__add_number(&printer->text, number);
}

static void add_quoted(struct statistics_printer *printer, const char *text)
{
    static const char digits[] = "0123456789abcdef";
    add(printer, "\"");
    for (; *text; text++) {
        char escaped[8] = {*text, 0};
        if (*text == '"' || *text == '\\') {
            escaped[0] = '\\';
            escaped[1] = *text;
            escaped[2] = 0;
        } else if ((unsigned char)*text < ' ') {
            __builtin_memcpy(escaped, "\\u00", 4);
            escaped[4] = digits[(unsigned char)*text >> 4];
            escaped[5] = digits[*text & 15];
            escaped[6] = 0;
        }
        add(printer, escaped);
    }
    add(printer, "\"");
}

static bool leaves_out(const struct statistics_printer *printer, char letter)
{
    for (const char *at = printer->letters; *at; at++)
        if (*at == letter)
            return true;
    return false;
}

// ---- values ---------------------------------------------------------------------------------------------------------

// What a node reads; false when it reads nothing.
static bool read_number(struct statistics_printer *printer, const struct hs_node *node, uint64_t *number)
{
    static const uint8_t sizes[] = {sizeof(bool), 4, sizeof(size_t), 8, sizeof(char *), sizeof(void *), 0};
    union {
        bool byte;
        uint32_t narrow;
        uint64_t wide;
    } value = {.wide = 0};
    if (node->access != HS_ACCESS_READ && node->access != HS_ACCESS_BOTH)
        return false;
    size_t length = sizes[node->type];
    struct hs_call call = {node, printer->mib, printer->depth, &value, &length, NULL, 0};
    if (length == 0 || hs_node__run(&call) != 0)
        return false;
    *number = length == 1 ? value.byte : length == 4 ? value.narrow : value.wide;
    return true;
}

// All bits set is -1: "off" or "no limit".
static bool is_minus_one(const struct hs_node *node, uint64_t number)
{
    return (node->type == HS_TYPE_SIZE && number == SIZE_MAX) || (node->type == HS_TYPE_64 && number == UINT64_MAX);
}

static void add_value(struct statistics_printer *printer, const struct hs_node *node, uint64_t number)
{
    if (node->type == HS_TYPE_BOOL)
        add(printer, number ? "true" : "false");
    else if (node->type == HS_TYPE_TEXT)
        add_quoted(printer, (const char *)(uintptr_t)number);
    else if (is_minus_one(node, number))
        add(printer, "-1");
    else
        add_number(printer, number);
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

static void add_key(struct statistics_printer *printer, const char *key)
{
    add(printer, printer->comma ? ",\"" : "\"");
    add(printer, key);
    add(printer, "\":");
    printer->comma = false;
}

static void begin(struct statistics_printer *printer, const char *bracket)
{
    add(printer, bracket);
    printer->comma = false;
}

static void finish(struct statistics_printer *printer, const char *bracket)
{
    add(printer, bracket);
    printer->comma = true;
}

// Names that differ from those of the nodes.
static const char *key_of(const struct hs_node *node)
{
    if (hs_text__equal(node->name, "uptime"))
        return "uptime_ns";
    return hs_text__equal(node->name, "hpa_sec_bytes") ? "sec_bytes" : node->name;
}

static bool is_left_out(const struct statistics_printer *printer, const struct hs_node *node)
{
    static const struct {
        char name[12];
        char letter;
    } sections[] = {{"bins", 'b'},    {"lextents", 'l'}, {"extents", 'e'},
                    {"mutexes", 'x'}, {"mutex", 'x'},    {"hpa_shard", 'h'}};
    for (unsigned i = 0; i < sizeof sections / sizeof *sections; i++)
        if (hs_text__equal(node->name, sections[i].name))
            return leaves_out(printer, sections[i].letter) && printer->depth != IN_MUTEXES;
    return false;
}

static void add_branch(struct statistics_printer *printer, const struct hs_node *node, bool with_branches);

// bins:[{...},{...}]: one element for each number that is accepted.
static void add_array(struct statistics_printer *printer, const struct hs_node *index)
{
    struct hs_call call = {.node = index, .mib = printer->mib, .depth = printer->depth};
    begin(printer, "[");
    for (size_t i = 0; index->of.accepts(&call, i); i++) {
        printer->mib[printer->depth++] = i;
        add(printer, printer->comma ? "," : "");
        add_branch(printer, index, true);
        printer->depth--;
    }
    finish(printer, "]");
}

static void add_child(struct statistics_printer *printer, const struct hs_node *child, bool with_branches)
{
    uint64_t number;
    bool is_branch = child->access == HS_ACCESS_BRANCH;
    if (is_branch && (!with_branches || is_left_out(printer, child)))
        return;
    if (is_branch) {
        add_key(printer, key_of(child));
        const struct hs_node *children = hs_node__children(child);
        if (children->access == HS_ACCESS_INDEX)
            add_array(printer, children);
        else
            add_branch(printer, child, true);
    } else if (read_number(printer, child, &number)) {
        add_key(printer, key_of(child));
        add_value(printer, child, number);
        printer->comma = true;
    }
}

static void add_branch(struct statistics_printer *printer, const struct hs_node *node, bool with_branches)
{
    begin(printer, "{");
    for (size_t i = 0; i < node->child_count; i++) {
        printer->mib[printer->depth++] = i;
        add_child(printer, &hs_node__children(node)[i], with_branches);
        printer->depth--;
    }
    finish(printer, "}");
}

static const struct hs_node *root_child(const char *name, size_t *number)
{
    for (*number = 0; *number < hs_nodes_root.child_count; ++*number)
        if (hs_text__equal(hs_nodes_root.of.children[*number].name, name))
            return &hs_nodes_root.of.children[*number];
    return NULL;
}

static void add_root_branch(struct statistics_printer *printer, const char *name, bool with_branches)
{
    const struct hs_node *node = root_child(name, &printer->mib[0]);
    printer->depth = 1;
    add_key(printer, name);
    add_branch(printer, node, with_branches);
}

static void add_general(struct statistics_printer *printer)
{
    size_t number;
    const struct hs_node *version = root_child("version", &number);
    add_key(printer, "version");
    add_quoted(printer, version->of.value);
    printer->comma = true;
    add_root_branch(printer, "config", false);
    add_root_branch(printer, "opt", false);
    add_root_branch(printer, "prof", false);
    add_root_branch(printer, "arenas", true);
}

// stats without the arenas, which come under a key of their own.
static void add_totals(struct statistics_printer *printer)
{
    const struct hs_node *stats = root_child("stats", &printer->mib[0]);
    printer->depth = 1;
    add_key(printer, "stats");
    begin(printer, "{");
    for (size_t i = 0; i < stats->child_count; i++) {
        printer->mib[printer->depth++] = i;
        if (i != STATS_ARENAS)
            add_child(printer, &stats->of.children[i], true);
        printer->depth--;
    }
    finish(printer, "}");
}

static __attribute__((noinline)) void add_arena(struct statistics_printer *printer, const char *key, size_t number)
{
    printer->mib[0] = ROOT_STATS;
    printer->mib[1] = STATS_ARENAS;
    printer->mib[2] = number;
    printer->depth = 3;
    add_key(printer, key);
    add_branch(printer, hs_nodes_stats[STATS_ARENAS].of.children, true);
}

static void print_json(struct statistics_printer *printer)
{
    add(printer, "{\"jemalloc\":");
    begin(printer, "{");
    if (!leaves_out(printer, 'g'))
        add_general(printer);
    add_totals(printer);
    if (!leaves_out(printer, 'm') || !leaves_out(printer, 'a')) {
        add_key(printer, "stats.arenas");
        begin(printer, "{");
        if (!leaves_out(printer, 'm'))
            add_arena(printer, "merged", HS_ARENAS_ALL);
        if (!leaves_out(printer, 'a'))
            add_arena(printer, "0", 0);
        finish(printer, "}");
    }
    add(printer, "}}\n");
}

// ---- text -----------------------------------------------------------------------------------------------------------

static void add_line(struct statistics_printer *printer, const char *label, uint64_t number, const char *end)
{
    add(printer, label);
    add_number(printer, number);
    add(printer, end);
}

static void add_nodes_as_lines(struct statistics_printer *printer, const char *name)
{
    const struct hs_node *branch = root_child(name, &printer->mib[0]);
    for (size_t i = 0; i < branch->child_count; i++) {
        const struct hs_node *child = &branch->of.children[i];
        uint64_t number;
        printer->mib[1] = i;
        printer->depth = 2;
        if (!read_number(printer, child, &number))
            continue;
        add(printer, "  ");
        add(printer, name);
        add(printer, ".");
        add(printer, child->name);
        add(printer, ": ");
        add_value(printer, child, number);
        add(printer, "\n");
    }
}

static uint64_t read_named(const char *name)
{
    union {
        uint32_t narrow;
        uint64_t wide;
    } value = {.wide = 0};
    size_t mib[HS_NODE_DEPTH], depth = HS_NODE_DEPTH, length = sizeof(uint32_t);
    if (mallctlnametomib(name, mib, &depth) != 0)
        return 0;
    if (mallctlbymib(mib, depth, &value, &length, NULL, 0) == 0)
        return value.narrow;
    length = sizeof(size_t);
    value.wide = 0;
    mallctlbymib(mib, depth, &value, &length, NULL, 0);
    return sizeof(size_t) == 4 ? value.narrow : value.wide;
}

static void print_general(struct statistics_printer *printer)
{
    size_t number;
    add(printer, "Version: ");
    add_quoted(printer, root_child("version", &number)->of.value);
    add(printer, "\nBuild-time option settings\n");
    add_nodes_as_lines(printer, "config");
    add(printer, "Run-time option settings\n");
    add_nodes_as_lines(printer, "opt");
    add(printer, "Profiling settings\n");
    add_nodes_as_lines(printer, "prof");
    add_line(printer, "Arenas: ", read_named("arenas.narenas"), "\n");
    add_line(printer, "Quantum size: ", read_named("arenas.quantum"), "\n");
    add_line(printer, "Page size: ", read_named("arenas.page"), "\n");
    add_line(printer, "Maximum thread-cached size class: ", read_named("arenas.tcache_max"), "\n");
    add_line(printer, "Number of bin size classes: ", read_named("arenas.nbins"), "\n");
    add_line(printer, "Number of thread-cache bin size classes: ", read_named("arenas.nhbins"), "\n");
    add_line(printer, "Number of large size classes: ", read_named("arenas.nlextents"), "\n");
}

static void print_arena(struct statistics_printer *printer, const char *title,
                        const struct hs_statistics_values *values)
{
    add(printer, title);
    add_line(printer, "assigned threads: ", read_named("stats.arenas.0.nthreads"), "\n");
    add_line(printer, "allocated: ", values->allocated, "\n");
    add_line(printer, "active: ", values->active, "\n");
    add_line(printer, "mapped: ", values->mapped, "\n");
    add_line(printer, "resident: ", values->resident, "\n");
    add_line(printer, "total allocated: ", values->total_allocated, "\n");
    add_line(printer, "total deallocated: ", values->total_deallocated, "\n");
}

static void print_text(struct statistics_printer *printer)
{
    struct hs_statistics_values values = hs_statistics__values();
    add(printer, "___ Begin jemalloc statistics ___\n");
    if (!leaves_out(printer, 'g'))
        print_general(printer);
    add_line(printer, "Allocated: ", values.allocated, ", active: ");
    add_number(printer, values.active);
    add_line(printer, ", metadata: 0 (n_thp 0), resident: ", values.resident, ", mapped: ");
    add_number(printer, values.mapped);
    add(printer, ", retained: 0\n");
    add_line(printer, "Count of realloc(non-null-ptr, 0) calls: ", hs_prof_zero_reallocs, "\n");
    add(printer, "Background threads: 0, num_runs: 0, run_interval: 0 ns\n");
    if (!leaves_out(printer, 'm'))
        print_arena(printer, "Merged arenas stats:\n", &values);
    if (!leaves_out(printer, 'a'))
        print_arena(printer, "arenas[0]:\n", &values);
    add(printer, "--- End jemalloc statistics ---\n");
}

// ---- the function ---------------------------------------------------------------------------------------------------

static void print_to_message(void *opaque, const char *text)
{
    (void)opaque;
    hs_prof_options_message(text);
}

static void print(void (*write)(void *opaque, const char *text), void *opaque, const char *letters)
{
    struct statistics_printer printer = {.write = write, .opaque = opaque, .letters = letters};
    hs_text__start(&printer.text, printer.piece, sizeof printer.piece);
    hs_statistics__refresh();
    if (leaves_out(&printer, 'J'))
        print_json(&printer);
    else
        print_text(&printer);
    flush(&printer);
}

HS_EXPORT void malloc_stats_print(void (*write)(void *opaque, const char *text), void *opaque, const char *letters)
{
    const struct hs_next_ctl *jemalloc = hs_prof_ctl__next();
    struct hs_sampler_thread *thread = hs_sampler__self();
    uint32_t inside = thread ? thread->inside : 0;
    if (thread)
        thread->inside = 1;
    if (jemalloc && jemalloc->malloc_stats_print)
        jemalloc->malloc_stats_print(write, opaque, letters);
    else
        print(write ? write : print_to_message, opaque, letters ? letters : "");
    if (thread)
        thread->inside = inside;
}

// For the control thread: nothing of libc.
static void print_for_control(void (*write)(void *data, const char *text), void *data)
{
    print(write, data, "J");
}

static void print_at_interval(void)
{
    malloc_stats_print(NULL, NULL, hs_prof_options.stats_interval_letters);
}

// ---- start and end of the process
// --------------------------------------------------------------------------------------

static void start_statistics(void)
{
    hs_control_statistics = print_for_control;
    // jemalloc behind us has read the same options.
    if (!hs_prof_ctl__next())
        hs_events_print_statistics = print_at_interval;
}

static void silence_jemalloc(void)
{
    const struct hs_next_ctl *jemalloc = hs_prof_ctl__next();
    bool on = false, off = false;
    size_t length = sizeof on;
    if (!jemalloc || !hs_prof_options.prof || jemalloc->mallctl("opt.prof", &on, &length, NULL, 0) || !on)
        return;
    const char *nowhere = "";
    jemalloc->mallctl("prof.active", NULL, NULL, &off, sizeof off);
    jemalloc->mallctl("prof.prefix", NULL, NULL, &nowhere, sizeof nowhere);
    jemalloc->mallctl("prof.log_stop", NULL, NULL, NULL, 0);
    hs_prof_options_message(
        "<jemalloc>: The allocator profiles itself; its own profiling is switched off in favour of heapsonde's.\n");
}

void hs_prof_ctl__start(void)
{
    start_statistics();
    silence_jemalloc();
    hs_events__start();
}

void hs_prof_ctl__at_exit(void)
{
    if (hs_prof_options.stats_print && !hs_prof_ctl__next())
        malloc_stats_print(NULL, NULL, hs_prof_options.stats_print_letters);
    hs_events__end();
}
