// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The trace file: constants and layouts that both halves share. docs/format.md is the specification; this header is the
// same in C. Numbers in chunk headers and in encoded payloads are little-endian. The live part of the file header and
// the records inside slots are written by the running program and are in its byte order (hs_file_header.byte_order).
#ifndef HEAPSONDE_FORMAT_TRACE_FORMAT_H
#define HEAPSONDE_FORMAT_TRACE_FORMAT_H

#include <stdint.h>

#define HS_FILE_MAGIC         "\x8fHSONDE\n"
#define HS_FILE_MAGIC_LENGTH  8
#define HS_FILE_VERSION_MAJOR 1
#define HS_FILE_VERSION_MINOR 5
#define HS_FILE_HEADER_SIZE   4096

enum { HS_BYTE_ORDER_LITTLE = 1, HS_BYTE_ORDER_BIG = 2 };
enum { HS_CLOCK_COUNTER = 1, HS_CLOCK_MONOTONIC = 2 };

// What the chunks hold.
enum { HS_CONTENT_EVENTS = 0, HS_CONTENT_DUMPS = 1 };

// What the process is doing with its trace (hs_live.state). The recording process writes it, once per transition.
enum {
    HS_STATE_RECORDING = 0, // also what a killed process leaves behind
    HS_STATE_CLOSED = 1,    // the process ended normally
    HS_STATE_STOPPED = 2,   // recording ended early: stop_reason, stop_errno
    HS_STATE_EXEC = 3       // the process image was replaced by exec
};

enum {
    HS_STOP_NONE = 0,
    HS_STOP_DISK_FULL = 1,
    HS_STOP_FILE_LIMIT = 2,
    HS_STOP_WRITE_ERROR = 3,
    HS_STOP_INTERNAL = 4,
    HS_STOP_FORBIDDEN = 5
};

// Reasons for events that are not in the trace: indices into hs_live.dropped.
enum hs_drop {
    HS_DROP_NESTED = 0,        // a signal handler allocated while this thread was inside the recorder
    HS_DROP_BUFFER = 1,        // no buffer became free in time
    HS_DROP_MEMORY = 2,        // the recorder could not get memory for itself
    HS_DROP_STOPPED = 3,       // recording had ended early (disk full, ...)
    HS_DROP_STACK_TABLE = 4,   // event kept, stack lost: the stack table is full
    HS_DROP_SMALL_STACK = 5,   // a thread whose stack has no room for the recorder
    HS_DROP_LINK = 6,          // of a stream: the link was slower than the program
    HS_DROP_BLOCK_TABLE = 7,   // sums: no room to track these blocks: they count as allocated and immediately freed
    HS_DROP_SAMPLES = 8,       // samples that the kernel had no room for in its ring, or that could not be read
    HS_DROP_UNLOADING = 9,     // sample kept, stack lost: code was being unloaded
    HS_DROP_META = 10,         // of a stream: chunks that explain events (META, FILE) for which no room was left
    HS_DROP_NO_REGISTERS = 11, // sample kept, stack lost: the thread was ending, or has no user mode
    HS_DROP_NO_ROOM = 12,  // event kept, stack lost: the thread's stack, or that of a handler, had no room for a walk
    HS_DROP_CHILDREN = 13, // not events: processes that this one forked, and that could not make a trace of their own
    HS_DROP_MODULES = 14,  // not events: code of files without a module, because there was no room for more modules
    HS_DROP_FILES = 15,    // not events: files of modules that were to be in the trace and are too large, or too many
    HS_DROP_COUNT = 16
};

// Written live into the mapped file header, in the target's byte order. Every word is written by one atomic store or
// add; a reader may look at any time.
struct hs_live {
    uint64_t state;       // HS_STATE_*
    uint64_t stop_reason; // HS_STOP_*
    uint64_t stop_errno;
    uint64_t footer_offset; // 0: none
    uint64_t end_time;      // time of the last transition of `state`
    uint64_t events;        // events sealed so far
    // The largest resident size in KiB, as getrusage says: when the trace was created, and until the last change of
    // end_time. 0: unknown.
    uint64_t resident_before, resident_most;
    uint64_t reserved[8];
    uint64_t dropped[HS_DROP_COUNT]; // by enum hs_drop
    uint64_t truncated[16];          // stacks cut, by enum hs_end of unwind/walk.h (index 0 unused)
    uint64_t guessed;                // stacks that hold a guessed frame
};

