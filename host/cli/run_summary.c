// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/run_summary.h"

#include "format/trace_format.h"
#include "host/cli/command.h"
#include "host/cli/find_trace.h"
#include "host/cli/progress.h"
#include "host/import/import.h"
#include "host/report/text.h"
#include "host/report/unseen.h"
#include "host/shims/shims.h"
#include "host/symbols/own_allocator.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEAST_ROOM = 128 << 10 }; // of a trace with hardly an event

void hs_recording__ending(const struct hs_recording *recording, char *text, size_t size)
{
    if (WIFSIGNALED(recording->status)) {
        int number = WTERMSIG(recording->status);
        const char *name = sigabbrev_np(number);
        snprintf(text, size, "was ended by signal %d%s%s", number, name ? " SIG" : "", name ? name : "");
    } else {
        snprintf(text, size, "ended with exit status %d", WEXITSTATUS(recording->status));
    }
}

// With what the recorder only summed up, as in the report. The summary has the sums of aggregate mode already.
static void add_culled(const struct hs_store *store, uint64_t *allocations, uint64_t *bytes)
{
    size_t count;
    const struct hs_culled *culled = hs_store__culled(store, &count);
    for (size_t i = 0; i < count; i++) {
        if (culled[i].kind != HS_CULLED_SHORT || culled[i].domain != HS_DOMAIN_HEAP)
            continue;
        *allocations += culled[i].count;
        *bytes += culled[i].size;
    }
}

static void print_numbers(const struct hs_store *store)
{
    const struct hs_summary *summary = hs_store__summary(store);
    uint64_t allocations = summary->allocations, bytes = summary->allocated_bytes;
    add_culled(store, &allocations, &bytes);
    hs_complain(NULL, "%s in %s allocation%s within %s (%s), %s temporary", hs_text__bytes(bytes).text,
                hs_text__count(allocations).text, allocations == 1 ? "" : "s", hs_text__time(summary->end_time).text,
                hs_text__rate(allocations, summary->end_time).text,
                hs_text__percent(summary->temporary_count, allocations).text);
    hs_complain(NULL, "%s %s in %s, %s after the start", summary->is_aggregate ? "highest tick" : "peak",
                hs_text__bytes(summary->peak.bytes).text, hs_text__blocks(summary->peak.count).text,
                hs_text__time(summary->peak_time).text);
    hs_complain(NULL, "%s in %s still live at the end", hs_text__bytes(summary->live.bytes).text,
                hs_text__blocks(summary->live.count).text);
}

// Whether a process was started with our variable.
static bool is_of_recording(const char *pid, const char *wanted)
{
    char path[64], *entry = NULL;
    size_t size = 0;
    snprintf(path, sizeof(path), "/proc/%s/environ", pid);
    FILE *file = fopen(path, "re");
    bool found = false;
    while (file && !found && getdelim(&entry, &size, 0, file) > 0)
        found = !strcmp(entry, wanted);
    if (file)
        fclose(file);
    free(entry);
    return found;
}

// Whether a process of this recording is still there.
static bool goes_on(const struct hs_recording *recording)
{
    char *wanted;
    DIR *all = opendir("/proc");
    bool found = false;
    if (asprintf(&wanted, "HEAPSONDE_OUTPUT=%s", recording->pattern) < 0)
        wanted = NULL;
    for (struct dirent *entry; all && wanted && !found && (entry = readdir(all));)
        found = isdigit((unsigned char)entry->d_name[0]) && atoi(entry->d_name) != getpid() &&
                is_of_recording(entry->d_name, wanted);
    free(wanted);
    if (all)
        closedir(all);
    return found;
}

// glibc's daemon(), Go's runtime and the like end a process by the system call, without a word to anybody.
static bool left_quietly(const struct hs_recording *recording, const struct hs_summary *summary)
{
    return summary->state == HS_STATE_RECORDING && WIFEXITED(recording->status);
}

// Whether the program was also sampled, with a dump at its end. The last of several options counts.
static bool wanted_final_dump(void)
{
    static const char option[] = "prof_final:";
    const char *preloaded = getenv("LD_PRELOAD"), *options = getenv("MALLOC_CONF"), *last = NULL;
    while (options && (options = strstr(options, option)))
        last = options += sizeof(option) - 1;
    return last && !strncmp(last, "true", 4) && preloaded && strstr(preloaded, hs_shim_name(HS_SHIM_PROF));
}

static void add_ending(FILE *note, const struct hs_recording *recording, const struct hs_summary *summary)
{
    uint64_t dropped = 0;
    for (int i = 0; i < HS_DROP_COUNT; i++)
        dropped += i == HS_DROP_CHILDREN || i == HS_DROP_MODULES || i == HS_DROP_FILES ? 0 : summary->dropped[i];
    if (summary->state == HS_STATE_STOPPED)
        fputs("; recording ended early", note);
    else if (dropped)
        fprintf(note, "; %s %s dropped", hs_text__counted(dropped, "event").text, dropped == 1 ? "was" : "were");
    else if (summary->state == HS_STATE_EXEC && recording->follows_children)
        fputs("; it executed another program, which was not recorded", note);
    else if (summary->state == HS_STATE_EXEC)
        fputs("; it executed another program; --follow-children records that, too", note);
}

