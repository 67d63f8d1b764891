// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The endpoints of the server, as a table in endpoints.c. Routing, the check of parameters, /openapi.json and the tests
// use it. CONTRIBUTING.md lists what a new endpoint needs.
#ifndef HEAPSONDE_HOST_REST_ENDPOINT_H
#define HEAPSONDE_HOST_REST_ENDPOINT_H

#include "host/query/samples.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct hs_question;

enum hs_rest_kind {
    HS_REST_NUMBER,  // a whole number, from `least` to `most`
    HS_REST_CHOICE,  // one of the words in `choices`
    HS_REST_CHOICES, // several of them with commas, each once
    HS_REST_FLAG,    // true, false
    HS_REST_REAL,    // a number, not negative
    HS_REST_TIME,    // a time point of the filter language
    HS_REST_INSTANT, // the same, "peak" or "peak_rss"
    HS_REST_TEXT
};

struct hs_rest_parameter {
    const char *name; // NULL ends an array
    enum hs_rest_kind kind;
    const char *choices;
    uint64_t least, most;      // most 0: any
    const char *default_value; // as text; NULL: none
    bool required;
    const char *help; // one sentence, no full stop
};

// Parameters of timelines. With axis_from or axis_to, `from` and `to` belong to the filter; see hs_question__axis.
#define HS_AXIS_PARAMETERS                                                                                             \
    {.name = "from",                                                                                                   \
     .kind = HS_REST_TIME,                                                                                             \
     .help = "where the timeline begins; default the start; with axis_from or axis_to, a filter instead"},             \
        {.name = "to",                                                                                                 \
         .kind = HS_REST_TIME,                                                                                         \
         .help = "where the timeline ends; default the end; with axis_from or axis_to, a filter instead"},             \
        {.name = "axis_from", .kind = HS_REST_TIME, .help = "where the timeline begins, independent of the filter"},   \
    {                                                                                                                  \
        .name = "axis_to", .kind = HS_REST_TIME, .help = "where the timeline ends, independent of the filter"          \
    }

// Groups of parameters that several endpoints take.
enum {
    HS_TAKES_FILTER = 1,  // the filter language, and `at`
    HS_TAKES_PAGE = 2,    // order, count, skip
    HS_TAKES_STRIP = 4,   // strip_template_args
    HS_TAKES_EVENTS = 8,  // events
    HS_TAKES_FRAMES = 16, // frames
    HS_TAKES_SLICE = 32   // the filter language, as far as a fleet has it
};

struct hs_endpoint {
    const char *path;    // "/data/{id}/tree"
    const char *summary; // one sentence, no full stop
    const char *type;    // Content-Type
    const char *schema;  // of the answer, in schemas.json; NULL: the answer is not JSON
    unsigned takes;
    enum hs_events events;                      // which events it answers for; with HS_TAKES_EVENTS, the default
    const struct hs_rest_parameter *parameters; // its own; may be NULL
    // Gets a second trace that the answer needs, and keeps it open as `other`. 0, or a negative errno with the
    // question's error set. May be NULL.
    int (*hold)(struct hs_question *question);
    // Does everything that can fail. 0, or a negative errno with the question's error set. -EINVAL: the question is
    // wrong; -ENOENT: the object does not exist. May be NULL.
    int (*prepare)(struct hs_question *question);
    // Writes the answer; runs while it is sent.
    int (*write)(struct hs_question *question, FILE *out);
    bool named;    // the path may be followed by any file name
    bool changes;  // it is asked by POST; one of the same path that is asked by GET is before it
    bool uncached; // the answer changes every time
    bool fresh;    // it depends on files that may change although the trace does not: answers are not kept
};

extern const struct hs_endpoint hs_endpoints[]; // a NULL path ends it

// A parameter of trees that may begin with the functions that allocate.
#define HS_INVERTED_PARAMETER                                                                                          \
    {                                                                                                                  \
        .name = "inverted", .kind = HS_REST_FLAG,                                                                      \
        .help = "begin with the functions that allocate, with their callers below them"                                \
    }

static inline const char *hs_endpoint__method(const struct hs_endpoint *endpoint)
{
    return endpoint->changes ? "POST" : "GET";
}
extern const struct hs_rest_parameter hs_at_parameters[], hs_order_parameters[], hs_part_parameters[],
    hs_strip_parameters[], hs_frames_parameters[], hs_events_parameters[], hs_explain_parameters[];

// The arrays of parameters of an endpoint, without those of the filter. Returns their number.
enum { HS_PARAMETER_ARRAYS = 8 };
size_t hs_endpoint__parameters(const struct hs_endpoint *endpoint,
                               const struct hs_rest_parameter *arrays[HS_PARAMETER_ARRAYS]);

#endif
