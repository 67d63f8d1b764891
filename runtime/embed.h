// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Files that travel inside the trace, by option, and the vdso: FILE chunks of name, NUL, contents.
#ifndef HEAPSONDE_RUNTIME_EMBED_H
#define HEAPSONDE_RUNTIME_EMBED_H

// Appends the files that INCLUDE_FILE names. For whoever has the writer's role.
void hs_embed__included_files(void);

// Appends the code that the kernel gives to every process, which is in no file. For whoever has the writer's role.
void hs_embed__vdso(void);

// Notes a module's file, for hs_embed__modules(). Under the stack table's lock.
void hs_embed__remember(const char *path);

// Appends the files of all modules seen. For whoever has the writer's role.
void hs_embed__modules(void);

void hs_embed__reset(void);

#endif
