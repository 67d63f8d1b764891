// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Files of suppressions, and their patterns against texts: the first line of the data is the text.
#include "host/findings/suppressions.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// A pattern without special characters matches the texts that contain it.
static void check_plain(const char *pattern, const char *text)
{
    if (!strpbrk(pattern, "^$*") && hs_suppression__pattern_matches(pattern, text) != (strstr(text, pattern) != NULL))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_error error;
    const char *text = (const char *)data;
    const char *line = size ? memchr(text, '\n', size) : NULL;
    hs_suppressions__destroy(hs_suppressions__parse(text, size, "file", &error));
    char *subject = line ? strndup(text, (size_t)(line - text)) : NULL;
    char *pattern = line ? strndup(line + 1, size - (size_t)(line + 1 - text)) : NULL;
    if (subject && pattern) {
        hs_suppression__pattern_matches(pattern, subject);
        check_plain(pattern, subject);
    }
    free(subject);
    free(pattern);
    return 0;
}
