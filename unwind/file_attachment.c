// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/file_attachment.h"

#include <stdatomic.h>

// If two threads make it at once, the memory of one stays unused: another may be reading there.
const void *hs_file_attachment_find(const struct hs_module *module, enum hs_attached number,
                                    const void *(*make)(struct hs_range file))
{
    struct hs_range file;
    hs_file_attachment *places = hs_module_file_attachments(module, &file);
    if (!places)
        return NULL;
    const void *made = atomic_load_explicit(&places[number], memory_order_acquire);
    if (!made) {
        made = make(file);
        atomic_store_explicit(&places[number], made, memory_order_release);
    }
    return made;
}