static void add_others(FILE *note, const struct hs_recording *recording, const struct hs_summary *summary,
                       const struct hs_found_traces *found)
{
    if (found->earlier)
        fprintf(note, "; %zu more of the programs before, which the same process executed", found->earlier);
    if (found->is_anothers && found->others) {
        fprintf(note, "; the largest of %zu traces%s", found->others + found->earlier + 1,
                found->unfinished ? ", of which some are still written" : "");
        if (found->started)
            fprintf(note, ", that of the process that was started is %s", found->started);
    } else if (found->others == 1)
        fprintf(note, "; 1 more by a child process%s: %s", found->unfinished ? ", which still runs" : "",
                found->largest);
    else if (found->others)
        fprintf(note, "; %zu more by child processes%s, the largest %s", found->others,
                found->unfinished ? ", some of which still run" : "", found->largest);
    else if (recording->is_cut)
        fputs("; its end is missing", note);
    else if (left_quietly(recording, summary) && !recording->is_elsewhere && goes_on(recording))
        fputs("; it continues in the background: each process there has its own trace from its first allocation, with "
              "its process id in the name",
              note);
    else if (left_quietly(recording, summary))
        fprintf(note, "; it ended by calling the kernel directly; the trace is complete%s",
                wanted_final_dump() ? ", but no final dump (prof_final) was written" : "");
}

static void add_unrecorded(FILE *note, const struct hs_summary *summary)
{
    const uint64_t children = summary->dropped[HS_DROP_CHILDREN];
    if (children)
        fprintf(note, "; %s child process%s could not create a trace (chroot or a change of user?)",
                hs_text__count(children).text, children == 1 ? "" : "es");
}

// The last line: the file, what else there is to know in a few words, and what to type next.
static void print_file(const struct hs_recording *recording, const struct hs_summary *summary,
                       const struct hs_found_traces *found)
{
    char *note = NULL;
    size_t size;
    FILE *stream = open_memstream(&note, &size);
    if (stream) {
        add_ending(stream, recording, summary);
        add_unrecorded(stream, summary);
        add_others(stream, recording, summary, found);
        fclose(stream);
    }
    bool sysroot = recording->sysroot != NULL;
    hs_complain(NULL, "wrote %s (%s)%s; next: heapsonde report %s%s%s%s", found->path,
                hs_text__bytes(summary->file_size).text, note ? note : "", sysroot ? "--sysroot " : "",
                sysroot ? recording->sysroot : "", sysroot ? " " : "", found->path);
    free(note);
}

// A program's own malloc may well call the next one, which is recorded; of the others nothing is ever seen.
static void explain_own_allocator(const struct hs_recording *recording, const struct hs_store *store)
{
    const struct hs_summary *summary = hs_store__summary(store);
    const char *name = recording->path ? hs_own_allocator(recording->path) : NULL;
    const uint64_t bytes = name ? 0 : hs_unseen__memory(store);
    if (bytes)
        hs_complain(NULL, "%s %s", recording->program, hs_unseen__advice(store, bytes).text);
    if (!name || summary->state == HS_STATE_EXEC || (summary->allocations && !strcmp(name, "malloc")) ||
        hs_unseen__is_recorded(store, name))
        return;
    hs_complain(
        NULL,
        "%s has its own allocator (%s), whose allocations are not in the trace; on AMD64 and AArch64, record it "
        "with %s, or link the program with the system's malloc or with that allocator's shared library",
        recording->program, name, hs_unseen__option(name).text);
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
        hs_complain(NULL,
                    "no trace was written to %s: the disk is full; free some space or choose another disk with -o",
                    recording->pattern);
        return;
    }
    hs_complain(NULL,
                "no trace was written to %s%s; possible reasons: this user cannot write there; %s ended before "
                "recording began; it clears LD_PRELOAD; it only starts another program (try --follow-children)",
                recording->pattern, recording->disabled ? " (recording was never switched on: send SIGUSR1)" : "",
                recording->program);
}

static void summarize_trace(const struct hs_recording *recording, const struct hs_found_traces *found)
{
    struct hs_progress progress;
    struct hs_store *store = NULL;
    struct hs_error error = {.message = ""};
    hs_progress__start(&progress, "heapsonde: reading the trace", true);
    const char *folders[] = {recording->sysroot};
    const struct hs_symbols_options symbols = {.sysroots = folders, .sysroot_count = recording->sysroot != NULL};
    struct hs_import_options options = {.symbols = &symbols, .progress = hs_progress__update, .context = &progress};
    int result = hs_import__open(found->path, &options, &store, &error);
    hs_progress__end(&progress);
    if (result) {
        hs_complain(NULL, "wrote %s, but it cannot be read: %s", found->path, error.message);
        return;
    }
    print_numbers(store);
    explain_own_allocator(recording, store);
    print_file(recording, hs_store__summary(store), found);
    hs_store__close(store);
}

void hs_recording__summarize(const struct hs_recording *recording)
{
    char text[128];
    struct hs_found_traces found;
    hs_recording__ending(recording, text, sizeof(text));
    hs_complain(NULL, "%s %s after %s", recording->program, text,
                hs_text__time((uint64_t)(recording->seconds * 1e9)).text);
    hs_find_traces(&found, recording->pattern, recording->pid, &recording->started, recording->follows_children);
    found.unfinished &=
        !recording->is_elsewhere; // all have come, and the numbers of processes are not those of this machine
    if (found.path)
        summarize_trace(recording, &found);
    else
        explain_absence(recording);
    hs_found_traces__free(&found);
}
