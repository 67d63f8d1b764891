// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/missing.h"
#include "host/report/style.h"
#include "host/report/text.h"

#include <string.h>

#define MOST_SHOWN 5

#define INDENT "                        "

struct explanation {
    char why[4096 + 64];
    char wanted[3 * 4096];
};

static void print_line(FILE *out, const char *before, const char *text)
{
    fputs(before, out);
    hs_text__print(out, text, strlen(text));
    putc('\n', out);
}

static void print_heading(FILE *out, const struct hs_style *style, const char *title)
{
    fprintf(out, "%s%s%s\n%s%7s  %14s  module%s\n", style->heading, title, style->plain, style->faint, "bytes",
            "unnamed frames", style->plain);
}

// How much passes through it, and its path.
static void print_use(FILE *out, const struct hs_style *style, const struct hs_subject *subject,
                      const struct hs_module_use *use)
{
    char frames[64];
    const char *path = *use->status.path ? use->status.path : "[no name]";
    snprintf(frames, sizeof(frames), "%s of %s", hs_text__count(use->unnamed).text, hs_text__count(use->frames).text);
    fprintf(out, "%s%7s%s  %14s  ", style->number,
            hs_text__percent(use->bytes, hs_subject__bytes(subject, &subject->totals.sum)).text, style->plain, frames);
    print_line(out, "", path);
}

static bool explain(const struct hs_subject *subject, const struct hs_module_use *use, struct explanation *it)
{
    return hs_symbols__explain(hs_trace_symbols__session(subject->symbols), &use->status, it->why, sizeof(it->why),
                               it->wanted, sizeof(it->wanted));
}

// Writes the problem and the wanted files; nothing if there is no problem.
static bool print_explanation(FILE *out, const struct hs_subject *subject, const struct hs_module_use *use)
{
    struct explanation it;
    if (!explain(subject, use, &it))
        return false;
    print_line(out, INDENT, it.why);
    print_line(out, INDENT "wanted: ", it.wanted);
    return true;
}

void hs_report__missing(FILE *out, const struct hs_subject *subject, const struct hs_module_uses *uses)
{
    const struct hs_style *style = hs_style__for(out);
    size_t count = 0;
    bool files_missing = false;
    char line[256];
    if (hs_trace_symbols__run_time_problem(subject->symbols, line, sizeof(line)))
        fprintf(out, "\n%s\n", line);
    for (size_t i = 0; i < uses->count; i++) {
        if (!uses->use[i].matters || !hs_symbols_reason(&uses->use[i].status))
            continue;
        if (!count)
            putc('\n', out), print_heading(out, style, "Modules without symbols");
        files_missing |= uses->use[i].status.state != HS_SYMBOLS_FOUND;
        if (count++ >= MOST_SHOWN)
            continue;
        print_use(out, style, subject, &uses->use[i]);
        print_explanation(out, subject, &uses->use[i]);
    }
    if (count > MOST_SHOWN)
        fprintf(out, INDENT "and %zu more: --modules lists all\n", count - MOST_SHOWN);
    if (files_missing && hs_symbols__needs_sysroot(hs_trace_symbols__session(subject->symbols)))
        fprintf(out, "The %s is of another kind of machine: --sysroot takes a folder with a copy of its files.\n",
                subject->kind ? "dump" : "trace");
}

// ---- every module --------------------------------------------------------------------------------------------------

static void build_id_text(const struct hs_symbols_status *status, char *text, size_t size)
{
    size_t used = 0;
    *text = 0;
    for (size_t i = 0; i < status->build_id_length && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%02x", status->build_id[i]);
}

static void print_details(FILE *out, const struct hs_subject *subject, const struct hs_module_use *use)
{
    const struct hs_symbols_status *status = &use->status;
    char id[256];
    build_id_text(status, id, sizeof(id));
    if (!print_explanation(out, subject, use))
        fputs(status->has_no_file ? INDENT "code without a file\n" : INDENT "functions and lines are known\n", out);
    print_line(out, INDENT "build id: ", *id ? id : "none");
    if (status->file && status->state == HS_SYMBOLS_FOUND)
        print_line(out, INDENT "file: ", status->file);
    if (status->debug_file)
        print_line(out, INDENT "debug information: ", status->debug_file);
}

int hs_report__modules(FILE *out, const struct hs_subject *subject)
{
    struct hs_module_uses uses;
    const struct hs_style *style = hs_style__for(out);
    int result = hs_module_uses__collect(&uses, subject);
    print_heading(out, style, "Modules in the stacks");
    for (size_t i = 0; i < uses.count; i++) {
        print_use(out, style, subject, &uses.use[i]);
        print_details(out, subject, &uses.use[i]);
    }
    hs_module_uses__free(&uses);
    return result;
}

void hs_report__wanted_json(struct hs_json *json, const struct hs_symbols_status *status)
{
    static const char *const keys[HS_WANTED_COUNT] = {[HS_WANTED_BY_PATH] = "below_sysroot",
                                                      [HS_WANTED_BY_LINK] = "beside_it",
                                                      [HS_WANTED_BY_BUILD_ID] = "below_debug_dir"};
    char path[4096];
    hs_json__open_object(json, "wanted");
    for (int kind = 0; kind < HS_WANTED_COUNT; kind++) {
        if (hs_symbols__wanted(status, (enum hs_wanted)kind, path, sizeof(path)))
            hs_json__string(json, keys[kind], path);
    }
    hs_json__close_object(json);
}

static void write_use(struct hs_json *json, const struct hs_subject *subject, const struct hs_module_use *use)
{
    const struct hs_symbols_status *status = &use->status;
    struct explanation it;
    char id[256];
    build_id_text(status, id, sizeof(id));
    explain(subject, use, &it);
    hs_json__open_object(json, NULL);
    hs_json__string(json, "module", status->path);
    hs_json__string(json, "build_id", *id ? id : NULL);
    hs_json__string(json, "reason", hs_symbols_reason(status));
    hs_json__string(json, "why", it.why);
    hs_json__string(json, "file", status->file);
    hs_json__number(json, "frames", use->frames);
    hs_json__number(json, "unnamed_frames", use->unnamed);
    hs_json__number(json, "stacks", use->stacks);
    bool allocated = hs_subject__knows(subject, HS_COST_ALLOCATED);
    hs_json__number(json, allocated ? "allocated_bytes" : "live_bytes", use->bytes);
    hs_report__wanted_json(json, status);
    hs_json__close_object(json);
}

int hs_report__missing_json(struct hs_json *json, const struct hs_subject *subject)
{
    struct hs_module_uses uses;
    int result = hs_module_uses__collect(&uses, subject);
    hs_json__open_array(json, "missing_symbols");
    for (size_t i = 0; i < uses.count; i++) {
        if (hs_symbols_reason(&uses.use[i].status))
            write_use(json, subject, &uses.use[i]);
    }
    hs_json__close_array(json);
    hs_module_uses__free(&uses);
    return result;
}
