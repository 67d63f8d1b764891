// SPDX-License-Identifier: MIT OR Apache-2.0
//
// heaptrack's interpreted files, versions 1 to 3. They say which kind of block was freed but not which block: of equal
// ones the youngest is taken. Addresses are made up; times are whole milliseconds, so events get a nanosecond each.
#include "host/base/array.h"
#include "host/base/hash_index.h"
#include "host/base/memory.h"
#include "host/base/path.h"
#include "host/convert/convert.h"
#include "host/symbols/strings.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define STREAM       1
#define BASE_ADDRESS 0x10000000u
#define LEAST_PC     0x1000u // smaller ones mean something else in a trace
#define NUMBERS_MAX  3072    // on one line: frames of one address
#define LONGEST_LINE ((size_t)1 << 20)
#define TABLES_LEAST ((uint64_t)64 << 20)  // bytes of the tables, whatever the size of the file
#define NODE_BYTES   64                    // of a stack's node, in what is made of the tables
#define NAME_BYTES   16                    // of one of its names, on disk and in what is made of them
#define TABLES_TIMES 256                   // what they may take for each byte of it: lines of one kind pack well
#define LINES_LEAST  ((uint64_t)256 << 20) // bytes of lines, and what each byte of the file may unpack to
#define LINES_TIMES  1000
#define COUNTED_MOST 8  // times the lines that are read, to say what would be enough for them
#define LINE_TABLES  64 // bytes of the tables that a line takes at most, and how many more for each of its own bytes
#define LINE_TIMES   6
#define TABLES_GROW  3 // times what tables hold: an array is moved to twice its room

struct pointer {
    uint64_t pc;
    uint32_t first, count; // frames
    uint32_t module;       // string
};

struct heaptrack_frame {
    uint32_t function, file, line;
};

struct convert_heaptrack_kind {
    uint64_t size;
    uint32_t trace;
    uint32_t youngest; // block + 1, 0: none is live
};

// What the whole file takes, which is counted from the line on where it is refused.
struct heaptrack_refusal {
    const char *what; // NULL: it is not refused
    uint64_t line, tables, live, most_live;
};

struct heaptrack_reading {
    const char *path;
    struct hs_trace_file file;
    struct hs_strings *strings;
    const char **string;
    struct pointer *pointer;
    struct heaptrack_frame *frame;
    struct convert_heaptrack_kind *kind;
    uint32_t *older; // by block: the next older one of its kind + 1; of a spare block: the next spare one + 1
    size_t strings_count, strings_room, pointers, pointers_room, frames, frames_room, kinds, kinds_room;
    size_t blocks, blocks_room;
    uint32_t spare; // block + 1
    uint64_t live;
    uint32_t traces;
    uint64_t names; // of all traces: each has all those of its pointer
    unsigned version;
    uint64_t line, time, last_time; // time: of the file, in ns
    uint64_t tables_max;            // bytes
    uint64_t blocks_max, lines_max; // live blocks; bytes of lines
    uint64_t lines_bytes;
    struct heaptrack_refusal refusal;
    struct hs_error *error;
};

static int wrong(struct heaptrack_reading *reading, const char *what)
{
    return hs_error__set(reading->error, EBADMSG, "%s: line %" PRIu64 " of the heaptrack file: %s", reading->path,
                         reading->line, what);
}

static int no_memory(const struct heaptrack_reading *reading)
{
    return hs_error__set(reading->error, ENOMEM, "%s: out of memory", reading->path);
}

// ---- files that are refused -----------------------------------------------------------------------------------------

static uint64_t tables_size(const struct heaptrack_reading *reading)
{
    return reading->strings_room * sizeof(*reading->string) + reading->pointers_room * sizeof(*reading->pointer) +
           reading->frames_room * sizeof(*reading->frame) + reading->kinds_room * sizeof(*reading->kind) +
           (uint64_t)reading->traces * NODE_BYTES + reading->names * NAME_BYTES + hs_strings__size(reading->strings);
}

