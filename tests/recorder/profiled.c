// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The programs of the recorder's cases under the sampling shim, with every allocation a sample: they must do what they
// do without it, and what the final dump says is live must be what the counter counted. With HEAPSONDE_MEMORY, samples
// may be left out, but not silently.
#include "tests/recorder/profiled.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dump_counts {
    unsigned long long live, live_bytes, all, dropped;
};

// The first counts of a dump, "  t*: OBJECTS: BYTES [OBJECTS: BYTES]", and whether it lists any code.
static bool read_dump(const char *path, struct dump_counts *counts)
{
    char line[4096];
    bool found = false, mapped = false;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        sscanf(line, "# dropped: %llu", &counts->dropped);
        found = found || sscanf(line, " t*: %llu: %llu [%llu:", &counts->live, &counts->live_bytes, &counts->all) == 3;
        mapped = mapped || strstr(line, " r-xp ");
    }
    if (file)
        fclose(file);
    return found && mapped;
}

static bool is_bounded(char *const variables[])
{
    for (; *variables; variables++)
        if (!strncmp(*variables, "HEAPSONDE_MEMORY=", 17))
            return true;
    return false;
}

static void compare_all(const char *name, const struct counter *counter, const struct dump_counts *dump)
{
    // A child of fork inherits samples that its counter has not counted.
    if (!counter->forked && dump->all + dump->dropped != counter->allocations)
        wrong("%s has %llu samples and %llu dropped ones; the counter has %llu allocations", name, dump->all,
              dump->dropped, (unsigned long long)counter->allocations);
    if (dump->live > counter->live_count || dump->live_bytes > counter->live_bytes)
        wrong("%s has %llu objects, %llu bytes; the counter has only %llu, %llu", name, dump->live, dump->live_bytes,
              (unsigned long long)counter->live_count, (unsigned long long)counter->live_bytes);
}

static void compare_live(const char *name, const struct counter *counter, const struct dump_counts *dump)
{
    if (dump->live != counter->live_count || dump->live_bytes != counter->live_bytes)
        wrong("%s has %llu objects, %llu bytes; the counter has %llu, %llu", name, dump->live, dump->live_bytes,
              (unsigned long long)counter->live_count, (unsigned long long)counter->live_bytes);
}

static void compare_dump(const char *folder, const char *counter_path, bool bounded)
{
    struct counter counter = counter_of(counter_path);
    const char *dump = NULL;
    for (char **file = files_of(folder, "heap."); *file; file++)
        if (strstr(*file, text("/heap.%llu.", (unsigned long long)counter.pid)))
            dump = *file;
    // A program that was killed or replaced itself has no final dump.
    if (!dump)
        return;
    struct dump_counts counts = {0};
    const char *name = strrchr(dump, '/') + 1;
    if (!read_dump(dump, &counts))
        wrong("%s has no totals or no mapped code", dump);
    else
        (bounded ? compare_all : compare_live)(name, &counter, &counts);
    note("%s: %llu objects, %llu bytes, %llu samples dropped", name, counts.live, counts.live_bytes, counts.dropped);
}

char **profiled_variables(char *const variables[], bool dump)
{
    char **all = calloc(64, sizeof *all);
    all[0] = text("MALLOC_CONF=prof:true,lg_prof_sample:0,experimental_hs_size_model:request,"
                  "experimental_hs_final_always:true,prof_accum:%s,prof_prefix:%s/profiled/heap,prof_final:%s",
                  is_bounded(variables) ? "true" : "false", work, dump ? "true" : "false");
    for (int i = 0; variables[i] && i < 62; i++)
        all[i + 1] = variables[i];
    return all;
}

void profiled_run(char *const variables[], char *const command[], const struct result *bare, bool compare_output,
                  bool compare_counts)
{
    const char *folder = text("%s/profiled", work);
    struct result profiled = run(compare_counts ? RUN_RECORDED : RUN_RECORDED_UNCOUNTED, folder, variables, command);
    compare_results(bare, &profiled, compare_output);
    if (!compare_counts)
        return;
    for (char **counter = files_of(folder, "counter."); *counter; counter++)
        compare_dump(folder, *counter, is_bounded(variables));
}
