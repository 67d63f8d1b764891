// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/perf/open.h"

#include "arch/system.h"
#include "runtime/config.h"
#include "runtime/memory.h"
#include "runtime/perf/sample.h"
#include "runtime/perf/witness.h"
#include "runtime/slot_source.h"
#include "runtime/text.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

enum { RING_MOST = 512 << 10, RING_LEAST = 16 << 10, ALL_RINGS_MOST = 16 << 20, THREADS_MOST = 4096 };

// In the order in which they are opened.
enum event { CPU, FAULT_STACK, MAJOR_FAULT_STACK, FAULT, MAJOR_FAULT, SWITCH, WITNESS, EVENTS };

static const struct {
    uint8_t wanted; // by what of HEAPSONDE_EVENTS
    uint8_t role;
    uint8_t config;
} events[EVENTS] = {
    [CPU] = {HS_EVENTS_CPU, HS_PERF_INTERRUPTED, PERF_COUNT_SW_TASK_CLOCK},
    // Minor and major faults are counted when the page is present, unlike their sum, so that its size is known. The
    // kernel counts every kind that is requested: two kinds cost less than three.
    [FAULT_STACK] = {HS_EVENTS_FAULTS, HS_PERF_INTERRUPTED, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    [MAJOR_FAULT_STACK] = {HS_EVENTS_FAULTS, HS_PERF_INTERRUPTED, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    [FAULT] = {HS_EVENTS_FAULTS, HS_PERF_FAULT, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    [MAJOR_FAULT] = {HS_EVENTS_FAULTS, HS_PERF_FAULT, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    [SWITCH] = {HS_EVENTS_OFF_CPU, HS_PERF_SWITCH, PERF_COUNT_SW_CONTEXT_SWITCHES},
    [WITNESS] = {HS_EVENTS_WITNESS, HS_PERF_WITNESS, PERF_COUNT_SW_PAGE_FAULTS},
};

static bool is_wanted(enum event event)
{
    return hs_config.events & events[event].wanted;
}

// One that is always there: it tells of code that is mapped, too.
static enum event first_wanted(void)
{
    enum event event = CPU;
    while (event < WITNESS && !is_wanted(event))
        event++;
    return event;
}

static uint64_t sample_type(const struct hs_perf_rings *rings, enum event event)
{
    if (event == WITNESS)
        return HS_SAMPLE_CHAIN;
    if (events[event].role == HS_PERF_FAULT)
        return rings->without_size ? HS_SAMPLE_SHORT : HS_SAMPLE_PAGE;
    return (rings->without_stack ? HS_SAMPLE_IP : HS_SAMPLE_STACK) |
           (HS_PERF_HAS_WITNESSES && hs_config.call_chains ? PERF_SAMPLE_CALLCHAIN : 0);
}

static uint64_t period(enum event event)
{
    if (event == CPU)
        return 1000000000 / hs_config.cpu_frequency;
    if (events[event].role == HS_PERF_INTERRUPTED)
        return hs_config.fault_stacks;
    return event == SWITCH ? hs_config.switch_stacks : 1;
}

// Kernels before 5.13 refuse this. With them, forked children also inherit the events; their samples are recognised by
// their pid.
static bool without_inherit_thread;

static void describe(const struct hs_perf_rings *rings, enum event event, uint32_t wakeup, struct perf_event_attr *attr)
{
    uint64_t type = sample_type(rings, event);
    *attr = (struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof *attr,
        .config = events[event].config,
        .sample_period = period(event),
        .sample_type = type,
        .inherit = 1,
        .exclude_kernel = rings->without_kernel,
        .exclude_hv = 1,
        .watermark = 1,
        .wakeup_watermark = wakeup,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .inherit_thread = !without_inherit_thread,
        .exclude_callchain_kernel = 1,
        .mmap = event == first_wanted(),
        .mmap2 = event == first_wanted(),
        .context_switch = event == SWITCH,
        .comm = 1,
        .sample_id_all = 1,
    };
    if (event == CPU && rings->cycles) {
        attr->type = PERF_TYPE_HARDWARE;
        attr->config = PERF_COUNT_HW_CPU_CYCLES;
        attr->freq = 1;
        attr->sample_freq = hs_config.cpu_frequency;
    }
    if (type & PERF_SAMPLE_STACK_USER) {
        attr->sample_regs_user = hs_perf_sample__registers();
        attr->sample_stack_user = (uint32_t)hs_config.stack_copy;
    }
}

static long open_event(const struct perf_event_attr *attr, uint32_t tid, int cpu)
{
    return HS_SYSTEM5(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static long try_event(const struct hs_perf_rings *rings, enum event event)
{
    struct perf_event_attr attr;
    describe(rings, event, 0, &attr);
    long fd = open_event(&attr, 0, -1);
    return fd < 0 ? fd : hs_system_close((int)fd);
}

// Each attempt asks for less of what is wanted; those without cycles come last.
long hs_perf_rings__ask(struct hs_perf_rings *rings)
{
    long result = -EINVAL;
    for (unsigned less = hs_config.cycles && is_wanted(CPU) ? 0 : 8; less < 16 && result < 0; less++) {
        rings->without_kernel = less & 1;
        without_inherit_thread = less & 2;
        rings->without_stack = less & 4;
        rings->cycles = less < 8;
        result = try_event(rings, first_wanted());
    }
    rings->without_size = !result && is_wanted(FAULT) && try_event(rings, FAULT) < 0;
    return result;
}

// ---- rings ----------------------------------------------------------------------------------------------------------

static bool map_ring(struct hs_perf_ring *ring, size_t size)
{
    size_t page = hs_memory__page_size();
    for (; size >= RING_LEAST && size >= page; size /= 2) {
        long memory = hs_system_mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
        if (hs_system_failed(memory))
            continue; // more than may be locked
        struct perf_event_mmap_page *header = (struct perf_event_mmap_page *)memory;
        ring->memory = header;
        ring->size = page + size;
        ring->ring = (struct hs_kernel_ring){.head = (uint64_t *)&header->data_head,
                                             .tail = (uint64_t *)&header->data_tail,
                                             .data = (const uint8_t *)memory + page,
                                             .size = size};
        return true;
    }
    return false;
}

void hs_perf_rings__unmap(struct hs_perf_rings *rings)
{
    for (unsigned i = 0; i < rings->count; i++)
        hs_memory__unmap(rings->ring[i].memory, rings->ring[i].size);
    rings->count = 0;
}

// The events that are opened for each processor.
struct opening {
    struct hs_perf_rings *rings;
    size_t ring_size;
    const uint32_t *tids;
    unsigned tid_count;
};

// The first event of a ring makes it; later ones write into it.
static long add_event(struct opening *opening, struct hs_perf_ring **ring, enum event event, uint32_t tid, int cpu)
{
    struct hs_perf_rings *rings = opening->rings;
    struct perf_event_attr attr;
    describe(rings, event, (uint32_t)opening->ring_size / 4, &attr);
    long fd = open_event(&attr, tid, cpu);
    if (fd < 0)
        return fd;
    if (*ring) {
        long result = HS_SYSTEM3(SYS_ioctl, fd, PERF_EVENT_IOC_SET_OUTPUT, (*ring)->fd);
        return result < 0 ? result : 0;
    }
    struct hs_perf_ring *made = &rings->ring[rings->count];
    *made = (struct hs_perf_ring){.fd = (int)fd, .type = attr.sample_type, .role = events[event].role};
    if (!map_ring(made, opening->ring_size)) {
        hs_system_close((int)fd);
        return -ENOBUFS;
    }
    rings->count++;
    *ring = made;
    return 0;
}

// A thread that has ended meanwhile, and a processor that is not there, are no failures.
static long open_processor(struct opening *opening, int cpu)
{
    struct hs_perf_ring *rings[HS_PERF_ROLES] = {NULL};
    for (unsigned i = 0; i < opening->tid_count; i++)
        for (enum event event = CPU; event < EVENTS; event++) {
            if (!is_wanted(event))
                continue;
            long result = add_event(opening, &rings[events[event].role], event, opening->tids[i], cpu);
            if (result == -ESRCH || result == -ENODEV)
                continue;
            if (result < 0 && opening->rings->count == 0)
                return result;
            opening->rings->incomplete |= result < 0;
        }
    return 0;
}

// ---- which threads, which processors ------------------------------------------------------------------------------

static bool is_ours(uint32_t tid, uint32_t self)
{
    char path[64], name[24];
    struct hs_text text;
    hs_text__start(&text, path, sizeof path);
    hs_text__add(&text, "/proc/self/task/");
    hs_text__add_number(&text, tid);
    hs_text__add(&text, "/comm");
    return tid == self || tid == hs_slot_source__writer_thread() ||
           (hs_text__read_file(path, name, sizeof name) && hs_text__equal(name, "heapsonde\n"));
}

struct open_directory_entry { // of getdents64(2)
    uint64_t inode, offset;
    uint16_t length;
    uint8_t type;
    char name[];
};

static unsigned take_entries(const char *entries, long size, uint32_t self, uint32_t *tids, unsigned count)
{
    for (long at = 0; at < size;) {
        const struct open_directory_entry *entry = (const struct open_directory_entry *)(entries + at);
        const char *name = entry->name;
        uint32_t tid = (uint32_t)hs_text__parse(&name, 10);
        if (tid && count < THREADS_MOST && !is_ours(tid, self))
            tids[count++] = tid;
        at += entry->length;
    }
    return count;
}

static unsigned list_threads(uint32_t self, uint32_t *tids)
{
    char entries[2048] __attribute__((aligned(8)));
    unsigned count = 0;
    long fd = hs_system_open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0), size;
    if (fd < 0)
        return 0;
    while ((size = HS_SYSTEM3(SYS_getdents64, fd, entries, sizeof entries)) > 0)
        count = take_entries(entries, size, self, tids, count);
    hs_system_close((int)fd);
    return count;
}

// Reads a list such as 0-3,8 into `processors`; returns their number.
static unsigned list_processors(uint16_t *processors)
{
    char text[512];
    unsigned count = 0;
    if (!hs_text__read_file("/sys/devices/system/cpu/online", text, sizeof text))
        hs_text__read_file("/sys/devices/system/cpu/possible", text, sizeof text);
    for (const char *at = text; *at >= '0' && *at <= '9'; at += *at == ',') {
        uint64_t first = hs_text__parse(&at, 10), last = first;
        if (*at == '-') {
            at++;
            last = hs_text__parse(&at, 10);
        }
        for (; first <= last && count < HS_PERF_PROCESSORS; first++)
            processors[count++] = (uint16_t)first;
    }
    return count;
}

static size_t ring_size(unsigned processors)
{
    size_t size = RING_MOST;
    while (size > RING_LEAST && size * HS_PERF_ROLES * processors > ALL_RINGS_MOST)
        size /= 2;
    return size;
}

long hs_perf_rings__open(struct hs_perf_rings *rings, uint32_t self, void (*emit)(uint32_t tid))
{
    uint16_t processors[HS_PERF_PROCESSORS];
    uint32_t *tids = hs_memory__map(THREADS_MOST * sizeof *tids);
    if (!tids)
        return -ENOMEM;
    unsigned count = list_processors(processors);
    struct opening opening = {rings, ring_size(count), tids, list_threads(self, tids)};
    long result = count && opening.tid_count ? 0 : -ENXIO;
    for (unsigned i = 0; i < count && !result; i++)
        result = open_processor(&opening, processors[i]);
    for (unsigned i = 0; i < opening.tid_count && !result; i++)
        emit(tids[i]);
    hs_memory__unmap(tids, THREADS_MOST * sizeof *tids);
    if (result)
        hs_perf_rings__unmap(rings);
    return result;
}

// ---- refusals -------------------------------------------------------------------------------------------------------

static void explain_refusal(struct hs_text *text)
{
    char number[24];
    const char *at = number;
    size_t length = hs_text__read_file("/proc/sys/kernel/perf_event_paranoid", number, sizeof number);
    uint64_t level = length && number[0] != '-' ? hs_text__parse(&at, 10) : 0;
    if (level <= 2) {
        hs_text__add(text, "forbidden: a seccomp filter or a security policy; allow perf_event_open, or CAP_PERFMON");
        return;
    }
    hs_text__add(text, "forbidden: kernel.perf_event_paranoid is ");
    hs_text__add_number(text, level);
    hs_text__add(text, "; 2 would allow it, and so would CAP_PERFMON");
}

void hs_perf__explain(long error, char line[HS_PERF_LINE])
{
    struct hs_text text;
    hs_text__start(&text, line, HS_PERF_LINE);
    switch (-error) {
    case EACCES:
    case EPERM:
        explain_refusal(&text);
        break;
    case ENOSYS:
    case ENODEV: // gVisor's
    case ENOENT:
    case EOPNOTSUPP:
        hs_text__add(&text, "absent: no perf_event_open here; use a kernel with CONFIG_PERF_EVENTS and no emulator");
        break;
    case ENOBUFS:
        hs_text__add(&text, "no memory for rings: raise kernel.perf_event_mlock_kb or the limit of locked memory");
        break;
    case EMFILE:
    case ENFILE:
        hs_text__add(&text, "no descriptors left: raise the limit of open files");
        break;
    default:
        hs_text__add(&text, "refused: error ");
        hs_text__add_number(&text, (uint64_t)-error);
        hs_text__add(&text, " of perf_event_open");
    }
}