// Some bytes of a compressed file can be gigabytes of lines, all well formed.
static int refuse(struct heaptrack_reading *reading, const char *what)
{
    reading->refusal = (struct heaptrack_refusal){.what = what,
                                                  .line = reading->line,
                                                  .tables = tables_size(reading),
                                                  .live = reading->live,
                                                  .most_live = reading->live};
    return -EFBIG;
}

// Those of the trace on a line 't'.
static uint64_t names_on(const struct heaptrack_reading *reading, const char *line)
{
    uint64_t number = strtoull(line + 1, NULL, 16);
    return number && number <= reading->pointers ? reading->pointer[number - 1].count : 0;
}

static void count_line(struct heaptrack_reading *reading, const char *line, size_t length)
{
    struct heaptrack_refusal *refusal = &reading->refusal;
    if (strchr("sita", *line))
        refusal->tables += LINE_TABLES + LINE_TIMES * length;
    if (*line == 't')
        refusal->tables += names_on(reading, line) * NAME_BYTES;
    if (*line == '+')
        refusal->live++;
    else if (*line == '-' && refusal->live)
        refusal->live--;
    refusal->most_live = refusal->live > refusal->most_live ? refusal->live : refusal->most_live;
}

static bool is_beyond_counting(const struct heaptrack_reading *reading)
{
    return reading->lines_bytes / COUNTED_MOST > reading->lines_max;
}

// Lines take no memory, but as much has to be allowed.
static int say_refusal(const struct heaptrack_reading *reading)
{
    const struct heaptrack_refusal *refusal = &reading->refusal;
    uint64_t bytes = refusal->most_live * HS_MEMORY_BLOCK + refusal->tables * TABLES_GROW;
    bytes = bytes > reading->lines_bytes ? bytes : reading->lines_bytes;
    return hs_error__set(reading->error, EFBIG,
                         "%s: line %" PRIu64 " of the heaptrack file: %s than files of its size do; %s", reading->path,
                         refusal->line, refusal->what, hs_memory__advice(is_beyond_counting(reading) ? 0 : bytes).text);
}

// ---- the parts of a line -------------------------------------------------------------------------------------------

// Reads up to `most` hexadecimal numbers; returns how many there are, -1 where something else is.
static int numbers(const char *text, uint64_t *number, int most)
{
    int count = 0;
    while (count < most) {
        char *end;
        text += strspn(text, " ");
        if (!*text || *text == '\n')
            return count;
        errno = 0;
        number[count++] = strtoull(text, &end, 16);
        if (end == text || errno || (*end && *end != ' ' && *end != '\n'))
            return -1;
        text = end;
    }
    return count;
}

static const char *text_of(const struct heaptrack_reading *reading, uint32_t index)
{
    return index ? reading->string[index - 1] : "";
}

static int add_string(struct heaptrack_reading *reading, const char *text, size_t length)
{
    if (reading->version >= 3) {
        char *rest;
        unsigned long long given = strtoull(text, &rest, 16);
        size_t left = rest > text && *rest == ' ' ? length - (size_t)(rest + 1 - text) : 0;
        if (rest == text || given > left)
            return wrong(reading, "the length of a string is wrong");
        text = rest + 1;
        length = given;
    }
    if (!HS_ARRAY_HAS_ROOM(reading->string, reading->strings_count, reading->strings_room))
        return no_memory(reading);
    const char *kept = hs_strings__add_bytes(reading->strings, text, length);
    if (!kept)
        return no_memory(reading);
    reading->string[reading->strings_count++] = kept;
    return 0;
}

