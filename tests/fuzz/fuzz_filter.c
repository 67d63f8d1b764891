// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Filters as name=value lines; what is taken is resolved against a trace without rows and written down again.
#include "host/filter/filter.h"
#include "host/store/tables.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct hs_store *make_store(void)
{
    static const struct hs_node nodes[] = {{0}, {.pc = 0x1000}, {.pc = 0x2000, .parent = 1}};
    static const struct hs_thread threads[] = {{.stream = 0, .tid = 7, .name = "main"}};
    const struct hs_store_tables tables = {.nodes = nodes,
                                           .node_count = 3,
                                           .threads = threads,
                                           .thread_count = 1,
                                           .summary = {.end_time = 1000000000, .start_realtime_ns = 1700000000u}};
    struct hs_store *store = NULL;
    return hs_store__of_tables(&tables, &store) ? NULL : store;
}

static void take_line(struct hs_filter_parameters *parameters, char *line)
{
    struct hs_error error;
    char *value = strchr(line, '=');
    if (!value)
        return;
    *value++ = '\0';
    hs_filter_parameters__take(parameters, line, value, &error);
}

// The written text is taken again and means the same.
static void check_text(const struct hs_filter_parameters *parameters)
{
    struct hs_filter_parameters copy;
    struct hs_error error;
    hs_filter_parameters__init(&copy, HS_TIME_UNIT_AUTO);
    if (hs_filter_parameters__add(&copy, parameters, &error))
        abort();
    char *text = hs_filter_parameters__text(parameters), *other = hs_filter_parameters__text(&copy);
    if (!text || !other || strcmp(text, other) != 0)
        abort();
    free(text);
    free(other);
    hs_filter_parameters__free(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct hs_store *store;
    struct hs_filter_parameters parameters;
    struct hs_resolved_filter resolved;
    struct hs_error error;
    const char *least, *most;
    char *rest, *line;
    if (!store)
        store = make_store();
    char *text = malloc(size + 1);
    if (!text || !store)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    hs_filter_parameters__init(&parameters, HS_TIME_UNIT_AUTO);
    for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        take_line(&parameters, line);
    check_text(&parameters);
    hs_filter_parameters__contradict(&parameters, &least, &most);
    struct hs_filter_scope *scope = hs_filter_scope__create(store, NULL, NULL);
    if (scope && !hs_filter_parameters__resolve(&parameters, scope, NULL, &resolved, &error))
        hs_resolved_filter__free(&resolved);
    hs_filter_scope__destroy(scope);
    hs_filter_parameters__free(&parameters);
    free(text);
    return 0;
}
