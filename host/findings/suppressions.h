// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the user does not want to see, in the syntax of LeakSanitizer: a line is TYPE:PATTERN, '#' begins a comment.
// TYPE is `leak`, which means every kind of finding, or the id of a kind. A finding is suppressed if the pattern
// matches the function, source file or module of a frame of its stack. A pattern matches any part of a name; `*` stands
// for any characters, '^' and '$' for the beginning and the end.
#ifndef HEAPSONDE_HOST_FINDINGS_SUPPRESSIONS_H
#define HEAPSONDE_HOST_FINDINGS_SUPPRESSIONS_H

#include "host/findings/suppression_match.h"

// Reads a file, or a text of which `name` is used in messages. NULL: the error says which line is wrong, and why.
struct hs_suppressions *hs_suppressions__read(const char *path, struct hs_error *error);
struct hs_suppressions *hs_suppressions__parse(const char *text, size_t length, const char *name,
                                               struct hs_error *error);
// What the other one suppresses is suppressed, too. It must live as long.
void hs_suppressions__join(struct hs_suppressions *suppressions, const struct hs_suppressions *other);
void hs_suppressions__destroy(struct hs_suppressions *suppressions);

#endif
