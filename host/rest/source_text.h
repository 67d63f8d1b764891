// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reads source files by the names that debug information gives them. A trace may come from anybody, and so may the
// names in it. Therefore only files below folders that the user named are read, and of these only files with the ending
// of a source file, no hidden ones, and none that a symbolic link leads to outside of the folder.
#ifndef HEAPSONDE_HOST_REST_SOURCE_TEXT_H
#define HEAPSONDE_HOST_REST_SOURCE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define HS_SOURCE_TEXT_MOST       ((size_t)16 << 20) // bytes of a file
#define HS_SOURCE_TEXT_MOST_LINES ((size_t)1000000)

struct hs_source_text {
    char *text; // malloc'd; contains no NUL before `length`
    size_t length, lines;
    uint64_t modified_ns; // since 1970
};

// Returns NULL and the text, or a sentence that says why there is none. Relative names are looked for in every folder.
const char *hs_source_text__read(const char *const *folders, size_t count, const char *name,
                                 struct hs_source_text *source);
void hs_source_text__free(struct hs_source_text *source);

#endif
