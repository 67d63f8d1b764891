// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Declares the functions of the table of endpoints, grouped by family, and what the families share.
#ifndef HEAPSONDE_HOST_REST_ANSWERS_H
#define HEAPSONDE_HOST_REST_ANSWERS_H

#include "host/filter/main_heap.h"
#include "host/rest/question.h"

typedef int hs_prepare_function(struct hs_question *question);
typedef int hs_answer_function(struct hs_question *question, FILE *out);

// list.c, openapi.c
hs_prepare_function hs_prepare__list;
hs_answer_function hs_answer__list, hs_answer__openapi, hs_answer__overview;
// allocations.c
extern const struct hs_rest_parameter hs_allocations_parameters[];
hs_prepare_function hs_prepare__allocations;
hs_answer_function hs_answer__allocations, hs_answer__raw_allocations;
// groups.c
extern const struct hs_rest_parameter hs_groups_parameters[];
hs_prepare_function hs_prepare__groups;
hs_answer_function hs_answer__groups;
// backtraces.c
hs_prepare_function hs_prepare__backtrace, hs_prepare__backtraces;
hs_answer_function hs_answer__backtrace, hs_answer__backtraces;
// totals.c, summary.c
extern const struct hs_rest_parameter hs_totals_parameters[];
hs_prepare_function hs_prepare__totals, hs_prepare__summary, hs_prepare__recording;
hs_answer_function hs_answer__totals, hs_answer__summary, hs_answer__recording;
// source.c, thread_matrix.c
extern const struct hs_rest_parameter hs_source_parameters[], hs_thread_matrix_parameters[];
hs_prepare_function hs_prepare__source, hs_prepare__thread_matrix;
hs_answer_function hs_answer__source, hs_answer__thread_matrix;
// page_report.c
hs_answer_function hs_answer__page_report;
// resident.c
hs_prepare_function hs_prepare__resident;
hs_answer_function hs_answer__resident;

// fleet_rows.c, fleet_flame.c; their parameters and /fleet: fleet_slice.c
extern const struct hs_rest_parameter hs_fleet_row_parameters[], hs_fleet_stacks_parameters[],
    hs_fleet_growth_parameters[], hs_fleet_new_parameters[], hs_fleet_flame_parameters[], hs_fleet_export_parameters[];
hs_prepare_function hs_prepare__fleet_rows, hs_prepare__fleet_stack, hs_prepare__fleet_flame, hs_prepare__fleet_export;
hs_answer_function hs_answer__fleet, hs_answer__fleet_rows, hs_answer__fleet_flame, hs_answer__fleet_export;
// findings.c
extern const struct hs_rest_parameter hs_findings_parameters[];
hs_prepare_function hs_prepare__findings;
hs_answer_function hs_answer__findings;
// timelines.c
extern const struct hs_rest_parameter hs_timeline_parameters[];
hs_prepare_function hs_prepare__timeline, hs_prepare__timeline_leaked, hs_prepare__timeline_maps,
    hs_prepare__timeline_usage;
hs_answer_function hs_answer__timeline, hs_answer__timeline_maps, hs_answer__timeline_usage;
// timeline_by.c
extern const struct hs_rest_parameter hs_timeline_by_parameters[];
hs_prepare_function hs_prepare__timeline_by;
hs_answer_function hs_answer__timeline_by;
// stacks.c
extern const struct hs_rest_parameter hs_ascii_tree_parameters[];
hs_prepare_function hs_prepare__stacks;
hs_answer_function hs_answer__stacks;
// tree.c, ascii_tree.c
extern const struct hs_rest_parameter hs_tree_parameters[];
hs_prepare_function hs_prepare__tree, hs_prepare__bounded_tree, hs_prepare__ascii_tree;
hs_answer_function hs_answer__tree, hs_answer__folded, hs_answer__ascii_tree;
// call_tree.c
extern const struct hs_rest_parameter hs_call_tree_parameters[], hs_sandwich_parameters[];
hs_prepare_function hs_prepare__call_tree, hs_prepare__inverted_tree, hs_prepare__sandwich;
hs_answer_function hs_answer__call_tree, hs_answer__sandwich;
// regions.c, mallopts.c, mappings.c, fragmentation.c, dynamic.c
extern const struct hs_rest_parameter hs_maps_parameters[], hs_address_map_parameters[];
hs_prepare_function hs_prepare__regions, hs_prepare__mallopts, hs_prepare__mmaps, hs_prepare__maps, hs_prepare__map,
    hs_prepare__fragmentation, hs_prepare__dynamic_constants, hs_prepare__dynamic_statics;
hs_answer_function hs_answer__regions, hs_answer__address_map, hs_answer__mallopts, hs_answer__mmaps, hs_answer__maps,
    hs_answer__map, hs_answer__fragmentation, hs_answer__dynamic, hs_answer__dynamic_ascii;
// exports.c
extern const struct hs_rest_parameter hs_export_parameters[];
hs_prepare_function hs_prepare__export;
hs_answer_function hs_answer__export;
// control.c, diff.c, diff_tree.c, instants.c, live.c
extern const struct hs_rest_parameter hs_diff_parameters[], hs_generations_parameters[], hs_peak_parameters[],
    hs_live_parameters[], hs_control_parameters[], hs_device_control_parameters[], hs_device_parameters[],
    hs_devices_parameters[];
extern const struct hs_rest_parameter hs_diff_tree_parameters[];
hs_prepare_function hs_prepare__diff_tree;
hs_answer_function hs_answer__diff_tree;
hs_prepare_function hs_hold__diff, hs_prepare__diff, hs_prepare__peak, hs_prepare__generations, hs_prepare__live,
    hs_prepare__control, hs_prepare__command, hs_prepare__devices;
hs_answer_function hs_answer__diff, hs_answer__peak, hs_answer__generations, hs_answer__live, hs_answer__control,
    hs_answer__devices;

#endif
