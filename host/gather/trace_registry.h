// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The traces and accounts that are known, and what is known of each: what the other files of the folder share. The
// mutex of the folder is taken before that of a trace.
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

// Bytes of one device.
struct hs_account {
    struct hs_account *next;
    char name[160];
    _Atomic uint64_t bytes;
};

// What is known of a trace only while it is shown.
struct hs_details {
    struct hs_device device;
    struct hs_chunk_watch watch;
    struct hs_traces *traces; // of the dumps
    struct hs_gathered *trace;
    bool dump_failed; // a dump could not be written; it is tried again with the next connection
};

// A dump whose file is not known to be on the disk: the journal does not say that it is one, and the stream keeps it.
struct hs_unflushed_dump {
    struct hs_unflushed_dump *next;
    struct hs_watched_dump dump;
    uint64_t number; // of dumps that have become files, with this one
    bool is_file;    // a damaged one is none
};

struct hs_gathered {
    struct hs_gathered *next_in_bucket;
    struct hs_gathered *next_in_run; // traces that are shown, as they came
    struct hs_gathered *next_open;   // of the thread that brings files to the disk
    uint8_t id[HS_TRACE_ID_SIZE];

    pthread_mutex_t mutex;      // of all that follows
    struct hs_details *details; // NULL: not shown
    struct hs_account *account; // NULL: not known
    char file[HS_TRACES_FILE_NAME];
    int fd;
    uint64_t claim; // 0: none
    uint64_t size;
    uint8_t *header; // as long as it is not whole
    size_t header_have;
    uint64_t began_at;
    uint64_t ended_ns; // since 1970; of a file that was found, when it was written to last
    unsigned connections;
    enum hs_gathered_state state;
    enum hs_refusal refusal;
    uint64_t ended_by; // claim that waits for the disk
    unsigned holders;  // connections that know it, also those whose claim is void
    bool dirty, ended, in_run, listed, finished, big_endian;
    bool orphan;                                          // its file was removed: the writer closes it and frees this
    bool header_taken;                                    // of the quota, before there is a file
    bool samples;                                         // its chunks are dumps
    uint64_t dumps;                                       // that have become files
    uint64_t walked;                                      // of the bytes of the stream: the dumps before have
    struct hs_unflushed_dump *unflushed, *last_unflushed; // the oldest first
};

struct hs_traces {
    struct hs_traces_options options;
    int directory;
    int journal;
    pthread_mutex_t mutex; // of the lists, buckets and accounts
    struct hs_gathered *bucket[HS_TRACES_BUCKETS];
    struct hs_gathered *run_first, **run_last;
    struct hs_account *account[HS_ACCOUNT_BUCKETS];
    size_t count, account_count, listed;
    uint64_t removed;
    _Atomic uint64_t bytes, received, begun, unfinished, running;

    pthread_t writer;
    bool writer_runs;
    pthread_mutex_t writer_mutex; // of what follows, and of `next_open`; taken last
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

// The thread that brings files to the disk does not wait for its time.
void hs_trace_registry__wake_writer(struct hs_traces *traces);

#endif
