// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the headers of a loaded module say, read without touching its memory directly: it may be unmapped at any time.
#ifndef HEAPSONDE_RUNTIME_IMAGE_H
#define HEAPSONDE_RUNTIME_IMAGE_H

#include <stddef.h>
#include <stdint.h>

enum { HS_BUILD_ID_LIMIT = 64 };

struct hs_image {
    uintptr_t start; // where the first page of its file is mapped
    uint64_t bias;   // what loading added to the file's addresses
    uint8_t build_id[HS_BUILD_ID_LIMIT];
    size_t build_id_length; // 0: it has none
    // From the module's .eh_frame_hdr to the end of the segment that it is in; 0, 0: none, or the program may write
    // there, or code is there, too.
    uint64_t tables, tables_end;
};

// `path`: of the module's file, which is read where the kernel or QEMU cannot read memory by a call.
void hs_image__read(struct hs_image *image, uintptr_t start, const char *path);

#endif
