// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The facts about a dump, besides its stacks, that reports contain.
#ifndef HEAPSONDE_HOST_DUMP_SUMMARY_H
#define HEAPSONDE_HOST_DUMP_SUMMARY_H

#include "host/dump/dump.h"
#include "host/report/report.h"

// The kind of subject that a dump makes; its context is the dump.
const struct hs_subject_kind *hs_dump_kind(const struct hs_dump *dump);

// "heap_v2, a sample every 512.0 KiB on average"
void hs_dump__describe(const struct hs_dump *dump, char *text, size_t size);

#endif
