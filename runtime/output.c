// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/output.h"

#include "arch/system.h"
#include "format/chunk.h"
#include "runtime/clock.h"
#include "runtime/config.h"
#include "runtime/file_header.h"
#include "runtime/lock.h"
#include "runtime/log.h"
#include "runtime/memory.h"
#include "runtime/place.h"
#include "runtime/shared_word.h"
#include "runtime/slots.h"
#include "runtime/stream/stream.h"
#include "runtime/text.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>

// The program's own descriptors are small numbers; ours stays out of their way.
enum { HIGH_DESCRIPTOR = 900, BLOCKS_LIMIT = 1024, MOST_NAMES = 10000 };
enum { GOES_ON, STOPPED, LEFT };

struct output_block {
    uint8_t *memory;
    uint32_t length;
    bool in_file;
};

static struct {
    int fd;
    bool open;
    bool has_file;
    bool private_table;                 // fd is in the writer thread's own table
    bool mapped;                        // header and slots are mapped from the file
    uint64_t end;                       // where the next chunk goes
    uint64_t before_block, after_block; // where it stood when the last block of slots was added
    struct hs_file_status file;
    uint32_t created; // files created by this process and its fork ancestors: %n
    uint8_t *header;  // HS_FILE_HEADER_SIZE bytes
    uint8_t *parents; // that of the trace of the process that forked this one, until this one has its own
    uint32_t block_count;
    struct hs_lock lock;          // guards `end`, the blocks and the table of slots
    _Atomic uint32_t end_of_file; // GOES_ON, or why nothing is appended any more
} output = {.fd = -1};

// Apart from the rest, which is not zero at first: of zeros only what is used takes memory.
static struct {
    char path[PATH_MAX + HS_CONFIG_TEXT + 64];
    char directory[PATH_MAX]; // where the process was when it began: what a relative name counts from, with a slash
    struct output_block blocks[BLOCKS_LIMIT];
} place;

static struct hs_live early_live;

struct hs_live *hs_output__live(void)
{
    return output.header ? &((struct hs_file_header *)output.header)->live : &early_live;
}

bool hs_output__is_open(void)
{
    return output.open;
}

const char *hs_output__path(void)
{
    return place.path;
}

bool hs_output__stopped(void)
{
    return atomic_load_explicit(&output.end_of_file, memory_order_relaxed) != GOES_ON;
}

bool hs_output__is_left(void)
{
    return atomic_load_explicit(&output.end_of_file, memory_order_relaxed) == LEFT;
}

static void set_live(uint64_t *word, uint64_t value)
{
    hs_shared_word__store(word, value);
}

void hs_output__stop(uint64_t reason, int error)
{
    uint32_t before = GOES_ON;
    if (!atomic_compare_exchange_strong(&output.end_of_file, &before, STOPPED))
        return;
    struct hs_live *live = hs_output__live();
    set_live(&live->stop_errno, (uint64_t)error);
    set_live(&live->stop_reason, reason);
    set_live(&live->end_time, hs_clock__now());
    set_live(&live->state, HS_STATE_STOPPED);
    hs_log(HS_LOG_ERROR, "recording stopped: the trace cannot grow: ", place.path, error);
}

static uint64_t stop_reason_of(int error)
{
    if (error == ENOSPC || error == EDQUOT)
        return HS_STOP_DISK_FULL;
    return error == EFBIG ? HS_STOP_FILE_LIMIT : HS_STOP_WRITE_ERROR;
}

// A write past RLIMIT_FSIZE raises SIGXFSZ; so it is never tried.
static int room_for(uint64_t end)
{
    struct hs_limit limit;
    if (hs_system_limit(RLIMIT_FSIZE, &limit) == 0 && end > limit.current)
        return -EFBIG;
    return 0;
}

