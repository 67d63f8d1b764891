// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_BASE_UTF8_H
#define HEAPSONDE_BASE_UTF8_H

#include <stddef.h>

// Length of the UTF-8 sequence at `bytes`; 0 if it is not one (also if it is overlong, a surrogate, beyond U+10FFFF, or
// not a character).
size_t hs_utf8__length(const char *bytes, size_t left);

// The same, but 0 for the control characters on which terminals act, too: U+0000 to U+001F and U+007F to U+009F.
size_t hs_utf8__shown(const char *bytes, size_t left);

#endif
