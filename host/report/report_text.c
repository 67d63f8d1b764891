// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/budget_write.h"
#include "host/report/digest.h"
#include "host/report/frames.h"
#include "host/report/kernel_stacks.h"
#include "host/report/missing.h"
#include "host/report/over_time.h"
#include "host/report/report.h"
#include "host/report/samples.h"
#include "host/report/sites.h"
#include "host/report/text.h"
#include "host/report/unwound.h"

static void print_site(FILE *out, const struct hs_subject *subject, const struct hs_site *site, unsigned rank,
                       enum hs_cost cost, uint64_t whole)
{
    const struct hs_style *style = hs_style__for(out);
    uint64_t bytes = hs_cost__bytes(&site->sum, cost);
    uint64_t blocks = hs_cost__blocks(&site->sum, cost);
    fprintf(out, "%s%4u. %s%s  %s", style->number, rank, hs_text__bytes(bytes).text, style->plain,
            hs_text__percent(bytes, whole).text);
    if (hs_subject__counts_blocks(subject))
        fprintf(out, " in %s", hs_text__blocks(blocks).text);
    if (cost != HS_COST_ALLOCATED && hs_subject__knows(subject, HS_COST_ALLOCATED))
        fprintf(out, "; allocated %s in %s", hs_text__bytes(site->sum.allocated_bytes).text,
                hs_text__count(site->sum.allocated_count).text);
    if (cost != HS_COST_TEMPORARY && site->sum.temporary_count)
        fprintf(out, ", %s temporary", hs_text__percent(site->sum.temporary_count, site->sum.allocated_count).text);
    hs_site__print_stacks(out, style, site);
}

static int print_sites(FILE *out, const struct hs_subject *subject, const struct hs_sites *sites, enum hs_cost cost,
                       unsigned most)
{
    const struct hs_style *style = hs_style__for(out);
    uint64_t whole = hs_cost__bytes(&subject->totals.sum, cost);
    uint64_t blocks = hs_cost__blocks(&subject->totals.sum, cost);
    // By call site, only the share at the program's peak is known, not the share at the peak of the matching blocks.
    const char *title = cost == HS_COST_PEAK && subject->restriction ? "live at the whole program's peak"
                                                                     : hs_subject__title(subject, cost);
    fprintf(out, "\n%sCall sites by memory %s%s", style->heading, title, style->plain);
    if (!blocks && !whole) {
        fputs(": none\n", out);
        return 0;
    }
    if (hs_subject__counts_blocks(subject))
        fprintf(out, " (%s in %s)\n", hs_text__bytes(whole).text, hs_text__blocks(blocks).text);
    else
        fprintf(out, " (%s)\n", hs_text__bytes(whole).text);
    struct hs_top top;
    int result = hs_sites__top(sites, cost, most, &top);
    for (size_t i = 0; i < top.count; i++)
        print_site(out, subject, &sites->site[top.number[i]], (unsigned)i + 1, cost, whole);
    hs_top__free(&top);
    return result;
}

static int print_samples(FILE *out, const struct hs_subject *subject, const struct hs_report_options *options)
{
    const struct hs_summary *summary = hs_store__summary(subject->store);
    int result = 0;
    if (subject->kind || options->one_cost)
        return 0;
    result = hs_report__times(out, subject, options->top);
    if (!result)
        result = hs_report__unwound(out, subject);
    if (!result && summary->faulted_bytes)
        result = hs_report__touched(out, subject, options->top);
    hs_report__kernel_stacks(out, subject);
    return result;
}

static int print_all_sites(FILE *out, const struct hs_subject *subject, const struct hs_sites *sites,
                           const struct hs_report_options *options)
{
    int result = 0;
    for (int cost = 0; !result && cost < HS_COST_COUNT; cost++) {
        bool wanted = !options->one_cost || options->cost == (enum hs_cost)cost;
        if (wanted && hs_subject__knows(subject, (enum hs_cost)cost))
            result = print_sites(out, subject, sites, (enum hs_cost)cost, options->top);
    }
    return result;
}

static int print_all(FILE *out, const struct hs_subject *subject, const struct hs_report_options *options,
                     const struct hs_digest *digest)
{
    int result = 0;
    if (subject->kind)
        subject->kind->write_summary(out, subject);
    else
        hs_report__summary(out, subject, digest);
    hs_report__missing(out, subject, &digest->uses);
    if (!subject->kind && !options->one_cost)
        result = hs_report__over_time(out, subject);
    if (!result && !subject->kind && !options->one_cost)
        result = hs_report__budget(out, subject);
    if (!result)
        result = print_all_sites(out, subject, &digest->sites, options);
    return result ? result : print_samples(out, subject, options);
}

int hs_report__text(FILE *out, const struct hs_subject *subject, const struct hs_report_options *options,
                    const struct hs_digest *digest)
{
    struct hs_digest made;
    if (digest)
        return print_all(out, subject, options, digest);
    int result = hs_digest__make(&made, subject, options->full_stacks);
    if (result)
        return result;
    if (!options->full_stacks)
        hs_digest__keep(&made, subject);
    result = print_all(out, subject, options, &made);
    hs_digest__free(&made);
    return result;
}