static int add_pointer(struct heaptrack_reading *reading, const char *text)
{
    static _Thread_local uint64_t number[NUMBERS_MAX];
    int count = numbers(text, number, NUMBERS_MAX);
    if (count < 2)
        return wrong(reading, "an instruction pointer has an address and a module");
    if (!HS_ARRAY_HAS_ROOM(reading->pointer, reading->pointers, reading->pointers_room))
        return no_memory(reading);
    struct pointer pointer = {.pc = number[0], .module = (uint32_t)number[1], .first = (uint32_t)reading->frames};
    if (number[1] > reading->strings_count)
        return wrong(reading, "a module refers to a string that is not there yet");
    for (int i = 2; i < count; i += 3, pointer.count++) {
        bool has_line = i + 2 < count;
        struct heaptrack_frame frame = {(uint32_t)number[i], has_line ? (uint32_t)number[i + 1] : 0,
                                        has_line ? (uint32_t)number[i + 2] : 0};
        if (number[i] > reading->strings_count || frame.file > reading->strings_count)
            return wrong(reading, "a name refers to a string that is not there yet");
        if (!HS_ARRAY_HAS_ROOM(reading->frame, reading->frames, reading->frames_room))
            return no_memory(reading);
        reading->frame[reading->frames++] = frame;
    }
    reading->pointer[reading->pointers++] = pointer;
    return 0;
}

static void write_names(struct heaptrack_reading *reading, uint32_t node, const struct pointer *pointer)
{
    const char *module = text_of(reading, pointer->module);
    char address[32];
    snprintf(address, sizeof(address), "0x%" PRIx64, pointer->pc);
    if (!pointer->count)
        hs_trace_file__name(&reading->file, node, address, "", 0, module);
    for (uint32_t i = 0; i < pointer->count; i++) {
        const struct heaptrack_frame *frame = &reading->frame[pointer->first + i];
        const char *function = text_of(reading, frame->function);
        hs_trace_file__name(&reading->file, node, *function ? function : address, text_of(reading, frame->file),
                            frame->line, module);
    }
}

static int add_trace(struct heaptrack_reading *reading, const char *text)
{
    uint64_t number[2];
    if (numbers(text, number, 2) != 2)
        return wrong(reading, "a trace has an instruction pointer and a parent");
    if (!number[0] || number[0] > reading->pointers || number[1] > reading->traces)
        return wrong(reading, "a trace refers to something that does not exist");
    const struct pointer *pointer = &reading->pointer[number[0] - 1];
    uint32_t node = ++reading->traces;
    uint64_t pc = pointer->pc >= LEAST_PC ? pointer->pc : LEAST_PC + number[0];
    hs_trace_file__node(&reading->file, node, (uint32_t)number[1], pc);
    write_names(reading, node, pointer);
    reading->names += pointer->count;
    return 0;
}

static int add_kind(struct heaptrack_reading *reading, const char *text)
{
    uint64_t number[2];
    if (numbers(text, number, 2) != 2 || number[1] > reading->traces)
        return wrong(reading, "an allocation has a size and a trace before it");
    if (!HS_ARRAY_HAS_ROOM(reading->kind, reading->kinds, reading->kinds_room))
        return no_memory(reading);
    reading->kind[reading->kinds++] = (struct convert_heaptrack_kind){.size = number[0], .trace = (uint32_t)number[1]};
    return 0;
}

// ---- events --------------------------------------------------------------------------------------------------------

static uint64_t next_time(struct heaptrack_reading *reading)
{
    uint64_t next = reading->last_time + 1;
    reading->last_time = reading->time > next ? reading->time : next;
    return reading->last_time;
}

static int take_block(struct heaptrack_reading *reading, uint32_t *block)
{
    if (reading->spare) {
        *block = reading->spare - 1;
        reading->spare = reading->older[*block];
        return 0;
    }
    if (reading->blocks == UINT32_MAX - 1)
        return wrong(reading, "too many blocks are live");
    if (reading->blocks >= reading->blocks_max)
        return refuse(reading, "it has far more live blocks");
    if (!HS_ARRAY_HAS_ROOM(reading->older, reading->blocks, reading->blocks_room))
        return no_memory(reading);
    *block = (uint32_t)reading->blocks++;
    return 0;
}

