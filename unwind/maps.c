// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/maps.h"

#include "arch/system.h"

#include <fcntl.h>

struct stream {
    long fd;
    size_t at, length;
    int behind_number; // the character
    char buffer[512];
};

// The next character, or -1 at the end.
static int next_char(struct stream *stream)
{
    if (stream->at == stream->length) {
        long got = hs_system_read((int)stream->fd, stream->buffer, sizeof stream->buffer);
        if (got <= 0)
            return -1;
        stream->at = 0;
        stream->length = (size_t)got;
    }
    return (unsigned char)stream->buffer[stream->at++];
}

static int digit_value(int c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

// Reads a number and the character after it.
static uint64_t read_number(struct stream *stream, int base)
{
    uint64_t value = 0;
    int digit;
    while ((digit = digit_value(stream->behind_number = next_char(stream))) < base)
        value = value * (unsigned)base + (unsigned)digit;
    return value;
}

static void read_path(struct stream *stream, char *path, size_t size)
{
    size_t length = 0;
    int c = next_char(stream);
    while (c == ' ')
        c = next_char(stream);
    for (; c != '\n' && c != -1; c = next_char(stream))
        if (length < size)
            path[length++] = (char)c;
    path[length < size ? length : 0] = 0;
}

// start-end perms offset major:minor inode path
static bool read_line(struct stream *stream, struct hs_mapping *line)
{
    line->start = (uintptr_t)read_number(stream, 16);
    line->end = (uintptr_t)read_number(stream, 16);
    line->readable = next_char(stream) == 'r';
    next_char(stream);
    line->executable = next_char(stream) == 'x';
    next_char(stream);
    next_char(stream);
    line->offset = read_number(stream, 16);
    read_number(stream, 16);
    read_number(stream, 16);
    // The number ends with a blank, or with the line's end where the kernel writes no path.
    line->inode = read_number(stream, 10);
    line->path[0] = 0;
    if (stream->behind_number == ' ')
        read_path(stream, line->path, sizeof line->path);
    return line->end > line->start;
}

static bool find(struct stream *stream, uintptr_t address, struct hs_mapping *line)
{
    uint64_t image_inode = 0;
    line->image_start = 0;
    while (read_line(stream, line)) {
        bool has_image = line->inode || (line->path[0] == '[' && line->path[1] == 'v' && line->path[2] == 'd');
        if (!line->offset && line->readable && has_image) {
            if (!line->image_start || line->inode != image_inode)
                line->image_start = line->start;
            line->image_again = line->start;
            image_inode = line->inode;
        }
        if (address < line->start)
            return false;
        if (address >= line->end)
            continue;
        if (!has_image || line->inode != image_inode)
            line->image_start = 0;
        return true;
    }
    return false;
}

bool hs_maps_find(uintptr_t address, struct hs_mapping *mapping)
{
    struct stream stream = {HS_SYSTEM_OPEN_OWN("maps"), 0, 0, 0, {0}};
    if (stream.fd < 0)
        return false;
    bool found = find(&stream, address, mapping);
    hs_system_close((int)stream.fd);
    return found;
}
