// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The results of --fail-if and --baseline, for people and for CI systems.
#ifndef HEAPSONDE_HOST_CLI_VERDICT_H
#define HEAPSONDE_HOST_CLI_VERDICT_H

#include "host/cli/subject.h"
#include "host/report/sites.h"

// The call site with the largest part of a total.
struct hs_culprit {
    char *site; // "leak (a.c:4), called by main (a.c:9)"; NULL: unknown
    char *file; // of the innermost frame that has one
    uint32_t line;
    uint64_t bytes;
};

// Finds the call site with the largest cost, and stores it if its cost is larger than that of the stored one.
void hs_culprit__look(struct hs_culprit *culprit, const struct hs_opened *opened, const struct hs_totals *totals,
                      enum hs_cost cost);

// Stores this site.
void hs_culprit__take(struct hs_culprit *culprit, const struct hs_site *site, uint64_t bytes);

struct hs_verdict {
    char *what;   // the condition
    char *reason; // why it fails; NULL: it does not fail
    struct hs_culprit culprit;
};

struct hs_verdicts {
    struct hs_verdict *verdict;
    size_t count;
};

// Takes ownership of `reason` and of the strings in `culprit`. False: out of memory, and the verdict is missing.
bool hs_verdicts__add(struct hs_verdicts *verdicts, const char *what, char *reason, struct hs_culprit *culprit);
void hs_verdicts__free(struct hs_verdicts *verdicts);

// Writes what --annotate and --junit request. `program` and `pid` replace %e and %p in the name of the file; `seconds`
// is how long the program ran. Returns 0, or prints a message and returns the exit status.
int hs_verdicts__publish(const struct hs_verdicts *verdicts, const struct hs_arguments *arguments, const char *program,
                         long pid, double seconds);

#define HS_VERDICT_OPTIONS                                                                                             \
    {.name = "junit",                                                                                                  \
     .kind = HS_OPTION_FILE,                                                                                           \
     .argument = "FILE",                                                                                               \
     .help = "write the results of --fail-if as JUnit XML; %p is the process id, %e the program's name"},              \
    {                                                                                                                  \
        .name = "annotate", .kind = HS_OPTION_CHOICE, .argument = "FORGE", .choices = "github azure",                  \
        .help = "also write each failure on standard error in the form that GitHub (Gitea, Forgejo) or Azure shows "   \
                "beside the source line"                                                                               \
    }

#endif
