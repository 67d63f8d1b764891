// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/scratch.h"

#include "host/base/folders.h"
#include "host/base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int hs_scratch__make(struct hs_scratch *scratch, const char *name)
{
    scratch->fd = -1;
    int length = snprintf(scratch->path, sizeof(scratch->path), "%s/heapsonde-%s-XXXXXX", hs_path__temporary(), name);
    if (length >= (int)sizeof(scratch->path))
        scratch->path[0] = '\0';
    if (!scratch->path[0])
        return -ENAMETOOLONG;
    if (!mkdtemp(scratch->path)) {
        scratch->path[0] = '\0';
        return -errno;
    }
    scratch->fd = open(scratch->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return scratch->fd < 0 ? -errno : 0;
}

void hs_scratch__unlink(const struct hs_scratch *scratch, const char *file)
{
    if (scratch->fd >= 0)
        unlinkat(scratch->fd, file, 0);
}

void hs_scratch__remove(struct hs_scratch *scratch)
{
    if (scratch->fd >= 0)
        close(scratch->fd);
    if (scratch->path[0])
        hs_folders__remove(scratch->path);
}