// Makes [offset, offset + length) real blocks, so that storing through the mapping cannot fail for want of space.
static int reserve(uint64_t offset, uint64_t length)
{
    int failed = room_for(offset + length);
    if (failed)
        return failed;
    long result;
    do
        result = hs_system_allocate(output.fd, offset, length);
    while (result == -EINTR);
    if (result == 0)
        return 0;
    if (result != -EOPNOTSUPP && result != -ENOSYS)
        return (int)result;
    static uint8_t zeros[4096]; // not const: then it would be in the file
    for (uint64_t done = 0; done < length; done += (uint64_t)result) {
        uint64_t part = length - done < sizeof zeros ? length - done : sizeof zeros;
        result = hs_system_pwrite(output.fd, zeros, (size_t)part, offset + done);
        if (result == -EINTR)
            result = 0;
        else if (result <= 0)
            return result < 0 ? (int)result : -EIO;
    }
    return 0;
}

static uint8_t *map_file(uint64_t offset, uint64_t length)
{
    int failed = reserve(offset, length);
    if (failed)
        return NULL;
    long result = hs_system_mmap(NULL, (size_t)length, PROT_READ | PROT_WRITE, MAP_SHARED, output.fd, offset);
    return hs_system_failed(result) ? NULL : (uint8_t *)result;
}

static int lift_descriptor(int fd)
{
    struct hs_limit limit = {.current = 1024};
    hs_system_limit(RLIMIT_NOFILE, &limit);
    long wanted = limit.current > HIGH_DESCRIPTOR + 100 ? HIGH_DESCRIPTOR : (long)limit.current / 2;
    long high = HS_SYSTEM3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, wanted);
    if (high < 0)
        return fd;
    hs_system_close(fd);
    return (int)high;
}

static bool pattern_has(char what)
{
    for (const char *c = hs_config.output; c[0] && c[1]; c++)
        if (c[0] == '%' && *++c == what)
            return true;
    return false;
}

static void append_number(uint64_t number)
{
    struct hs_text text;
    size_t length = hs_text__length(place.path);
    hs_text__start(&text, place.path + length, sizeof place.path - length);
    hs_text__add_character(&text, '.');
    hs_text__add_number(&text, number);
}

// A trace of this very process: of the program that it was before an exec.
static bool is_own_trace(int fd)
{
    struct hs_file_header header;
    return hs_system_pread(fd, &header, sizeof header, 0) == (long)sizeof header &&
           __builtin_memcmp(header.magic, HS_FILE_MAGIC, HS_FILE_MAGIC_LENGTH) == 0 &&
           header.pid == (uint32_t)hs_system_getpid();
}

// The program may change its directory, a daemon does; its traces stay together and are found again.
static void remember_directory(void)
{
    if (place.directory[0])
        return;
    long length = HS_SYSTEM2(SYS_getcwd, place.directory, sizeof place.directory - 1);
    bool known = length > 0 && place.directory[0] == '/';
    if (known)
        place.directory[length - 1] = '/';
    place.directory[known ? length : 0] = 0;
}

static void expand_path(void)
{
    struct hs_text text;
    hs_text__start(&text, place.path, sizeof place.path);
    if (hs_config.output[0] != '/')
        hs_text__add(&text, place.directory);
    hs_config__expand(hs_config.output, output.created, text.at, sizeof place.path - (size_t)(text.at - place.path));
}

// %n counts on to a name that is free.
static void name_file(bool with_pid, uint64_t number)
{
    struct hs_file_status status;
    do {
        expand_path();
        output.created++;
        if (with_pid && !pattern_has('p'))
            append_number((uint64_t)hs_system_getpid());
    } while (pattern_has('n') && hs_system_status_of(place.path, AT_SYMLINK_NOFOLLOW, &status) == 0);
    if (number)
        append_number(number);
}

