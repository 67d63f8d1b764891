// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/onboard/names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int send_file(void *context, const struct hs_buffer *file, bool is_cut)
{
    const struct hs_jit_process *process = context;
    printf("file %u %d %zu\n", process->pid, is_cut, file->count);
    return fwrite(file->bytes, 1, file->count, stdout) == file->count ? 0 : -EIO;
}

void hs_names__send(const struct hs_jit_process *process)
{
    struct hs_jit_process copy = *process;
    struct hs_jit_source source = {.take = send_file, .context = &copy};
    hs_jit_source__map(&source, process);
    hs_jit_source__dump(&source, process);
    printf("refused %zu\n", source.refused);
    fflush(stdout);
}

int hs_names__of_ended(const char *list)
{
    const char *top = getenv("JITDUMPDIR");
    char here[PATH_MAX];
    struct hs_jit_process process = {.root = AT_FDCWD,
                                     .mounts = -1,
                                     .folder = AT_FDCWD,
                                     .here = getcwd(here, sizeof(here)),
                                     .home = top && *top ? (char *)(uintptr_t)top : getenv("HOME"),
                                     .user = geteuid()};
    while (*list) {
        char *end;
        process.pid = (uint32_t)strtoul(list, &end, 10);
        if (!process.pid || *end != ':')
            return -EINVAL;
        list = end + 1;
        process.began = strtoull(list, &end, 10);
        if (end == list || (*end && *end != ','))
            return -EINVAL;
        list = end + (*end == ',');
        hs_names__send(&process);
    }
    return 0;
}
