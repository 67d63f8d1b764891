// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The page together with answers in one HTML file, which opens without a server and without a network.
#ifndef HEAPSONDE_HOST_WEBUI_ONE_FILE_H
#define HEAPSONDE_HOST_WEBUI_ONE_FILE_H

#include "host/base/error.h"

#include <stddef.h>
#include <stdio.h>

struct hs_one_file {
    FILE *out;
    size_t most, size; // bytes that the file may have; that it has so far
    size_t answers;
};

// Begins the file. `about` is a JSON object that the page reads. 0, or a negative errno with the error set: -ENOTSUP if
// this build has no page.
int hs_one_file__start(struct hs_one_file *file, FILE *out, size_t most, const char *about, struct hs_error *error);
// Adds an answer, which is packed. -EFBIG: there is no room for it, and nothing was written.
int hs_one_file__add(struct hs_one_file *file, const char *path, const char *answer, size_t length);
// `left_out`: a JSON array of what is missing.
void hs_one_file__finish(struct hs_one_file *file, const char *left_out);

#endif
