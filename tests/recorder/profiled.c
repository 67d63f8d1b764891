// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The programs of the recorder's cases under the sampling shim, with every allocation a sample: they must do what they
// do without it, and what the final dump says is live must be what the counter counted.
#include "tests/recorder/profiled.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The first counts of a dump, "  t*: OBJECTS: BYTES [", and whether it lists any code.
static bool read_dump(const char *path, unsigned long long *objects, unsigned long long *bytes)
{
    char line[4096];
    bool found = false, mapped = false;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        found = found || sscanf(line, " t*: %llu: %llu [", objects, bytes) == 2;
        mapped = mapped || strstr(line, " r-xp ");
    }
    if (file)
        fclose(file);
    return found && mapped;
}

static void compare_dump(const char *folder, const char *counter_path)
{
    struct counter counter = counter_of(counter_path);
    char *dump = NULL;
    for (char **file = files_of(folder, "heap."); *file; file++)
        if (strstr(*file, text("/heap.%llu.", (unsigned long long)counter.pid)))
            dump = *file;
    // A program that was killed or replaced itself has no final dump.
    if (!dump)
        return;
    unsigned long long objects = 0, bytes = 0;
    if (!read_dump(dump, &objects, &bytes))
        wrong("%s has no totals or no mapped code", dump);
    else if (objects != counter.live_count || bytes != counter.live_bytes)
        wrong("%s has %llu objects, %llu bytes; the counter has %llu, %llu", strrchr(dump, '/') + 1, objects, bytes,
              (unsigned long long)counter.live_count, (unsigned long long)counter.live_bytes);
    note("%s: %llu objects, %llu bytes", strrchr(dump, '/') + 1, objects, bytes);
}

char **profiled_variables(char *const variables[], bool dump)
{
    char **all = calloc(64, sizeof *all);
    all[0] = text("MALLOC_CONF=prof:true,lg_prof_sample:0,experimental_hs_size_model:request,"
                  "experimental_hs_final_always:true,prof_prefix:%s/profiled/heap,prof_final:%s",
                  work, dump ? "true" : "false");
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
        compare_dump(folder, *counter);
}
