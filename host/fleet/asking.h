// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Questions to the fleet that are asked, and their answers as JSON.
#ifndef HEAPSONDE_HOST_FLEET_ASKING_H
#define HEAPSONDE_HOST_FLEET_ASKING_H

#include "host/base/json.h"
#include "host/fleet/database.h"
#include "host/fleet/names.h"
#include "host/fleet/questions.h"
#include "host/fleet/tsv.h"

// HS_FLEET_FIELDS: no answer has more columns.
enum { HS_FLEET_FIELDS = 16, HS_FLEET_ROWS_MOST = 1000000 };

// Checks the version of the tables, brings the rollup up to date if the question reads it (if it is more than five
// minutes of samples old, or `anew`), and asks. 0, or a negative errno with the reason in `error`. The caller frees the
// answer.
int hs_fleet__ask(struct hs_database *database, const struct hs_fleet_question *question,
                  const struct hs_fleet_slice *slice, bool anew, struct hs_buffer *answer, struct hs_error *error);

// The number of devices of a slice.
int hs_fleet__count_devices(struct hs_database *database, const struct hs_fleet_slice *slice, uint64_t *devices,
                            struct hs_error *error);

// Writes the columns of a row into an open object.
void hs_fleet_row__write(struct hs_json *json, const struct hs_fleet_question *question, char *const *field);

// Writes at most `most` frames, innermost first, as an array; without a stack (NULL), an empty one.
void hs_fleet_stack__write(struct hs_json *json, const char *key, const struct hs_fleet_stack *stack, size_t most);

#endif
