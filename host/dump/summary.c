// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/dump/summary.h"

#include "host/base/json.h"
#include "host/report/style.h"
#include "host/report/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct dump_summary_writer {
    FILE *out;
    const struct hs_style *style;
};

static void row(const struct dump_summary_writer *to, const char *name, const char *text)
{
    fprintf(to->out, "%s%-13s%s ", to->style->heading, name, to->style->plain);
    hs_text__print(to->out, text, strlen(text));
    putc('\n', to->out);
}

__attribute__((format(printf, 3, 4))) static void row_of(const struct dump_summary_writer *to, const char *name,
                                                         const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    row(to, name, text);
}

void hs_dump__describe(const struct hs_dump *dump, char *text, size_t size)
{
    const char *format = hs_dump_format_name(dump->format);
    bool symbolized = dump->line_count && (dump->format == HS_DUMP_HEAP_V2 || dump->format == HS_DUMP_HEAP_PROFILE);
    const char *names = symbolized ? " with names" : "";
    if (dump->period > 1)
        snprintf(text, size, "%s%s, a sample every %s on average", format, names, hs_text__bytes(dump->period).text);
    else
        snprintf(text, size, "%s%s", format, names);
}

// A file holds about as many blocks as were sampled.
static void describe_samples(const struct hs_dump *dump, char *text, size_t size)
{
    double samples = 0;
    *text = 0;
    for (size_t i = 0; i < dump->context_count; i++)
        samples += (double)dump->context[i].counts.live_blocks;
    if (dump->sampling == HS_SAMPLING_POISSON && dump->period > 1 && samples >= 1)
        snprintf(text, size, ", estimated from about %s (%.1f %% standard error)",
                 hs_text__samples((uint64_t)samples).text, 100 / sqrt(samples));
}

static bool is_known(const char *key)
{
    static const char *const shown[] = {"build-id",  "command",  "executable", "arch", "time",
                                        "monotonic", "attached", "older-bytes"}; // the last two are in a warning
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
        if (!strcmp(key, shown[i]))
            return true;
    }
    return false;
}

static void write_fact(const struct dump_summary_writer *to, const struct hs_dump_fact *fact)
{
    char *end;
    uint64_t bytes = strtoull(fact->value, &end, 10);
    if (!strcmp(fact->key, "rss") && end != fact->value && !*end)
        row(to, "resident", hs_text__bytes(bytes).text);
    else
        row(to, fact->key, fact->value);
}

static void write_numbers(const struct dump_summary_writer *to, const struct hs_subject *subject)
{
    const struct hs_dump *dump = subject->context;
    const struct hs_total *sum = &subject->totals.sum;
    char samples[128];
    char blocks[64];
    describe_samples(dump, samples, sizeof(samples));
    snprintf(blocks, sizeof(blocks), " in %s", hs_text__blocks(sum->live_count).text);
    if (!dump->lacks_live)
        row_of(to, "in use", "%s%s%s", hs_text__bytes(sum->live_bytes).text, dump->has_blocks ? blocks : "",
               subject->restriction ? "" : samples);
    snprintf(blocks, sizeof(blocks), " in %s", hs_text__blocks(sum->allocated_count).text);
    if (dump->has_all)
        row_of(to, "allocated", "%s%s since the start", hs_text__bytes(sum->allocated_bytes).text,
               dump->has_blocks ? blocks : "");
    if (dump->thread_count)
        row_of(to, "threads", "%s", hs_text__count(dump->thread_count).text);
    row_of(to, "stacks", subject->totals.count > 1 ? "%s different ones" : "%s",
           hs_text__count(subject->totals.count).text);
}

static void write_summary(FILE *out, const struct hs_subject *subject)
{
    struct dump_summary_writer to = {out, hs_style__for(out)};
    const struct hs_dump *dump = subject->context;
    const struct hs_summary *summary = hs_store__summary(subject->store);
    char text[400];
    hs_command_line(subject->store, text, sizeof(text));
    row(&to, "program", *text ? text : "unknown");
    hs_dump__describe(dump, text, sizeof(text));
    row_of(&to, "dump", "%s%s%s", text, summary->machine ? ", " : "", summary->machine ? hs_arch_words(summary) : "");
    const char *time = hs_dump__fact(dump, "time");
    if (time)
        row(&to, "written", time);
    if (subject->restriction)
        row(&to, "only", subject->restriction);
    write_numbers(&to, subject);
    for (size_t i = 0; i < dump->fact_count; i++) {
        if (!is_known(dump->fact[i].key))
            write_fact(&to, &dump->fact[i]);
    }
    for (size_t i = 0; i < dump->warning_count; i++)
        row(&to, "warning", dump->warning[i]);
}

// ---- JSON ----------------------------------------------------------------------------------------------------------

static void write_facts(struct hs_json *json, const struct hs_dump *dump)
{
    hs_json__open_array(json, "facts");
    for (size_t i = 0; i < dump->fact_count; i++) {
        hs_json__open_object(json, NULL);
        hs_json__string(json, "key", dump->fact[i].key);
        hs_json__string(json, "value", dump->fact[i].value);
        hs_json__close_object(json);
    }
    hs_json__close_array(json);
    hs_json__open_array(json, "warnings");
    for (size_t i = 0; i < dump->warning_count; i++)
        hs_json__string(json, NULL, dump->warning[i]);
    hs_json__close_array(json);
}

static void write_json(struct hs_json *json, const struct hs_subject *subject)
{
    const struct hs_dump *dump = subject->context;
    const struct hs_total *sum = &subject->totals.sum;
    char command[4096];
    hs_command_line(subject->store, command, sizeof(command));
    hs_json__string(json, "program", hs_program_name(subject->store));
    hs_json__string(json, "command", command);
    hs_json__string(json, "dump", subject->path);
    hs_json__string(json, "dump_format", hs_dump_format_name(dump->format));
    hs_json__string(json, "arch", hs_arch_name(hs_store__summary(subject->store)));
    hs_json__number(json, "sample_period", dump->period);
    hs_json__string(json, "restriction", subject->restriction);
    if (!dump->lacks_live) {
        hs_json__number(json, "live_bytes", sum->live_bytes);
        hs_json__number(json, "live_count", sum->live_count);
    }
    if (dump->has_all) {
        hs_json__number(json, "allocated_bytes", sum->allocated_bytes);
        hs_json__number(json, "allocations", sum->allocated_count);
    }
    hs_json__number(json, "threads", dump->thread_count);
    hs_json__number(json, "stacks", subject->totals.count);
    write_facts(json, dump);
}

#define KIND(known, blocks)                                                                                            \
    {                                                                                                                  \
        .costs = (known), .live_title = "in use", .counts_blocks = (blocks), .write_summary = write_summary,           \
        .write_json = write_json                                                                                       \
    }

const struct hs_subject_kind *hs_dump_kind(const struct hs_dump *dump)
{
    enum { LIVE = 1 << HS_COST_LIVE, ALL = 1 << HS_COST_ALLOCATED, BOTH = LIVE | ALL };
    static const struct hs_subject_kind kinds[3][2] = {{KIND(LIVE, false), KIND(LIVE, true)},
                                                       {KIND(BOTH, false), KIND(BOTH, true)},
                                                       {KIND(ALL, false), KIND(ALL, true)}};
    return &kinds[dump->lacks_live ? 2 : dump->has_all][dump->has_blocks];
}
