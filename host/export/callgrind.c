// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Valgrind's profile format: each function's own costs by line, and its calls with the costs of what was called.
//
// Readers take the costs of all calls to a function as what it costs with its callees; only for a function that nothing
// calls do they add up its own costs and calls. So each stack counts for one call of each of its functions, the
// outermost, also where functions recurse; other calls are there without costs. Outermost functions are called by a
// root, because other stacks may have callers of them.
#include "host/base/hash_index.h"
#include "host/base/utf8.h"
#include "host/export/export.h"
#include "host/export/measure.h"
#include "host/export/stack_table.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct callgrind_costs {
    uint64_t value[HS_MEASURES_MOST];
};

struct callgrind_call {
    uint32_t caller; // number of a frame
    uint32_t callee; // number of a function
    uint32_t next;   // of the same caller, + 1
    uint32_t line;
    struct callgrind_costs costs;
};

// What has a name in the file. Its number is that of the first frame that has it.
enum callgrind_name { CALLGRIND_FUNCTION, CALLGRIND_FILE, CALLGRIND_OBJECT, CALLGRIND_NAMES };

struct callgrind_names {
    uint32_t *number; // by frame
    bool *written;    // by number
    struct hs_hash_index index;
};

struct callgrind {
    FILE *out;
    const struct hs_subject *subject;
    struct hs_stack_table table;
    uint32_t frames; // of the table, and the root
    struct hs_measure measure[HS_MEASURES_MOST];
    size_t measures;
    struct callgrind_names names[CALLGRIND_NAMES];
    struct callgrind_costs *own; // by frame
    uint32_t *first;             // by frame: its first call, + 1
    uint32_t *seen;              // by function: the last stack that had it, + 1
    struct callgrind_call *call;
    size_t calls, room;
    struct hs_hash_index call_index;
};

// ---- names ---------------------------------------------------------------------------------------------------------

static const struct hs_frame *frame_of(const struct callgrind *profile, uint32_t frame)
{
    static const struct hs_frame root = {.function = "(root)", .module = ""};
    return frame < profile->table.frame_count ? profile->table.frame[frame] : &root;
}

static const char *name_of(const struct hs_frame *frame, enum callgrind_name kind)
{
    if (kind == CALLGRIND_FUNCTION)
        return frame->function;
    const char *name = kind == CALLGRIND_FILE ? frame->file : frame->module;
    return name ? name : "";
}

struct callgrind_name_key {
    const struct callgrind *profile;
    const struct hs_frame *frame;
    enum callgrind_name kind;
};

// Functions of the same name in several files or objects differ.
static bool is_name(const void *wanted, uint32_t number)
{
    const struct callgrind_name_key *key = wanted;
    const struct hs_frame *other = frame_of(key->profile, number);
    for (enum callgrind_name kind = key->kind; kind < CALLGRIND_NAMES; kind++) {
        const char *name = name_of(key->frame, kind), *of_other = name_of(other, kind);
        if (name != of_other && strcmp(name, of_other) != 0)
            return false;
        if (key->kind != CALLGRIND_FUNCTION)
            break;
    }
    return true;
}

static int number_names(struct callgrind *profile, enum callgrind_name kind)
{
    struct callgrind_names *names = &profile->names[kind];
    names->number = calloc(profile->frames, sizeof(*names->number));
    names->written = calloc(profile->frames, sizeof(*names->written));
    if (!names->number || !names->written)
        return -ENOMEM;
    for (uint32_t i = 0; i < profile->frames; i++) {
        const struct callgrind_name_key key = {profile, frame_of(profile, i), kind};
        uint64_t hash = 0;
        for (const char *at = name_of(key.frame, kind); *at; at++)
            hash = hs_hash__mix(hash, (uint8_t)*at);
        hash = hs_hash__pair(hash, 0);
        names->number[i] = hs_hash_index__find(&names->index, hash, is_name, &key);
        if (names->number[i] != HS_HASH_NONE)
            continue;
        names->number[i] = i;
        if (hs_hash_index__add(&names->index, hash, i))
            return -ENOMEM;
    }
    return 0;
}

// ---- sums ----------------------------------------------------------------------------------------------------------

static void add_costs(const struct callgrind *profile, struct callgrind_costs *to, const struct hs_total *total)
{
    for (size_t i = 0; i < profile->measures; i++)
        to->value[i] += hs_measure__of(total, profile->measure[i]);
}

struct callgrind_call_key {
    const struct callgrind *profile;
    uint32_t caller, callee;
};

