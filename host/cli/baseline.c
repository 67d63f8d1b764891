// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/baseline.h"

#include "host/dump/view.h"
#include "host/dump/write.h"
#include "host/report/sites.h"
#include "host/report/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SITE_FRAMES = 8, MOST_SAID = 5, USUAL_SLACK = 1024 };

struct allowance {
    double percent;
    uint64_t slack;
};

// After the comparison, peak_bytes is the value of the baseline.
static uint64_t growth_of(const struct hs_site *site, const struct allowance *allowed)
{
    double before = (double)site->sum.peak_bytes;
    double most = before + before * allowed->percent / 100 + (double)allowed->slack;
    bool grew = site->sum.live_bytes > site->sum.peak_bytes && (double)site->sum.live_bytes > most;
    return grew ? site->sum.live_bytes - site->sum.peak_bytes : 0;
}

struct baseline_growing {
    const struct hs_sites *sites;
    const struct allowance *allowed;
};

static bool grew_more(const void *context, uint32_t a, uint32_t b)
{
    const struct baseline_growing *growing = context;
    uint64_t first = growth_of(&growing->sites->site[a], growing->allowed);
    uint64_t second = growth_of(&growing->sites->site[b], growing->allowed);
    return first != second ? first > second : a < b;
}

static void say_site(const struct hs_arguments *arguments, const struct hs_dump_view *view, const struct hs_site *site,
                     struct hs_verdicts *verdicts)
{
    struct hs_culprit culprit = {0};
    char *reason = NULL;
    hs_culprit__take(&culprit, site, site->sum.live_bytes);
    if (asprintf(&reason, "%s more in use at the end than in %s: %s before, %s now",
                 hs_text__bytes(site->sum.live_bytes - site->sum.peak_bytes).text, view->dumps[0]->name,
                 hs_text__bytes(site->sum.peak_bytes).text, hs_text__bytes(site->sum.live_bytes).text) < 0)
        reason = NULL;
    fprintf(stderr, "heapsonde %s: --baseline: %s; by %s\n", arguments->command->name, reason ? reason : "growth",
            culprit.site ? culprit.site : "an unknown call site");
    if (reason)
        hs_verdicts__add(verdicts, "baseline", reason, &culprit);
}

static int say_growth(const struct hs_arguments *arguments, const struct hs_dump_view *view,
                      const struct allowance *allowed, struct hs_verdicts *verdicts)
{
    struct hs_sites sites;
    struct hs_top top;
    if (hs_sites__build(&sites, view->subject.symbols, &view->subject.totals, SITE_FRAMES))
        return -ENOMEM;
    const struct baseline_growing growing = {&sites, allowed};
    int result = hs_top__start(&top, MOST_SAID, sites.count, grew_more, &growing);
    size_t grew = 0;
    for (uint32_t i = 0; !result && i < sites.count; i++) {
        if (!growth_of(&sites.site[i], allowed))
            continue;
        grew++;
        hs_top__offer(&top, i);
    }
    if (!result) {
        hs_top__finish(&top);
        for (size_t i = 0; i < top.count; i++)
            say_site(arguments, view, &sites.site[top.number[i]], verdicts);
        hs_top__free(&top);
    }
    if (!result && grew > MOST_SAID)
        fprintf(stderr, "heapsonde %s: --baseline: %zu more call sites grew\n", arguments->command->name,
                grew - MOST_SAID);
    if (!result && !grew)
        hs_verdicts__add(verdicts, "baseline", NULL, NULL);
    hs_sites__free(&sites);
    return result ? result : grew ? HS_EXIT_CONDITION : HS_EXIT_OK;
}

static int compare(const struct hs_arguments *arguments, const struct hs_opened *opened, const struct hs_dump *before,
                   struct hs_verdicts *verdicts)
{
    const struct hs_given *percent = hs_arguments__given(arguments, "tolerance");
    const struct allowance allowed = {percent ? percent->percent : 10,
                                      hs_arguments__number(arguments, "slack", USUAL_SLACK)};
    struct hs_dump_view view = {0};
    struct hs_dump *now = NULL;
    int result = hs_dump__of_trace(&opened->subject, &now);
    if (!result)
        result = hs_dump_view__open(&view, before, now, &opened->symbols_options);
    if (!result)
        result = hs_dump_view__compare(&view);
    if (!result)
        result = say_growth(arguments, &view, &allowed, verdicts);
    hs_dump_view__close(&view);
    hs_dump__close(now);
    return result;
}

static int open_baseline(const struct hs_arguments *arguments, const char *path, struct hs_dump **dump)
{
    struct hs_error error = {.message = ""};
    if (hs_dump__open(path, dump, &error)) {
        hs_complain(arguments->command, "--baseline %s; write it with 'heapsonde baseline TRACE'", error.message);
        return HS_EXIT_FAILURE;
    }
    if (!(*dump)->lacks_live)
        return HS_EXIT_OK;
    hs_complain(arguments->command, "--baseline %s does not contain what is in use; give a dump that does", path);
    hs_dump__close(*dump);
    return HS_EXIT_FAILURE;
}

// They would have no effect.
static bool compares_with_something(const struct hs_arguments *arguments)
{
    static const char *const options[] = {"tolerance", "slack"};
    for (size_t i = 0; i < 2 && !hs_arguments__flag(arguments, "baseline"); i++) {
        if (!hs_arguments__flag(arguments, options[i]))
            continue;
        hs_complain(arguments->command, "--%s has no effect without --baseline; name the baseline, too", options[i]);
        return false;
    }
    return true;
}

int hs_baseline__look(const struct hs_arguments *arguments)
{
    struct stat status;
    const char *path = hs_arguments__text(arguments, "baseline", NULL);
    struct hs_dump *dump = NULL;
    if (!compares_with_something(arguments))
        return HS_EXIT_USAGE;
    if (!path || (!stat(path, &status) && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)))
        return HS_EXIT_OK;
    int result = open_baseline(arguments, path, &dump);
    if (!result)
        hs_dump__close(dump);
    return result;
}

int hs_baseline__check(const struct hs_arguments *arguments, const struct hs_opened *opened,
                       struct hs_verdicts *verdicts)
{
    const char *path = hs_arguments__text(arguments, "baseline", NULL);
    struct hs_dump *before = NULL;
    if (!path)
        return HS_EXIT_OK;
    if (opened->dump) {
        hs_complain(arguments->command, "--baseline is for traces; 'heapsonde diff %s %s' compares heap dumps", path,
                    opened->subject.path);
        return HS_EXIT_FAILURE;
    }
    int result = open_baseline(arguments, path, &before);
    if (result)
        return result;
    result = compare(arguments, opened, before, verdicts);
    hs_dump__close(before);
    if (result >= 0)
        return result;
    hs_complain(arguments->command, "--baseline %s: out of memory", path);
    return HS_EXIT_FAILURE;
}
