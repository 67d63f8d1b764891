// SPDX-License-Identifier: MIT OR Apache-2.0
//
// DHAT's JSON, file version 2, of Valgrind and of others that write it: "pps" has what each stack allocated, with the
// numbers of its frames in "ftbl", innermost first. It has two instants: the largest heap, and the end. Per stack
// there are also lifetimes and accesses; of these the sums are kept.
#include "host/dump/text.h"
#include "host/report/text.h"

#include <inttypes.h>
#include <stdlib.h>

#define DEEPEST 32 // containers; DHAT has four

enum { PART_PEAK = 1, PART_END };

struct read_dhat {
    struct hs_dump_scan *scan;
    struct hs_dump_builder *builder;
    const char *points, *frame_table; // where they begin; NULL: not there
    const char *mode, *unit, *command;
    uint64_t version, pid, end, peak; // in units of time
    bool has_lifetimes;
    uint64_t ns;        // of a unit of time
    uint32_t *location; // by number of a frame
    size_t location_count, location_room;
    struct hs_dump_counts at_peak;
    uint64_t blocks, lifetime, read, written; // sums
    char *text;                               // a string without its escapes
};

// What a point says. In the order of their names below.
struct dhat_point {
    uint64_t all_bytes, all_blocks, peak_bytes, peak_blocks, end_bytes, end_blocks, lifetime, read, written;
};

// ---- JSON ----------------------------------------------------------------------------------------------------------

static int wrong(struct read_dhat *reading, const char *what)
{
    struct hs_dump_scan *scan = reading->scan;
    if (scan->at >= scan->end)
        return hs_error__set(scan->error, EINVAL,
                             "%s: the file ends too early; a DHAT file can be read only as a whole", scan->name);
    return hs_dump_scan__wrong(scan, scan->at, "%s", what);
}

static char peek(struct hs_dump_scan *scan)
{
    while (scan->at < scan->end && strchr(" \t\r\n", *scan->at) && *scan->at)
        scan->at++;
    return scan->at < scan->end ? *scan->at : '\0';
}

static bool take(struct hs_dump_scan *scan, char c)
{
    const bool is_there = peek(scan) == c && scan->at < scan->end;
    scan->at += is_there;
    return is_there;
}

// The string as it stands in the file. False: it does not end.
static bool take_raw(struct hs_dump_scan *scan, struct hs_line *raw)
{
    if (!take(scan, '"'))
        return false;
    raw->at = scan->at;
    for (; scan->at < scan->end && *scan->at != '"'; scan->at++)
        scan->at += *scan->at == '\\' && scan->at + 1 < scan->end;
    raw->end = scan->at;
    return take(scan, '"');
}

static int skip_value(struct read_dhat *reading)
{
    struct hs_dump_scan *scan = reading->scan;
    struct hs_line raw;
    unsigned depth = 0;
    do {
        const char c = peek(scan);
        if (scan->at >= scan->end || (c == '"' && !take_raw(scan, &raw)))
            return wrong(reading, "this is not JSON");
        if (c == '"')
            continue;
        depth += c == '[' || c == '{';
        if (depth > DEEPEST || (!depth && (c == ',' || c == ':' || c == ']' || c == '}')))
            return wrong(reading, "this is not JSON of DHAT");
        depth -= c == ']' || c == '}';
        scan->at++;
        const bool is_word = !strchr("[]{},:", c);
        while (is_word && scan->at < scan->end && !strchr("[]{},: \t\r\n", *scan->at))
            scan->at++;
    } while (depth);
    return 0;
}

static size_t put_utf8(char *to, unsigned long code)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    code = code >= 0xd800 && code < 0xe000 ? 0xfffd : code;
    to[0] = (char)(0xe0 | code >> 12);
    to[1] = (char)(0x80 | (code >> 6 & 0x3f));
    to[2] = (char)(0x80 | (code & 0x3f));
    return 3;
}

