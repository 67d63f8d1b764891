// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/utf8.h"

#include <stdbool.h>

size_t hs_utf8__length(const char *bytes, size_t left)
{
    const unsigned char *text = (const unsigned char *)bytes;
    unsigned char first = text[0];
    size_t length = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : 4;
    if (first >= 0x80 && (first < 0xc2 || first > 0xf4))
        return 0;
    if (length > left)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    }
    bool no_character = length == 3 && first == 0xef && text[1] == 0xbf && text[2] >= 0xbe;
    bool wrong = no_character || (first == 0xe0 && text[1] < 0xa0) || (first == 0xed && text[1] > 0x9f) ||
                 (first == 0xf0 && text[1] < 0x90) || (first == 0xf4 && text[1] > 0x8f);
    return wrong ? 0 : length;
}

size_t hs_utf8__shown_other(const char *bytes, size_t left)
{
    const unsigned char *text = (const unsigned char *)bytes;
    size_t length = hs_utf8__length(bytes, left);
    bool control = length == 1 ? text[0] < 0x20 || text[0] == 0x7f : length == 2 && text[0] == 0xc2 && text[1] < 0xa0;
    return control ? 0 : length;
}
