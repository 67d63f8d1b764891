// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Finds and reads the files in which runtimes name the code that they make (jit_names.h). Anybody may have put a file
// where they are looked for: only regular files with one name are read, which belong to the process's user and are not
// older than the process. Links are not followed, and a process's root folder is not left.
#ifndef HEAPSONDE_HOST_SYMBOLS_JIT_SOURCE_H
#define HEAPSONDE_HOST_SYMBOLS_JIT_SOURCE_H

#include "host/base/buffer.h"

#include <sys/types.h>

struct hs_jit_process {
    uint32_t pid;   // in its own namespace of processes
    int root;       // descriptor of its root folder; AT_FDCWD: that of this process
    int mounts;     // its namespace of mounts, which lasts as long as this descriptor; -1: not held
    int folder;     // of its current folder; AT_FDCWD: that of this process; -1: none
    char *here;     // its name; NULL: not known
    char *home;     // below it, LLVM makes folders for dumps; NULL: none
    uid_t user;     // whose files are taken; with this process's root folder also those of this process's user
    uint64_t began; // CLOCK_REALTIME, in ns
};

// `file`: its name, which ends with NUL, and its contents, at most HS_CHUNK_MAX_LENGTH together. `is_cut`: it was too
// large or damaged, so that a part is missing. 0 or a negative errno.
typedef int hs_jit_take(void *context, const struct hs_buffer *file, bool is_cut);

struct hs_jit_source {
    hs_jit_take *take;
    void *context;
    size_t refused; // files that are not of the process, or no regular files
    int problem;    // 0 or the last negative errno of reading or of `take`
};

// The map of the process, and its dump: from /tmp, from its current folder, and from where LLVM writes dumps. False:
// there is none.
bool hs_jit_source__map(struct hs_jit_source *source, const struct hs_jit_process *process);
bool hs_jit_source__dump(struct hs_jit_source *source, const struct hs_jit_process *process);

// A folder as a process with that root folder would open it, as far as this process may; or -1 and errno, which is
// ELOOP if a link cannot be followed safely.
int hs_jit_source__open_folder(int root, const char *path);

// A process that runs: with the folders that it sees. The files can then be read after its end, too. 0 or a negative
// errno.
int hs_jit_process__open(struct hs_jit_process *process, pid_t pid);
void hs_jit_process__close(struct hs_jit_process *process);

#endif
