// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The table of static files, which the build writes.
#ifndef HEAPSONDE_HOST_WEBUI_FILES_H
#define HEAPSONDE_HOST_WEBUI_FILES_H

#include <stddef.h>

struct hs_webui_file {
    const char *path; // NULL ends the table
    const char *type;
    const char *etag;           // without quotes
    const char *sha256;         // of the unpacked bytes, in hexadecimal digits
    const unsigned char *bytes; // packed with gzip
    size_t length;
};

extern const struct hs_webui_file hs_webui_files[];

#endif
