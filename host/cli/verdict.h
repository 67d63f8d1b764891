// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What came of the conditions of --fail-if, for people and for the machines that run tests.
#ifndef HEAPSONDE_HOST_CLI_VERDICT_H
#define HEAPSONDE_HOST_CLI_VERDICT_H

#include "host/cli/subject.h"
#include "host/report/sites.h"

// Where most of a total was allocated.
struct hs_culprit {
    char *site; // "leak (a.c:4), called by main (a.c:9)"; NULL: not known
    char *file; // of the innermost frame that has one
    uint32_t line;
    uint64_t bytes;
};

// Looks for the call site with most of the totals' cost, and keeps it when it is more than what is there already.
void hs_culprit__look(struct hs_culprit *culprit, const struct hs_opened *opened, const struct hs_totals *totals,
                      enum hs_cost cost);

// Makes a site the culprit.
void hs_culprit__take(struct hs_culprit *culprit, const struct hs_site *site, uint64_t bytes);

struct hs_verdict {
    char *what;   // the condition
    char *reason; // NULL: it does not hold
    struct hs_culprit culprit;
};

struct hs_verdicts {
    struct hs_verdict *verdict;
    size_t count;
};

// Takes the strings. Without memory there is one verdict less, and false is returned.
bool hs_verdicts__add(struct hs_verdicts *verdicts, const char *what, char *reason, struct hs_culprit *culprit);
void hs_verdicts__free(struct hs_verdicts *verdicts);

// As --annotate and --junit ask for it. `program` and `pid` fill %e and %p of the file's name; `seconds`: how long it
// ran. Returns 0, or the exit status after a line on standard error.
int hs_verdicts__publish(const struct hs_verdicts *verdicts, const struct hs_arguments *arguments, const char *program,
                         long pid, double seconds);

#define HS_VERDICT_OPTIONS                                                                                             \
    {.name = "junit",                                                                                                  \
     .kind = HS_OPTION_FILE,                                                                                           \
     .argument = "FILE",                                                                                               \
     .help = "write what came of --fail-if as JUnit XML; %p is the process, %e the program"},                          \
    {                                                                                                                  \
        .name = "annotate", .kind = HS_OPTION_CHOICE, .argument = "FORGE", .choices = "github azure",                  \
        .help = "also write each failure on standard error in the form that GitHub (Gitea, Forgejo) or Azure shows "   \
                "beside the source line"                                                                               \
    }

#endif
