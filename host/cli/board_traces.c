// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/board_traces.h"

#include "format/chunk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { MOST_OPEN = 100, MOST_TAKEN = 1000 };

struct hs_board_trace {
    uint8_t id[8];
    char *path;
    char *name; // of the program
    pid_t pid;
    int fd; // -1: closed, because too many are open
};

// How the name of a trace goes on when the one that the pattern gives is not free.
struct board_traces_name {
    bool with_pid;
    unsigned counter; // %n
    unsigned number;  // 0: none
};

// ---- names ---------------------------------------------------------------------------------------------------------

static void expand(FILE *out, const struct hs_board_traces *traces, const struct hs_board_trace *trace, char letter,
                   unsigned counter)
{
    if (letter == 'p')
        fprintf(out, "%d", (int)trace->pid);
    else if (letter == 'e')
        fputs(trace->name, out);
    else if (letter == 't')
        fprintf(out, "%lld", (long long)traces->recording->started.tv_sec);
    else if (letter == 'n')
        fprintf(out, "%u", counter);
    else
        putc('%', out);
}

static char *path_of(const struct hs_board_traces *traces, const struct hs_board_trace *trace,
                     const struct board_traces_name *name)
{
    char *path = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&path, &size);
    for (const char *at = traces->recording->pattern; out && *at; at++) {
        if (*at == '%' && at[1] && strchr("petn%", at[1]))
            expand(out, traces, trace, *++at, name->counter);
        else
            putc(*at, out);
    }
    if (out && name->with_pid)
        fprintf(out, ".%d", (int)trace->pid);
    if (out && name->number)
        fprintf(out, ".%u", name->number);
    if (out)
        fclose(out);
    return path;
}

// -EBUSY: another run is writing it, or a recorder.
static int open_file(const char *path, bool is_new)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (is_new ? O_EXCL : 0), 0600);
    if (fd < 0)
        return -errno;
    int problem = flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK ? EBUSY : 0;
    if (!problem && ftruncate(fd, 0))
        problem = errno;
    if (!problem)
        return fd;
    close(fd);
    return -problem;
}

static bool is_one_of_these(const struct hs_board_traces *traces, const char *path)
{
    for (size_t i = 0; i < traces->count; i++)
        if (!strcmp(traces->all[i].path, path))
            return true;
    return false;
}

static bool has(const struct hs_board_traces *traces, char letter)
{
    for (const char *at = traces->recording->pattern; at[0] && at[1]; at++)
        if (at[0] == '%' && *++at == letter)
            return true;
    return false;
}

// As open_free_name() of runtime/output.c: a child's name has its process number in any case, and what other runs and
// earlier programs of the same process use is left alone.
static int open_free_name(const struct hs_board_traces *traces, struct hs_board_trace *trace)
{
    bool has_pid = has(traces, 'p'), counts = has(traces, 'n'), is_taken = false;
    struct board_traces_name name = {.with_pid = !has_pid && trace->pid != traces->recording->pid};
    int fd = -EBUSY;
    for (unsigned tries = 0; tries < MOST_TAKEN && (fd == -EBUSY || fd == -EEXIST); tries++) {
        free(trace->path);
        trace->path = path_of(traces, trace, &name);
        if (!trace->path)
            return -ENOMEM;
        fd = is_one_of_these(traces, trace->path) ? -EEXIST : open_file(trace->path, counts);
        is_taken |= fd == -EBUSY;
        if (fd == -EBUSY && !name.with_pid && !has_pid)
            name.with_pid = true;
        else if (counts)
            name.counter++;
        else
            name.number++;
    }
    if (is_taken && fd >= 0)
        hs_complain(traces->command, "another run writes a trace of that name; this one is %s", trace->path);
    return fd;
}

// ---- files ---------------------------------------------------------------------------------------------------------

// The last word of a path; a board cannot make it lead elsewhere.
static char *name_of(const struct hs_wire_packet *packet)
{
    char *name = strndup(packet->name, sizeof(packet->name) - 1);
    for (char *at = name; at && *at; at++)
        if (*at == '/' || (unsigned char)*at < ' ')
            *at = '_';
    if (name && name[0] == '.')
        name[0] = '_';
    return name;
}

