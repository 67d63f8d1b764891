// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/dump/compare.h"

#include "host/base/json.h"
#include "host/base/numbers.h"
#include "host/base/utf8.h"
#include "host/dump/summary.h"
#include "host/report/frames.h"
#include "host/report/sites.h"
#include "host/report/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_FRAMES 6
#define ROUNDING     1000 // one part in this many

struct compare_change {
    uint64_t before, after; // bytes
    uint64_t blocks_before, blocks_after;
};

struct compare_text {
    char text[64];
};

// ---- numbers -------------------------------------------------------------------------------------------------------

// Reads the numbers from the members in which hs_dump_view__compare stores them.
static struct compare_change change_of(const struct hs_total *total, enum hs_cost cost)
{
    if (cost == HS_COST_ALLOCATED)
        return (struct compare_change){total->temporary_bytes, total->allocated_bytes, total->temporary_count,
                                       total->allocated_count};
    return (struct compare_change){total->peak_bytes, total->live_bytes, total->peak_count, total->live_count};
}

static struct compare_text signed_bytes(const struct compare_change *change)
{
    struct compare_text text;
    const char *sign = change->after == change->before ? "" : change->after > change->before ? "+" : "-";
    snprintf(text.text, sizeof(text.text), "%s%s", sign,
             hs_text__bytes(hs_number__distance(change->after, change->before)).text);
    return text;
}

static struct compare_text signed_blocks(const struct compare_change *change)
{
    struct compare_text text;
    uint64_t blocks = hs_number__distance(change->blocks_after, change->blocks_before);
    const char *sign = !blocks ? "" : change->blocks_after > change->blocks_before ? "+" : "-";
    snprintf(text.text, sizeof(text.text), "%s%s", sign, hs_text__blocks(blocks).text);
    return text;
}

// ---- call sites ----------------------------------------------------------------------------------------------------

struct compare_ranking {
    const struct hs_sites *sites;
    enum hs_cost cost;
    bool rounded; // the dumps round differently
};

// Of a site. What rounding alone can make is no change: some formats hold estimates, others whole numbers that have
// yet to be scaled.
static struct compare_change change_at(const struct compare_ranking *ranking, size_t index)
{
    const struct hs_site *site = &ranking->sites->site[index];
    struct compare_change change = change_of(&site->sum, ranking->cost);
    uint64_t rounding = ranking->rounded ? site->stack_count : 0;
    uint64_t scaled = ranking->rounded ? rounding + change.before / ROUNDING : 0;
    if (hs_number__distance(change.before, change.after) <= scaled)
        change.before = change.after;
    if (hs_number__distance(change.blocks_before, change.blocks_after) <= rounding)
        change.blocks_before = change.blocks_after;
    return change;
}

static bool comes_before(const void *context, uint32_t a, uint32_t b)
{
    const struct compare_ranking *ranking = context;
    struct compare_change first = change_at(ranking, a);
    struct compare_change second = change_at(ranking, b);
    uint64_t of_first = hs_number__distance(first.before, first.after);
    uint64_t of_second = hs_number__distance(second.before, second.after);
    return of_first != of_second ? of_first > of_second
                                 : ranking->sites->site[a].sum.stack < ranking->sites->site[b].sum.stack;
}

static bool is_wanted(const struct compare_change *change, bool grown)
{
    if (change->before != change->after)
        return grown == (change->after > change->before);
    return change->blocks_before != change->blocks_after && grown == (change->blocks_after > change->blocks_before);
}

// The sites that grew, or those that shrank. *sum gets all of them.
static int choose(struct hs_top *top, const struct compare_ranking *ranking, bool grown, unsigned most,
                  struct compare_change *sum)
{
    *sum = (struct compare_change){0};
    if (hs_top__start(top, most, ranking->sites->count, comes_before, ranking))
        return -ENOMEM;
    for (size_t i = 0; i < ranking->sites->count; i++) {
        struct compare_change change = change_at(ranking, i);
        if (!is_wanted(&change, grown))
            continue;
        sum->before += change.before;
        sum->after += change.after;
        sum->blocks_before += change.blocks_before;
        sum->blocks_after += change.blocks_after;
        hs_top__offer(top, (uint32_t)i);
    }
    hs_top__finish(top);
    return 0;
}

// ---- text ----------------------------------------------------------------------------------------------------------

