// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The known traces and accounts and their state, shared by the files that implement the folder. Lock order: the mutex
// of the folder before that of a trace.
#ifndef HEAPSONDE_HOST_GATHER_TRACE_REGISTRY_H
#define HEAPSONDE_HOST_GATHER_TRACE_REGISTRY_H

#include "host/gather/chunk_watch.h"
#include "host/gather/device.h"
#include "host/gather/refusal.h"
#include "host/gather/trace_state.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    HS_TRACES_BUCKETS = 4096,
    HS_TRACES_MOST = 1 << 18,
    HS_TRACES_FILE_NAME = 160,
    HS_ACCOUNT_BUCKETS = 1024,
    HS_ACCOUNTS_MOST = 1 << 16
};

#define HS_TRACES_SUFFIX        ".dat"
#define HS_TRACES_STREAM_SUFFIX ".stream"

// The bytes of one device.
struct hs_account {
    struct hs_account *next;
    char name[160];
    _Atomic uint64_t bytes;
};

// Data of a trace that is kept only while the trace is shown.
struct hs_details {
    struct hs_device device;
    struct hs_chunk_watch watch;
    struct hs_traces *traces; // for its dumps
    struct hs_gathered *trace;
    uint64_t heard;   // when its last bytes came, in ns since 1970
    bool dump_failed; // a dump could not be written; this is tried again with the next connection
};

// A dump that may not be on the disk yet: the journal does not list it, and the stream keeps it.
struct hs_unflushed_dump {
    struct hs_unflushed_dump *next;
    struct hs_watched_dump dump;
    uint64_t number; // number of dumps that have become files, including this one
    bool is_file;    // false: a damaged one
};

struct hs_gathered {
    struct hs_gathered *next_in_bucket;
    struct hs_gathered *next_in_run; // next shown trace, in the order in which they came
    struct hs_gathered *next_open;   // used only by the writer thread
    uint8_t id[HS_TRACE_ID_SIZE];

    pthread_mutex_t mutex;      // for the members below
    struct hs_details *details; // NULL: not shown
    struct hs_account *account; // NULL: not known
    char file[HS_TRACES_FILE_NAME];
    int fd;
    uint64_t claim; // 0: none
    uint64_t size;
    uint8_t *header; // until it is complete
    size_t header_have;
    uint64_t began_at;
    uint64_t ended_ns; // since 1970; for a file that was found, its last modification
    unsigned connections;
    enum hs_gathered_state state;
    enum hs_refusal refusal;
    uint64_t ended_by; // the claim that ended it and waits for the disk
    unsigned holders;  // connections with a reference, including those whose claim is void
    bool dirty, ended, in_run, listed, finished, big_endian;
    bool orphan;       // its file was removed: the writer closes the file and frees this
    bool header_taken; // counted in the quota before there is a file
    bool samples;      // its chunks are dumps
    uint64_t dumps;    // number of dumps that have become files
    uint64_t walked;   // number of bytes of the stream whose dumps have become files
    struct hs_unflushed_dump *unflushed, *last_unflushed; // in the order of their age, oldest first
};

struct hs_traces {
    struct hs_traces_options options;
    int directory;
    int journal;
    pthread_mutex_t mutex; // for lists, buckets and accounts
    struct hs_gathered *bucket[HS_TRACES_BUCKETS];
    struct hs_gathered *run_first, **run_last;
    struct hs_account *account[HS_ACCOUNT_BUCKETS];
    size_t count, account_count, listed;
    uint64_t removed;
    _Atomic uint64_t bytes, received, begun, unfinished, running;

    pthread_t writer;
    bool writer_runs;
    pthread_mutex_t writer_mutex; // for the members below and for `next_open`; taken last
    pthread_cond_t writer_wakes;
    struct hs_gathered *open;
    bool writer_urgent, writer_ends;
};

struct hs_gathered *hs_trace_registry__make(struct hs_traces *traces, const uint8_t id[HS_TRACE_ID_SIZE]); // mutex held
struct hs_gathered *hs_trace_registry__find(struct hs_traces *traces, const uint8_t id[HS_TRACE_ID_SIZE]); // mutex held
void hs_trace_registry__drop(struct hs_traces *traces, struct hs_gathered *trace);                         // mutex held
void hs_trace_registry__unlink(struct hs_traces *traces, struct hs_gathered *trace);                       // mutex held
void hs_trace_registry__unlink_from_run(struct hs_traces *traces, struct hs_gathered *trace);              // mutex held
void hs_trace_registry__free(struct hs_gathered *trace);
struct hs_account *hs_trace_registry__account(struct hs_traces *traces, const char *name); // mutex held

// Wakes the writer thread immediately.
void hs_trace_registry__wake_writer(struct hs_traces *traces);

#endif
