// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/load.h"

#include "arch/system.h"
#include "runtime/text.h"

#include <fcntl.h>

// Written by the writer's thread before it starts its helper.
static struct {
    int descriptor; // more by one; 0: none
    unsigned processors;
} load;

static unsigned usable_processors(void)
{
    unsigned long mask[128 / sizeof(unsigned long)] = {0};
    long length = HS_SYSTEM3(SYS_sched_getaffinity, 0, sizeof mask, mask);
    unsigned processors = 0;
    for (long i = 0; i * (long)sizeof *mask < length; i++)
        for (unsigned long left = mask[i]; left; left &= left - 1)
            processors++;
    return processors ? processors : 1;
}

void hs_load__watch(void)
{
    long descriptor = hs_system_open("/proc/loadavg", O_RDONLY | O_CLOEXEC, 0);
    load.descriptor = descriptor >= 0 ? (int)descriptor + 1 : 0;
    load.processors = usable_processors();
}

unsigned hs_load__processors(void)
{
    return load.processors;
}

void hs_load__forget(void)
{
    load.descriptor = 0;
}

unsigned hs_load__runnable(const char *line)
{
    for (unsigned spaces = 0; spaces < 3; line++) {
        if (!*line)
            return 0;
        spaces += *line == ' ';
    }
    return (unsigned)hs_text__parse(&line, 10);
}

bool hs_load__is_high(void)
{
    char line[64];
    if (!load.descriptor)
        return false;
    long length = hs_system_pread(load.descriptor - 1, line, sizeof line - 1, 0);
    line[length > 0 ? length : 0] = 0;
    return hs_load__runnable(line) > load.processors;
}
