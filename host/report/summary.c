// SPDX-License-Identifier: MIT OR Apache-2.0
#include "format/trace_format.h"
#include "host/import/import.h"
#include "host/report/digest.h"
#include "host/report/report.h"
#include "host/report/style.h"
#include "host/report/text.h"
#include "host/report/unseen.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct report_summary_writer {
    FILE *out;
    const struct hs_style *style;
};

__attribute__((format(printf, 3, 4))) static void row(const struct report_summary_writer *to, const char *name,
                                                      const char *format, ...)
{
    va_list list;
    char *text = NULL;
    va_start(list, format);
    int length = vasprintf(&text, format, list);
    va_end(list);
    fprintf(to->out, "%s%-13s%s ", to->style->heading, name, to->style->plain);
    if (length >= 0)
        hs_text__print(to->out, text, (size_t)length);
    putc('\n', to->out);
    free(length >= 0 ? text : NULL);
}

static void print_program(const struct report_summary_writer *to, const struct hs_subject *subject)
{
    const struct hs_summary *summary = hs_store__summary(subject->store);
    char command[400];
    char when[64] = "";
    time_t seconds = (time_t)(summary->start_realtime_ns / 1000000000u);
    struct tm parts;
    if (seconds && gmtime_r(&seconds, &parts))
        strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC, ", &parts);
    hs_command_line(subject->store, command, sizeof(command));
    row(to, "program", "%s", command);
    // Files of other tools may not contain the process id.
    if (summary->pid)
        row(to, "recorded", "%s%s, process %u", when, hs_arch_words(summary), summary->pid);
    else
        row(to, "recorded", "%s%s", when, hs_arch_words(summary));
    row(to, "duration", "%s", hs_text__time(summary->end_time).text);
}

// The facts about an aggregate trace.
static void print_sums(const struct report_summary_writer *to, const struct hs_summary *summary)
{
    row(to, "contains", "sums per stack at %s, every %s: live memory is known at each tick",
        hs_text__counted(summary->aggregate_ticks, "tick").text, hs_text__time(summary->aggregate_interval_ns).text);
    row(to, "not known", "peaks between ticks, and of single blocks their times, sizes, lifetimes and threads");
    if (summary->folded_stacks)
        row(to, "folded", "%s %s folded together as [no stack]",
            hs_text__counted(summary->folded_stacks, "small stack").text, summary->folded_stacks == 1 ? "is" : "are");
    if (summary->untold_events)
        row(to, "not in sums", "%s came after the last tick, at %s, and %s not included",
            hs_text__counted(summary->untold_events, "event").text, hs_text__time(summary->aggregate_until).text,
            summary->untold_events == 1 ? "is" : "are");
}

static void print_numbers(const struct report_summary_writer *to, const struct hs_subject *subject,
                          const struct hs_digest *digest)
{
    const struct hs_summary *summary = hs_store__summary(subject->store);
    const struct hs_total *sum = &subject->totals.sum;
    size_t threads = 0;
    hs_store__threads(subject->store, &threads);
    if (subject->restriction)
        row(to, "only", "%s", subject->restriction);
    row(to, "allocations", "%s (%s), %s in total", hs_text__count(sum->allocated_count).text,
        hs_text__rate(sum->allocated_count, summary->end_time).text, hs_text__bytes(sum->allocated_bytes).text);
    row(to, summary->is_aggregate ? "highest tick" : "peak", "%s in %s, %s after the start",
        hs_text__bytes(subject->peak.bytes).text, hs_text__blocks(subject->peak.count).text,
        hs_text__time(subject->peak_time).text);
    row(to, "live at end", "%s in %s", hs_text__bytes(sum->live_bytes).text, hs_text__blocks(sum->live_count).text);
    row(to, "temporary", "%s of all allocations: freed before their thread allocated or freed anything else",
        hs_text__percent(sum->temporary_count, sum->allocated_count).text);
    if (sum->culled_count)
        row(to, "culled", "%s short-lived allocations of %s were only summed up: they count as allocated",
            hs_text__count(sum->culled_count).text, hs_text__bytes(sum->culled_bytes).text);
    row(to, "threads", "%s", hs_text__count(threads).text);
    row(to, "stacks", digest->stacks > 1 ? "%s different ones" : "%s", hs_text__count(digest->stacks).text);
    if (summary->is_aggregate)
        print_sums(to, summary);
}