static void print_site(FILE *out, const struct compare_ranking *ranking, uint32_t number, unsigned rank)
{
    const struct hs_style *style = hs_style__for(out);
    const struct hs_site *site = &ranking->sites->site[number];
    struct compare_change change = change_at(ranking, number);
    fprintf(out, "%s%4u. %s%s ", style->number, rank, signed_bytes(&change).text, style->plain);
    if (change.blocks_before || change.blocks_after)
        fprintf(out, " in %s;", signed_blocks(&change).text);
    fprintf(out, " %s before, %s after", hs_text__bytes(change.before).text, hs_text__bytes(change.after).text);
    hs_site__print_stacks(out, style, site);
}

// Both kinds of sites, chosen before anything is written.
struct chosen {
    struct hs_top top[2]; // that grew, that shrank
    struct compare_change sum[2];
    struct compare_ranking ranking;
};

static int choose_both(struct chosen *chosen, const struct hs_dump_view *view, const struct hs_sites *sites,
                       const struct hs_compare_options *options)
{
    *chosen = (struct chosen){.ranking = {sites, options->cost, view->dumps[0]->sampling != view->dumps[1]->sampling}};
    int result = choose(&chosen->top[0], &chosen->ranking, true, options->top, &chosen->sum[0]);
    return result ? result : choose(&chosen->top[1], &chosen->ranking, false, options->top, &chosen->sum[1]);
}

static void free_chosen(struct chosen *chosen)
{
    hs_top__free(&chosen->top[0]);
    hs_top__free(&chosen->top[1]);
}

static struct compare_change whole_change(const struct chosen *chosen)
{
    const struct compare_change *grown = &chosen->sum[0];
    const struct compare_change *shrunk = &chosen->sum[1];
    return (struct compare_change){grown->before + shrunk->before, grown->after + shrunk->after,
                                   grown->blocks_before + shrunk->blocks_before,
                                   grown->blocks_after + shrunk->blocks_after};
}

static void print_sites(FILE *out, const struct chosen *chosen, unsigned which)
{
    const struct hs_style *style = hs_style__for(out);
    const struct hs_top *top = &chosen->top[which];
    if (top->count)
        fprintf(out, "\n%sCall sites that %s%s (%s)\n", style->heading, which ? "shrank" : "grew", style->plain,
                signed_bytes(&chosen->sum[which]).text);
    for (size_t i = 0; i < top->count; i++)
        print_site(out, &chosen->ranking, top->number[i], (unsigned)i + 1);
}

static void print_dump(FILE *out, const char *title, const struct hs_dump *dump, uint64_t bytes, uint64_t blocks,
                       const char *what)
{
    const struct hs_style *style = hs_style__for(out);
    char text[256];
    hs_dump__describe(dump, text, sizeof(text));
    fprintf(out, "%s%-13s%s ", style->heading, title, style->plain);
    hs_text__print(out, dump->name, strlen(dump->name));
    fprintf(out, ": %s", hs_text__bytes(bytes).text);
    if (blocks)
        fprintf(out, " in %s", hs_text__blocks(blocks).text);
    fprintf(out, " %s (%s)\n", what, text);
    for (size_t i = 0; i < dump->warning_count; i++) {
        fprintf(out, "%s%-13s%s ", style->heading, "warning", style->plain);
        hs_text__print(out, dump->warning[i], strlen(dump->warning[i]));
        putc('\n', out);
    }
}

static void print_chosen(FILE *out, const struct hs_dump_view *view, const struct chosen *chosen, const char *what)
{
    const struct hs_style *style = hs_style__for(out);
    struct compare_change change = whole_change(chosen);
    fprintf(out, "%s%-13s%s ", style->heading, "difference", style->plain);
    if (!chosen->top[0].count && !chosen->top[1].count) {
        fputs("none\n", out);
        return;
    }
    bool blocks = view->dumps[0]->has_blocks && view->dumps[1]->has_blocks;
    fprintf(out, "%s%s%s %s\n", signed_bytes(&change).text, blocks ? " in " : "",
            blocks ? signed_blocks(&change).text : "", what);
    print_sites(out, chosen, 0);
    print_sites(out, chosen, 1);
}

int hs_compare__text(FILE *out, const struct hs_dump_view *view, const struct hs_compare_options *options)
{
    struct hs_sites sites;
    struct chosen chosen;
    const struct hs_totals *totals = &view->subject.totals;
    struct compare_change sum = change_of(&totals->sum, options->cost);
    const char *what = options->cost == HS_COST_ALLOCATED ? "allocated" : "in use";
    int result =
        hs_sites__build(&sites, view->subject.symbols, totals, options->full_stacks ? UINT32_MAX : SHOWN_FRAMES);
    if (result)
        return result;
    result = choose_both(&chosen, view, &sites, options);
    if (!result) {
        print_dump(out, "from", view->dumps[0], sum.before, sum.blocks_before, what);
        print_dump(out, "to", view->dumps[1], sum.after, sum.blocks_after, what);
        print_chosen(out, view, &chosen, what);
    }
    free_chosen(&chosen);
    hs_sites__free(&sites);
    return result;
}

