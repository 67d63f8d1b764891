// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/run_summary.h"

#include "format/trace_format.h"
#include "host/cli/find_trace.h"
#include "host/cli/progress.h"
#include "host/import/import.h"
#include "host/report/text.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

enum { LEAST_ROOM = 128 << 10 }; // of a trace with hardly an event

static void ending(const struct hs_recording *recording, char *text, size_t size)
{
    if (WIFSIGNALED(recording->status)) {
        int number = WTERMSIG(recording->status);
        const char *name = sigabbrev_np(number);
        snprintf(text, size, "was ended by signal %d%s%s", number, name ? " SIG" : "", name ? name : "");
    } else {
        snprintf(text, size, "ended with exit status %d", WEXITSTATUS(recording->status));
    }
}

static void print_numbers(const struct hs_summary *summary)
{
    fprintf(stderr, "heapsonde: %s in %s allocations within %s (%s), %s temporary\n",
            hs_text__bytes(summary->allocated_bytes).text, hs_text__count(summary->allocations).text,
            hs_text__time(summary->end_time).text, hs_text__rate(summary->allocations, summary->end_time).text,
            hs_text__percent(summary->temporary_count, summary->allocations).text);
    fprintf(stderr, "heapsonde: peak %s in %s, %s after the start\n", hs_text__bytes(summary->peak.bytes).text,
            hs_text__blocks(summary->peak.count).text, hs_text__time(summary->peak_time).text);
    fprintf(stderr, "heapsonde: %s in %s still live at the end\n", hs_text__bytes(summary->live.bytes).text,
            hs_text__blocks(summary->live.count).text);
}

// The last line: the file, what else there is to know in a few words, and what to type next.
static void print_file(const struct hs_summary *summary, const char *path, size_t others)
{
    char note[160] = "";
    uint64_t dropped = 0;
    for (int i = 0; i < HS_DROP_COUNT; i++)
        dropped += summary->dropped[i];
    if (summary->state == HS_STATE_STOPPED)
        snprintf(note, sizeof(note), "; recording ended early");
    else if (dropped)
        snprintf(note, sizeof(note), "; %s events were dropped", hs_text__count(dropped).text);
    else if (summary->state == HS_STATE_EXEC)
        snprintf(note, sizeof(note), "; it replaced itself by another program, which --follow-children records too");
    else if (others)
        snprintf(note, sizeof(note), "; %zu more by child processes", others);
    fprintf(stderr, "heapsonde: wrote %s (%s)%s; next: heapsonde report %s\n", path,
            hs_text__bytes(summary->file_size).text, note, path);
}

// Whether the folder of the trace has less room than a trace begins with.
static bool is_full(const char *pattern)
{
    struct statvfs state;
    char folder[PATH_MAX];
    const char *slash = strrchr(pattern, '/');
    int length = slash ? (int)(slash - pattern) : 0;
    if (snprintf(folder, sizeof(folder), "%.*s/", length, pattern) >= (int)sizeof(folder) || statvfs(folder, &state))
        return false;
    return (uint64_t)state.f_bavail * state.f_frsize < LEAST_ROOM;
}

static void explain_absence(const struct hs_recording *recording)
{
    if (is_full(recording->pattern)) {
        fprintf(stderr,
                "heapsonde: no trace was written to %s: the disk is full; make room or choose another with -o\n",
                recording->pattern);
        return;
    }
    fprintf(
        stderr,
        "heapsonde: no trace was written to %s%s; can this user write there? did %s end before it began, or does it "
        "clear LD_PRELOAD or run only in another program (then try --follow-children)?\n",
        recording->pattern, recording->disabled ? " (recording was never switched on: send SIGUSR1)" : "",
        recording->program);
}

void hs_recording__summarize(const struct hs_recording *recording)
{
    char text[128];
    size_t others = 0;
    ending(recording, text, sizeof(text));
    fprintf(stderr, "heapsonde: %s %s after %s\n", recording->program, text,
            hs_text__time((uint64_t)(recording->seconds * 1e9)).text);
    char *path = hs_find_trace(recording->pattern, recording->pid, &recording->started, &others);
    if (!path) {
        explain_absence(recording);
        return;
    }
    struct hs_progress progress;
    struct hs_store *store = NULL;
    struct hs_error error = {.message = ""};
    hs_progress__start(&progress, "heapsonde: reading the trace", true);
    struct hs_import_options options = {.progress = hs_progress__update, .context = &progress};
    int result = hs_import__open(path, &options, &store, &error);
    hs_progress__end(&progress);
    if (result) {
        fprintf(stderr, "heapsonde: wrote %s, but it cannot be read back: %s\n", path, error.message);
    } else {
        print_numbers(hs_store__summary(store));
        print_file(hs_store__summary(store), path, others);
        hs_store__close(store);
    }
    free(path);
}