#define HS_LIVE_WORDS 64
_Static_assert(sizeof(struct hs_live) <= HS_LIVE_WORDS * 8, "the live part fits");

struct hs_file_header {
    uint8_t magic[HS_FILE_MAGIC_LENGTH];
    uint16_t version_major; // a reader refuses a larger major and reads any minor
    uint16_t version_minor;
    uint8_t byte_order;    // HS_BYTE_ORDER_*: of `live` and of slot records
    uint8_t pointer_size;  // 4 or 8
    uint8_t address_shift; // short records hold address >> address_shift
    uint8_t clock_source;  // HS_CLOCK_*
    uint8_t tick_shift;    // recorded time = (counter - counter at start) >> tick_shift
    uint8_t content;       // HS_CONTENT_*
    uint8_t reserved0[2];
    uint16_t machine; // ELF e_machine
    uint16_t reserved1;
    uint32_t pid;
    uint32_t parent_pid;
    uint32_t header_size; // HS_FILE_HEADER_SIZE: where the first chunk is
    uint64_t trace_id[2];
    uint64_t start_monotonic_ns; // CLOCK_MONOTONIC at recorded time 0
    uint64_t start_realtime_ns;  // CLOCK_REALTIME at recorded time 0
    uint64_t forked_at;          // 0, or the parent's recorded time at the fork that made this process
    uint8_t reserved2[172];
    uint32_t crc;        // CRC-32C of all bytes before it; the fields above are little-endian
    struct hs_live live; // at offset 256
};

_Static_assert(__builtin_offsetof(struct hs_file_header, live) == 256, "the live part starts at 256");
_Static_assert(sizeof(struct hs_file_header) <= HS_FILE_HEADER_SIZE, "the header fits its page");

// ---- chunks --------------------------------------------------------------------------------------------------------

#define HS_CHUNK_MAGIC       0x4b434853u // "SHCK" in file order
#define HS_CHUNK_HEADER_SIZE 56
#define HS_CHUNK_ALIGNMENT   8
#define HS_CHUNK_MAX_LENGTH  (64u << 20) // a reader treats anything longer as damage

enum {
    HS_CHUNK_PAD = 1,       // skip
    HS_CHUNK_SLOT = 2,      // live buffer; payload is struct hs_slot_header + records in the target's byte order
    HS_CHUNK_EVENTS = 3,    // the events of one stream, sorted by time, decodable alone (format/event_codec.h)
    HS_CHUNK_META = 4,      // meta records: stack nodes, modules, threads, clock points, ...
    HS_CHUNK_FOOTER = 5,    // index of the chunks, written at a clean close (hs_footer_entry_write in format/chunk.h)
    HS_CHUNK_FILE = 6,      // an embedded file: name, NUL, contents
    HS_CHUNK_LIVE_PART = 7, // of a stream: what the header's live part became, HS_LIVE_WORDS words in target order
    HS_CHUNK_SUMS = 8,      // sums per stack in place of events (format/aggregate.h)
    HS_CHUNK_DUMP = 9       // of the sampling shim's stream: a piece of a dump
};

enum {
    HS_CHUNK_LAST = 16, // DUMP: the dump is whole
    HS_CHUNK_LIVE = 2,  // payload changes while the process runs; payload_crc is 0 and not checked
    HS_CHUNK_PACKED = 8 // META: stored payload is hs_meta_pack() of plain_length bytes (format/meta_codec.h)
};

#define HS_AGGREGATE_VERSION 1

enum {
    HS_SUMS_WHOLE = 1 // the last chunk of its domain in this tick; what explains the sums is before it
};

// Followed by stored_length bytes and zeros up to HS_CHUNK_ALIGNMENT. Readers skip unknown kinds.
struct hs_chunk_header {
    uint32_t magic;
    uint16_t kind;
    uint16_t flags;
    uint32_t stored_length;
    uint32_t plain_length;
    uint32_t stream;     // EVENTS: the stream; DUMP: number of the dump, from 1; SUMS: HS_SUMS_*; else 0
    uint32_t count;      // EVENTS: events in it; SUMS: events that it sums up; DUMP: the letter of the dump's kind
    uint64_t sequence;   // EVENTS, META: number of the slot it was sealed from; DUMP: bytes of the dump before it
    uint64_t first_time; // recorded time of the first and the last record
    uint64_t last_time;
    uint32_t payload_crc; // CRC-32C of the stored bytes
    uint32_t header_crc;  // CRC-32C of the bytes before it
};
_Static_assert(sizeof(struct hs_chunk_header) == HS_CHUNK_HEADER_SIZE, "chunk header layout");

