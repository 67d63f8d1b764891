// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/mapped.h"

#include "runtime/image.h"

// No file, or one that has no name any more: huge pages, memory of memfd_create.
static bool is_anonymous(const struct hs_maps_line *mapping)
{
    static const char deleted[] = " (deleted)";
    size_t length = sizeof deleted - 1;
    return mapping->path_length == 0 || (mapping->path[0] == '[' && mapping->path[1] == 'a') ||
           (mapping->path_length > length &&
            __builtin_memcmp(mapping->path + mapping->path_length - length, deleted, length) == 0);
}

void hs_mapped__begin(struct hs_mapped *mapped, const struct hs_maps_line *first, uint64_t reach)
{
    *mapped = (struct hs_mapped){.start = first->start,
                                 .end = first->end,
                                 .first_end = first->end,
                                 .offset = first->offset,
                                 .inode = first->inode,
                                 .reach = reach,
                                 .first_executable = first->executable,
                                 .executable = first->executable};
}

static bool continues(const struct hs_mapped *mapped, const struct hs_maps_line *mapping, const char *path)
{
    if (mapped->reach == HS_IMAGE_UNREADABLE)
        return mapping->offset != 0;
    // The page with the headers is either one that segments share or the first one of the file, mapped again.
    if (mapping->start < mapped->reach)
        return mapping->offset != mapped->offset || hs_image__has(mapped, mapping, true, path);
    return mapping->start == mapped->end && mapping->offset - mapped->offset == mapping->start - mapped->start;
}

bool hs_mapped__add(struct hs_mapped *mapped, const struct hs_maps_line *mapping, bool same_path, const char *path)
{
    bool same_file = same_path && mapping->path_length && mapping->inode == mapped->inode;
    if (!same_file && mapping->start < mapped->reach && is_anonymous(mapping)) {
        // .bss is no part of the file.
        if (!mapping->executable)
            return true;
        if (!hs_image__has(mapped, mapping, false, path))
            return false;
    } else if (!same_file || !continues(mapped, mapping, path)) {
        return false;
    }
    mapped->end = mapping->end;
    mapped->executable |= mapping->executable;
    return true;
}

// These four characters may also be part of the name itself.
void hs_maps_line__copy_path(const char *path, size_t length, char *to, size_t size)
{
    size_t used = 0;
    bool escaped = false;
    for (size_t i = 0; i < length && used < size; i++) {
        if (length - i >= 4 && __builtin_memcmp(path + i, "\\012", 4) == 0) {
            to[used++] = '\n';
            i += 3;
            escaped = true;
        } else {
            to[used++] = path[i];
        }
    }
    to[used < size ? used : 0] = 0;
    if (!escaped || length >= size || hs_image__is_file(to))
        return;
    __builtin_memcpy(to, path, length);
    to[length] = 0;
}
