// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/log.h"

#include "arch/system.h"
#include "runtime/held_signals.h"
#include "runtime/place.h"
#include "runtime/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { STANDARD_ERROR = 2 };

// The first rotation keeps the beginning as NAME.initial, later ones the previous piece as NAME.old.
static void rotate(const char *path)
{
    struct hs_file_status status;
    struct hs_place place;
    if (hs_config.log_rotate_bytes == 0 || hs_place__find(&place, path, true))
        return;
    if (hs_place__status(&place, place.name, &status) == 0 && S_ISREG(status.mode) &&
        status.size > hs_config.log_rotate_bytes) {
        char kept[sizeof place.name + 16];
        struct hs_text text;
        hs_text__start(&text, kept, sizeof kept);
        hs_text__add(&text, place.name);
        char *end = text.at;
        hs_text__add(&text, ".initial");
        if (hs_place__status(&place, kept, &status) == 0) {
            text.at = end;
            hs_text__add(&text, ".old");
        }
        hs_place__rename(&place, place.name, kept);
    }
    hs_place__leave(&place);
}

static void write_without_signal(int fd, const char *line, size_t length)
{
    struct hs_held_signals held;
    hs_held_signals__hold(&held);
    long result = hs_system_write(fd, line, length);
    hs_held_signals__release(&held, result < 0 ? (int)-result : 0);
}

static void write_line(const char *line, size_t length)
{
    if (hs_config.log_file[0] == 0) {
        write_without_signal(STANDARD_ERROR, line, length);
        return;
    }
    char path[HS_CONFIG_TEXT];
    hs_config__expand(hs_config.log_file, 0, path, sizeof path);
    rotate(path);
    // Do not wait for a pipe that nobody reads.
    long fd = hs_place__write_to(path, O_APPEND | O_NONBLOCK, 0600);
    if (fd < 0)
        return;
    write_without_signal((int)fd, line, length);
    hs_system_close((int)fd);
}

// Errors with advice for the user; others are printed as numbers.
static void add_error(struct hs_text *text, int error)
{
    static const struct {
        int number;
        char words[28];
    } known[] = {{EPERM, "not permitted"},
                 {ENOENT, "no such file or folder"},
                 {EBADF, "its descriptor was closed"},
                 {ENOMEM, "out of memory"},
                 {EACCES, "permission denied"},
                 {ENOTDIR, "a part of it is not a folder"},
                 {EISDIR, "it is a folder"},
                 {EINVAL, "it is not a regular file"},
                 {EMFILE, "too many open files"},
                 {EFBIG, "larger than its limit"},
                 {ENOSPC, "the disk is full"},
                 {EROFS, "it is read-only"},
                 {EDQUOT, "the quota is used up"},
                 {ENAMETOOLONG, "its name is too long"},
                 {ELOOP, "it is a link"},
                 {EMSGSIZE, "it is too short or too long"}};
    hs_text__add(text, " (");
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].number == error)
            hs_text__add(text, known[i].words);
    if (text->at[-1] == '(') {
        hs_text__add(text, "error ");
        hs_text__add_number(text, (uint64_t)error);
    }
    hs_text__add(text, ")");
}

void hs_log(enum hs_log_level level, const char *message, const char *detail, int error)
{
    static const char names[][6] = {"", "error", "warn", "info", "debug"};
    if (level > hs_config.log_level && !(level == HS_LOG_ERROR && hs_config.says_obstacles))
        return;
    char line[1024];
    struct hs_text text;
    hs_text__start(&text, line, sizeof line);
    hs_text__add(&text, "heapsonde: ");
    hs_text__add_number(&text, (uint64_t)hs_system_getpid());
    hs_text__add(&text, " ");
    hs_text__add_number(&text, (uint64_t)hs_system_gettid());
    hs_text__add(&text, " ");
    hs_text__add(&text, names[level]);
    hs_text__add(&text, " ");
    hs_text__add(&text, message);
    if (detail)
        hs_text__add(&text, detail);
    if (error)
        add_error(&text, error);
    hs_text__add_character(&text, '\n');
    write_line(line, (size_t)(text.at - line));
}
