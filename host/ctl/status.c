// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/ctl/status.h"

#include "host/base/json.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *hs_ctl_time(uint64_t ns, char text[40])
{
    time_t seconds = (time_t)(ns / 1000000000u);
    struct tm parts;
    if (!ns || !gmtime_r(&seconds, &parts) || !strftime(text, 40, "%Y-%m-%d %H:%M:%S UTC", &parts))
        strcpy(text, "the start");
    return text;
}

struct hs_text hs_ctl_rate(uint64_t sample_bytes)
{
    struct hs_text text = {"every allocation"};
    if (sample_bytes != 1)
        snprintf(text.text, sizeof(text.text), "one sample in %s", hs_text__bytes(sample_bytes).text);
    return text;
}

const char *hs_ctl_sessions(const struct hs_ctl_answer *answer, char *text, size_t size)
{
    char names[1024] = "";
    size_t used = 0;
    char *rest = NULL;
    hs_ctl_answer__text(answer, "sessions", names, sizeof(names));
    *text = 0;
    for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        const char *shown = strcmp(name, "-") ? name : "the one without a name";
        int written = snprintf(text + used, size - used, "%s%s", used ? ", " : "", shown);
        if (written < 0 || (size_t)written >= size - used)
            break;
        used += (size_t)written;
    }
    return text;
}

// ---- one process ----------------------------------------------------------------------------------------------------

static void print_flag(FILE *out, const struct hs_ctl_answer *answer, const char *key)
{
    char value[8];
    bool known = hs_ctl_answer__text(answer, key, value, sizeof(value));
    fprintf(out, "%s: %s\n", key, known ? value : "error");
}

void hs_ctl_status__flags(FILE *out, const struct hs_ctl_answer *answer)
{
    char value[8];
    print_flag(out, answer, "opt.prof");
    if (hs_ctl_answer__text(answer, "opt.prof", value, sizeof(value)) && !strcmp(value, "false"))
        fputs("# needs MALLOC_CONF=\"prof:true\"\n", out);
    print_flag(out, answer, "prof.active");
    print_flag(out, answer, "prof.thread_active_init");
}

static void print_since(FILE *out, const struct hs_ctl_answer *answer)
{
    char time[40];
    char sessions[1200];
    bool active = hs_ctl_answer__flag(answer, "prof.active");
    uint64_t since = hs_ctl_answer__number(answer, "since_ns");
    hs_ctl_sessions(answer, sessions, sizeof(sessions));
    fprintf(out, "%s since: %s\n", active ? "active" : "not active", hs_ctl_time(since, time));
    if (active && *sessions)
        fprintf(out, "sessions: %s\n", sessions);
    fprintf(out, "counting since: %s\n", hs_ctl_time(hs_ctl_answer__number(answer, "counting_since_ns"), time));
}

static void print_counts(FILE *out, const struct hs_ctl_answer *answer)
{
    uint64_t dropped = hs_ctl_answer__number(answer, "samples_dropped");
    uint64_t shortened = hs_ctl_answer__number(answer, "samples_shortened");
    fprintf(out, "rate: %s\n", hs_ctl_rate(hs_ctl_answer__number(answer, "sample_bytes")).text);
    fprintf(out, "live: %s in %s, as estimated from %s\n",
            hs_text__bytes(hs_ctl_answer__number(answer, "live_bytes")).text,
            hs_text__blocks(hs_ctl_answer__number(answer, "live_objects")).text,
            hs_text__samples(hs_ctl_answer__number(answer, "samples")).text);
    fprintf(out, "sampled: %s in %s, as estimated from %s of %s\n",
            hs_text__bytes(hs_ctl_answer__number(answer, "sampled_bytes")).text,
            hs_text__blocks(hs_ctl_answer__number(answer, "sampled_objects")).text,
            hs_text__samples(hs_ctl_answer__number(answer, "samples_total")).text,
            hs_text__counted(hs_ctl_answer__number(answer, "stacks"), "stack").text);
    if (dropped)
        fprintf(out, "samples dropped, for lack of room (HEAPSONDE_MEMORY) or on small stacks: %s\n",
                hs_text__count(dropped).text);
    if (shortened)
        fprintf(out, "samples with a shortened stack, for lack of room (HEAPSONDE_MEMORY): %s\n",
                hs_text__count(shortened).text);
    fprintf(out, "allocated: %s\n", hs_text__bytes(hs_ctl_answer__number(answer, "allocated_bytes")).text);
    fprintf(out, "deallocated: %s\n", hs_text__bytes(hs_ctl_answer__number(answer, "deallocated_bytes")).text);
}

static void name_of(const struct hs_ctl_process *process, char *name, size_t size)
{
    if (process->name[0])
        snprintf(name, size, "%s", process->name);
    else
        hs_ctl__name(process->pid, name, size);
}

