// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What is computed of a module's file once and kept for as long as the file is known.
#ifndef HEAPSONDE_UNWIND_FILE_ATTACHMENT_H
#define HEAPSONDE_UNWIND_FILE_ATTACHMENT_H

#include "unwind/module_file.h"

#pragma GCC visibility push(hidden)
// What `make` has made, which is called if nothing has been made yet. NULL: there is no file, or `make` gave nothing.
const void *hs_file_attachment_find(const struct hs_module *module, enum hs_attached number,
                                    const void *(*make)(struct hs_range file));
#pragma GCC visibility pop

#endif
