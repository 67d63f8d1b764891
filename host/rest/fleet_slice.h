// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which part of the fleet a question is about, and asking the database.
#ifndef HEAPSONDE_HOST_REST_FLEET_SLICE_H
#define HEAPSONDE_HOST_REST_FLEET_SLICE_H

#include "host/fleet/conditions.h"
#include "host/fleet/questions.h"
#include "host/rest/question.h"

// The texts of `slice` belong to the question. Freed with hs_fleet_conditions__free of `conditions`, also after
// failures. `name` is that of the question for messages. 0, or a negative errno with the question's error set.
int hs_question__slice(struct hs_question *question, const char *name, enum hs_fleet_reach reach,
                       struct hs_fleet_slice *slice, struct hs_fleet_conditions *conditions);

// Whether the fleet takes this parameter of the filter language.
bool hs_slice__takes(enum hs_parameter_id id);

// Calls `ask` with a connection to the database. What fails there is the database's fault: -ECONNREFUSED, except
// -ECANCELED, -ETIMEDOUT and -ENOMEM. The question's error is set.
struct hs_database;
typedef int (*hs_fleet_asker)(struct hs_question *question, struct hs_database *database, void *context);
int hs_question__ask_fleet(struct hs_question *question, hs_fleet_asker ask, void *context);

#endif
