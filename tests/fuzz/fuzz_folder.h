// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A folder for a target that writes files; it is removed at the end.
#ifndef HEAPSONDE_FUZZ_FOLDER_H
#define HEAPSONDE_FUZZ_FOLDER_H

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/heapsonde-fuzz-XXXXXX";

static void remove_folder(void)
{
    DIR *directory = opendir(folder);
    for (struct dirent *entry = directory ? readdir(directory) : NULL; entry; entry = readdir(directory))
        unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
    rmdir(folder);
}

static void make_folder(void)
{
    if (!mkdtemp(folder))
        abort();
    atexit(remove_folder);
}

#endif
