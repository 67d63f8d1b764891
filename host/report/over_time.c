// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/over_time.h"

#include "host/base/json.h"
#include "host/query/usage.h"
#include "host/report/style.h"

#define LETTERS 60

struct over_time_lines {
    struct hs_timeline heap;
    struct hs_usage usage;
    bool has_cpu, has_resident;
};

static void free_lines(struct over_time_lines *lines)
{
    hs_timeline__free(&lines->heap);
    hs_usage__free(&lines->usage);
}

// Resident memory is known only for the whole process.
static int ask(struct over_time_lines *lines, const struct hs_subject *subject)
{
    const struct hs_store *store = subject->store;
    const struct hs_filter *filter = subject->restriction ? subject->filter : NULL;
    *lines = (struct over_time_lines){.has_cpu = hs_events__are_in(HS_EVENTS_CPU, store) && !subject->not_of_samples,
                                      .has_resident = hs_events__are_in(HS_EVENTS_TOUCHED, store) && !filter};
    int result =
        hs_query__timeline(store, filter, 0, hs_store__summary(store)->end_time, LETTERS, NULL, &lines->heap, NULL);
    if (!result)
        result = hs_query__usage(store, lines->has_cpu ? filter : NULL, lines->heap.from, lines->heap.width,
                                 lines->heap.count, NULL, &lines->usage, NULL);
    if (result)
        free_lines(lines);
    return result;
}

static bool is_there(const struct hs_subject *subject)
{
    return hs_events__are_in(HS_EVENTS_CPU, subject->store) || hs_events__are_in(HS_EVENTS_TOUCHED, subject->store);
}

typedef uint64_t (*value_of)(const struct over_time_lines *lines, size_t i);

static uint64_t cpu_of(const struct over_time_lines *lines, size_t i)
{
    return lines->usage.point[i].cpu_ns;
}

static uint64_t heap_of(const struct over_time_lines *lines, size_t i)
{
    return lines->heap.point[i].live_bytes_max;
}

static uint64_t resident_of(const struct over_time_lines *lines, size_t i)
{
    return lines->usage.point[i].resident_bytes_max;
}

// ---- text ----------------------------------------------------------------------------------------------------------

static struct hs_text processors(const struct over_time_lines *lines, uint64_t cpu_ns)
{
    struct hs_text text;
    snprintf(text.text, sizeof(text.text), "%.2f processors", (double)cpu_ns / (double)lines->heap.width);
    return text;
}

static struct hs_text bytes(const struct over_time_lines *lines, uint64_t value)
{
    (void)lines;
    return hs_text__bytes(value);
}

// From nothing to the most, by how dark a letter is.
static void print_line(FILE *out, const char *name, const struct over_time_lines *lines, value_of value,
                       struct hs_text (*text)(const struct over_time_lines *lines, uint64_t value))
{
    static const char letters[] = " .:-=+*#%@";
    const size_t darkest = sizeof(letters) - 2;
    uint64_t most = 0;
    for (size_t i = 0; i < lines->heap.count; i++)
        most = value(lines, i) > most ? value(lines, i) : most;
    fprintf(out, "  %-8s |", name);
    for (size_t i = 0; i < lines->heap.count; i++) {
        double share = most ? (double)value(lines, i) / (double)most : 0;
        size_t letter = (size_t)(share * (double)darkest + 0.5);
        putc(letters[!letter && share > 0 ? 1 : letter], out); // a little is not nothing
    }
    fprintf(out, "| at most %s\n", text(lines, most).text);
}

int hs_report__over_time(FILE *out, const struct hs_subject *subject)
{
    const struct hs_style *style = hs_style__for(out);
    struct over_time_lines lines;
    int result = is_there(subject) ? ask(&lines, subject) : 0;
    if (result || !is_there(subject))
        return result;
    fprintf(out, "\n%sOver time%s (a letter is %s)\n", style->heading, style->plain,
            hs_text__time(lines.heap.width).text);
    if (lines.has_cpu)
        print_line(out, "CPU", &lines, cpu_of, processors);
    print_line(out, "heap", &lines, heap_of, bytes);
    if (lines.has_resident)
        print_line(out, "resident", &lines, resident_of, bytes);
    free_lines(&lines);
    return 0;
}

// ---- JSON ----------------------------------------------------------------------------------------------------------

static void write_line(struct hs_json *json, const char *key, const struct over_time_lines *lines, bool known,
                       value_of value)
{
    if (!known) {
        hs_json__null(json, key);
        return;
    }
    hs_json__open_array(json, key);
    for (size_t i = 0; i < lines->heap.count; i++)
        hs_json__number(json, NULL, value(lines, i));
    hs_json__close_array(json);
}

int hs_report__over_time_json(struct hs_json *json, const struct hs_subject *subject)
{
    struct over_time_lines lines;
    int result = is_there(subject) ? ask(&lines, subject) : 0;
    if (result || !is_there(subject))
        return result;
    hs_json__open_object(json, "over_time");
    hs_json__number(json, "interval_ns", lines.heap.width);
    write_line(json, "cpu_ns", &lines, lines.has_cpu, cpu_of);
    write_line(json, "heap_bytes", &lines, true, heap_of);
    write_line(json, "resident_bytes", &lines, lines.has_resident, resident_of);
    hs_json__close_object(json);
    free_lines(&lines);
    return 0;
}
