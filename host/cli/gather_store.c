// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/gather_store.h"

#include <stdlib.h>

#ifdef HEAPSONDE_HAS_CURL
#include "host/fleet/shipper.h"

struct hs_gather_store {
    const struct hs_arguments *arguments;
    struct hs_shipper *shipper;
    size_t lacking; // traces, at the end
};

static void say(void *context, const char *line)
{
    const struct hs_gather_store *store = context;
    hs_complain(store->arguments->command, "%s", line);
}

static int opened(void *context, struct hs_traces *traces, struct hs_notices *notices, struct hs_error *error)
{
    (void)notices;
    struct hs_gather_store *store = context;
    return hs_shipper__start(store->shipper, traces, error);
}

static void closing(void *context)
{
    struct hs_gather_store *store = context;
    store->lacking = hs_shipper__stop(store->shipper);
}

int hs_gather_store__prepare(struct hs_gather_store **result, const struct hs_arguments *arguments,
                             struct hs_gather_options *options)
{
    struct hs_error error;
    const char *address = hs_arguments__text(arguments, "store", NULL);
    *result = NULL;
    if (!address)
        return 0;
    struct hs_gather_store *store = calloc(1, sizeof(*store));
    if (!store)
        return HS_EXIT_FAILURE;
    store->arguments = arguments;
    const struct hs_shipper_options shipper = {.address = address,
                                               .directory = options->directory,
                                               .firmware_label =
                                                   hs_arguments__text(arguments, "firmware-label", "firmware"),
                                               .in_place = hs_arguments__flag(arguments, "store-only"),
                                               .say = say,
                                               .context = store};
    if (hs_shipper__create(&store->shipper, &shipper, &error)) {
        hs_complain(arguments->command, "%s", error.message);
        free(store);
        return HS_EXIT_FAILURE;
    }
    options->observers[options->observer_count++] = (struct hs_gather_observer){opened, closing, store};
    *result = store;
    return 0;
}

void hs_gather_store__end(struct hs_gather_store *store)
{
    if (!store)
        return;
    if (store->lacking)
        hs_complain(store->arguments->command,
                    "the database lacks a part of %zu trace%s; the next 'gather --store' with this folder sends it",
                    store->lacking, store->lacking == 1 ? "" : "s");
    hs_shipper__free(store->shipper);
    free(store);
}

#else

int hs_gather_store__prepare(struct hs_gather_store **store, const struct hs_arguments *arguments,
                             struct hs_gather_options *options)
{
    (void)options;
    *store = NULL;
    if (!hs_arguments__text(arguments, "store", NULL))
        return 0;
    hs_complain(arguments->command, "--store needs libcurl, and this heapsonde was built without it");
    return HS_EXIT_FAILURE;
}

void hs_gather_store__end(struct hs_gather_store *store)
{
    (void)store;
}

#endif
