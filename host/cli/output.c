// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/output.h"

#include "host/store/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

bool hs_output__is_standard(const char *path)
{
    return !strcmp(path, "-");
}

static FILE *open_special(const char *path)
{
    int fd = hs_special_file__open(path);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (fd < 0)
        errno = -fd;
    else if (!out)
        close(fd);
    return out;
}

// A file that has no name until it is complete: a process that is killed while it writes leaves nothing behind. -1: the
// file system has none of these, or /proc, which gives it a name, is missing.
static int open_unnamed(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int fd = folder && !access("/proc/self/fd", F_OK) ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
    free(folder);
    return fd;
}

static bool is_unnamed(int fd)
{
    struct stat status;
    return !fstat(fd, &status) && !status.st_nlink;
}

// `name` ends with six characters that may be replaced.
static int give_name(int fd, char *name)
{
    char own[64];
    int problem = EEXIST;
    snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
    for (unsigned attempts = 0; problem == EEXIST && attempts < 100; attempts++) {
        uint32_t number = 0;
        if (getrandom(&number, sizeof(number), 0) < 0)
            return errno;
        snprintf(name + strlen(name) - 6, 7, "%06x", (unsigned)(number & 0xffffff));
        problem = linkat(AT_FDCWD, own, AT_FDCWD, name, AT_SYMLINK_FOLLOW) ? errno : 0;
    }
    return problem;
}

// Writes beside the target and renames, so that a failure leaves no half of a file and an old one intact. What is no
// regular file (a pipe, a device) is written directly.
static FILE *open_output(const char *path, mode_t mode, char **temporary)
{
    struct stat status;
    *temporary = NULL;
    if (hs_output__is_standard(path))
        return stdout;
    if (!stat(path, &status) && !S_ISREG(status.st_mode))
        return open_special(path);
    if (asprintf(temporary, "%s.XXXXXX", path) < 0)
        return NULL;
    int fd = open_unnamed(path);
    if (fd < 0)
        fd = mkstemp(*temporary);
    mode_t mask = umask(0);
    umask(mask);
    if (fd >= 0)
        fchmod(fd, mode & ~mask);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!out && fd >= 0)
        close(fd);
    if (!out) {
        int problem = errno;
        free(*temporary);
        *temporary = NULL;
        errno = problem;
    }
    return out;
}

static int close_output(FILE *out, const char *path, char *temporary, bool keep)
{
    int problem = 0;
    if (fflush(out) || ferror(out))
        problem = errno ? errno : EIO;
    bool named = temporary && !is_unnamed(fileno(out));
    if (temporary && !named && keep && !problem) {
        problem = give_name(fileno(out), temporary);
        named = !problem;
    }
    if (out != stdout && fclose(out) && !problem)
        problem = errno;
    if (temporary && !problem && keep && rename(temporary, path))
        problem = errno;
    if (named && (problem || !keep))
        unlink(temporary);
    free(temporary);
    return problem;
}

static int open_with_mode(struct hs_output *output, const struct hs_arguments *arguments, const char *path, mode_t mode)
{
    output->path = path;
    output->out = open_output(path, mode, &output->temporary);
    if (output->out)
        return 0;
    hs_complain(arguments->command, "%s cannot be written: %s; choose another file with -o", path, strerror(errno));
    return HS_EXIT_FAILURE;
}

int hs_output__open(struct hs_output *output, const struct hs_arguments *arguments, const char *path)
{
    return open_with_mode(output, arguments, path, 0666);
}

int hs_output__open_trace(struct hs_output *output, const struct hs_arguments *arguments, const char *path)
{
    return open_with_mode(output, arguments, path, 0600);
}

int hs_output__close(struct hs_output *output, const struct hs_arguments *arguments, bool keep)
{
    int problem = close_output(output->out, output->path, output->temporary, keep);
    if (problem && keep)
        hs_complain(arguments->command, "%s could not be written: %s; make room or choose another file with -o",
                    hs_output__is_standard(output->path) ? "standard output" : output->path, strerror(problem));
    return problem ? HS_EXIT_FAILURE : HS_EXIT_OK;
}

bool hs_same_file(const char *a, const char *b)
{
    struct stat first;
    struct stat second;
    return !stat(a, &first) && !stat(b, &second) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}