// The lock lasts as long as this process has the file open or mapped, and only its holder may remove the file. An old
// trace is removed, not truncated: some file systems flush a truncated file when it is written again, and its readers
// keep the removed file. If it cannot be removed, it must belong to this user only.
// -EAGAIN: it was removed. -EBUSY: another process uses the name. -EEXIST: this process itself, before an exec.
static int claim(const struct hs_place *where, int fd, bool is_old)
{
    bool locked = HS_SYSTEM2(SYS_flock, fd, LOCK_EX | LOCK_NB) == -EWOULDBLOCK;
    if (hs_system_status(fd, &output.file) != 0 || !S_ISREG(output.file.mode))
        return -EINVAL;
    if (is_old && !pattern_has('n') && is_own_trace(fd))
        return -EEXIST;
    if (locked)
        return is_old ? -EBUSY : -EAGAIN;
    if (!where->flags)
        return 0;
    if (!output.file.links || (is_old && hs_place__remove(where, where->name) == 0))
        return -EAGAIN;
    return is_old && (!hs_place__is_own(&output.file) || output.file.mode & S_IWOTH) ? -EBUSY : 0;
}

static bool is_of_others(long error)
{
    return error == -EACCES || error == -EPERM || error == -ELOOP || error == -ETXTBSY;
}

// Another process may open the file between its making and the lock; then it gives way, or has the name.
static int open_file(const struct hs_place *where)
{
    int failed;
    do {
        long fd = hs_place__open(where, where->name, O_RDWR | O_NONBLOCK, 0);
        bool is_old = fd >= 0;
        if (is_of_others(fd))
            return -EBUSY;
        if (fd == -ENOENT)
            fd = hs_place__open(where, where->name, O_RDWR | O_CREAT | O_EXCL, 0600);
        failed = fd == -EEXIST ? -EAGAIN : (int)fd;
        if (fd < 0)
            continue;
        failed = claim(where, (int)fd, is_old);
        if (!failed)
            return (int)fd;
        hs_system_close((int)fd);
    } while (failed == -EAGAIN);
    return failed;
}

static int open_path(void)
{
    struct hs_place where;
    long failed = hs_place__find(&where, place.path, true);
    if (failed)
        return failed == -ELOOP ? -EBUSY : (int)failed;
    int fd = open_file(&where);
    hs_place__leave(&where);
    return fd;
}

// Without %p in the pattern a forked child appends its pid, and so does a process that finds that another process is
// writing a trace of that name, or that it is another user's; then, and after an exec, a number follows, so that none
// overwrites what was recorded before.
static int open_free_name(bool with_pid, bool *taken)
{
    int fd = -EBUSY;
    for (uint64_t number = 0, tries = 0; tries < MOST_NAMES && (fd == -EBUSY || fd == -EEXIST); tries++) {
        name_file(with_pid, number);
        fd = open_path();
        *taken |= fd == -EBUSY;
        if (fd == -EBUSY && !with_pid && !pattern_has('p'))
            with_pid = true;
        else if (!pattern_has('n'))
            number++;
    }
    return fd;
}

static bool still_ours(void)
{
    struct hs_file_status status;
    return output.fd >= 0 && hs_system_status(output.fd, &status) == 0 && status.device == output.file.device &&
           status.inode == output.file.inode;
}

static void close_descriptor(void)
{
    if (still_ours())
        hs_system_close(output.fd);
    output.fd = -1;
}

static bool take_descriptor(int fd)
{
    if (fd < 0)
        return false;
    output.fd = lift_descriptor(fd);
    if (still_ours())
        return true;
    hs_system_close(output.fd);
    output.fd = -1;
    return false;
}

static bool reopen(void)
{
    return take_descriptor((int)hs_system_open(place.path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0));
}

// The program may have closed our descriptor, or closed it and got its number for a file of its own.
static bool descriptor_is_good(void)
{
    return output.private_table || still_ours() || reopen();
}