// An escape behind its backslash. What makes no sense stays as it is.
static size_t unescape(char *to, struct hs_line *raw)
{
    static const char names[] = "nrtbf", meant[] = "\n\r\t\b\f";
    const char c = *raw->at++;
    const char *known = c ? strchr(names, c) : NULL;
    struct hs_line digits = {raw->at, raw->at + 4 < raw->end ? raw->at + 4 : raw->end};
    uint64_t code;
    if (c == 'u' && hs_line__hex(&digits, &code) && digits.at == raw->at + 4) {
        raw->at += 4;
        return put_utf8(to, (unsigned long)code);
    }
    *to = known ? meant[known - names] : c;
    return 1;
}

// `text` is valid until the next one.
static int take_string(struct read_dhat *reading, struct hs_line *text)
{
    struct hs_line raw;
    if (!take_raw(reading->scan, &raw))
        return wrong(reading, "a string should be here");
    *text = raw;
    if (!memchr(raw.at, '\\', (size_t)(raw.end - raw.at)))
        return 0;
    free(reading->text);
    reading->text = malloc((size_t)(raw.end - raw.at));
    if (!reading->text)
        return hs_dump_scan__out_of_memory(reading->scan);
    size_t length = 0;
    while (raw.at < raw.end) {
        if (*raw.at != '\\' || raw.at + 1 == raw.end) {
            reading->text[length++] = *raw.at++;
            continue;
        }
        raw.at++;
        length += unescape(reading->text + length, &raw);
    }
    *text = (struct hs_line){reading->text, reading->text + length};
    return 0;
}

static int take_number(struct read_dhat *reading, uint64_t *number)
{
    struct hs_dump_scan *scan = reading->scan;
    peek(scan);
    struct hs_line line = {scan->at, scan->end};
    const bool is_whole = hs_line__number(&line, number) && (line.at == line.end || !strchr(".eE", *line.at));
    if (is_whole)
        scan->at = line.at;
    return is_whole ? 0 : wrong(reading, "a whole number of 64 bits should be here");
}

static int take_kept(struct read_dhat *reading, const char **text)
{
    struct hs_line line;
    const int failed = take_string(reading, &line);
    if (failed)
        return failed;
    *text = hs_dump_builder__string(reading->builder, line.at, (size_t)(line.end - line.at));
    return *text ? 0 : hs_dump_scan__out_of_memory(reading->scan);
}

// Calls `member` for each member of an object with the place at its value.
static int read_object(struct read_dhat *reading, int (*member)(struct read_dhat *, const char *key, void *context),
                       void *context)
{
    struct hs_dump_scan *scan = reading->scan;
    int result = take(scan, '{') ? 0 : wrong(reading, "an object should be here");
    if (!result && take(scan, '}'))
        return 0;
    while (!result) {
        struct hs_line raw;
        char key[32];
        if (!take_raw(scan, &raw) || !take(scan, ':'))
            return wrong(reading, "the name of a member should be here");
        snprintf(key, sizeof(key), "%.*s", (int)(raw.end - raw.at < 31 ? raw.end - raw.at : 31), raw.at);
        result = member(reading, key, context);
        if (!result && take(scan, '}'))
            return 0;
        if (!result && !take(scan, ','))
            result = wrong(reading, "a comma or the end of an object should be here");
    }
    return result;
}

static int read_array(struct read_dhat *reading, int (*element)(struct read_dhat *))
{
    struct hs_dump_scan *scan = reading->scan;
    int result = take(scan, '[') ? 0 : wrong(reading, "an array should be here");
    if (!result && take(scan, ']'))
        return 0;
    while (!result) {
        result = element(reading);
        if (!result && take(scan, ']'))
            return 0;
        if (!result && !take(scan, ','))
            result = wrong(reading, "a comma or the end of an array should be here");
    }
    return result;
}

// ---- frames and points ---------------------------------------------------------------------------------------------

static int read_frame(struct read_dhat *reading)
{
    struct hs_line text;
    int result = take_string(reading, &text);
    if (result)
        return result;
    if (reading->location_count == reading->location_room) {
        const size_t room = reading->location_room ? 2 * reading->location_room : 256;
        uint32_t *bigger = reallocarray(reading->location, room, sizeof(*bigger));
        if (!bigger)
            return hs_dump_scan__out_of_memory(reading->scan);
        reading->location = bigger;
        reading->location_room = room;
    }
    const uint32_t location = hs_dump_builder__valgrind_frame(reading->builder, text.at, (size_t)(text.end - text.at));
    reading->location[reading->location_count++] = location;
    return location == HS_DUMP_NONE ? hs_dump_scan__out_of_memory(reading->scan) : 0;
}