static int add_event(struct heaptrack_reading *reading, const char *text, bool is_free)
{
    uint64_t index;
    uint32_t block = 0;
    if (numbers(text, &index, 1) != 1 || index >= reading->kinds)
        return wrong(reading, "an event refers to an allocation that is not there yet");
    struct convert_heaptrack_kind *kind = &reading->kind[index];
    struct hs_event event = {.kind = is_free ? HS_EVENT_FREE : HS_EVENT_MALLOC, .time = next_time(reading)};
    if (is_free) {
        if (!kind->youngest)
            return 0; // allocated before heaptrack was attached
        block = kind->youngest - 1;
        kind->youngest = reading->older[block];
        reading->older[block] = reading->spare;
        reading->spare = block + 1;
        reading->live--;
    } else {
        int result = take_block(reading, &block);
        if (result)
            return result;
        reading->older[block] = kind->youngest;
        kind->youngest = block + 1;
        reading->live++;
        event.size = event.usable = kind->size;
        event.stack = kind->trace;
    }
    event.address = BASE_ADDRESS + (uint64_t)block * 16;
    hs_trace_file__event(&reading->file, STREAM, &event);
    return reading->file.failed ? wrong(reading, hs_trace_file__problem(reading->file.failed)) : 0;
}

static int set_time(struct heaptrack_reading *reading, const char *text)
{
    uint64_t ms;
    if (numbers(text, &ms, 1) != 1 || ms > UINT64_MAX / 4000000)
        return wrong(reading, "a time is not a number");
    reading->time = ms * 1000000;
    return 0;
}

// ---- the file ------------------------------------------------------------------------------------------------------

static int set_version(struct heaptrack_reading *reading, const char *text)
{
    uint64_t number[2];
    if (numbers(text, number, 2) != 2 || number[1] < 1 || number[1] > 3)
        return wrong(reading, "its version is none of 1 to 3");
    reading->version = (unsigned)number[1];
    return 0;
}

static int set_command(struct heaptrack_reading *reading, char *text)
{
    text[strcspn(text, "\n")] = '\0';
    hs_trace_file__info(&reading->file, "command", text);
    text[strcspn(text, " ")] = '\0';
    hs_trace_file__info(&reading->file, "executable", text);
    hs_trace_file__thread(&reading->file, STREAM, 1, 0, hs_path__name(text));
    return 0;
}

static int read_line(struct heaptrack_reading *reading, char *line, size_t length)
{
    char *rest = line + (length > 1 ? 2 : length);
    if (line[length - 1] == '\n')
        length--;
    switch (*line) {
    case 'v':
        return set_version(reading, rest);
    case 'X':
        return set_command(reading, rest);
    case 's':
        return length < 2 ? wrong(reading, "a string is missing") : add_string(reading, rest, length - 2);
    case 'i':
        return add_pointer(reading, rest);
    case 't':
        return add_trace(reading, rest);
    case 'a':
        return add_kind(reading, rest);
    case '+':
    case '-':
        return add_event(reading, rest, *line == '-');
    case 'c':
        return set_time(reading, rest);
    case 'm':
        return wrong(reading, "it was written with --raw; heaptrack --interpret makes it readable");
    default:
        return 0; // comments, resident sizes, suppressions
    }
}

static int check_size(struct heaptrack_reading *reading)
{
    if (tables_size(reading) > reading->tables_max)
        return refuse(reading, "it names far more");
    return reading->lines_bytes > reading->lines_max ? refuse(reading, "it unpacks to far more") : 0;
}

// Like getline(), with an end at LONGEST_LINE: returns 0 at the end of the file.
static size_t next_line(FILE *in, char *line)
{
    size_t length = 0;
    int c = 0;
    while (length < LONGEST_LINE && c != '\n' && (c = getc_unlocked(in)) != EOF)
        line[length++] = (char)c;
    line[length] = '\0';
    return length;
}

