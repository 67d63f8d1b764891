// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/digest.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct digest_collecting {
    const struct hs_subject *subject;
    struct hs_digest *digest;
    int failed;
};

static void *collect_uses(void *argument)
{
    struct digest_collecting *collecting = argument;
    collecting->failed = hs_module_uses__collect(&collecting->digest->uses, collecting->subject);
    if (!collecting->failed && !collecting->subject->kind)
        collecting->failed = hs_cut_stacks__count(&collecting->digest->cut, collecting->subject);
    return NULL;
}

// Sites and modules: each goes through all stacks, on a processor each where there are two.
int hs_digest__make(struct hs_digest *digest, const struct hs_subject *subject, bool full_stacks)
{
    pthread_t thread;
    struct digest_collecting collecting = {.subject = subject, .digest = digest};
    *digest = (struct hs_digest){.sum = subject->totals.sum, .stacks = subject->totals.count};
    bool threaded = !pthread_create(&thread, NULL, collect_uses, &collecting);
    int failed = hs_sites__build(&digest->sites, subject->symbols, &subject->totals,
                                 full_stacks ? UINT32_MAX : HS_DIGEST_FRAMES);
    if (threaded)
        pthread_join(thread, NULL);
    else
        collect_uses(&collecting);
    failed = failed ? failed : collecting.failed;
    if (failed)
        hs_digest__free(digest);
    return failed;
}

void hs_digest__free(struct hs_digest *digest)
{
    hs_module_uses__free(&digest->uses);
    hs_sites__free(&digest->sites);
    *digest = (struct hs_digest){0};
}
