// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Files inside the trace, by option, and the vdso: FILE chunks of name, NUL, contents.
#ifndef HEAPSONDE_RUNTIME_EMBED_H
#define HEAPSONDE_RUNTIME_EMBED_H

// Appends the files that INCLUDE_FILE names. Requires the writer's role.
void hs_embed__included_files(void);

// Appends the vdso, which is not in any file. Requires the writer's role.
void hs_embed__vdso(void);

// Records a module's file for hs_embed__modules(). Paths may take 256 KiB together: about 4,000 files. Files beyond
// that are logged and counted (HS_DROP_FILES), as are those that do not fit into a chunk, whose limit is 64 MiB. What
// is counted are modules that were left out: a file that is loaded twice may count twice. Requires the stack table's
// lock.
void hs_embed__remember(const char *path);

// Appends the files of all modules seen. Requires the writer's role.
void hs_embed__modules(void);

void hs_embed__reset(void);

#endif