// If many processes are recorded, not all of their files can be open.
static void close_one(struct hs_board_traces *traces)
{
    for (size_t i = 0; i < traces->count; i++) {
        if (traces->all[i].fd < 0)
            continue;
        close(traces->all[i].fd);
        traces->all[i].fd = -1;
        traces->open--;
        return;
    }
}

static int begin(struct hs_board_traces *traces, const struct hs_file_header *header)
{
    if (!(traces->count & (traces->count - 1))) {
        void *grown = realloc(traces->all, (traces->count ? 2 * traces->count : 1) * sizeof(*traces->all));
        if (!grown)
            return -ENOMEM;
        traces->all = grown;
    }
    struct hs_board_trace *trace = &traces->all[traces->count];
    *trace = (struct hs_board_trace){.pid = (pid_t)header->pid, .name = name_of(&traces->packet)};
    memcpy(trace->id, traces->packet.trace_id, sizeof(trace->id));
    trace->fd = trace->name ? open_free_name(traces, trace) : -ENOMEM;
    if (trace->fd >= 0) {
        traces->count++;
        traces->open++;
        return 0;
    }
    int problem = trace->fd;
    free(trace->name);
    free(trace->path);
    return problem;
}

static struct hs_board_trace *find(const struct hs_board_traces *traces)
{
    for (size_t i = traces->count; i-- > 0;)
        if (!memcmp(traces->all[i].id, traces->packet.trace_id, sizeof(traces->all[i].id)))
            return &traces->all[i];
    return NULL;
}

static int write_all(int fd, const uint8_t *bytes, size_t size)
{
    while (size) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno != EINTR)
            return errno;
        bytes += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

static int append(struct hs_board_traces *traces, struct hs_board_trace *trace, size_t size)
{
    if (trace->fd < 0) {
        trace->fd = open(trace->path, O_WRONLY | O_APPEND | O_CLOEXEC);
        traces->open += trace->fd >= 0;
    }
    return trace->fd < 0 ? errno : write_all(trace->fd, traces->packet.data, size);
}

// ---- packets -------------------------------------------------------------------------------------------------------

// The first packet of a trace begins with the header of its file.
static bool take_packet(struct hs_board_traces *traces, size_t size)
{
    struct hs_file_header header;
    struct hs_board_trace *trace = find(traces);
    if (traces->problem)
        return true;
    if (traces->open >= MOST_OPEN && (!trace || trace->fd < 0))
        close_one(traces);
    if (!trace) {
        if (size < sizeof(header) || hs_file_header_read(traces->packet.data, &header) != HS_HEADER_GOOD)
            return false;
        traces->problem = -begin(traces, &header);
        trace = find(traces);
    }
    if (!traces->problem)
        traces->problem = append(traces, trace, size);
    return true;
}

bool hs_board_traces__take(struct hs_board_traces *traces, const char *bytes, size_t size)
{
    uint8_t *packet = (uint8_t *)&traces->packet;
    while (size) {
        size_t wanted = HS_WIRE_PACKET_HEADER;
        if (traces->length >= HS_WIRE_PACKET_HEADER)
            wanted += hs_wire__get(traces->packet.length, sizeof(traces->packet.length));
        if (wanted > sizeof(traces->packet) || (traces->length == wanted && wanted == HS_WIRE_PACKET_HEADER))
            return false;
        size_t part = wanted - traces->length < size ? wanted - traces->length : size;
        memcpy(packet + traces->length, bytes, part);
        traces->length += part;
        bytes += part;
        size -= part;
        if (traces->length < wanted || wanted == HS_WIRE_PACKET_HEADER)
            continue;
        traces->length = 0;
        if (!take_packet(traces, wanted - HS_WIRE_PACKET_HEADER))
            return false;
    }
    return true;
}

const char *hs_board_traces__path(const struct hs_board_traces *traces, size_t number)
{
    return traces->all[number].path;
}

void hs_board_traces__close(struct hs_board_traces *traces)
{
    while (traces->open)
        close_one(traces);
}

void hs_board_traces__free(struct hs_board_traces *traces)
{
    for (size_t i = 0; i < traces->count; i++) {
        free(traces->all[i].path);
        free(traces->all[i].name);
    }
    free(traces->all);
    traces->all = NULL;
    traces->count = 0;
}
