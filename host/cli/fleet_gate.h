// SPDX-License-Identifier: MIT OR Apache-2.0
//
// --fail-if of `fleet`: conditions on the rows of an answer, COLUMN OPERATOR NUMBER. It holds if it holds for one row.
// `rows` is the number of rows.
#ifndef HEAPSONDE_HOST_CLI_FLEET_GATE_H
#define HEAPSONDE_HOST_CLI_FLEET_GATE_H

#include "host/base/buffer.h"
#include "host/cli/command.h"
#include "host/fleet/questions.h"

struct hs_fleet_gate;

// Parses every --fail-if. *gate is NULL if there is none. Returns 0, or the exit status after a line on standard error.
int hs_fleet_gate__read(struct hs_fleet_gate **gate, const struct hs_arguments *arguments,
                        const struct hs_fleet_question *question);
void hs_fleet_gate__free(struct hs_fleet_gate *gate);

// Prints a line on standard error for each condition that holds. Returns HS_EXIT_CONDITION if one does, else 0.
// `answer` is left as it is.
int hs_fleet_gate__check(const struct hs_fleet_gate *gate, const struct hs_buffer *answer);

#endif
