// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Messages of `gather`: lines for people, lines of JSON for programs, and a table on a terminal that is redrawn every
// second. Refusals are counted by reason; only the first few of each reason are printed. All threads may call these.
#ifndef HEAPSONDE_HOST_GATHER_NOTICES_H
#define HEAPSONDE_HOST_GATHER_NOTICES_H

#include "host/gather/traces.h"

#include <stdio.h>

enum hs_notices_form { HS_NOTICES_LINES, HS_NOTICES_TABLE, HS_NOTICES_JSON };

struct hs_notices;

// Both files stay the caller's and must outlive the notices. NULL: out of memory.
struct hs_notices *hs_notices__create(enum hs_notices_form form, FILE *out, FILE *errors);
void hs_notices__destroy(struct hs_notices *notices);

// The address at which devices are awaited. Written at once, so that a program can read the port.
void hs_notices__listening(struct hs_notices *notices, const struct hs_address *address);
// `url`: where metrics are served.
void hs_notices__metrics(struct hs_notices *notices, const char *url);
// A device has announced itself from this address; `selected`: it will be connected to. Only the first 1000 are
// written.
void hs_notices__heard(struct hs_notices *notices, const struct hs_device *device, const struct hs_address *address,
                       bool selected);

// `word`: began, resumed, lost, ended
void hs_notices__stream(struct hs_notices *notices, const char *word, const struct hs_gathered_row *row);

// `device` and `detail` may be NULL.
void hs_notices__refused(struct hs_notices *notices, enum hs_refusal refusal, const struct hs_address *peer,
                         const struct hs_device *device, const char *detail);

// The same for what has no address: a message of this topic, which may contain anything.
void hs_notices__refused_at(struct hs_notices *notices, enum hs_refusal refusal, const char *topic,
                            const struct hs_device *device, const char *detail);

// A broker is there (`lost` NULL), or it is not, and why.
void hs_notices__broker(struct hs_notices *notices, const char *url, const char *lost);

// How many were refused for this reason, whether they were printed or not.
uint64_t hs_notices__refused_count(struct hs_notices *notices, enum hs_refusal refusal);

// Redraws the table, or writes a line of JSON; without either it does nothing.
void hs_notices__progress(struct hs_notices *notices, struct hs_traces *traces);

// What came in total, and what was refused: the last message.
void hs_notices__summary(struct hs_notices *notices, struct hs_traces *traces);

#endif
