// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The filter language (docs/filters.md) as conditions of statements, as far as the tables can answer it: they have sums
// of stacks, and no single blocks. Texts stand in them as hexadecimal digits.
#ifndef HEAPSONDE_HOST_FLEET_CONDITIONS_H
#define HEAPSONDE_HOST_FLEET_CONDITIONS_H

#include "host/filter/filter.h"

// Each begins with " AND ", or is "" where nothing is asked.
struct hs_fleet_conditions {
    char *stacks; // about `stack`
    char *groups; // about what a stack has in a session: `allocated` and `blocks`
    char *states; // about the rows of `sample`: those of the time that is asked for
    // The last parameter of each kind, for messages; NULL: none. `end_name`: it asks what is in use at the end.
    const char *group_name, *state_name, *end_name;
};

// Whether the tables can answer the parameter, at least with some of its values.
bool hs_fleet_conditions__takes(enum hs_parameter_id id);

// 0, or -EINVAL: a parameter needs what the tables do not have, and `error` says which and why; -ENOMEM.
int hs_fleet_conditions__make(struct hs_fleet_conditions *conditions, const struct hs_filter_parameters *parameters,
                              struct hs_error *error);
void hs_fleet_conditions__free(struct hs_fleet_conditions *conditions);

#endif
