// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/verdict.h"

#include "host/base/path.h"
#include "host/base/text_stream.h"
#include "host/base/utf8.h"
#include "host/report/frames.h"
#include "host/report/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SITE_FRAMES = 8, SHOWN_FRAMES = 3 };

// ---- culprits ------------------------------------------------------------------------------------------------------

void hs_culprit__take(struct hs_culprit *culprit, const struct hs_site *site, uint64_t bytes)
{
    struct hs_text_stream stream;
    const struct hs_frame *named = NULL;
    struct hs_culprit found = {.bytes = bytes};
    FILE *out = hs_text_stream__open(&stream);
    if (!out)
        return;
    for (uint32_t i = 0; i < site->frame_count && i < SHOWN_FRAMES; i++) {
        fputs(i ? ", called by " : "", out);
        hs_frame__write(out, site->frames[i]);
    }
    found.site = hs_text_stream__close(&stream);
    if (found.site)
        hs_text__clean(found.site);
    for (uint32_t i = 0; i < site->frame_count && !named; i++)
        named = site->frames[i]->file && site->frames[i]->line ? site->frames[i] : NULL;
    found.file = named ? strdup(named->file) : NULL;
    if (found.file)
        hs_text__clean(found.file);
    found.line = named ? named->line : 0;
    free(culprit->site);
    free(culprit->file);
    *culprit = found;
}

void hs_culprit__look(struct hs_culprit *culprit, const struct hs_opened *opened, const struct hs_totals *totals,
                      enum hs_cost cost)
{
    struct hs_sites sites;
    struct hs_top top;
    if (!opened->subject.symbols || hs_sites__build(&sites, opened->subject.symbols, totals, SITE_FRAMES))
        return;
    if (!hs_sites__top(&sites, cost, 1, &top)) {
        const struct hs_site *site = top.count ? &sites.site[top.number[0]] : NULL;
        uint64_t bytes = site ? hs_cost__bytes(&site->sum, cost) : 0;
        if (site && bytes >= culprit->bytes)
            hs_culprit__take(culprit, site, bytes);
        hs_top__free(&top);
    }
    hs_sites__free(&sites);
}

// ---- verdicts ------------------------------------------------------------------------------------------------------

bool hs_verdicts__add(struct hs_verdicts *verdicts, const char *what, char *reason, struct hs_culprit *culprit)
{
    struct hs_verdict added = {.what = strdup(what), .reason = reason};
    struct hs_verdict *more = realloc(verdicts->verdict, (verdicts->count + 1) * sizeof(*more));
    if (culprit) {
        added.culprit = *culprit;
        *culprit = (struct hs_culprit){0};
    }
    if (more)
        verdicts->verdict = more;
    if (more && added.what) {
        more[verdicts->count++] = added;
        return true;
    }
    free(added.what);
    free(added.reason);
    free(added.culprit.site);
    free(added.culprit.file);
    return false;
}

void hs_verdicts__free(struct hs_verdicts *verdicts)
{
    for (size_t i = 0; i < verdicts->count; i++) {
        free(verdicts->verdict[i].what);
        free(verdicts->verdict[i].reason);
        free(verdicts->verdict[i].culprit.site);
        free(verdicts->verdict[i].culprit.file);
    }
    free(verdicts->verdict);
    *verdicts = (struct hs_verdicts){0};
}

// ---- JUnit ---------------------------------------------------------------------------------------------------------

// XML does not allow other control characters, not even escaped, nor bytes that are not UTF-8.
static void escape(FILE *out, const char *text)
{
    while (*text) {
        size_t length = hs_utf8__length(text, strlen(text));
        if (strchr("&<>\"", *text))
            fprintf(out, "&#%d;", *text);
        else if (!length || (unsigned char)*text < ' ')
            putc(length ? ' ' : '?', out);
        else
            fwrite(text, 1, length, out);
        text += length ? length : 1;
    }
}

static size_t failures(const struct hs_verdicts *verdicts)
{
    size_t count = 0;
    for (size_t i = 0; i < verdicts->count; i++)
        count += verdicts->verdict[i].reason != NULL;
    return count;
}

// Of cases with the same name, GitLab shows only the first one.
static unsigned number_of(const struct hs_verdicts *verdicts, size_t place)
{
    unsigned number = 1;
    for (size_t i = 0; i < place; i++)
        number += !strcmp(verdicts->verdict[i].what, verdicts->verdict[place].what);
    return number;
}