void hs_ctl_status__text(FILE *out, const struct hs_ctl_process *process, const struct hs_ctl_answer *answer)
{
    char name[64];
    char version[64] = "?";
    hs_ctl_status__flags(out, answer);
    print_since(out, answer);
    print_counts(out, answer);
    name_of(process, name, sizeof(name));
    hs_ctl_answer__text(answer, "version", version, sizeof(version));
    fprintf(out, "process: %ld (%s), heapsonde %s\n", (long)process->pid, name, version);
}

// ---- for programs ---------------------------------------------------------------------------------------------------

static void write_flag(struct hs_json *json, const struct hs_ctl_answer *answer, const char *member, const char *key)
{
    char value[8];
    if (hs_ctl_answer__text(answer, key, value, sizeof(value)))
        hs_json__boolean(json, member, !strcmp(value, "true"));
    else
        hs_json__null(json, member);
}

static void write_sessions(struct hs_json *json, const struct hs_ctl_answer *answer)
{
    char names[1024] = "";
    char *rest = NULL;
    hs_ctl_answer__text(answer, "sessions", names, sizeof(names));
    hs_json__open_array(json, "sessions");
    for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
        hs_json__string(json, NULL, strcmp(name, "-") ? name : "");
    hs_json__close_array(json);
}

static void write_process(struct hs_json *json, const struct hs_ctl_process *process,
                          const struct hs_ctl_answer *answer)
{
    static const char *const numbers[] = {"since_ns",      "counting_since_ns", "now_ns",          "sample_bytes",
                                          "samples",       "samples_total",     "samples_dropped", "samples_shortened",
                                          "stacks",        "threads",           "live_bytes",      "live_objects",
                                          "sampled_bytes", "sampled_objects",   "allocated_bytes", "deallocated_bytes"};
    char name[64];
    char version[64] = "";
    name_of(process, name, sizeof(name));
    hs_ctl_answer__text(answer, "version", version, sizeof(version));
    hs_json__number(json, "pid", (uint64_t)process->pid);
    hs_json__string(json, "name", name);
    if (!process->name[0])
        hs_json__number(json, "uid", process->user);
    hs_json__string(json, "socket", process->socket);
    hs_json__string(json, "version", version);
    write_flag(json, answer, "opt_prof", "opt.prof");
    write_flag(json, answer, "on", "on");
    write_flag(json, answer, "active", "prof.active");
    write_flag(json, answer, "thread_active_init", "prof.thread_active_init");
    write_flag(json, answer, "gdump", "prof.gdump");
    write_sessions(json, answer);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        hs_json__number(json, numbers[i], hs_ctl_answer__number(answer, numbers[i]));
}

void hs_ctl_status__json(FILE *out, const struct hs_ctl_process *process, const struct hs_ctl_answer *answer)
{
    struct hs_json json;
    hs_json__start(&json, out, true);
    hs_json__open_object(&json, NULL);
    write_process(&json, process, answer);
    hs_json__close_object(&json);
    fputc('\n', out);
}

// ---- many -----------------------------------------------------------------------------------------------------------

// In a column that is named "one in".
static struct hs_text one_in(uint64_t sample_bytes)
{
    return sample_bytes == 1 ? (struct hs_text){"1 block"} : hs_text__bytes(sample_bytes);
}

void hs_ctl_status__list(FILE *out, const struct hs_ctl_process *processes, size_t count)
{
    fprintf(out, "%8s  %-10s  %12s  %12s  %s\n", "pid", "sampling", "one in", "live", "name");
    for (size_t i = 0; i < count; i++) {
        char name[64];
        struct hs_ctl_answer answer;
        hs_ctl__name(processes[i].pid, name, sizeof(name));
        if (hs_ctl__ask(processes[i].socket, "status", &answer, NULL)) {
            fprintf(out, "%8ld  %-10s  %12s  %12s  %s\n", (long)processes[i].pid, "no answer", "", "", name);
            continue;
        }
        fprintf(out, "%8ld  %-10s  %12s  %12s  %s\n", (long)processes[i].pid,
                hs_ctl_answer__flag(&answer, "prof.active") ? "active" : "off",
                one_in(hs_ctl_answer__number(&answer, "sample_bytes")).text,
                hs_text__bytes(hs_ctl_answer__number(&answer, "live_bytes")).text, name);
        hs_ctl_answer__free(&answer);
    }
}

void hs_ctl_status__list_json(FILE *out, const struct hs_ctl_process *processes, size_t count)
{
    struct hs_json json;
    hs_json__start(&json, out, true);
    hs_json__open_array(&json, NULL);
    for (size_t i = 0; i < count; i++) {
        struct hs_ctl_answer answer;
        if (hs_ctl__ask(processes[i].socket, "status", &answer, NULL))
            continue;
        hs_json__open_object(&json, NULL);
        write_process(&json, &processes[i], &answer);
        hs_json__close_object(&json);
        hs_ctl_answer__free(&answer);
    }
    hs_json__close_array(&json);
    fputc('\n', out);
}
