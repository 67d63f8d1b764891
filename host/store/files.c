// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/store/files.h"

#include "host/store/kept.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Kept results are not mapped, and may change.
static bool is_kept(const char *name)
{
    return !strcmp(name, HS_KEPT_FILE) || !strcmp(name, HS_KEPT_UNDER_WAY);
}

static void take_down(struct hs_store_files *files, const char *name)
{
    struct stat status;
    struct hs_store_file *file = &files->file[files->count];
    if (is_kept(name) || files->count == sizeof(files->file) / sizeof(*files->file) ||
        strlen(name) >= sizeof(file->name) || fstatat(files->directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) ||
        !S_ISREG(status.st_mode))
        return;
    strcpy(file->name, name);
    file->size = status.st_size;
    files->count++;
}

void hs_store_files__list(struct hs_store_files *files, int directory_fd)
{
    files->count = 0;
    files->directory_fd = fcntl(directory_fd, F_DUPFD_CLOEXEC, 3);
    int listed = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = listed < 0 ? NULL : fdopendir(listed);
    for (const struct dirent *entry; directory && files->directory_fd >= 0 && (entry = readdir(directory));)
        take_down(files, entry->d_name);
    if (directory)
        closedir(directory);
    else if (listed >= 0)
        close(listed);
    if (!files->count)
        hs_store_files__close(files);
}

void hs_store_files__close(struct hs_store_files *files)
{
    if (files->directory_fd >= 0)
        close(files->directory_fd);
    files->directory_fd = -1;
}

bool hs_store_files__are_whole(const struct hs_store_files *files)
{
    struct stat status;
    for (size_t i = 0; i < files->count; i++) {
        const struct hs_store_file *file = &files->file[i];
        if (!fstatat(files->directory_fd, file->name, &status, AT_SYMLINK_NOFOLLOW) && status.st_size < file->size)
            return false;
    }
    return true;
}