static int create_file(bool with_pid)
{
    bool taken = false;
    remember_directory();
    int fd = open_free_name(with_pid, &taken);
    if (fd < 0)
        return fd;
    if (taken)
        hs_log(HS_LOG_WARN, "another process or user has the name; the trace is ", place.path, 0);
    if (output.file.size)
        HS_SYSTEM2(SYS_ftruncate, fd, 0);
    HS_SYSTEM2(SYS_fchmod, fd, 0600);
    if (hs_config.chown_to >= 0)
        HS_SYSTEM3(HS_KERNEL_FCHOWN, fd, hs_config.chown_to, HS_SYSTEM0(HS_KERNEL_GETGID));
    output.fd = lift_descriptor(fd);
    int failed = reserve(0, HS_FILE_HEADER_SIZE);
    if (failed) {
        close_descriptor();
        return failed;
    }
    output.header = map_file(0, HS_FILE_HEADER_SIZE);
    output.mapped = output.header != NULL;
    output.end = HS_FILE_HEADER_SIZE;
    output.has_file = true;
    return 0;
}

// A process that changed its root or its user may be unable to make a file: then the trace of its parent says so.
static void leave_parent(bool unrecorded)
{
    struct hs_file_header *header = (struct hs_file_header *)output.parents;
    if (!header)
        return;
    if (unrecorded)
        hs_shared_word__add(&header->live.dropped[HS_DROP_CHILDREN], 1);
    hs_memory__unmap(header, HS_FILE_HEADER_SIZE);
    output.parents = NULL;
}

// A trace that is only streamed has its header in memory, and no file.
int hs_output__create(uint64_t forked_at)
{
    int failed = hs_config.output[0] ? create_file(forked_at != 0) : 0;
    leave_parent(failed != 0);
    if (failed)
        return failed;
    if (!output.mapped)
        output.header = hs_memory__map(HS_FILE_HEADER_SIZE);
    if (!output.header)
        return -ENOMEM;
    ((struct hs_file_header *)output.header)->live = early_live;
    hs_file_header__fill(output.header, HS_CONTENT_EVENTS, forked_at);
    if (output.has_file && !output.mapped)
        hs_system_pwrite(output.fd, output.header, HS_FILE_HEADER_SIZE, 0);
    output.open = true;
    bool streamed = hs_stream__is_wanted() && hs_stream__begin(output.header, HS_FILE_HEADER_SIZE);
    return output.has_file || streamed ? 0 : -ENOTCONN;
}

static bool write_all(const void *header, const void *payload, uint64_t length, uint64_t offset)
{
    static const uint8_t padding[HS_CHUNK_ALIGNMENT];
    uint64_t total = hs_chunk_size((uint32_t)length);
    struct iovec parts[3] = {
        {(void *)header, HS_CHUNK_HEADER_SIZE},
        {(void *)payload, (size_t)length},
        {(void *)padding, (size_t)(total - length - HS_CHUNK_HEADER_SIZE)},
    };
    int failed = room_for(offset + total);
    if (!failed && !descriptor_is_good())
        failed = -EBADF;
    if (failed) {
        hs_output__stop(stop_reason_of(-failed), -failed);
        return false;
    }
    for (unsigned first = 0; first < 3;) {
        long done = hs_system_pwritev(output.fd, &parts[first], 3 - first, offset);
        if (done == -EINTR)
            continue;
        if (done <= 0) {
            hs_output__stop(stop_reason_of(done < 0 ? (int)-done : ENOSPC), (int)-done);
            return false;
        }
        offset += (uint64_t)done;
        for (; first < 3 && (uint64_t)done >= parts[first].iov_len; first++)
            done -= (long)parts[first].iov_len;
        if (first < 3) {
            parts[first].iov_base = (char *)parts[first].iov_base + done;
            parts[first].iov_len -= (size_t)done;
        }
    }
    return true;
}

// Takes `length` bytes at the end of the file.
static bool take_space(uint64_t length, uint64_t *offset)
{
    if (!hs_lock__acquire(&output.lock, (uint32_t)hs_system_gettid()))
        return false;
    *offset = output.end;
    output.end += length;
    hs_lock__release(&output.lock);
    return true;
}

static bool append_to_file(const uint8_t *header, const void *payload, uint32_t length)
{
    uint64_t offset;
    return take_space(hs_chunk_size(length), &offset) && write_all(header, payload, length, offset);
}

