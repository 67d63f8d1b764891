// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/maps.h"

#include "runtime/text.h"

static const char *behind_blanks(const char *at)
{
    while (*at == ' ')
        at++;
    return at;
}

static const char *behind_word(const char *at)
{
    while (*at && *at != ' ' && *at != '\n')
        at++;
    return behind_blanks(at);
}

// start-end perms offset major:minor inode path
const char *hs_maps_line__parse(struct hs_maps_line *mapping, const char *text)
{
    mapping->start = hs_text__parse(&text, 16);
    text += *text == '-';
    mapping->end = hs_text__parse(&text, 16);
    text = behind_blanks(text);
    mapping->readable = text[0] == 'r';
    mapping->executable = text[0] > ' ' && text[1] > ' ' && text[2] == 'x';
    text = behind_word(text);
    mapping->offset = hs_text__parse(&text, 16);
    text = behind_word(behind_blanks(text));
    mapping->inode = hs_text__parse(&text, 10);
    mapping->path = text = behind_blanks(text);
    while (*text && *text != '\n')
        text++;
    mapping->path_length = (size_t)(text - mapping->path);
    return text;
}
