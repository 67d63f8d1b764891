// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/attach_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_TRACES = 16 };

// A path that leads there from the root folder of the process also when the process has ended.
static char *path_from_root(const struct hs_jit_process *process, const char *path)
{
    char *whole = NULL;
    if (process->root == AT_FDCWD)
        return strdup(path);
    return asprintf(&whole, "/proc/self/fd/%d%s", process->root, path) < 0 ? NULL : whole;
}

// A recorder has the beginning of its trace mapped, to be written. Whether it is a trace is seen when it is opened.
static void add_trace(struct hs_attach_names *names, char *line)
{
    char access[8] = "";
    unsigned long long offset = 1;
    int path = 0;
    line[strcspn(line, "\n")] = 0;
    if (names->count == MOST_TRACES || sscanf(line, "%*s %7s %llx %*s %*s %n", access, &offset, &path) != 2 || offset ||
        strcmp(access, "rw-s") != 0 || line[path] != '/')
        return;
    char *trace = path_from_root(&names->process, line + path);
    if (trace)
        names->traces[names->count++] = trace;
}

void hs_attach_names__look(struct hs_attach_names *names, pid_t pid)
{
    char path[64], *line = NULL;
    size_t room = 0;
    *names = (struct hs_attach_names){.traces = calloc(MOST_TRACES, sizeof(*names->traces))};
    names->is_known = names->traces && !hs_jit_process__open(&names->process, pid);
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    FILE *maps = names->is_known ? fopen(path, "re") : NULL;
    while (maps && getline(&line, &room, maps) > 0)
        add_trace(names, line);
    if (maps)
        fclose(maps);
    free(line);
}

void hs_attach_names__take(struct hs_attach_names *names, const struct hs_command *command)
{
    struct hs_jit_taken taken = {0};
    size_t refused = 0;
    // The traces of a process's earlier recordings are still mapped. For each, the same files are looked at.
    for (size_t i = 0; i < names->count; i++) {
        taken.refused = 0;
        hs_jit_files__take_of(names->traces[i], &names->process, &taken);
        refused = taken.refused > refused ? taken.refused : refused;
        free(names->traces[i]);
    }
    taken.refused = refused;
    hs_jit_taken__say(&taken, command, refused);
    free(names->traces);
    if (names->is_known)
        hs_jit_process__close(&names->process);
    *names = (struct hs_attach_names){.traces = NULL};
}