// The number of events that are lost with the chunk.
static uint32_t events_in(const struct hs_chunk_header *chunk)
{
    return chunk->kind == HS_CHUNK_EVENTS || chunk->kind == HS_CHUNK_SUMS ? chunk->count : 0;
}

bool hs_output__append(const struct hs_chunk_header *chunk, const void *payload)
{
    if (!output.open || hs_output__stopped())
        return false;
    uint8_t header[HS_CHUNK_HEADER_SIZE];
    struct hs_chunk_header copy = *chunk;
    hs_chunk_seal(&copy, payload, header);
    if (hs_stream__is_open())
        hs_stream__append(header, payload, chunk->stored_length, events_in(chunk));
    // The stream counts what it has lost.
    return !output.has_file || append_to_file(header, payload, chunk->stored_length);
}

// Slots are mapped, so their block begins on a page; a PAD chunk fills the gap before it.
static uint64_t gap_before_page(uint64_t offset)
{
    uint64_t page = hs_memory__page_size();
    uint64_t gap = (page - offset % page) % page;
    return gap && gap < HS_CHUNK_HEADER_SIZE ? gap + page : gap;
}

static bool write_pad(uint64_t offset, uint64_t gap)
{
    if (gap == 0)
        return true;
    uint32_t length = (uint32_t)(gap - HS_CHUNK_HEADER_SIZE);
    struct hs_chunk_header chunk = {
        .kind = HS_CHUNK_PAD, .flags = HS_CHUNK_LIVE, .stored_length = length, .plain_length = length};
    uint8_t header[HS_CHUNK_HEADER_SIZE];
    hs_chunk_seal(&chunk, NULL, header);
    return !room_for(offset + gap) && descriptor_is_good() &&
           hs_system_pwrite(output.fd, header, sizeof header, offset) == (long)sizeof header;
}

// Pad and block are taken together. When the block cannot be had after that, a reader finds a hole and goes on behind.
static bool take_block(uint64_t length, uint64_t *offset)
{
    if (!hs_lock__acquire(&output.lock, (uint32_t)hs_system_gettid()))
        return false;
    uint64_t gap = gap_before_page(output.end), pad = output.end;
    bool fits = !room_for(pad + gap + length);
    if (fits)
        output.end += gap + length;
    output.before_block = pad;
    output.after_block = output.end;
    hs_lock__release(&output.lock);
    *offset = pad + gap;
    return fits && write_pad(pad, gap);
}

static bool enter_block(uint8_t *memory, uint32_t length, bool in_file)
{
    if (!hs_lock__acquire(&output.lock, (uint32_t)hs_system_gettid()))
        return false;
    bool fits = output.block_count < BLOCKS_LIMIT && hs_slots__add(memory, in_file, length / HS_SLOT_SIZE);
    if (fits)
        place.blocks[output.block_count++] = (struct output_block){memory, length, in_file};
    hs_lock__release(&output.lock);
    if (!fits)
        hs_memory__unmap(memory, length);
    return fits;
}

static bool add_mapped_slots(uint32_t count)
{
    uint32_t length = count * HS_SLOT_SIZE;
    uint64_t offset;
    if (!output.mapped || hs_output__stopped() || !take_block(length, &offset))
        return false;
    uint8_t *memory = map_file(offset, length);
    if (!memory)
        return false;
    return enter_block(memory, length, true);
}

bool hs_output__add_plain_slots(uint32_t count)
{
    uint32_t length = count * HS_SLOT_SIZE;
    uint8_t *memory = hs_memory__map(length);
    return memory && enter_block(memory, length, false);
}

bool hs_output__add_slots(uint32_t count)
{
    return (output.has_file && add_mapped_slots(count)) || hs_output__add_plain_slots(count);
}

