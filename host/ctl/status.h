// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Formats the answers of processes for people and for programs.
#ifndef HEAPSONDE_HOST_CTL_STATUS_H
#define HEAPSONDE_HOST_CTL_STATUS_H

#include "host/ctl/client.h"
#include "host/ctl/find.h"
#include "host/report/text.h"

#include <stdio.h>

// libmtev's three lines, then what else there is to say.
void hs_ctl_status__text(FILE *out, const struct hs_ctl_process *process, const struct hs_ctl_answer *answer);
void hs_ctl_status__json(FILE *out, const struct hs_ctl_process *process, const struct hs_ctl_answer *answer);

// libmtev's lines alone.
void hs_ctl_status__flags(FILE *out, const struct hs_ctl_answer *answer);

// A line for each process.
void hs_ctl_status__list(FILE *out, const struct hs_ctl_process *processes, size_t count);
void hs_ctl_status__list_json(FILE *out, const struct hs_ctl_process *processes, size_t count);

// "2026-11-22 01:02:03 UTC"
const char *hs_ctl_time(uint64_t ns, char text[40]);

// "one sample in 4.00 KiB", "every allocation"
struct hs_text hs_ctl_rate(uint64_t sample_bytes);

// The sessions of an answer for a message: "the one without a name, nightly".
const char *hs_ctl_sessions(const struct hs_ctl_answer *answer, char *text, size_t size);

#endif