static void write_case(FILE *out, const struct hs_verdicts *verdicts, size_t place, const char *program, double seconds)
{
    const struct hs_verdict *verdict = &verdicts->verdict[place];
    const unsigned number = number_of(verdicts, place);
    const struct hs_culprit *culprit = &verdict->culprit;
    fputs("  <testcase classname=\"heapsonde.", out);
    escape(out, program);
    fputs("\" name=\"", out);
    escape(out, verdict->what);
    if (number > 1)
        fprintf(out, " (%u)", number);
    fprintf(out, "\" time=\"%.3f\"", seconds);
    if (culprit->file) {
        fputs(" file=\"", out);
        escape(out, culprit->file);
        fprintf(out, "\" line=\"%u\"", (unsigned)culprit->line);
    }
    if (!verdict->reason) {
        fputs("/>\n", out);
        return;
    }
    fputs(">\n    <failure type=\"heapsonde\" message=\"", out);
    escape(out, verdict->reason);
    fputs("\">", out);
    escape(out, culprit->site ? culprit->site : verdict->reason);
    fputs("</failure>\n  </testcase>\n", out);
}

static char *expand(const char *pattern, const char *program, long pid)
{
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    for (; out && *pattern; pattern++) {
        if (*pattern != '%' || !pattern[1] || !strchr("pe%", pattern[1]))
            putc(*pattern, out);
        else if (*++pattern == 'p')
            fprintf(out, "%ld", pid);
        else
            fputs(*pattern == 'e' ? hs_path__name(program) : "%", out);
    }
    return hs_text_stream__close(&stream);
}

static int write_junit(const struct hs_verdicts *verdicts, const char *path, const char *program, double seconds)
{
    FILE *out = fopen(path, "we");
    if (!out)
        return -errno;
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuite name=\"heapsonde\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\" time=\"%.3f\">\n",
            verdicts->count, failures(verdicts), seconds);
    for (size_t i = 0; i < verdicts->count; i++)
        write_case(out, verdicts, i, hs_path__name(program), seconds);
    fputs("</testsuite>\n", out);
    int result = ferror(out) ? -EIO : 0;
    return fclose(out) ? -errno : result;
}

// ---- forges --------------------------------------------------------------------------------------------------------

// In a property of a command, the characters of `special` are escaped, too.
static void escape_percent(FILE *out, const char *text, const char *special)
{
    for (; *text; text++) {
        if (strchr("%\r\n", *text) || strchr(special, *text))
            fprintf(out, "%%%02X", (unsigned char)*text);
        else
            putc(*text, out);
    }
}

static void annotate(const struct hs_verdict *verdict, bool azure)
{
    const struct hs_culprit *culprit = &verdict->culprit;
    fputs(azure ? "##vso[task.logissue type=error" : "::error title=heapsonde", stderr);
    if (culprit->file) {
        fputs(azure ? ";sourcepath=" : ",file=", stderr);
        escape_percent(stderr, culprit->file, azure ? ";]" : ":,");
        fprintf(stderr, azure ? ";linenumber=%u" : ",line=%u", (unsigned)culprit->line);
    }
    fputs(azure ? "]" : "::", stderr);
    escape_percent(stderr, verdict->reason, "");
    if (culprit->site) {
        fputs("; most of it by ", stderr);
        escape_percent(stderr, culprit->site, "");
    }
    fputc('\n', stderr);
}

int hs_verdicts__publish(const struct hs_verdicts *verdicts, const struct hs_arguments *arguments, const char *program,
                         long pid, double seconds)
{
    const char *forge = hs_arguments__text(arguments, "annotate", NULL);
    const char *junit = hs_arguments__text(arguments, "junit", NULL);
    for (size_t i = 0; forge && i < verdicts->count; i++)
        if (verdicts->verdict[i].reason)
            annotate(&verdicts->verdict[i], !strcmp(forge, "azure"));
    if (!junit)
        return HS_EXIT_OK;
    char *path = expand(junit, program, pid);
    int result = path ? write_junit(verdicts, path, program, seconds) : -ENOMEM;
    free(path);
    if (result)
        hs_complain(arguments->command, "--junit %s cannot be written: %s", junit, strerror(-result));
    return result ? HS_EXIT_FAILURE : HS_EXIT_OK;
}
