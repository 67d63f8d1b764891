// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/streaming.h"

#include "arch/system.h"
#include "format/trace_format.h"
#include "runtime/clock.h"
#include "runtime/config.h"
#include "runtime/file_header.h"
#include "runtime/memory.h"
#include "runtime/prof/sampler_threads.h"
#include "runtime/shared_word.h"
#include "runtime/stream/dump_pieces.h"
#include "runtime/stream/stream.h"
#include "runtime/stream/stream_internal.h"

_Atomic uint32_t hs_streaming_is_due;

static struct {
    uint8_t *header;
    uint32_t pid; // 0: nothing is streamed
    bool emulated;
} streaming;

static struct hs_live *live(void)
{
    return &((struct hs_file_header *)streaming.header)->live;
}

static bool is_this_process(void)
{
    return streaming.pid && streaming.pid == (uint32_t)hs_system_getpid();
}

static void begin(uint64_t forked_at)
{
    hs_clock__start();
    hs_file_header__fill(streaming.header, HS_CONTENT_DUMPS, forked_at);
    if (hs_stream__begin(streaming.header, HS_FILE_HEADER_SIZE))
        streaming.emulated = hs_stream.kind == HS_HIDDEN_SHARED_DESCRIPTORS;
}

void hs_streaming__start(void)
{
    if (!hs_stream__is_wanted() || !(streaming.header = hs_memory__map(HS_FILE_HEADER_SIZE)))
        return;
    streaming.pid = (uint32_t)hs_system_getpid();
    begin(0);
}

void hs_streaming__after_fork(void)
{
    if (!streaming.pid || is_this_process())
        return;
    streaming.pid = (uint32_t)hs_system_getpid();
    hs_dump_pieces__reset();
    hs_stream__reset();
    *live() = (struct hs_live){0};
    // QEMU's user mode does not survive a thread that a forked child starts. What is written to the descriptor is of
    // the parent alone.
    atomic_store(&hs_streaming_is_due, !streaming.emulated && hs_config.output_descriptor < 0);
}

void hs_streaming__begin_if_due(void)
{
    if (is_this_process() && atomic_exchange(&hs_streaming_is_due, 0))
        begin(hs_clock__now() + 1);
}

static __attribute__((noinline)) void change_state(uint32_t from, uint32_t to)
{
    if (is_this_process())
        hs_shared_word__change(&live()->state, from, to);
}

void hs_streaming__before_exec(void)
{
    change_state(HS_STATE_RECORDING, HS_STATE_EXEC);
}

void hs_streaming__after_failed_exec(void)
{
    change_state(HS_STATE_EXEC, HS_STATE_RECORDING);
}

void hs_streaming__pause(void)
{
    if (is_this_process())
        hs_stream__pause();
}

void hs_streaming__go_on(void)
{
    if (is_this_process())
        hs_stream__go_on();
}

void hs_streaming__end(void)
{
    if (!is_this_process() || !hs_stream.open)
        return;
    hs_shared_word__store(&live()->end_time, hs_clock__now());
    change_state(HS_STATE_RECORDING, HS_STATE_CLOSED);
    hs_stream__end();
}

bool hs_streaming__is_open(void)
{
    return hs_stream.open;
}

bool hs_streaming__replaces_files(void)
{
    return streaming.pid && !hs_config.output[0];
}

// Its tid is not known before the thread that starts it has come back, and it may be the first to run.
static struct hs_sampler_thread sender = {.filter = &hs_filter_of_all};

bool hs_streaming__is_sender(void)
{
    return hs_sampler_self == &sender;
}

uint32_t hs_streaming__pid(void)
{
    return hs_streaming__is_sender() ? hs_stream.process : (uint32_t)hs_system_getpid();
}

// ---- of the sender --------------------------------------------------------------------------------------------------

void hs_stream_source__sender_begins(void)
{
    hs_sampler__be(&sender);
}

// A dump that was not whole is not in the stream.
bool hs_stream_source__finish(uint32_t *progress)
{
    (void)progress;
    return true;
}

void hs_stream_source__show(uint64_t now_ns)
{
    (void)now_ns;
}
