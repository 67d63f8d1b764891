// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/source_text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static const char not_given[] = "the text of source files is shown if the server is started with --source DIR, where "
                                "DIR is a folder with the sources";
static const char elsewhere[] = "the file is not below a folder that --source names; if the sources are elsewhere on "
                                "this machine, --source-map FROM=TO replaces the beginning of their names";
static const char missing[] = "the folder that --source names has no such file that can be read";
static const char other_kind[] = "the file is hidden, or its name does not end as those of source files do";
static const char too_large[] = "the file is larger than 16 MiB, or has more than 1,000,000 lines";
static const char no_text[] = "the file does not contain text";
static const char no_memory[] = "there is not enough memory for the file";

static const char *const endings[] = {
    "ada", "adb", "ads",   "asm",   "c",   "c++", "cc",  "cpp", "cppm", "cr", "cs",  "cu",  "cuh", "cxx",
    "d",   "def", "f",     "f77",   "f90", "f95", "for", "fs",  "go",   "h",  "h++", "hh",  "hpp", "hs",
    "hxx", "i",   "ii",    "inc",   "inl", "ino", "ipp", "ixx", "java", "jl", "js",  "kt",  "l",   "ll",
    "lua", "m",   "ml",    "mli",   "mm",  "nim", "pas", "php", "pl",   "pm", "py",  "pyx", "r",   "rb",
    "rs",  "s",   "scala", "swift", "tcc", "tpp", "ts",  "v",   "vala", "y",  "yy",  "zig",
};

// ---- names ----------------------------------------------------------------------------------------------------------

// Without empty parts, "." and "..", by the text alone: nothing is looked at on disk. false: it is too long, or leads
// above its beginning.
static bool clean(const char *name, char *to)
{
    size_t length = 0;
    to[0] = '\0';
    while (*name) {
        const size_t part = strcspn(name, "/");
        if (part == 2 && !strncmp(name, "..", 2)) {
            char *last = strrchr(to, '/');
            if (!last)
                return false;
            *last = '\0';
            length = (size_t)(last - to);
        } else if (part && !(part == 1 && *name == '.')) {
            if (length + part + 2 > PATH_MAX)
                return false;
            to[length++] = '/';
            memcpy(to + length, name, part);
            length += part;
            to[length] = '\0';
        }
        name += part + (name[part] == '/');
    }
    return length > 0;
}

// What of a clean path is below a folder, beginning with a slash; NULL: it is not below.
static const char *below(const char *folder, const char *path)
{
    const size_t length = strcmp(folder, "/") ? strlen(folder) : 0;
    return !strncmp(folder, path, length) && path[length] == '/' && path[length + 1] ? path + length : NULL;
}

static bool is_source(const char *rest)
{
    const char *dot = strrchr(rest, '.');
    if (strstr(rest, "/.") || !dot || strchr(dot, '/'))
        return false;
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
        if (!strcasecmp(dot + 1, endings[i]))
            return true;
    return false;
}

// ---- the file -------------------------------------------------------------------------------------------------------

// `rest` has no links any more; if one has appeared since, it is not followed. Returns a descriptor, or -1.
static int open_below(const char *folder, const char *rest)
{
    char part[NAME_MAX + 1];
    int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (at >= 0 && *rest) {
        const size_t length = strcspn(++rest, "/");
        const bool last = !rest[length];
        struct stat status;
        int next = -1;
        if (length <= NAME_MAX) {
            memcpy(part, rest, length);
            part[length] = '\0';
            // Devices and pipes are not even opened.
            if (!last || (!fstatat(at, part, &status, AT_SYMLINK_NOFOLLOW) && S_ISREG(status.st_mode)))
                next = openat(at, part, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (last ? 0 : O_DIRECTORY));
        }
        close(at);
        at = next;
        rest += length;
    }
    return at;
}

static size_t count_lines(const struct hs_source_text *source)
{
    size_t count = 0;
    for (const char *at = source->text, *end = at + source->length; at < end; count++) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : end;
    }
    return count;
}

static const char *read_all(int file, struct hs_source_text *source)
{
    struct stat status;
    size_t room = 0;
    if (fstat(file, &status) || !S_ISREG(status.st_mode))
        return missing;
    if ((uint64_t)status.st_size > HS_SOURCE_TEXT_MOST)
        return too_large;
    room = (size_t)status.st_size;
    source->modified_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000 + (uint64_t)status.st_mtim.tv_nsec;
    source->text = malloc(room + 1);
    if (!source->text)
        return no_memory;
    while (source->length < room) {
        const ssize_t got = read(file, source->text + source->length, room - source->length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        source->length += (size_t)got;
    }
    if (memchr(source->text, '\0', source->length))
        return no_text;
    source->lines = count_lines(source);
    return source->lines > HS_SOURCE_TEXT_MOST_LINES ? too_large : NULL;
}

// The file may be behind links, as long as these stay in the folder.
static const char *read_below(const char *folder, const char *rest, struct hs_source_text *source)
{
    char path[2 * PATH_MAX], real[PATH_MAX];
    if (!is_source(rest))
        return other_kind;
    strcpy(stpcpy(path, folder), rest);
    if (!realpath(path, real))
        return missing;
    rest = below(folder, real);
    if (!rest)
        return elsewhere;
    if (!is_source(rest))
        return other_kind;
    const int file = open_below(folder, rest);
    if (file < 0)
        return missing;
    const char *problem = read_all(file, source);
    close(file);
    if (problem)
        hs_source_text__free(source);
    return problem;
}

// As the folder is named, and as it is called without links.
static const char *try_folder(const char *given, const char *name, struct hs_source_text *source)
{
    char path[PATH_MAX], real[PATH_MAX], named[PATH_MAX], folder[2 * PATH_MAX] = "";
    if (!realpath(given, real))
        return missing;
    if (!clean(name, path))
        return elsewhere;
    if (*name != '/')
        return read_below(real, path, source);
    if (*given != '/' && getcwd(folder, PATH_MAX - 1))
        strcat(folder, "/");
    if (strlen(folder) + strlen(given) >= sizeof(folder))
        return elsewhere;
    const char *rest = below(real, path);
    if (!rest && clean(strcat(folder, given), named))
        rest = below(named, path);
    return rest ? read_below(real, rest, source) : elsewhere;
}

const char *hs_source_text__read(const char *const *folders, size_t count, const char *name,
                                 struct hs_source_text *source)
{
    const char *problem = not_given;
    *source = (struct hs_source_text){0};
    for (size_t i = 0; i < count; i++) {
        const char *now = try_folder(folders[i], name, source);
        if (!now)
            return NULL;
        // What is wrong in a folder that has the name says more than that others do not have it.
        if (problem == not_given || now != elsewhere)
            problem = now;
    }
    return problem;
}

void hs_source_text__free(struct hs_source_text *source)
{
    free(source->text);
    *source = (struct hs_source_text){0};
}
