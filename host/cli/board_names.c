// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/board_names.h"

#include "host/base/text_stream.h"
#include "host/board/interrupt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_FILES = 64, MOST_PROCESSES = 256 };

// ---- what is sent --------------------------------------------------------------------------------------------------

static bool begin_file(struct hs_board_names *names, uint32_t pid, bool is_cut, size_t size)
{
    if (names->count == MOST_FILES || !size || size > HS_CHUNK_MAX_LENGTH)
        return false;
    void *grown = realloc(names->all, (names->count + 1) * sizeof(*names->all));
    if (!grown)
        return false;
    names->all = grown;
    names->all[names->count++] = (struct hs_board_name_file){.pid = pid, .is_cut = is_cut};
    names->left = size;
    return true;
}

static void take_line(struct hs_board_names *names)
{
    uint32_t pid;
    unsigned is_cut;
    size_t size;
    if (sscanf(names->line, "file %" SCNu32 " %u %zu", &pid, &is_cut, &size) == 3)
        names->is_wrong |= !begin_file(names, pid, is_cut, size);
    else if (sscanf(names->line, "refused %zu", &size) == 1)
        names->refused += size;
    else if (!strcmp(names->line, "attached"))
        names->is_attached = true;
    else if (!strcmp(names->line, "done"))
        names->is_done = true;
    else
        names->is_wrong = true;
}

static size_t take_contents(struct hs_board_names *names, const char *bytes, size_t size)
{
    struct hs_buffer *file = &names->all[names->count - 1].file;
    const size_t part = size < names->left ? size : names->left;
    hs_buffer__put(file, bytes, part);
    names->left -= part;
    names->is_wrong |= file->failed;
    return part;
}

void hs_board_names__take(struct hs_board_names *names, const char *bytes, size_t size)
{
    while (size && !names->is_wrong) {
        size_t part = 1;
        if (names->left) {
            part = take_contents(names, bytes, size);
        } else if (*bytes != '\n') {
            names->is_wrong |= names->length + 1 == sizeof(names->line);
            names->line[names->is_wrong ? 0 : names->length++] = *bytes;
        } else {
            names->line[names->length] = 0;
            names->length = 0;
            take_line(names);
        }
        bytes += part;
        size -= part;
    }
}

void hs_board_names__free(struct hs_board_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        hs_buffer__free(&names->all[i].file);
    free(names->all);
    *names = (struct hs_board_names){.all = NULL};
}

// ---- what it belongs to --------------------------------------------------------------------------------------------

static bool is_map(const struct hs_board_name_file *file)
{
    static const char beginning[] = "/tmp/perf-";
    return file->file.count >= sizeof(beginning) && !memcmp(file->file.bytes, beginning, sizeof(beginning) - 1);
}

static bool has_map(const struct hs_board_names *names, uint32_t pid)
{
    for (size_t i = 0; i < names->count; i++)
        if (names->all[i].pid == pid && is_map(&names->all[i]))
            return true;
    return false;
}

static bool is_whole(const struct hs_board_name_file *file)
{
    const size_t most = file->file.count < PATH_MAX ? file->file.count : PATH_MAX;
    return file->file.bytes && !file->file.failed && memchr(file->file.bytes, 0, most);
}

static void add_to(const struct hs_board_names *names, const char *trace, struct hs_jit_taken *taken)
{
    struct hs_file_header header;
    const size_t whole = names->count - (names->left ? 1 : 0);
    if (!hs_jit_files__header(trace, &header))
        return;
    const bool takes_parents = header.forked_at && !has_map(names, header.pid);
    for (size_t i = 0; i < whole; i++) {
        const struct hs_board_name_file *file = &names->all[i];
        const bool is_parents = takes_parents && file->pid == header.parent_pid && is_map(file);
        if ((file->pid == header.pid || is_parents) && is_whole(file))
            hs_jit_files__add(trace, &file->file, file->is_cut, taken);
    }
}

void hs_board_names__add(const struct hs_board_names *names, const struct hs_board_traces *traces,
                         struct hs_jit_taken *taken)
{
    for (size_t i = 0; i < traces->count && names->count; i++)
        add_to(names, hs_board_traces__path(traces, i), taken);
    taken->refused += names->refused;
}

// ---- of processes that have ended ----------------------------------------------------------------------------------

struct board_processes {
    pid_t pids[MOST_PROCESSES];
    size_t count;
    FILE *list; // "PID:BEGAN,..."
};

static void add_process(struct board_processes *processes, uint32_t pid, uint64_t began)
{
    for (size_t i = 0; i < processes->count; i++)
        if (processes->pids[i] == (pid_t)pid)
            return;
    if (!pid || processes->count == MOST_PROCESSES)
        return;
    fprintf(processes->list, "%s%" PRIu32 ":%" PRIu64, processes->count ? "," : "", pid, began);
    processes->pids[processes->count++] = (pid_t)pid;
}

// The first trace is that of the process which was started first. Its map may be older than a fork.
static char *list_of(struct board_processes *processes, const struct hs_board_traces *traces)
{
    struct hs_text_stream stream;
    struct hs_file_header header;
    uint64_t began = 0;
    processes->list = hs_text_stream__open(&stream);
    if (!processes->list)
        return NULL;
    for (size_t i = 0; i < traces->count; i++) {
        if (!hs_jit_files__header(hs_board_traces__path(traces, i), &header))
            continue;
        began = began ? began : header.start_realtime_ns;
        add_process(processes, header.pid, header.start_realtime_ns);
        if (header.forked_at)
            add_process(processes, header.parent_pid, began);
    }
    return hs_text_stream__close(&stream);
}

static void receive(struct hs_board *board, const char *list, struct hs_board_names *names)
{
    struct hs_session session;
    char bytes[65536];
    ssize_t got;
    if (hs_board__start(board, &session, hs_board_script__names(board->folder, list), HS_SESSION_OTHER,
                        HS_SESSION_NOTHING, HS_SESSION_PIPE, -1))
        return;
    while ((got = read(session.output, bytes, sizeof(bytes))) > 0 ||
           (got < 0 && errno == EINTR && !hs_interrupt__came()))
        hs_board_names__take(names, bytes, got > 0 ? (size_t)got : 0);
    hs_session__close_output(&session);
    hs_session__wait(&session);
}

void hs_board_names__fetch(struct hs_board *board, const struct hs_board_traces *traces, struct hs_jit_taken *taken)
{
    struct board_processes processes = {.count = 0};
    struct hs_board_names names = {.all = NULL};
    struct hs_error error;
    char *list = list_of(&processes, traces);
    if (list && hs_board__has_names(board, processes.pids, processes.count)) {
        if (hs_board__send_attach(board, &error))
            taken->problem = -ENOENT;
        else
            receive(board, list, &names);
        hs_board_names__add(&names, traces, taken);
        hs_board_names__free(&names);
    }
    free(list);
}
