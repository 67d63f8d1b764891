// SPDX-License-Identifier: MIT OR Apache-2.0
//
// heapsonde gather: receives the streams of many devices and writes them to a folder, one trace per process. Threads:
//
//   this thread   signals, messages, the decision to end
//   door          accepts and dials connections, receives announcements, checks keys
//   workers       one per processor: the streams
//   mqtt          receives from a broker
//   writer        flushes files to the disk
#ifndef HEAPSONDE_HOST_GATHER_GATHER_H
#define HEAPSONDE_HOST_GATHER_GATHER_H

#include "host/gather/broker.h"
#include "host/gather/notices.h"
#include "host/gather/shared_key.h"
#include "host/gather/traces.h"

// Another reader of what is gathered, such as the database. `opened` is called when the folder is open. `closing` is
// called before it is closed, after the last byte was written, also if `opened` failed or was not called.
struct hs_gather_observer {
    int (*opened)(void *context, struct hs_traces *traces, struct hs_notices *notices, struct hs_error *error);
    void (*closing)(void *context);
    void *context;
};

enum { HS_GATHER_OBSERVERS = 2 };

struct hs_gather_options {
    const char *const *addresses; // HOST:PORT to dial
    size_t address_count;
    const char *listen;              // NULL: do not listen
    const char *select;              // NULL: accept all devices
    struct hs_broker_options broker; // `url` NULL: none
    const char *directory;
    uint64_t quota, quota_per_device;
    bool remove_oldest;
    bool once;         // end when every stream that began has ended
    uint64_t patience; // with `once`: give unfinished streams up after this many ns without a connection
    bool insecure;
    bool commands;            // make a socket in the folder, see host/gather/folder_socket.h
    struct hs_shared_key key; // length 0: no encryption
    enum hs_notices_form form;
    struct hs_gather_observer observers[HS_GATHER_OBSERVERS];
    size_t observer_count;
};

// Runs until SIGINT or SIGTERM, or until it is done. 0, or a negative errno with the reason in `error`. -ETIMEDOUT:
// streams were given up.
int hs_gather__run(const struct hs_gather_options *options, struct hs_error *error);

// Whether an address may be used without a key. If not, the reason is in `error`.
bool hs_gather__may_use(const struct hs_address *address, const char *text, const struct hs_shared_key *key,
                        bool insecure, struct hs_error *error);

#endif