static bool is_call(const void *wanted, uint32_t number)
{
    const struct callgrind_call_key *key = wanted;
    const struct callgrind_call *call = &key->profile->call[number];
    return call->caller == key->caller && call->callee == key->callee;
}

// NULL: out of memory.
static struct callgrind_call *find_call(struct callgrind *profile, uint32_t caller, uint32_t callee_frame)
{
    const struct callgrind_call_key key = {profile, caller, profile->names[CALLGRIND_FUNCTION].number[callee_frame]};
    const uint64_t hash = hs_hash__pair(key.caller, key.callee);
    uint32_t number = hs_hash_index__find(&profile->call_index, hash, is_call, &key);
    if (number != HS_HASH_NONE)
        return &profile->call[number];
    number = (uint32_t)profile->calls;
    if (profile->calls >= HS_HASH_NONE || !HS_ARRAY_HAS_ROOM(profile->call, profile->calls, profile->room) ||
        hs_hash_index__add(&profile->call_index, hash, number))
        return NULL;
    profile->call[profile->calls++] = (struct callgrind_call){
        .caller = caller,
        .callee = key.callee,
        .next = profile->first[caller],
        .line = frame_of(profile, callee_frame)->line,
    };
    profile->first[caller] = number + 1;
    return &profile->call[number];
}

static int add_stack(struct callgrind *profile, const uint32_t *frame, size_t count, size_t stack)
{
    const struct hs_total *total = &profile->subject->totals.total[stack];
    add_costs(profile, &profile->own[frame[0]], total);
    uint32_t caller = profile->frames - 1;
    while (count--) {
        struct callgrind_call *call = find_call(profile, caller, frame[count]);
        if (!call)
            return -ENOMEM;
        if (profile->seen[call->callee] != stack + 1)
            add_costs(profile, &call->costs, total);
        profile->seen[call->callee] = (uint32_t)stack + 1;
        caller = frame[count];
    }
    return 0;
}

static int add_stacks(struct callgrind *profile)
{
    struct hs_frame_numbers frames = {NULL, 0};
    const struct hs_totals *totals = &profile->subject->totals;
    int result = 0;
    for (size_t i = 0; !result && i < totals->count; i++) {
        const size_t count = hs_stack_table__whole(&profile->table, totals->total[i].stack, &frames);
        result = count == SIZE_MAX ? -ENOMEM : add_stack(profile, frames.number, count, i);
    }
    free(frames.number);
    return result;
}

// ---- the file ------------------------------------------------------------------------------------------------------

// A line ends a name, and readers know no escapes. They drop blanks at its start.
static void write_text(FILE *out, const char *text)
{
    const size_t length = strlen(text);
    if (strspn(text, " ") == length)
        fputs("???", out);
    for (size_t i = 0; i < length;) {
        const size_t sequence = hs_utf8__shown(text + i, length - i);
        if (sequence)
            fwrite_unlocked(text + i, 1, sequence, out);
        else
            putc_unlocked('?', out);
        i += sequence ? sequence : 1;
    }
}

// "fn=(number) name", and without the name from the second time on.
static void write_name(struct callgrind *profile, const char *key, enum callgrind_name kind, uint32_t frame)
{
    struct callgrind_names *names = &profile->names[kind];
    const uint32_t number = names->number[frame];
    fprintf(profile->out, "%s=(%" PRIu32 ")", key, number + 1);
    if (!names->written[number]) {
        fputc(' ', profile->out);
        write_text(profile->out, name_of(frame_of(profile, number), kind));
    }
    fputc('\n', profile->out);
    names->written[number] = true;
}

static void write_costs(const struct callgrind *profile, const struct callgrind_costs *costs)
{
    for (size_t i = 0; i < profile->measures; i++)
        fprintf(profile->out, " %" PRIu64, costs->value[i]);
    fputc('\n', profile->out);
}

static void write_call(struct callgrind *profile, const struct callgrind_call *call)
{
    write_name(profile, "cob", CALLGRIND_OBJECT, call->callee);
    write_name(profile, "cfi", CALLGRIND_FILE, call->callee);
    write_name(profile, "cfn", CALLGRIND_FUNCTION, call->callee);
    fprintf(profile->out, "calls=1 %" PRIu32 "\n%" PRIu32, call->line, frame_of(profile, call->caller)->line);
    write_costs(profile, &call->costs);
}

