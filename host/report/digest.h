// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the text report takes from all stacks. Of a whole trace it is kept with the store, so that the next report need
// not go through the stacks again: the call sites that may be shown, the modules that were passed through, and the
// places whose frames decided which stacks are one site. It is taken only where those places have the same frames
// still: other debug information may have been found since.
#ifndef HEAPSONDE_HOST_REPORT_DIGEST_H
#define HEAPSONDE_HOST_REPORT_DIGEST_H

#include "host/report/cut_stacks.h"
#include "host/report/missing.h"
#include "host/report/report.h"
#include "host/report/sites.h"

// Call sites of each kind that are kept, and frames that make one.
#define HS_DIGEST_SITES  100
#define HS_DIGEST_FRAMES 6

struct hs_digest {
    struct hs_total sum; // of all stacks
    uint64_t stacks;
    struct hs_cut_stacks cut;
    struct hs_module_uses uses;
    struct hs_sites sites; // all, or those that come first by any cost
};

// From the subject's totals. Returns 0 or -ENOMEM.
int hs_digest__make(struct hs_digest *digest, const struct hs_subject *subject, bool full_stacks);

// Stores it for later reports. A failure is ignored.
void hs_digest__keep(const struct hs_digest *digest, const struct hs_subject *subject);
// What was kept, of a subject without totals. False: there is nothing of use.
bool hs_digest__read(struct hs_digest *digest, const struct hs_subject *subject);

void hs_digest__free(struct hs_digest *digest);

#endif
