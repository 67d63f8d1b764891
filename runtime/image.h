// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reads the headers of a loaded module without accessing its memory directly: it may be unmapped at any time.
#ifndef HEAPSONDE_RUNTIME_IMAGE_H
#define HEAPSONDE_RUNTIME_IMAGE_H

#include "runtime/maps.h"

#include <stddef.h>
#include <stdint.h>

enum { HS_BUILD_ID_LIMIT = 64, HS_IMAGE_UNREADABLE = 1 };

struct hs_image {
    uint64_t bias;   // difference between loaded addresses and those of the file
    uint32_t layout; // hash of the program headers; 0: not read
    uint64_t origin; // offset of the headers in the file; nonzero in an archive
    uint8_t build_id[HS_BUILD_ID_LIMIT];
    size_t build_id_length; // 0: none
    // From the module's .eh_frame_hdr to the end of its segment. 0, 0: there is none, or the segment is writable or
    // contains code.
    uint64_t tables, tables_end;
};

// The end of what the headers of a mapping load. 0: it does not begin with headers; HS_IMAGE_UNREADABLE: unknown.
// `path` is its file, which is read if the kernel or QEMU cannot read memory with a system call. In QEMU's maps, code
// may be in mappings that are not executable, so `has_code` is then set if the headers contain code there.
uint64_t hs_image__reach(const struct hs_maps_line *mapping, const char *path, bool *has_code);

// Whether the headers of the module load that part of its file there; without `same_file`: whether they load code
// there.
bool hs_image__has(const struct hs_mapped *mapped, const struct hs_maps_line *mapping, bool same_file,
                   const char *path);

// Reads the headers of mappings that form a module. If the mappings do not begin with headers, those of the file are
// used, provided that the file has the same contents there as the memory.
void hs_image__read(struct hs_image *image, const struct hs_mapped *mapped, const char *path);

// Whether a file of that name exists.
bool hs_image__is_file(const char *path);

#endif
