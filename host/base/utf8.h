// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_BASE_UTF8_H
#define HEAPSONDE_BASE_UTF8_H

#include <stddef.h>

// Length of the UTF-8 sequence at `bytes`; 0 if it is not one (also if it is overlong, a surrogate, beyond U+10FFFF, or
// not a character). `left`: how many bytes can be read, at least 1.
size_t hs_utf8__length(const char *bytes, size_t left);

// private: what hs_utf8__shown says of all but printable ASCII
size_t hs_utf8__shown_other(const char *bytes, size_t left);
// Like hs_utf8__length, but 0 for the control characters on which terminals act, too: U+0000 to U+001F and U+007F to
// U+009F.
static inline size_t hs_utf8__shown(const char *bytes, size_t left)
{
    return *bytes >= ' ' && *bytes < 0x7f ? 1 : hs_utf8__shown_other(bytes, left);
}

#endif
