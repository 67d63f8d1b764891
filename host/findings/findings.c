// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/findings/findings.h"

#include "host/findings/scene.h"
#include "host/report/style.h"
#include "host/report/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// What the recording cannot tell is certain, but no fault of the program: bytes alone count.
static enum hs_confidence certainty(const struct hs_finding *finding)
{
    return finding->kind->find == hs_find__recording ? HS_CONFIDENCE_LOOK : finding->confidence;
}

// By bytes, weighted by how certain the finding is.
static uint64_t weight(const struct hs_finding *finding)
{
    const uint64_t bytes = finding->bytes < UINT64_MAX / 8 ? finding->bytes : UINT64_MAX / 8;
    return bytes << certainty(finding);
}

// What is worth a change comes before what may be as intended, but no churn comes before memory that grows.
static int place(const struct hs_finding *finding)
{
    return finding->first ? -1 : 2 * (int)finding->kind->harm + (certainty(finding) < HS_CONFIDENCE_LIKELY);
}

static int compare(const void *left, const void *right)
{
    const struct hs_finding *a = left, *b = right;
    if (place(a) != place(b))
        return place(a) < place(b) ? -1 : 1;
    if (weight(a) != weight(b))
        return weight(a) < weight(b) ? 1 : -1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

int hs_findings__find(struct hs_findings *findings, const struct hs_findings_question *question, struct hs_error *error)
{
    struct hs_findings_scene scene;
    *findings = (struct hs_findings){0};
    int result = hs_findings_scene__open(&scene, question, findings, error);
    for (const struct hs_finding_kind *kind = hs_finding_kinds; kind->id && !result; kind++) {
        scene.kind = kind;
        result = kind->find(&scene);
    }
    hs_findings_scene__close(&scene);
    if (result)
        hs_findings__free(findings);
    else if (findings->count)
        qsort(findings->finding, findings->count, sizeof(*findings->finding), compare);
    return result;
}

void hs_findings__free(struct hs_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        free(findings->finding[i].text);
        free(findings->finding[i].reason);
        free(findings->finding[i].query);
        free(findings->finding[i].suppression);
    }
    free(findings->finding);
    *findings = (struct hs_findings){0};
}

// ---- text ----------------------------------------------------------------------------------------------------------

static int hexadecimal(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static void write_value(FILE *out, const char *value, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const bool escaped =
            value[i] == '%' && i + 2 < length && hexadecimal(value[i + 1]) >= 0 && hexadecimal(value[i + 2]) >= 0;
        const char c = escaped ? (char)(hexadecimal(value[i + 1]) * 16 + hexadecimal(value[i + 2])) : value[i];
        i += escaped ? 2 : 0;
        if (c == '\'')
            fputs("'\\''", out);
        else
            fputc((unsigned char)c < ' ' || c == 127 ? '?' : c, out);
    }
}

// The parameters of a query as options of the command, with values in single quotes. The kind of events is not one.
static void write_options(FILE *out, const char *query)
{
    while (*query) {
        const size_t name = strcspn(query, "="), value = strcspn(query + name, "&");
        if (strncmp(query, "events=", 7) != 0) {
            fputs(" --", out);
            for (size_t i = 0; i < name; i++)
                fputc(query[i] == '_' ? '-' : query[i], out);
            fputs(" '", out);
            write_value(out, query + name + 1, value ? value - 1 : 0);
            fputc('\'', out);
        }
        query += name + value;
        query += *query == '&';
    }
}

static void write_line(FILE *out, const char *head, const char *text)
{
    fprintf(out, "    %-7s ", head);
    hs_text__print(out, text, strlen(text));
    fputc('\n', out);
}

static void write_finding(FILE *out, const struct hs_style *style, const struct hs_finding *finding, const char *path)
{
    fprintf(out, "\n%s%s%s  [%s, %s]\n", style->heading, finding->kind->title, style->plain, finding->kind->id,
            hs_confidence__name(finding->confidence));
    fputs("  ", out);
    hs_text__print(out, finding->text, strlen(finding->text));
    fputc('\n', out);
    if (finding->whole_bytes)
        fprintf(out, "    %-7s %s of %s\n", "share", hs_text__percent(finding->bytes, finding->whole_bytes).text,
                finding->whole);
    write_line(out, "why", finding->reason);
    write_line(out, "usually", finding->advice);
    if (!*finding->query)
        return;
    fprintf(out, "    %-7s heapsonde report", "show");
    write_options(out, finding->query);
    fputc(' ', out);
    hs_text__print(out, path, strlen(path));
    fputc('\n', out);
}

void hs_findings__text(FILE *out, const struct hs_findings *findings, const char *path)
{
    const struct hs_style *style = hs_style__for(out);
    if (!findings->count)
        fprintf(out, "Nothing %swas found that looks wrong.\n", findings->small_count ? "large " : "");
    else
        fprintf(out, "%s finding%s. 'sure' and 'likely' are worth a change; 'look' may be as intended.\n",
                hs_text__count(findings->count).text, findings->count == 1 ? "" : "s");
    for (size_t i = 0; i < findings->count; i++)
        write_finding(out, style, &findings->finding[i], path);
    if (findings->small_count)
        fprintf(out, "\nNot listed: %s small one%s, of %s together.\n", hs_text__count(findings->small_count).text,
                findings->small_count == 1 ? "" : "s", hs_text__bytes(findings->small_bytes).text);
    if (findings->suppressed_count)
        fprintf(out, "\nSuppressed: %s, of %s together.\n", hs_text__count(findings->suppressed_count).text,
                hs_text__bytes(findings->suppressed_bytes).text);
}

// ---- JSON ----------------------------------------------------------------------------------------------------------

static void write_json(struct hs_json *json, const struct hs_finding *finding)
{
    hs_json__open_object(json, NULL);
    hs_json__string(json, "id", finding->kind->id);
    hs_json__string(json, "title", finding->kind->title);
    hs_json__string(json, "confidence", hs_confidence__name(finding->confidence));
    hs_json__string(json, "text", finding->text);
    hs_json__string(json, "reason", finding->reason);
    hs_json__string(json, "advice", finding->advice);
    hs_json__number(json, "bytes", finding->bytes);
    hs_json__number(json, "count", finding->count);
    if (finding->whole_bytes)
        hs_json__real(json, "share", (double)finding->bytes / (double)finding->whole_bytes);
    else
        hs_json__null(json, "share");
    hs_json__string(json, "share_of", finding->whole_bytes ? finding->whole : NULL);
    if (finding->stack)
        hs_json__number(json, "backtrace_id", finding->stack);
    else
        hs_json__null(json, "backtrace_id");
    hs_json__string(json, "view", finding->view);
    hs_json__string(json, "query", finding->query);
    hs_json__string(json, "suppression", finding->suppression);
    hs_json__close_object(json);
}

void hs_findings__json(struct hs_json *json, const struct hs_findings *findings)
{
    hs_json__open_array(json, "findings");
    for (size_t i = 0; i < findings->count; i++)
        write_json(json, &findings->finding[i]);
    hs_json__close_array(json);
    hs_json__number(json, "small_count", findings->small_count);
    hs_json__number(json, "small_bytes", findings->small_bytes);
    hs_json__number(json, "suppressed_count", findings->suppressed_count);
    hs_json__number(json, "suppressed_bytes", findings->suppressed_bytes);
}