static void print_early_ending(const struct report_summary_writer *to, const struct hs_summary *summary)
{
    static const char *const reasons[] = {"of an unknown reason",
                                          "the disk was full",
                                          "the limit for the size of a file was reached",
                                          "the trace could not be written",
                                          "of an error inside the recorder",
                                          "a filter of the program forbids system calls that recording needs"};
    const char *reason = summary->stop_reason < sizeof(reasons) / sizeof(reasons[0]) ? reasons[summary->stop_reason]
                                                                                     : "of an unknown reason";
    if (summary->stop_errno == EBADF)
        reason = "the program closed the trace's descriptor and was not allowed to open the file again";
    if (summary->stop_errno && summary->stop_errno != EBADF)
        row(to, "ending", "recording ended early because %s (%s); later events are missing", reason,
            strerror((int)summary->stop_errno));
    else
        row(to, "ending", "recording ended early because %s; later events are missing", reason);
}

static void print_ending(const struct report_summary_writer *to, const struct hs_summary *summary)
{
    switch (summary->state) {
    case HS_STATE_RECORDING:
        if (summary->is_aggregate)
            row(to, "ending",
                "the program still runs, was killed, or ended by calling the kernel directly; what happened after the "
                "last tick, at %s, is missing",
                hs_text__time(summary->aggregate_until).text);
        else
            row(to, "ending",
                "the program still runs, was killed, or ended by calling the kernel directly; everything it recorded "
                "until then is here%s",
                summary->ends_with_events ? "; times end at the last event" : "");
        break;
    case HS_STATE_STOPPED:
        print_early_ending(to, summary);
        break;
    case HS_STATE_EXEC:
        row(to, "ending",
            "the program replaced itself by another one (exec); 'heapsonde run --follow-children' also "
            "records that one");
        break;
    default:
        break;
    }
}

static void print_damage(const struct report_summary_writer *to, const struct hs_summary *summary)
{
    static const char *const kinds[HS_DAMAGE_COUNT] = {[HS_DAMAGE_HEADER] = "bytes outside of chunks",
                                                       [HS_DAMAGE_CHECKSUM] = "wrong checksum",
                                                       [HS_DAMAGE_DECODE] = "undecodable",
                                                       [HS_DAMAGE_TRUNCATED] = "cut off by the end of the file",
                                                       [HS_DAMAGE_SLOT] = "invalid record in a slot",
                                                       [HS_DAMAGE_META] = "invalid meta record",
                                                       [HS_DAMAGE_INDEX] = "wrong index"};
    if (!summary->damaged_chunks)
        return;
    char list[400] = "";
    for (unsigned i = 0; i < HS_DAMAGE_COUNT; i++) {
        size_t used = strlen(list);
        if (summary->damage[i])
            snprintf(list + used, sizeof(list) - used, "%s%s: %" PRIu64, used ? ", " : "", kinds[i],
                     summary->damage[i]);
    }
    row(to, "damaged", "%s part%s of the file, %s, cannot be read (%s)", hs_text__count(summary->damaged_chunks).text,
        summary->damaged_chunks == 1 ? "" : "s", hs_text__bytes(summary->damaged_bytes).text, list);
}

// The recorder also counts the walks that ended early; stacks that are not in the trace have nothing but that.
static void print_cut_stacks(const struct report_summary_writer *to, const struct hs_subject *subject,
                             const struct hs_cut_stacks *cut)
{
    const struct hs_summary *summary = hs_store__summary(subject->store);
    const struct hs_total *sum = &subject->totals.sum;
    for (unsigned i = 1; i < HS_CUT_REASONS; i++) {
        if (cut->stacks[i])
            row(to, "cut stacks", "%s with %s of the allocations: %s", hs_text__count(cut->stacks[i]).text,
                hs_text__percent(cut->allocations[i], sum->allocated_count).text, hs_cut_reason(i));
        else if (summary->truncated[i] && !subject->restriction)
            row(to, "cut stacks", "%s while recording, none in the trace: %s",
                hs_text__count(summary->truncated[i]).text, hs_cut_reason(i));
    }
    if (cut->guessed_stacks)
        row(to, "guessed", "%s, with %s of the allocations, %s a frame that is probable, not proven",
            hs_text__counted(cut->guessed_stacks, "stack").text,
            hs_text__percent(cut->guessed_allocations, sum->allocated_count).text,
            cut->guessed_stacks == 1 ? "contains" : "contain");
}

