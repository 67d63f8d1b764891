// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the headers of a loaded module say, read without touching its memory directly: it may be unmapped at any time.
#ifndef HEAPSONDE_RUNTIME_IMAGE_H
#define HEAPSONDE_RUNTIME_IMAGE_H

#include "runtime/maps.h"

#include <stddef.h>
#include <stdint.h>

enum { HS_BUILD_ID_LIMIT = 64, HS_IMAGE_UNREADABLE = 1 };

struct hs_image {
    uint64_t bias;   // what loading added to the file's addresses
    uint32_t layout; // hash of the program headers; 0: they were not read
    uint64_t origin; // where in the file the headers are: not 0 in an archive
    uint8_t build_id[HS_BUILD_ID_LIMIT];
    size_t build_id_length; // 0: it has none
    // From the module's .eh_frame_hdr to the end of the segment that it is in; 0, 0: none, or the program may write
    // there, or code is there, too.
    uint64_t tables, tables_end;
};

// Of a mapping: where ends what its headers say is loaded. 0: it does not begin with headers; HS_IMAGE_UNREADABLE: who
// knows. `path` is that of its file, which is read where the kernel or QEMU cannot read memory by a call: in QEMU's
// maps code may lie in mappings that are not executable, so then `has_code` is set where they say that there is code.
uint64_t hs_image__reach(const struct hs_maps_line *mapping, const char *path, bool *has_code);

// Whether the headers of the module put that part of its file there; not `same_file`: whether they put code there.
bool hs_image__has(const struct hs_mapped *mapped, const struct hs_maps_line *mapping, bool same_file,
                   const char *path);

// Of mappings that belong together. Where they do not begin with headers, those of the file are taken if it has there
// what is in memory.
void hs_image__read(struct hs_image *image, const struct hs_mapped *mapped, const char *path);

// Whether there is a file of that name.
bool hs_image__is_file(const char *path);

#endif
