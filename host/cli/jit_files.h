// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Takes the files in which runtimes name the code that they make (host/symbols/jit_names.h) into a trace.
#ifndef HEAPSONDE_HOST_CLI_JIT_FILES_H
#define HEAPSONDE_HOST_CLI_JIT_FILES_H

#include "format/chunk.h"
#include "host/cli/command.h"
#include "host/symbols/jit_source.h"

#include <stddef.h>
#include <time.h>

// What was taken into traces, added up.
struct hs_jit_taken {
    size_t files;
    size_t cut;     // of these: files that were too large or damaged, so that a part is missing
    size_t refused; // files that are no regular file of the process's user, or older than the process
    int problem;    // 0 or the last negative errno: a file could not be read or a trace could not be written
};

// Appends to the trace at `path`, whose process has ended, the map and the dump of this process: from /tmp, from the
// current folder, and from where LLVM writes dumps. A child that was forked and has no map gets that of its parent.
// Links are not followed. A file that the trace contains already is not added again. `run_began`: CLOCK_REALTIME; a
// trace of a process that began earlier is left as it is.
void hs_jit_files__take(const char *path, const struct timespec *run_began, struct hs_jit_taken *taken);

// The same for the trace of a process that is no longer recorded, but may still run: `process` says where its files
// are and when it began.
void hs_jit_files__take_of(const char *path, const struct hs_jit_process *process, struct hs_jit_taken *taken);

// The header of a trace to which names can be added. False: it is none.
bool hs_jit_files__header(const char *path, struct hs_file_header *header);

// Adds a file that was read elsewhere (hs_jit_take) to the trace.
void hs_jit_files__add(const char *path, const struct hs_buffer *file, bool is_cut, struct hs_jit_taken *taken);

// Says what could not be taken. `wanted`: also which files were refused, and that there were none.
void hs_jit_taken__say(const struct hs_jit_taken *taken, const struct hs_command *command, bool wanted);

#endif