static bool has_costs(const struct callgrind_costs *costs)
{
    static const struct callgrind_costs none;
    return memcmp(costs, &none, sizeof(none)) != 0;
}

static void write_frames(struct callgrind *profile)
{
    for (uint32_t i = 0; i < profile->frames; i++) {
        const bool own = has_costs(&profile->own[i]);
        if (!profile->first[i] && !own)
            continue;
        fputc('\n', profile->out);
        write_name(profile, "ob", CALLGRIND_OBJECT, i);
        write_name(profile, "fl", CALLGRIND_FILE, i);
        write_name(profile, "fn", CALLGRIND_FUNCTION, i);
        if (own) {
            fprintf(profile->out, "%" PRIu32, frame_of(profile, i)->line);
            write_costs(profile, &profile->own[i]);
        }
        for (uint32_t at = profile->first[i]; at; at = profile->call[at - 1].next)
            write_call(profile, &profile->call[at - 1]);
    }
}

// "LiveBytes", "Nanoseconds": these names are letters only.
static void name_measure(const struct callgrind *profile, struct hs_measure measure, char *name, size_t size)
{
    const struct hs_events_kind *events = hs_subject__events(profile->subject);
    const bool several = (events->costs & (events->costs - 1)) != 0;
    const char *unit = measure.blocks ? events->thing : events->unit;
    snprintf(name, size, "%s%c%s", several ? hs_cost__name(measure.cost) : "", toupper((unsigned char)*unit), unit + 1);
    *name = (char)toupper((unsigned char)*name);
}

static void write_header(const struct callgrind *profile)
{
    char name[64], title[128];
    struct callgrind_costs sum = {{0}};
    fputs("# callgrind format\nversion: 1\ncreator: heapsonde\ncmd: ", profile->out);
    write_text(profile->out, hs_program_name(profile->subject->store));
    fputs("\npositions: line\n", profile->out);
    for (size_t i = 0; i < profile->measures; i++) {
        name_measure(profile, profile->measure[i], name, sizeof(name));
        hs_measure__title(profile->subject, profile->measure[i], title, sizeof(title));
        fprintf(profile->out, "event: %s : %s\n", name, title);
    }
    fputs("events:", profile->out);
    for (size_t i = 0; i < profile->measures; i++) {
        name_measure(profile, profile->measure[i], name, sizeof(name));
        fprintf(profile->out, " %s", name);
    }
    add_costs(profile, &sum, &profile->subject->totals.sum);
    fputs("\nsummary:", profile->out);
    write_costs(profile, &sum);
}

// The one that was asked for comes first, because readers show and sort by it; then the others of this cost.
static void list_measures(struct callgrind *profile, const struct hs_export_options *options)
{
    struct hs_measure all[HS_MEASURES_MOST];
    const size_t count = hs_measures__list(profile->subject, all);
    for (int place = 0; place < 3; place++)
        for (size_t i = 0; i < count; i++) {
            const int place_of = all[i].cost != options->cost ? 2 : all[i].blocks != options->blocks;
            if (place_of == place)
                profile->measure[profile->measures++] = all[i];
        }
}

static int write_profile(struct callgrind *profile)
{
    profile->frames = (uint32_t)profile->table.frame_count + 1;
    profile->own = calloc(profile->frames, sizeof(*profile->own));
    profile->first = calloc(profile->frames, sizeof(*profile->first));
    profile->seen = calloc(profile->frames, sizeof(*profile->seen));
    int result = profile->own && profile->first && profile->seen ? 0 : -ENOMEM;
    for (enum callgrind_name kind = 0; !result && kind < CALLGRIND_NAMES; kind++)
        result = number_names(profile, kind);
    if (!result)
        result = add_stacks(profile);
    if (result)
        return result;
    write_header(profile);
    write_frames(profile);
    return 0;
}

int hs_export__callgrind(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options)
{
    struct callgrind profile = {.out = out, .subject = subject};
    list_measures(&profile, options);
    int result = hs_stack_table__build(&profile.table, subject);
    if (result)
        return result;
    result = write_profile(&profile);
    for (enum callgrind_name kind = 0; kind < CALLGRIND_NAMES; kind++) {
        free(profile.names[kind].number);
        free(profile.names[kind].written);
        hs_hash_index__free(&profile.names[kind].index);
    }
    free(profile.own);
    free(profile.first);
    free(profile.seen);
    free(profile.call);
    hs_hash_index__free(&profile.call_index);
    hs_stack_table__free(&profile.table);
    return result;
}
