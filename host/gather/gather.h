// SPDX-License-Identifier: MIT OR Apache-2.0
//
// `heapsonde gather`: takes the streams of many devices into a folder, one trace for each process.
//
//   this thread   signals, what is said, when it is over
//   door          accepts, dials, hears announcements, lets in
//   workers       one for each processor: the streams
//   writer        brings files to the disk
#ifndef HEAPSONDE_HOST_GATHER_GATHER_H
#define HEAPSONDE_HOST_GATHER_GATHER_H

#include "host/gather/notices.h"
#include "host/gather/shared_key.h"

struct hs_gather_options {
    const char *const *addresses; // HOST:PORT to dial
    size_t address_count;
    const char *listen; // NULL: do not
    const char *select; // NULL: all
    const char *directory;
    uint64_t quota, quota_per_device;
    bool remove_oldest;
    bool once;         // until every stream that began has ended
    uint64_t patience; // with `once`: ns without any connection after which those that have not are given up
    bool insecure;
    struct hs_shared_key key; // length 0: in the open
    enum hs_notices_form form;
};

// Runs until SIGINT or SIGTERM, or until it is done. 0, or a negative errno with the reason in `error`: -ETIMEDOUT when
// streams were given up.
int hs_gather__run(const struct hs_gather_options *options, struct hs_error *error);

// Whether an address may be used in the open. When not, the reason is in `error`.
bool hs_gather__may_use(const struct hs_address *address, const char *text, const struct hs_shared_key *key,
                        bool insecure, struct hs_error *error);

#endif