// ---- slots ---------------------------------------------------------------------------------------------------------

// A slot is a fixed piece of the file, mapped shared, into which one thread records. When it is full it is encoded,
// appended as an EVENTS or META chunk and emptied. After a kill, slots in use hold what was not sealed yet; a reader
// drops a slot whose sequence it has already seen in a sealed chunk.
#define HS_SLOT_SIZE 32768 // with the chunk header

enum { HS_SLOT_FREE = 0, HS_SLOT_EVENTS = 1, HS_SLOT_META = 2 };

struct hs_slot_header { // target's byte order
    uint32_t use;       // HS_SLOT_*; written last when a slot is taken, first when it is emptied
    uint32_t stream;
    uint64_t sequence;  // unique in the file, from 1
    uint64_t base_time; // recorded time that the first record's delta counts from
    uint64_t used;      // META, when handed to the writer: bytes of records
};

#define HS_SLOT_RECORDS_OFFSET (HS_CHUNK_HEADER_SIZE + 32)
#define HS_SLOT_RECORDS_SIZE   (HS_SLOT_SIZE - HS_SLOT_RECORDS_OFFSET)

// ---- event records in a slot ---------------------------------------------------------------------------------------
//
// 64-bit words. The first word of a record: bits 0-3 kind, 4-47 address >> address_shift, 48-63 time since the previous
// record (or since base_time). A zero word ends the slot. A record's first word is written last.
enum hs_record {
    HS_RECORD_END = 0,
    HS_RECORD_FREE = 1,            //
    HS_RECORD_MALLOC = 2,          // + size (low 32) | stack (high 32)
    HS_RECORD_CALLOC = 3,          // + the same
    HS_RECORD_ALIGNED = 4,         // + the same
    HS_RECORD_REALLOC = 5,         // + the same, + old address (low 48) | time since the call began (high 16)
    HS_RECORD_TIME = 6,            // bits 4-63: recorded time; the following record counts from it
    HS_RECORD_WIDE = 7,            // bits 4-11 enum hs_wide, 12-19 words that follow, 48-63 time delta
    HS_RECORD_FREE_STACK = 9,      // + stack
    HS_RECORD_MALLOC_USABLE = 10,  // as 2-5 with one more word: usable size. Without it the usable size is
    HS_RECORD_CALLOC_USABLE = 11,  // hs_usable_model(size, pointer_size)
    HS_RECORD_ALIGNED_USABLE = 12, //
    HS_RECORD_REALLOC_USABLE = 13  //
};

#define HS_RECORD_KIND_MASK    15u
#define HS_RECORD_ADDRESS_BITS 44
#define HS_RECORD_ADDRESS_POS  4
#define HS_RECORD_DELTA_POS    48
#define HS_RECORD_DELTA_LIMIT  0x10000u
#define HS_RECORD_USABLE       8u // added to the kinds 2-5

// Records that do not fit the short form, and rare ones. Words after the first are full 64-bit values.
enum hs_wide {
    HS_WIDE_ALLOC = 1,   // address, size, usable, stack | kind << 32 (enum hs_record 2-4)
    HS_WIDE_REALLOC = 2, // address, size, usable, stack, old address, time since the call began
    HS_WIDE_FREE = 3,    // address, stack
    HS_WIDE_MMAP = 4,    // address, length, protection | flags << 32, (uint32) fd | stack << 32, offset, asked address
    HS_WIDE_MUNMAP = 5,  // address, length, stack
    HS_WIDE_MREMAP = 6,  // old address, old length, new address, new length, flags | stack << 32
    HS_WIDE_BRK = 7,     // old break, new break, stack
    HS_WIDE_MALLOPT = 8, // (uint32) parameter | (uint32) value << 32, (uint32) result | stack << 32
    HS_WIDE_POOL_ALLOC = 9, // pool, address, size, stack
    HS_WIDE_POOL_FREE = 10, // pool, address, stack
    HS_WIDE_MARK = 11,      // value
    HS_WIDE_SAMPLE = 12     // (uint32) kind (HS_SAMPLE_*) | tid << 32, stack | duration << 32, weight, address, age
};

