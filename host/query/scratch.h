// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A directory for temporary files that are mapped: it and the files are removed as soon as they are open.
#ifndef HEAPSONDE_QUERY_SCRATCH_H
#define HEAPSONDE_QUERY_SCRATCH_H

struct hs_scratch {
    char path[4096];
    int fd;
};

// `name` is part of the directory's. Returns 0 or a negative errno; hs_scratch__remove in either case.
int hs_scratch__make(struct hs_scratch *scratch, const char *name);
void hs_scratch__unlink(const struct hs_scratch *scratch, const char *file);
void hs_scratch__remove(struct hs_scratch *scratch);

#endif
