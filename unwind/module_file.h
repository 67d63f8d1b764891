// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The file of a loaded module: what is not loaded is read there. A file is mapped when it is first asked for and stays
// mapped.
#ifndef HEAPSONDE_UNWIND_MODULE_FILE_H
#define HEAPSONDE_UNWIND_MODULE_FILE_H

#include "unwind/file_section.h"
#include "unwind/module.h"

// Data that is computed once per file and kept (unwind/file_attachment.h): NULL until it is set.
enum hs_attached { HS_ATTACHED_SYMBOLS, HS_ATTACHED_PDR, HS_ATTACHMENTS };
typedef _Atomic(const void *) hs_file_attachment;

#pragma GCC visibility push(hidden)
// The bytes of the module's file. False when there is none, or when it has been replaced by another one.
bool hs_module_file(const struct hs_module *module, struct hs_range *file);

// The same, and the HS_ATTACHMENTS places for what is made of the file. NULL when there is no file.
hs_file_attachment *hs_module_file_attachments(const struct hs_module *module, struct hs_range *file);

// A section of the module's file by its name.
bool hs_module_file_section(const struct hs_module *module, const char *name, struct hs_file_section *section);
#pragma GCC visibility pop

#endif
