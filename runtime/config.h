// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the environment asks for. Each name is read as HEAPSONDE_<NAME>, else as MEMORY_PROFILER_<NAME>.
// Booleans are true for `1` and `true`; a number that does not parse leaves the default; a value of more than 1,024
// bytes is ignored.
#ifndef HEAPSONDE_RUNTIME_CONFIG_H
#define HEAPSONDE_RUNTIME_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

enum { HS_CONFIG_TEXT = 1024 };

enum hs_stream_policy { HS_POLICY_BLOCK, HS_POLICY_DROP, HS_POLICY_SPILL };

enum hs_log_level { HS_LOG_OFF, HS_LOG_ERROR, HS_LOG_WARN, HS_LOG_INFO, HS_LOG_DEBUG };

// What HEAPSONDE_EVENTS names.
enum { HS_EVENTS_HEAP = 1, HS_EVENTS_CPU = 2, HS_EVENTS_FAULTS = 4, HS_EVENTS_OFF_CPU = 8, HS_EVENTS_WITNESS = 16 };

struct hs_config {
    enum hs_log_level log_level; // LOG
    bool says_obstacles;         // without LOG: print errors until recording begins
    uint64_t log_rotate_bytes;   // LOGFILE_ROTATE_WHEN_BIGGER_THAN, 0: never
    bool unread;                 // the environment was ignored: set-uid and similar programs
    bool disabled;               // DISABLE_BY_DEFAULT
    bool free_stacks;            // GRAB_BACKTRACES_ON_FREE
    bool memo;                   // USE_SHADOW_STACK
    bool python;                 // PYTHON: functions of CPython in place of its interpreter loop
    bool as_walked;              // a stack is used as it is walked or recalled: memo without python
    bool zero_memory;            // ZERO_MEMORY
    bool track_children;         // TRACK_CHILD_PROCESSES: keep LD_PRELOAD for programs that are executed
    bool embed_binaries;         // WRITE_BINARIES_TO_OUTPUT
    bool maps;                   // GATHER_MAPS, GATHER_MMAP_CALLS: record mmap, munmap, mremap and brk
    bool sigusr1, sigusr2;       // REGISTER_SIGUSR1, REGISTER_SIGUSR2
    bool keep_deepbind;          // KEEP_DEEPBIND: dlopen() obeys RTLD_DEEPBIND
    bool inline_writer;          // WRITER=inline
    bool cull;                   // CULL_TEMPORARY_ALLOCATIONS
    uint64_t cull_threshold_ms;  // TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD
    uint64_t cull_pending;       // TEMPORARY_ALLOCATION_PENDING_THRESHOLD
    uint64_t memory;             // MEMORY: bytes for tables, beside the buffers of threads; 0: not given
    uint64_t max_depth;          // MAX_DEPTH: frames kept of one stack
    bool aggregate;              // MODE=aggregate: sums per stack in place of events
    uint64_t aggregate_interval; // AGGREGATE_INTERVAL: seconds between two ticks
    uint64_t aggregate_stacks;   // AGGREGATE_STACKS: with more than N stacks, those below 1/N are folded together
    uint64_t aggregate_memory;   // AGGREGATE_MEMORY: bytes for live blocks and stacks
    // Samples of the kernel (docs/events.md).
    uint32_t events;        // EVENTS: HS_EVENTS_*
    uint64_t cpu_frequency; // CPU_FREQUENCY: samples per second of CPU time
    bool call_chains;       // CALL_CHAINS: samples have the kernel's chain of frame pointers, too
    bool cycles;            // CPU_CLOCK=cycles: sample processor cycles, if there is a counter
    uint64_t fault_stacks;  // FAULT_STACKS: one page fault in this many gets a stack
    uint64_t switch_stacks; // SWITCH_STACKS: sample one switch in this many
    uint64_t kernel_stacks; // UNWINDER=kernel, =kernel:N: compare one stack in this many with the kernel's; 0: none
    uint64_t stack_copy;    // STACK_COPY: bytes of the stack that the kernel copies for a sample
    bool deferred_stacks;   // STACKS=deferred: samples are not unwound here; the host does it
    // What is sent while the program runs (docs/protocol.md).
    bool server;                  // ENABLE_SERVER: hosts may connect
    bool broadcast;               // ENABLE_BROADCAST: announce this
    bool insecure;                // INSECURE: also without a key beyond loopback
    uint64_t base_server_port;    // BASE_SERVER_PORT: the first that is tried
    int64_t output_descriptor;    // OUTPUT=fd:N; -1: none
    enum hs_stream_policy policy; // STREAM_POLICY: what happens if the link is slower than the program
    uint64_t stream_buffer;       // STREAM_BUFFER: size of the send buffer in bytes
    uint64_t spill_size;          // SPILL_SIZE: bytes
    int64_t chown_to;             // CHOWN_OUTPUT_TO: a uid; -1: none
    // Texts come last, so that the other members are reached by shorter instructions.
    char output[HS_CONFIG_TEXT];     // OUTPUT: pattern with %p %e %t %n %%; empty: no file
    char log_file[HS_CONFIG_TEXT];   // LOGFILE: pattern; empty: standard error
    char include[HS_CONFIG_TEXT];    // INCLUDE_FILE: a file (or a pattern ending in *) embedded at the start
    char connect[HS_CONFIG_TEXT];    // CONNECT: ADDRESS:PORT of a host
    char key_file[HS_CONFIG_TEXT];   // KEY_FILE
    char device[HS_CONFIG_TEXT];     // DEVICE: a name for this machine; empty: its host name
    char labels[HS_CONFIG_TEXT];     // LABELS: key=value,key=value
    char spill_file[HS_CONFIG_TEXT]; // SPILL_FILE: pattern
};

extern struct hs_config hs_config;

// Sums per stack are recorded in place of events (runtime/aggregate/aggregate.h).
static inline bool hs_aggregate__is_on(void)
{
    return hs_config.aggregate;
}

// `memory` if it is not given; less than the least counts as that.
#define HS_MEMORY_DEFAULT (sizeof(void *) == 8 ? 8u << 20 : 3u << 20)
#define HS_MEMORY_LEAST   (64u << 10)

// Reads the environment into hs_config, unless the program has more rights than its caller. Called once, before any
// thread records. `misread` (may be NULL) becomes the list of entries with unknown names under our own prefix, or with
// invalid values.
void hs_config__read(void (*misread)(const char *entry));

// Takes heapsonde out of LD_PRELOAD in the program's environment, so that executed programs run without it. Keeps
// other libraries there. Call it only when libc is initialised.
void hs_config__hide_preload(void);

// Replaces %p (pid), %e (executable), %t (seconds since 1970), %n (counter), %% in `pattern`.
void hs_config__expand(const char *pattern, uint64_t counter, char *path, uint64_t size);

#endif
