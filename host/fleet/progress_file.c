// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/progress_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME     ".heapsonde-fleet"
#define NEW_NAME ".heapsonde-fleet.new"

// ---- text ----------------------------------------------------------------------------------------------------------

static void put_escaped(FILE *out, const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    fputc(' ', out);
    if (!*text)
        fputs("%", out);
    for (; *text; text++) {
        if (strchr(plain, *text))
            fputc(*text, out);
        else
            fprintf(out, "%%%02x", (uint8_t)*text);
    }
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void take_escaped(char to[HS_PROGRESS_TEXT], const char *from)
{
    size_t length = 0;
    for (; *from && length < HS_PROGRESS_TEXT - 1; from++) {
        char c = *from;
        if (c == '%' && digit(from[1]) >= 0 && digit(from[2]) >= 0) {
            c = (char)(digit(from[1]) << 4 | digit(from[2]));
            from += 2;
        } else if (c == '%') {
            continue;
        }
        to[length++] = c;
    }
    to[length] = 0;
}

static bool take_id(uint8_t id[16], const char *text)
{
    if (strlen(text) != 32)
        return false;
    for (unsigned i = 0; i < 16; i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        id[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool take_line(char *text, struct hs_progress_line *line)
{
    char *field[6], *rest = text;
    text[strcspn(text, "\n")] = 0;
    for (unsigned i = 0; i < 6; i++)
        if (!(field[i] = strsep(&rest, " ")))
            return false;
    *line = (struct hs_progress_line){.offset = strtoull(field[1], NULL, 10), .done = !strcmp(field[2], "done")};
    take_escaped(line->file, field[3]);
    take_escaped(line->device, field[4]);
    take_escaped(line->labels, field[5]);
    return take_id(line->trace_id, field[0]) && *line->file && !strchr(line->file, '/');
}

// ---- the file ------------------------------------------------------------------------------------------------------

int hs_progress_file__read(int folder, void (*take)(void *context, const struct hs_progress_line *line), void *context)
{
    int fd = openat(folder, NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    FILE *in = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!in) {
        int failed = errno == ENOENT ? 0 : -errno;
        if (fd >= 0)
            close(fd);
        return failed;
    }
    struct hs_progress_line line;
    char *text = NULL;
    size_t room = 0;
    while (getline(&text, &room, in) > 0)
        if (take_line(text, &line))
            take(context, &line);
    free(text);
    fclose(in);
    return 0;
}

int hs_progress_file__write(int folder, bool (*next)(void *context, struct hs_progress_line *line), void *context)
{
    unlinkat(folder, NEW_NAME, 0);
    int fd = openat(folder, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!out) {
        int failed = -errno;
        if (fd >= 0)
            close(fd);
        return failed;
    }
    struct hs_progress_line line;
    while (next(context, &line)) {
        for (unsigned i = 0; i < 16; i++)
            fprintf(out, "%02x", line.trace_id[i]);
        fprintf(out, " %" PRIu64 " %s", line.offset, line.done ? "done" : "open");
        put_escaped(out, line.file);
        put_escaped(out, line.device);
        put_escaped(out, line.labels);
        fputc('\n', out);
    }
    bool good = !fflush(out) && !fdatasync(fileno(out));
    int failed = good ? 0 : -errno;
    if (fclose(out) && !failed)
        failed = -errno;
    if (!failed && renameat(folder, NEW_NAME, folder, NAME))
        failed = -errno;
    return failed;
}
