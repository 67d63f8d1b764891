// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Times as text, always in UTC.
#ifndef HEAPSONDE_RUNTIME_PROF_DUMP_TIME_H
#define HEAPSONDE_RUNTIME_PROF_DUMP_TIME_H

#include "runtime/text.h"

#include <stdint.h>

enum hs_dump_time_form {
    HS_DUMP_TIME_ISO,     // 2026-02-03T04:05:06.000789Z
    HS_DUMP_TIME_SECONDS, // 20260203T040506Z
    HS_DUMP_TIME_MICROS,  // 20260203T040506.000789Z
};

#pragma GCC visibility push(hidden)
// `real_ns`: nanoseconds since 1970.
void hs_dump_time__add(struct hs_text *text, uint64_t real_ns, enum hs_dump_time_form form);
#pragma GCC visibility pop

#endif
