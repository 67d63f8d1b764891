// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Lines of text: "began ID DEVICE", "ended ID" and, of a sampled process, "dumps ID NUMBER OFFSET": NUMBER
// dumps have become files, and their part of the stream ends at OFFSET. ID is in hexadecimal. In DEVICE, every
// character but letters, digits, dots, dashes, underscores and colons is written as %XX. A line that cannot be read is
// ignored: then only the quotas do not know of it.
#include "host/gather/trace_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME     ".heapsonde-gather"
#define NEW_NAME ".heapsonde-gather.new"

enum { ID_TEXT = 2 * HS_TRACE_ID_SIZE };

static void id_text(const uint8_t id[HS_TRACE_ID_SIZE], char text[ID_TEXT + 1])
{
    for (unsigned i = 0; i < HS_TRACE_ID_SIZE; i++)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
}

static bool read_byte(const char *text, uint8_t *byte)
{
    static const char digits[] = "0123456789abcdef";
    const char *high = text[0] ? strchr(digits, text[0]) : NULL;
    const char *low = high && text[1] ? strchr(digits, text[1]) : NULL;
    if (!low)
        return false;
    *byte = (uint8_t)((high - digits) << 4 | (low - digits));
    return true;
}

static bool read_id(const char *text, uint8_t id[HS_TRACE_ID_SIZE])
{
    for (unsigned i = 0; i < HS_TRACE_ID_SIZE; i++)
        if (!read_byte(text + 2 * i, &id[i]))
            return false;
    return true;
}

static void escape(const char *from, char *to)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-:";
    for (; *from; from++) {
        if (strchr(plain, *from))
            *to++ = *from;
        else
            to += sprintf(to, "%%%02x", (uint8_t)*from);
    }
    *to = 0;
}

static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from && *from != '\n'; to++) {
        uint8_t byte = (uint8_t)*from;
        from += *from == '%' && read_byte(from + 1, &byte) ? 3 : 1;
        *to = (char)byte;
    }
    *to = 0;
}

// ---- reading --------------------------------------------------------------------------------------------------------

static void take_dumps(struct hs_gathered *trace, const char *text)
{
    uint64_t dumps, walked;
    if (trace->samples && sscanf(text, " %" SCNu64 " %" SCNu64, &dumps, &walked) == 2 && walked >= trace->walked &&
        walked <= trace->size) {
        trace->dumps = dumps;
        trace->walked = walked;
    }
}

static void visit_line(char *line, hs_trace_journal_visitor visit, void *context)
{
    static const char *const words[] = {"began ", "ended ", "dumps "};
    uint8_t id[HS_TRACE_ID_SIZE];
    unsigned kind = 0;
    while (kind < 3 && strncmp(line, words[kind], 6) != 0)
        kind++;
    if (kind == 3 || !read_id(line + 6, id))
        return;
    char *text = line + 6 + ID_TEXT;
    if (kind == HS_TRACE_BEGAN && *text != ' ')
        return;
    if (kind == HS_TRACE_BEGAN)
        unescape(++text);
    visit(context, (enum hs_trace_journal_kind)kind, id, text);
}

void hs_trace_journal__read(int directory, hs_trace_journal_visitor visit, void *context)
{
    char line[1024];
    struct stat status;
    int fd = openat(directory, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    FILE *file = fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode) ? fdopen(fd, "r") : NULL;
    if (!file) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while (fgets(line, sizeof(line), file))
        visit_line(line, visit, context);
    fclose(file);
}

static void take_line(void *context, enum hs_trace_journal_kind kind, const uint8_t id[HS_TRACE_ID_SIZE], char *text)
{
    struct hs_traces *traces = context;
    struct hs_gathered *trace = hs_trace_registry__find(traces, id);
    if (!trace)
        return;
    if (kind == HS_TRACE_DUMPED) {
        take_dumps(trace, text);
    } else if (kind == HS_TRACE_ENDED) {
        trace->ended = true;
    } else if (!trace->account) {
        trace->account = hs_trace_registry__account(traces, text);
        if (trace->account)
            atomic_fetch_add(&trace->account->bytes, trace->size);
    }
}

// ---- writing --------------------------------------------------------------------------------------------------------

static int began_line(const struct hs_gathered *trace, char *line)
{
    char id[ID_TEXT + 1];
    char name[3 * sizeof(trace->account->name) + 1] = "";
    id_text(trace->id, id);
    if (trace->account)
        escape(trace->account->name, name);
    return sprintf(line, "began %s %s\n", id, name);
}

static int ended_line(const struct hs_gathered *trace, char *line)
{
    char id[ID_TEXT + 1];
    id_text(trace->id, id);
    return sprintf(line, "ended %s\n", id);
}

static int dumps_line(const struct hs_gathered *trace, uint64_t dumps, uint64_t walked, char *line)
{
    char id[ID_TEXT + 1];
    id_text(trace->id, id);
    return sprintf(line, "dumps %s %" PRIu64 " %" PRIu64 "\n", id, dumps, walked);
}

static bool write_known(struct hs_traces *traces, FILE *file)
{
    char line[1024];
    for (unsigned i = 0; i < HS_TRACES_BUCKETS; i++) {
        for (struct hs_gathered *trace = traces->bucket[i]; trace; trace = trace->next_in_bucket) {
            if (trace->account && began_line(trace, line) > 0)
                fputs(line, file);
            if (trace->dumps && dumps_line(trace, trace->dumps, trace->walked, line) > 0)
                fputs(line, file);
            if (trace->ended && ended_line(trace, line) > 0)
                fputs(line, file);
        }
    }
    return !fflush(file) && !ferror(file);
}

int hs_trace_journal__open(struct hs_traces *traces, struct hs_error *error)
{
    hs_trace_journal__read(traces->directory, take_line, traces);
    unlinkat(traces->directory, NEW_NAME, 0);
    int fd = openat(traces->directory, NEW_NAME, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "a");
    bool written = file && write_known(traces, file);
    if (written && !renameat(traces->directory, NEW_NAME, traces->directory, NAME))
        traces->journal = dup(fd);
    int problem = errno;
    if (file)
        fclose(file);
    if (traces->journal >= 0)
        return 0;
    return hs_error__set(error, problem, "%s/" NAME " cannot be written: %s", traces->options.directory,
                         strerror(problem));
}

// One write for a line: a killed process leaves whole lines.
static void append(struct hs_traces *traces, const char *line, int length)
{
    ssize_t done = length > 0 ? write(traces->journal, line, (size_t)length) : 0;
    (void)done;
}

void hs_trace_journal__began(struct hs_traces *traces, const struct hs_gathered *trace)
{
    char line[1024];
    append(traces, line, began_line(trace, line));
}

void hs_trace_journal__ended(struct hs_traces *traces, const struct hs_gathered *trace)
{
    char line[1024];
    append(traces, line, ended_line(trace, line));
}

void hs_trace_journal__dumped(struct hs_traces *traces, const struct hs_gathered *trace, uint64_t dumps,
                              uint64_t walked)
{
    char line[1024];
    append(traces, line, dumps_line(trace, dumps, walked, line));
}
