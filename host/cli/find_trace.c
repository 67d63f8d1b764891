// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/find_trace.h"

#include "format/chunk.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct glob_text {
    char text[PATH_MAX];
    size_t length;
};

static void add(struct glob_text *to, char c)
{
    if (to->length + 1 < sizeof(to->text))
        to->text[to->length++] = c;
}

// Every placeholder becomes `*`: the header of a file says which process wrote it.
static void to_glob(struct glob_text *to, const char *pattern)
{
    *to = (struct glob_text){.length = 0};
    for (; *pattern; pattern++) {
        if (*pattern == '%' && pattern[1]) {
            pattern++;
            add(to, *pattern == '%' ? '%' : '*');
            continue;
        }
        if (strchr("*?[\\", *pattern))
            add(to, '\\');
        add(to, *pattern);
    }
}

static bool is_newer(const struct stat *status, const struct timespec *since)
{
    // File systems stamp with the coarse clock, which may lag by a tick.
    long long file = status->st_mtim.tv_sec * 1000LL + status->st_mtim.tv_nsec / 1000000;
    long long start = since->tv_sec * 1000LL + since->tv_nsec / 1000000;
    return file + 20 >= start;
}

static bool read_pid(const char *path, const struct timespec *since, pid_t *pid)
{
    struct stat status;
    struct hs_file_header header;
    uint8_t bytes[sizeof(struct hs_file_header)];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool readable = !fstat(fd, &status) && S_ISREG(status.st_mode) && is_newer(&status, since) &&
                    pread(fd, bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes);
    close(fd);
    if (!readable || hs_file_header_read(bytes, &header) != HS_HEADER_GOOD)
        return false;
    *pid = (pid_t)header.pid;
    return true;
}

static time_t modified(const char *path)
{
    struct stat status;
    return stat(path, &status) ? 0 : status.st_mtime;
}

char *hs_find_trace(const char *pattern, pid_t pid, const struct timespec *since, size_t *others)
{
    struct glob_text text;
    glob_t found;
    char *path = NULL;
    *others = 0;
    to_glob(&text, pattern);
    glob(text.text, GLOB_NOSORT, NULL, &found);
    // Where the name is taken, the recorder appends something.
    size_t plain = found.gl_pathc, length = text.length;
    add(&text, '.');
    add(&text, '*');
    glob(text.text, GLOB_NOSORT | GLOB_APPEND, NULL, &found);
    text.text[length] = 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        pid_t writer;
        bool met = i >= plain && !fnmatch(text.text, found.gl_pathv[i], FNM_PATHNAME | FNM_PERIOD);
        if (met || !read_pid(found.gl_pathv[i], since, &writer))
            continue;
        if (writer != pid) {
            (*others)++;
            continue;
        }
        // A process that replaced itself by another program wrote several: the last one is of interest.
        if (path && modified(path) > modified(found.gl_pathv[i]))
            continue;
        free(path);
        path = strdup(found.gl_pathv[i]);
    }
    globfree(&found);
    return path;
}