// What the kernel sampled. A sample is stamped when it is taken out of the kernel's ring; it happened `age` ns before.
enum {
    HS_SAMPLE_CPU = 1, // weight: nanoseconds of CPU time that it stands for
    HS_SAMPLE_FAULT =
        2, // weight: bytes that became resident, pages from that of `address` on, within `duration` ns up to then
    HS_SAMPLE_FAULT_STACK = 3, // weight: number of page faults that it stands for; all of them are FAULTs, too
    HS_SAMPLE_OFF_CPU = 4,     // the thread leaves the processor; weight: how many such times it stands for
    HS_SAMPLE_ON_CPU = 5,      // the thread is back; tid 0: records are missing, so any thread may be back
    HS_SAMPLE_CPU_CLOCK = 6,   // weight: nanoseconds of CPU time that the thread has used so far; two with the
                               // same address have no pause of the recording between them
    HS_SAMPLE_WITNESS = 7,     // the kernel's own stack; weight: the recorder's
    HS_SAMPLE_STACK_RANGE = 9, // weight: bytes from `address` on that are the stack of a thread
    HS_SAMPLE_RETURNED = 8     // the program gives pages back and keeps their mapping; weight: bytes from `address` on
};

// The usable size that an allocator gives for `size` when a record does not say: glibc's rule for small blocks.
static inline uint64_t hs_usable_model(uint64_t size, unsigned pointer_size)
{
    uint64_t unit = 2 * pointer_size;
    uint64_t chunk = (size + pointer_size + unit - 1) & ~(unit - 1);
    uint64_t least = 2 * unit;
    return (chunk < least ? least : chunk) - pointer_size;
}

// ---- meta records --------------------------------------------------------------------------------------------------
//
// A byte stream, the same in a META slot and in a META chunk: tag, then for tags below 0x80 a varint length and a body
// (unknown tags are skipped), for tags from 0x80 a body that the tag defines. A zero tag ends the slot. Varints are
// LEB128, `zigzag` maps signed to unsigned, strings are a varint length and bytes.
enum hs_meta {
    HS_META_END = 0,
    HS_META_NODE_BASE = 1, // varint id of the next NODE in this chunk; resets its `previous pc` to 0
    HS_META_MODULE = 2,    // varint time, varint start, end, bias (start - lowest vaddr), bytes build id, string path
    HS_META_UNLOAD = 3,    // varint time, varint start
    HS_META_THREAD = 4,    // varint stream, varint tid, varint time, string name
    HS_META_CLOCK = 5,     // varint time, varint monotonic ns, varint realtime ns
    HS_META_INFO = 6,      // string key, string value
    HS_META_CULLED = 7,    // varint stack, count, requested bytes, usable bytes, sum of lifetimes in recorded time
    HS_META_TOGGLE = 8,    // varint time, byte: 1 recording goes on, 0 it pauses
    HS_META_MARK = 9,      // varint time, varint stream, varint value, string text
    HS_META_SNAPSHOT = 10, // varint number, varint time, registers and a copy of the stack (docs/format.md, 5.2)
    HS_META_LAYOUT = 11,   // of the MODULE before, which has no build id: varint hash of its program headers, inode
    HS_META_CODE = 12,     // varint start, end, first line, byte kind of the lines, strings function, file, lines
    HS_META_NODE = 0x81    // varint id - parent, zigzag varint pc - previous pc. Ids count up from NODE_BASE
};

// Stack ids are node ids: a node is (parent, pc), 0 is the empty stack. Walking the parents from a stack id gives the
// frames, innermost first. pc is a return address. A node without parent whose pc is below HS_CUT_LIMIT is not a frame:
// it marks the stacks below it as cut; pc is the reason (enum hs_end of unwind/walk.h).
#define HS_CUT_LIMIT 16

// A stack of a sample with this bit is not a node: the rest is the number of a SNAPSHOT, which the host unwinds.
#define HS_STACK_SNAPSHOT 0x80000000u

// The pc of a node that is not a frame either: the frame above it was guessed as the parent, which is probable, not
// proven.
#define HS_NODE_GUESSED 8

#endif
