// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Regular expressions over many names, each match within a limit and on several threads.
#ifndef HEAPSONDE_FILTER_PATTERN_H
#define HEAPSONDE_FILTER_PATTERN_H

#include "host/query/query.h"

struct hs_pattern;

// `name` is the parameter's, for messages; it and not `text` must outlive the pattern. Returns 0 or a negative errno.
int hs_pattern__create(const char *name, const char *text, struct hs_pattern **pattern, struct hs_error *error);
void hs_pattern__destroy(struct hs_pattern *pattern);

// Sets matches[i] for each names[i], except matches[0], which is not changed. -EINVAL: it takes too long.
int hs_pattern__match_all(const struct hs_pattern *pattern, const char *const *names, size_t count, uint8_t *matches,
                          const struct hs_query_control *control, struct hs_error *error);

// Whether a library is the wanted one, which is named by its path or by the part after the last slash; * and ? are
// wildcards.
bool hs_library__matches(const char *path, const char *wanted);

#endif