static int read_frame_number(struct read_dhat *reading)
{
    uint64_t number;
    const int failed = take_number(reading, &number);
    if (failed)
        return failed;
    if (number >= reading->location_count)
        return wrong(reading, "the table of frames has no frame of this number");
    if (hs_dump_builder__add_frame(reading->builder, reading->location[number]))
        return hs_dump_scan__out_of_memory(reading->scan);
    return 0;
}

static int read_point_member(struct read_dhat *reading, const char *key, void *context)
{
    static const char *const keys[] = {"tb", "tbk", "gb", "gbk", "eb", "ebk", "tl", "rb", "wb"};
    uint64_t *numbers = context;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (!strcmp(key, keys[i]))
            return take_number(reading, &numbers[i]);
    return strcmp(key, "fs") != 0 ? skip_value(reading) : read_array(reading, read_frame_number);
}

static void add(uint64_t *sum, uint64_t number)
{
    if (__builtin_add_overflow(*sum, number, sum))
        *sum = UINT64_MAX;
}

static int read_point(struct read_dhat *reading)
{
    struct dhat_point point = {0};
    const int failed = read_object(reading, read_point_member, &point);
    if (failed)
        return failed;
    add(&reading->at_peak.live_bytes, point.peak_bytes);
    add(&reading->at_peak.live_blocks, point.peak_blocks);
    add(&reading->blocks, point.all_blocks);
    add(&reading->lifetime, point.lifetime);
    add(&reading->read, point.read);
    add(&reading->written, point.written);
    const struct hs_dump_counts at_end = {point.end_blocks, point.end_bytes, point.all_blocks, point.all_bytes};
    const struct hs_dump_counts at_peak = {point.peak_blocks, point.peak_bytes, 0, 0};
    const bool is_peak = reading->builder->dump->part == PART_PEAK;
    if (is_peak && !point.peak_bytes && !point.peak_blocks) {
        hs_dump_builder__drop_frames(reading->builder);
        return 0;
    }
    if (hs_dump_builder__end_context(reading->builder, is_peak ? &at_peak : &at_end))
        return hs_dump_scan__out_of_memory(reading->scan);
    return 0;
}

// ---- the whole -----------------------------------------------------------------------------------------------------

static int read_member(struct read_dhat *reading, const char *key, void *context)
{
    const struct {
        const char *key;
        uint64_t *number;
        const char **text;
    } members[] = {{"dhatFileVersion", &reading->version, NULL},
                   {"pid", &reading->pid, NULL},
                   {"te", &reading->end, NULL},
                   {"tg", &reading->peak, NULL},
                   {"mode", NULL, &reading->mode},
                   {"tu", NULL, &reading->unit},
                   {"cmd", NULL, &reading->command}};
    (void)context;
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        if (!strcmp(key, members[i].key))
            return members[i].text ? take_kept(reading, members[i].text) : take_number(reading, members[i].number);
    struct hs_dump_scan *scan = reading->scan;
    peek(scan);
    if (!strcmp(key, "pps"))
        reading->points = scan->at;
    if (!strcmp(key, "ftbl"))
        reading->frame_table = scan->at;
    if (!strcmp(key, "bklt"))
        reading->has_lifetimes = scan->at < scan->end && *scan->at == 't';
    // What another version has need not be read.
    if (reading->version != 2)
        return hs_error__set(scan->error, EINVAL,
                             "%s: a DHAT file of version %" PRIu64 "; heapsonde reads version 2, which Valgrind 3.17 "
                             "and later write",
                             scan->name, reading->version);
    return skip_value(reading);
}