void hs_output__drop_unused_slots(void)
{
    const struct output_block *block = &place.blocks[0];
    // The sender of a stream reads the slots after this process has ended.
    if (output.block_count != 1 || output.end != output.after_block || hs_stream__is_open() || !hs_slots__withdraw())
        return;
    output.end = output.before_block;
    HS_SYSTEM2(SYS_ftruncate, output.fd, (long)output.end);
    output.block_count = 0;
    hs_memory__unmap(block->memory, block->length);
}

static void copy_if_plain(const struct hs_slot *slot)
{
    const struct hs_slot_header *header = hs_slot__header(slot);
    if (!slot->in_file && __atomic_load_n(&header->use, __ATOMIC_ACQUIRE) != HS_SLOT_FREE)
        append_to_file(slot->memory, header, HS_SLOT_SIZE - HS_CHUNK_HEADER_SIZE);
}

void hs_output__write_unmapped(void)
{
    if (!output.has_file)
        return;
    for (uint32_t i = 0; i < hs_slots__total(); i++)
        copy_if_plain(hs_slots__at(i));
    if (!output.mapped && descriptor_is_good())
        hs_system_pwrite(output.fd, output.header, HS_FILE_HEADER_SIZE, 0);
}

int hs_output__descriptor(void)
{
    return output.fd;
}

void hs_output__own_descriptor(void)
{
    output.private_table = true;
}

void hs_output__share_descriptor(int fd)
{
    output.private_table = false;
    if (output.has_file && !take_descriptor(fd))
        reopen();
}

// A slot that a thread holds keeps its header for that thread, and its records for a sender that outlives this process.
static void copy_slots(uint8_t *to, const struct output_block *block)
{
    size_t size = hs_stream__is_open() ? HS_SLOT_SIZE : HS_SLOT_RECORDS_OFFSET;
    for (uint32_t at = 0; at < block->length; at += HS_SLOT_SIZE) {
        const struct hs_slot slot = {.memory = block->memory + at};
        if (__atomic_load_n(&hs_slot__header(&slot)->use, __ATOMIC_ACQUIRE) != HS_SLOT_FREE)
            __builtin_memcpy(to + at, block->memory + at, size);
    }
}

static void unmap_block(const struct output_block *block)
{
    uint8_t *fresh = hs_memory__map(block->length);
    if (!fresh)
        return;
    copy_slots(fresh, block);
    hs_memory__replace(block->memory, fresh, block->length);
}

static void unmap_header(void)
{
    uint8_t *fresh = hs_memory__map(HS_FILE_HEADER_SIZE);
    if (!fresh)
        return;
    __builtin_memcpy(fresh, output.header, HS_FILE_HEADER_SIZE);
    hs_memory__replace(output.header, fresh, HS_FILE_HEADER_SIZE);
}

// Threads may still be in a hook: there is memory wherever they write.
static void unmap_file(void)
{
    if (!output.mapped || hs_system_forbids(HS_FORBIDDEN_MOVING) ||
        !hs_lock__acquire(&output.lock, (uint32_t)hs_system_gettid()))
        return;
    unmap_header();
    for (uint32_t i = 0; i < output.block_count; i++)
        if (place.blocks[i].in_file)
            unmap_block(&place.blocks[i]);
    hs_lock__release(&output.lock);
}

void hs_output__leave(void)
{
    atomic_store(&output.end_of_file, LEFT);
    place.path[0] = 0; // it is not opened again
    close_descriptor();
    unmap_file();
}

void hs_output__abandon(void)
{
    if (!output.private_table)
        close_descriptor();
    for (uint32_t i = 0; i < output.block_count; i++)
        hs_memory__unmap(place.blocks[i].memory, place.blocks[i].length);
    if (output.mapped)
        output.parents = output.header;
    else if (output.header)
        hs_memory__unmap(output.header, HS_FILE_HEADER_SIZE);
    output.block_count = 0;
    output.header = NULL;
    output.fd = -1;
    output.open = output.has_file = output.private_table = output.mapped = false;
    output.lock = (struct hs_lock){0};
    atomic_store(&output.end_of_file, GOES_ON);
    early_live = (struct hs_live){0};
}
