// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Files that travel inside the trace, by option.
#ifndef HEAPSONDE_RUNTIME_EMBED_H
#define HEAPSONDE_RUNTIME_EMBED_H

// Appends the files that INCLUDE_FILE names. For the thread that has the writer's role.
void hs_embed__included_files(void);

#endif