// ---- JSON ----------------------------------------------------------------------------------------------------------

static void write_change(struct hs_json *json, const struct compare_change *change)
{
    hs_json__number(json, "bytes_before", change->before);
    hs_json__number(json, "bytes_after", change->after);
    hs_json__number(json, "blocks_before", change->blocks_before);
    hs_json__number(json, "blocks_after", change->blocks_after);
}

static void write_site(struct hs_json *json, const struct compare_ranking *ranking, uint32_t number)
{
    const struct hs_site *site = &ranking->sites->site[number];
    struct compare_change change = change_at(ranking, number);
    hs_json__open_object(json, NULL);
    write_change(json, &change);
    hs_json__open_array(json, "frames");
    for (uint32_t i = 0; i < site->frame_count; i++) {
        const struct hs_frame *frame = site->frames[i];
        hs_json__open_object(json, NULL);
        hs_json__string(json, "function", frame->function);
        hs_json__string(json, "file", frame->file);
        hs_json__number(json, "line", frame->line);
        hs_json__string(json, "module", frame->module);
        hs_json__close_object(json);
    }
    hs_json__close_array(json);
    hs_json__close_object(json);
}

static void write_sites(struct hs_json *json, const struct chosen *chosen, unsigned which)
{
    hs_json__open_array(json, which ? "shrunk" : "grown");
    for (size_t i = 0; i < chosen->top[which].count; i++)
        write_site(json, &chosen->ranking, chosen->top[which].number[i]);
    hs_json__close_array(json);
}

int hs_compare__json(FILE *out, const struct hs_dump_view *view, const struct hs_compare_options *options)
{
    struct hs_json json;
    struct hs_sites sites;
    struct chosen chosen;
    int result = hs_sites__build(&sites, view->subject.symbols, &view->subject.totals,
                                 options->full_stacks ? UINT32_MAX : SHOWN_FRAMES);
    if (result)
        return result;
    result = choose_both(&chosen, view, &sites, options);
    struct compare_change sum = change_of(&view->subject.totals.sum, options->cost);
    hs_json__start(&json, out, true);
    hs_json__open_object(&json, NULL);
    hs_json__string(&json, "from", view->dumps[0]->name);
    hs_json__string(&json, "to", view->dumps[1]->name);
    hs_json__string(&json, "cost", hs_cost__name(options->cost));
    write_change(&json, &sum);
    write_sites(&json, &chosen, 0);
    write_sites(&json, &chosen, 1);
    hs_json__close_object(&json);
    free_chosen(&chosen);
    hs_sites__free(&sites);
    return result;
}

// ---- collapsed -----------------------------------------------------------------------------------------------------

static void print_folded(FILE *out, const char *name)
{
    for (size_t left = strlen(name); left;) {
        const size_t sequence = hs_utf8__shown(name, left), taken = sequence ? sequence : 1;
        if (!sequence || *name == ';')
            putc(sequence ? ':' : '?', out);
        else
            fwrite(name, 1, sequence, out);
        name += taken;
        left -= taken;
    }
}

static void print_stack(FILE *out, const struct hs_site *site)
{
    for (uint32_t k = site->frame_count; k-- > 0;) {
        print_folded(out, site->frames[k]->function);
        putc(k ? ';' : ' ', out);
    }
    if (!site->frame_count)
        fputs("[no stack] ", out);
}

// Stacks that look the same are one line: whole stacks are sites, too.
int hs_compare__collapsed(FILE *out, const struct hs_dump_view *view, const struct hs_compare_options *options)
{
    struct hs_sites sites;
    struct compare_ranking ranking = {&sites, options->cost, view->dumps[0]->sampling != view->dumps[1]->sampling};
    int result = hs_sites__build(&sites, view->subject.symbols, &view->subject.totals, UINT32_MAX);
    for (size_t i = 0; !result && i < sites.count; i++) {
        struct compare_change change = change_at(&ranking, i);
        if (change.before == change.after)
            continue;
        print_stack(out, &sites.site[i]);
        fprintf(out, "%" PRIu64 " %" PRIu64 "\n", change.before, change.after);
    }
    if (!result)
        hs_sites__free(&sites);
    return result;
}
