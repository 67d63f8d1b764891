// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Begin and end of the stream: makes the ring, starts the sender and ends it.
#include "arch/system.h"
#include "runtime/config.h"
#include "runtime/log.h"
#include "runtime/memory.h"
#include "runtime/place.h"
#include "runtime/stream/sender.h"
#include "runtime/stream/stream.h"
#include "runtime/stream/stream_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

enum { STACK_SIZE = 256 * 1024, SMALLEST_RING = 256 * 1024, LARGEST_RING = 1 << 30 };
#define JOIN_NS  5000000000ll
#define LEAVE_NS 20000000000ll

// ---- the ring -------------------------------------------------------------------------------------------------------

static uint32_t ring_size(uint64_t wanted)
{
    uint32_t size = SMALLEST_RING;
    while (size < LARGEST_RING && size < wanted)
        size *= 2;
    return size;
}

static uint8_t *map_spill_file(uint32_t size)
{
    char path[HS_CONFIG_TEXT + 512];
    hs_config__expand(hs_config.spill_file, 0, path, sizeof path);
    struct hs_place place;
    long fd = hs_place__find(&place, path, false);
    if (fd == 0) {
        fd = hs_place__open(&place, place.name, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (fd >= 0)
            hs_place__remove(&place, place.name); // the mapping keeps it, and nothing is left behind
        hs_place__leave(&place);
    }
    long failed = fd < 0 ? fd : hs_system_allocate((int)fd, 0, size);
    long memory = failed ? failed : hs_system_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
    if (fd >= 0)
        hs_system_close((int)fd);
    if (!hs_system_failed(memory))
        return (uint8_t *)memory;
    hs_log(HS_LOG_WARN, "the stream stays in memory: there is no room to spill to in ", path, (int)-memory);
    return NULL;
}

static bool create_ring(void)
{
    bool spill = hs_config.policy == HS_POLICY_SPILL;
    uint32_t size = ring_size(spill ? hs_config.spill_size : hs_config.stream_buffer);
    uint8_t *memory = spill ? map_spill_file(size) : NULL;
    if (!memory) {
        size = ring_size(hs_config.stream_buffer);
        memory = hs_memory__map(size);
    }
    hs_stream.ring = (struct hs_stream_ring){.memory = memory, .size = size};
    return memory != NULL;
}

// ---- the sender -----------------------------------------------------------------------------------------------------

static bool start_sender(void)
{
    atomic_store(&hs_stream.quit, 0);
    hs_stream.open = true; // the sender asks, also for its kind, and may be the first to run
    for (int kind = HS_HIDDEN_PROCESS; kind >= HS_HIDDEN_SHARED_DESCRIPTORS; kind--) {
        hs_stream.kind = (enum hs_hidden_kind)kind;
        if (hs_hidden_thread__start(&hs_stream.sender, STACK_SIZE, hs_sender__main, NULL, hs_stream.kind) == 0)
            return true;
    }
    hs_stream.open = false;
    return false;
}

bool hs_stream__begin(const void *file_header, size_t size)
{
    if (!create_ring()) {
        hs_log(HS_LOG_ERROR, "nothing is streamed: out of memory", NULL, 0);
        return false;
    }
    // The programs that this one starts are not to keep its reader waiting.
    if (hs_config.output_descriptor >= 0)
        HS_SYSTEM3(SYS_fcntl, hs_config.output_descriptor, F_SETFD, FD_CLOEXEC);
    hs_stream.live = &((const struct hs_file_header *)file_header)->live;
    hs_stream.header = file_header;
    hs_stream.process = (uint32_t)hs_system_getpid();
    hs_stream_ring__put(&hs_stream.ring, 0, file_header, (uint32_t)size);
    hs_stream_ring__publish(&hs_stream.ring, (uint32_t)size);
    return hs_sender__prepare() && start_sender();
}

// True: no thread sends any more.
static bool stop_sender(void)
{
    atomic_store(&hs_stream.quit, 1);
    hs_stream__wake_sender();
    return hs_hidden_thread__join(&hs_stream.sender, JOIN_NS);
}

void hs_stream__pause(void)
{
    if (hs_stream.open && hs_stream.kind != HS_HIDDEN_PROCESS)
        stop_sender();
}

// The child of a program whose sender was a thread: what is left in the ring goes with it.
static void leave_to_child(void)
{
    long pid = HS_SYSTEM5(SYS_clone, 0, 0, 0, 0, 0);
    if (pid == -EINVAL) // QEMU's user mode has only children that the parent hears of
        pid = HS_SYSTEM5(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid != 0) {
        hs_sender__close_listener();
        return;
    }
    HS_SYSTEM0(SYS_setsid);
    atomic_store(&hs_stream.quit, 0);
    hs_sender__main(NULL);
    HS_SYSTEM1(SYS_exit_group, 0);
}

static void wait_until_sent(void)
{
    while (!atomic_load(&hs_stream.broken))
        hs_stream__wait_for_room();
}

// If the sender is a thread, the program does not wait for the link; a forked child offers the rest. The thread ends
// first: it must neither send the end, nor anything that the child would then offer forever.
static bool goes_to_child(void)
{
    return hs_stream.kind != HS_HIDDEN_PROCESS && hs_config.output_descriptor < 0 &&
           hs_config.policy != HS_POLICY_BLOCK;
}

void hs_stream__end(void)
{
    if (!hs_stream.open || atomic_load(&hs_stream.finishing))
        return;
    hs_stream.orphan = goes_to_child();
    bool stopped = hs_stream.orphan && stop_sender();
    atomic_store(&hs_stream.finishing, 1);
    hs_stream__wake_sender();
    if (stopped)
        leave_to_child();
    else if (hs_stream.kind != HS_HIDDEN_PROCESS && !hs_stream.orphan)
        wait_until_sent();
}

// Who joins it takes it from the list of the program's children, too.
void hs_stream__leave(void)
{
    if (hs_stream.open && hs_stream.kind == HS_HIDDEN_PROCESS)
        hs_hidden_thread__join(&hs_stream.sender, atomic_load(&hs_stream.has_host) ? LEAVE_NS : 0);
}

void hs_stream__go_on(void)
{
    if (hs_stream.open && !hs_stream.sender.tid && !atomic_load_explicit(&hs_stream.finishing, memory_order_relaxed))
        start_sender();
}

void hs_stream__reset(void)
{
    if (hs_stream.ring.memory)
        hs_memory__unmap(hs_stream.ring.memory, hs_stream.ring.size);
    if (hs_stream.kept)
        hs_memory__unmap(hs_stream.kept, hs_stream__kept_limit());
    hs_hidden_thread__forget(&hs_stream.sender);
    hs_sender__reset();
    hs_stream = (struct hs_stream){0};
}