static int read_or_count(struct heaptrack_reading *reading, char *line, size_t length)
{
    if (reading->refusal.what) {
        count_line(reading, line, length);
        return is_beyond_counting(reading) ? -EFBIG : 0;
    }
    int result = read_line(reading, line, length);
    if (!result && reading->line % 1024 == 0)
        result = check_size(reading);
    return reading->refusal.what ? 0 : result;
}

static int read_lines(struct heaptrack_reading *reading, FILE *in)
{
    char *line = malloc(LONGEST_LINE + 1);
    bool cut = false;
    int result = line ? 0 : no_memory(reading);
    size_t length;
    while (!result && (length = next_line(in, line)) > 0) {
        reading->line++;
        reading->lines_bytes += length;
        // A line without an end is one that was not written whole.
        cut = line[length - 1] != '\n' || memchr(line, 0, length);
        if (cut && length == LONGEST_LINE)
            result = wrong(reading, "longer than 1 MiB");
        if (cut)
            break;
        result = read_or_count(reading, line, length);
    }
    free(line);
    if (reading->refusal.what)
        return say_refusal(reading);
    if (cut || ferror(in))
        hs_trace_file__incomplete(&reading->file, "the heaptrack file ends, or is damaged, after line %" PRIu64,
                                  reading->line - cut);
    return result;
}

static void free_reading(struct heaptrack_reading *reading)
{
    hs_trace_file__free(&reading->file);
    hs_strings__destroy(reading->strings);
    free((void *)(uintptr_t)reading->string);
    free(reading->pointer);
    free(reading->frame);
    free(reading->kind);
    free(reading->older);
}

// The file names none, and has to have the same one whenever it is read.
static void make_id(const char *path, uint64_t id[2])
{
    uint64_t words[1024];
    size_t got = 0;
    FILE *file = fopen(path, "rbe");
    id[0] = id[1] = 0;
    while (file && memset(words, 0, sizeof(words)) && (got = fread(words, 1, sizeof(words), file)))
        for (size_t i = 0; i < (got + 7) / 8; i++) {
            id[0] = hs_hash__pair(id[0], words[i]);
            id[1] = id[1] * 0x9e3779b97f4a7c15u + (words[i] ^ got);
        }
    if (file)
        fclose(file);
    id[1] |= 1; // never 0
}

int hs_convert__heaptrack(const char *path, FILE *in, FILE *out, struct hs_error *error)
{
    struct stat status = {0};
    struct heaptrack_reading reading = {.path = path, .version = 1, .error = error, .strings = hs_strings__create()};
    stat(path, &status);
    reading.tables_max = TABLES_LEAST + hs_memory__unpacked((uint64_t)status.st_size, TABLES_TIMES);
    reading.lines_max = LINES_LEAST + hs_memory__unpacked((uint64_t)status.st_size, LINES_TIMES);
    reading.blocks_max = hs_memory__live_blocks((uint64_t)status.st_size);
    struct hs_file_header header = {.byte_order = HS_BYTE_ORDER_LITTLE,
                                    .pointer_size = 8,
                                    .clock_source = HS_CLOCK_MONOTONIC,
                                    .machine = EM_X86_64};
    make_id(path, header.trace_id);
    int result = reading.strings ? hs_trace_file__start(&reading.file, out, &header) : -ENOMEM;
    if (result) {
        free_reading(&reading);
        return hs_error__set(error, -result, "%s: %s", path, strerror(-result));
    }
    hs_trace_file__info(&reading.file, "converted_from", "heaptrack");
    result = read_lines(&reading, in);
    if (!result) {
        result = hs_trace_file__finish(&reading.file, reading.time);
        if (result)
            hs_error__set(error, -result, "%s: the trace that is made of it cannot be written: %s", path,
                          strerror(-result));
    }
    free_reading(&reading);
    return result;
}