static int check(struct read_dhat *reading)
{
    struct hs_dump_scan *scan = reading->scan;
    if (!reading->points || !reading->frame_table)
        return hs_error__set(scan->error, EINVAL, "%s: a DHAT file without \"%s\"", scan->name,
                             reading->points ? "ftbl" : "pps");
    if (!reading->has_lifetimes)
        return hs_error__set(scan->error, EINVAL,
                             "%s: a DHAT file of mode '%s', which does not show the heap; record with --mode=heap",
                             scan->name, reading->mode ? reading->mode : "");
    return 0;
}

static int add_fact(struct hs_dump_builder *builder, const char *key, const char *text)
{
    return hs_dump_builder__add_fact(builder, key, strlen(key), text, strlen(text));
}

static int add_facts(struct read_dhat *reading)
{
    struct hs_dump_builder *builder = reading->builder;
    const uint64_t average = reading->blocks ? reading->lifetime / reading->blocks : 0;
    char peak[192], lifetime[80], pid[24];
    snprintf(peak, sizeof(peak), "%s in %s at %s %.16s", hs_text__counted(reading->at_peak.live_bytes, "byte").text,
             hs_text__blocks(reading->at_peak.live_blocks).text, hs_text__count(reading->peak).text, reading->unit);
    snprintf(lifetime, sizeof(lifetime), "%s %.16s", hs_text__count(average).text, reading->unit);
    snprintf(pid, sizeof(pid), "%" PRIu64, reading->pid);
    if (add_fact(builder, "largest", peak) || add_fact(builder, "lifetime", lifetime) ||
        add_fact(builder, "read", hs_text__counted(reading->read, "byte").text) ||
        add_fact(builder, "written", hs_text__counted(reading->written, "byte").text) ||
        (reading->pid && add_fact(builder, "pid", pid)))
        return hs_dump_scan__out_of_memory(reading->scan);
    return 0;
}

// Before the points are read.
static int take_head(struct read_dhat *reading)
{
    struct hs_dump *dump = reading->builder->dump;
    const char *unit = reading->unit = reading->unit ? reading->unit : "";
    const char *command = reading->command ? reading->command : "";
    int failed = hs_dump_builder__valgrind_time(reading->builder, unit, &reading->ns);
    if (failed == -EINVAL)
        return hs_error__set(reading->scan->error, EINVAL,
                             "%s: times are in '%.20s', a unit that heapsonde does not know", reading->scan->name,
                             unit);
    dump->part = dump->part == PART_PEAK ? PART_PEAK : PART_END;
    dump->next_part = dump->part == PART_PEAK ? PART_END : 0;
    const uint64_t at = dump->part == PART_END || reading->peak > reading->end ? reading->end : reading->peak;
    if (__builtin_mul_overflow(at, reading->ns, &dump->elapsed_ns))
        dump->elapsed_ns = UINT64_MAX;
    if (!failed && *command)
        failed = hs_dump_builder__valgrind_run(reading->builder, command, strlen(command));
    return failed ? hs_dump_scan__out_of_memory(reading->scan) : 0;
}

static int read_all(struct read_dhat *reading)
{
    int result = read_object(reading, read_member, NULL);
    if (!result)
        result = check(reading);
    if (!result)
        result = take_head(reading);
    if (result)
        return result;
    reading->scan->at = reading->frame_table;
    result = read_array(reading, read_frame);
    reading->scan->at = reading->points;
    if (!result)
        result = read_array(reading, read_point);
    return result ? result : add_facts(reading);
}

int hs_dump_read__dhat(struct hs_dump_scan *scan)
{
    struct read_dhat reading = {.scan = scan, .builder = scan->builder};
    scan->builder->dump->format = HS_DUMP_DHAT;
    scan->builder->dump->has_blocks = true;
    scan->at = scan->begin;
    const int result = read_all(&reading);
    free(reading.location);
    free(reading.text);
    return result;
}

bool hs_dump_recognise__dhat(const char *text, size_t length)
{
    static const char key[] = "\"dhatFileVersion\"";
    struct hs_dump_scan scan = {.at = text, .end = text + length};
    if (!take(&scan, '{'))
        return false;
    peek(&scan);
    return (size_t)(scan.end - scan.at) >= sizeof(key) - 1 && !memcmp(scan.at, key, sizeof(key) - 1);
}