// Only values that are not zero.
bool hs_report__attached(const struct hs_store *store, char *text, size_t size)
{
    const char *attached = hs_store__info(store, "attached"), *older = hs_store__info(store, "older-bytes");
    uint64_t frees = hs_store__summary(store)->unknown_frees;
    if (!attached)
        return false;
    snprintf(text, size,
             "%s after the process had started: %s%s of older blocks are not in the trace; %s of them %s freed since",
             hs_text__time(strtoull(attached, NULL, 10)).text, older ? "some " : "an unknown number",
             older ? hs_text__bytes(strtoull(older, NULL, 10)).text : "", hs_text__count(frees).text,
             frees == 1 ? "was" : "were");
    return true;
}

static void print_losses(const struct report_summary_writer *to, const struct hs_subject *subject,
                         const struct hs_cut_stacks *cut)
{
    const struct hs_summary *summary = hs_store__summary(subject->store);
    for (unsigned i = 0; i < 16; i++) {
        if (summary->dropped[i] && i != HS_DROP_CHILDREN)
            row(to, "dropped", "%s %s: %s", hs_text__count(summary->dropped[i]).text, hs_drop_unit(i),
                hs_drop_explanation(i));
    }
    const uint64_t children = summary->dropped[HS_DROP_CHILDREN];
    if (children)
        row(to, "unrecorded",
            "%s child process%s could not create a trace, for example after chroot or a change of user",
            hs_text__count(children).text, children == 1 ? "" : "es");
    print_cut_stacks(to, subject, cut);
    if (summary->guessed)
        row(to, "guessed", "%s a stack held a frame that was probable, not proven",
            hs_text__counted(summary->guessed, "time").text);
    char attached[256];
    if (hs_report__attached(subject->store, attached, sizeof attached))
        row(to, "attached", "%s", attached);
    if (summary->merged_nodes)
        row(to, "memory",
            "%s %s recorded again after leaving the recorder's memory (HEAPSONDE_MEMORY); no stack is lost",
            hs_text__counted(summary->merged_nodes, "stack node").text, summary->merged_nodes == 1 ? "was" : "were");
    if (summary->unknown_frees)
        row(to, "unknown", "%s of blocks that were allocated before recording",
            hs_text__counted(summary->unknown_frees, "free").text);
    if (summary->missed_frees)
        row(to, "missed", "%s whose free was not seen; the end is taken to be when the address was allocated again",
            hs_text__blocks(summary->missed_frees).text);
    if (summary->capped_numbers)
        row(to, "capped",
            "%s numbers of the trace, such as sizes of blocks, are too large to add up: they count for less",
            hs_text__count(summary->capped_numbers).text);
    print_damage(to, summary);
}

// The numbers of other allocators are unknown.
static void print_unseen(const struct report_summary_writer *to, const struct hs_subject *subject)
{
    struct hs_unseen found[HS_UNSEEN_MAX];
    const size_t count = subject->restriction ? 0 : hs_unseen__find(subject, found);
    for (size_t i = 0; i < count; i++) {
        const struct hs_unseen_option option = hs_unseen__option(found[i].function);
        const bool is_function = strcmp(found[i].function, "operator new") != 0;
        if (found[i].may_pass)
            row(to, "unseen",
                "%s has its own %s: blocks that it does not take from the next malloc are not recorded%s%s",
                found[i].module, found[i].function, is_function ? "; on AMD64 and AArch64, record it with " : "",
                is_function ? option.text : "");
        else
            row(to, "unseen",
                "%s has its own allocator (%s), whose blocks are not recorded; on AMD64 and AArch64, record it with %s",
                found[i].module, found[i].function, option.text);
    }
    const uint64_t bytes = subject->restriction || count ? 0 : hs_unseen__memory(subject->store);
    if (bytes)
        row(to, "unseen", "%s %s", hs_program_name(subject->store), hs_unseen__advice(subject->store, bytes).text);
}

void hs_report__summary(FILE *out, const struct hs_subject *subject, const struct hs_digest *digest)
{
    struct report_summary_writer to = {out, hs_style__for(out)};
    const struct hs_summary *summary = hs_store__summary(subject->store);
    print_program(&to, subject);
    print_numbers(&to, subject, digest);
    print_ending(&to, summary);
    const char *incomplete = hs_store__info(subject->store, "incomplete");
    if (incomplete)
        row(&to, "incomplete", "%s", incomplete);
    const char *perf = hs_store__info(subject->store, "perf");
    if (perf)
        row(&to, "samples", "%s", perf);
    const char *ignored = hs_store__info(subject->store, "ignored-variables");
    if (ignored)
        row(&to, "ignored", "%s: unknown, or with values that the recorder could not read", ignored);
    print_losses(&to, subject, &digest->cut);
    print_unseen(&to, subject);
}
