// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/dump_facts.h"

#include "arch/system.h"
#include "format/attach.h"
#include "runtime/clock.h"
#include "runtime/mapped.h"
#include "runtime/memory.h"
#include "runtime/prof/dump_time.h"
#include "runtime/prof/streaming.h"
#include "runtime/text.h"

#include <fcntl.h>

char hs_dump_facts__attached[HS_ATTACH_INFO] __attribute__((used));
char hs_dump_facts__allocators[HS_ATTACH_NAMES] __attribute__((used));
_Atomic uintptr_t hs_dump_facts__older;

enum { MAP_FIRST = 256 << 10, LINE_LEAST = 32 };

// ---- the memory map -------------------------------------------------------------------------------------------------

static bool enlarge(struct hs_dump_facts *facts)
{
    uint64_t memory = facts->map_memory ? 2 * facts->map_memory : MAP_FIRST;
    char *larger = hs_memory__map((size_t)memory);
    if (!larger)
        return false;
    if (facts->map) {
        __builtin_memcpy(larger, facts->map, (size_t)facts->map_length);
        hs_memory__unmap(facts->map, (size_t)facts->map_memory);
    }
    facts->map = larger;
    facts->map_memory = memory;
    return true;
}

static void free_map(struct hs_dump_facts *facts)
{
    if (facts->map)
        hs_memory__unmap(facts->map, (size_t)facts->map_memory);
    facts->map = NULL;
    facts->map_length = facts->map_memory = 0;
}

// The file of the process, not of a task: only this one shows the guest's view under QEMU.
static void read_map(struct hs_dump_facts *facts)
{
    long fd = HS_SYSTEM_OPEN_OWN("maps"), got = 1;
    while (fd >= 0 && got > 0) {
        if (facts->map_memory - facts->map_length < 8192 && !enlarge(facts))
            break;
        uint64_t room = facts->map_memory - facts->map_length - 1;
        got = hs_system_read((int)fd, facts->map + facts->map_length, (size_t)room);
        facts->map_length += got > 0 ? (uint64_t)got : 0;
    }
    if (fd >= 0)
        hs_system_close((int)fd);
    if (!facts->map_length)
        free_map(facts);
    else
        facts->map[facts->map_length] = 0;
}

bool hs_dump_facts__next_mapping(const struct hs_dump_facts *facts, uint64_t *at, struct hs_maps_line *mapping)
{
    if (*at >= facts->map_length)
        return false;
    const char *end = hs_maps_line__parse(mapping, facts->map + *at);
    *at = (uint64_t)(end - facts->map) + (*end == '\n');
    return true;
}

void hs_dump_facts__write_map(struct hs_dump_output *output)
{
    if (!output->facts->map)
        return;
    hs_dump_output__text(output, "\nMAPPED_LIBRARIES:\n");
    hs_dump_output__bytes(output, output->facts->map, output->facts->map_length);
}

// ---- modules --------------------------------------------------------------------------------------------------------

static bool same_path(const struct hs_dump_module *module, const struct hs_maps_line *mapping)
{
    return mapping->path_length == module->path_length &&
           __builtin_memcmp(mapping->path, module->path, module->path_length) == 0;
}

static void begin_module(struct hs_dump_facts *facts, struct hs_dump_module *module, const struct hs_maps_line *mapping)
{
    bool has_code = false;
    *module = (struct hs_dump_module){.path = mapping->path, .path_length = mapping->path_length};
    hs_maps_line__copy_path(mapping->path, mapping->path_length, facts->line, sizeof facts->line);
    uint64_t reach = hs_image__reach(mapping, facts->line, &has_code);
    hs_mapped__begin(&module->mapped, mapping, reach);
    module->mapped.executable |= has_code;
}

// The path is still in facts->line. A group without code is none.
static void end_module(struct hs_dump_facts *facts)
{
    struct hs_dump_module *module = &facts->modules[facts->module_count];
    if (!module->mapped.executable)
        return;
    hs_image__read(&module->image, &module->mapped, facts->line);
    facts->module_count++;
}

// Modules are the groups of mappings with code; the vdso is one, too. There is room for one more than there can be.
static void find_modules(struct hs_dump_facts *facts)
{
    struct hs_maps_line mapping;
    uint32_t limit = (uint32_t)(facts->map_length / LINE_LEAST) + 1;
    facts->module_memory = limit * sizeof *facts->modules;
    facts->modules = hs_memory__map((size_t)facts->module_memory);
    if (!facts->modules)
        return;
    for (uint64_t at = 0; hs_dump_facts__next_mapping(facts, &at, &mapping);) {
        struct hs_dump_module *module = &facts->modules[facts->module_count];
        if (module->mapped.end && hs_mapped__add(&module->mapped, &mapping, same_path(module, &mapping), facts->line))
            continue;
        if (!mapping.path_length)
            continue;
        end_module(facts);
        begin_module(facts, &facts->modules[facts->module_count], &mapping);
    }
    end_module(facts);
}

const struct hs_dump_module *hs_dump_facts__module_of(const struct hs_dump_facts *facts, uint64_t address)
{
    uint32_t low = 0, high = facts->module_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (facts->modules[middle].mapped.end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    bool inside = low < facts->module_count && facts->modules[low].mapped.start <= address;
    return inside ? &facts->modules[low] : NULL;
}

// ---- the process ----------------------------------------------------------------------------------------------------

static void read_command(struct hs_dump_facts *facts)
{
    size_t length = HS_TEXT_READ_OWN("cmdline", facts->command, sizeof facts->command);
    while (length && !facts->command[length - 1])
        length--;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)facts->command[i] < ' ' || facts->command[i] == 127)
            facts->command[i] = facts->command[i] ? '?' : ' ';
}

static void read_host(struct hs_dump_facts *facts)
{
    struct {
        char system[65], node[65], rest[4][65];
    } names;
    struct hs_text text;
    hs_text__start(&text, facts->host, sizeof facts->host);
    if (HS_SYSTEM1(SYS_uname, &names) == 0)
        hs_text__add(&text, names.node);
}

// The path as in the maps, in one line.
static void read_executable(struct hs_dump_facts *facts)
{
    struct hs_text text;
    long length = hs_system_executable(facts->line, sizeof facts->line - 1);
    hs_text__start(&text, facts->executable, sizeof facts->executable);
    for (long i = 0; i < length; i++)
        if (facts->line[i] == '\n')
            hs_text__add(&text, "\\012");
        else
            hs_text__add_character(&text, facts->line[i]);
}

static uint64_t read_resident(struct hs_dump_facts *facts)
{
    if (!hs_text__read_own("/proc/thread-self/statm", "/proc/self/statm", facts->line, sizeof facts->line))
        return 0;
    const char *at = facts->line;
    while (*at && *at++ != ' ')
        continue;
    return hs_text__parse(&at, 10) * hs_memory__page_size();
}

void hs_dump_facts__gather(struct hs_dump_facts *facts)
{
    facts->pid = hs_streaming__pid();
    facts->monotonic_ns = hs_clock__monotonic_ns();
    facts->resident_bytes = read_resident(facts);
    read_command(facts);
    read_host(facts);
    read_executable(facts);
    read_map(facts);
    if (facts->map)
        find_modules(facts);
}

void hs_dump_facts__free(struct hs_dump_facts *facts)
{
    free_map(facts);
    if (facts->modules)
        hs_memory__unmap(facts->modules, (size_t)facts->module_memory);
    facts->modules = NULL;
    facts->module_count = 0;
}

uint32_t hs_dump_facts__frames(struct hs_dump_facts *facts, uint32_t stack)
{
    bool cut;
    uint32_t limit = hs_prof_options.max_frames;
    return hs_profile_snapshot__frames(stack, facts->frames,
                                       limit - 1 < HS_DUMP_FRAMES_LIMIT ? limit : HS_DUMP_FRAMES_LIMIT, &cut);
}

// ---- as text --------------------------------------------------------------------------------------------------------

#if defined(__x86_64__)
#define ARCHITECTURE "x86_64"
#elif defined(__aarch64__)
#define ARCHITECTURE "aarch64"
#elif defined(__arm__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define ARCHITECTURE "armeb"
#elif defined(__arm__)
#define ARCHITECTURE "arm"
#elif __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define ARCHITECTURE "mips64"
#else
#define ARCHITECTURE "mips64el"
#endif

struct saying {
    struct hs_dump_facts *facts;
    void (*say)(const char *text, void *data);
    void *data;
    struct hs_text text;
};

static struct hs_text *begin(struct saying *saying, const char *key)
{
    hs_text__start(&saying->text, saying->facts->line, sizeof saying->facts->line);
    hs_text__add(&saying->text, key);
    hs_text__add(&saying->text, ": ");
    return &saying->text;
}

static void end(struct saying *saying)
{
    saying->say(saying->facts->line, saying->data);
}

static void say_text(struct saying *saying, const char *key, const char *value)
{
    if (!value[0])
        return;
    hs_text__add(begin(saying, key), value);
    end(saying);
}

static void say_number(struct saying *saying, const char *key, uint64_t value)
{
    hs_text__add_number(begin(saying, key), value);
    end(saying);
}

static void say_trigger(struct saying *saying)
{
    struct hs_text *text = begin(saying, "trigger");
    hs_text__add(text, saying->facts->trigger);
    if (saying->facts->numbered) {
        hs_text__add_character(text, ' ');
        hs_text__add_number(text, saying->facts->number);
    }
    end(saying);
}

static void say_module(struct saying *saying, const struct hs_dump_module *module)
{
    if (!module->image.build_id_length)
        return;
    struct hs_text *text = begin(saying, "build-id");
    for (size_t i = 0; i < module->image.build_id_length; i++) {
        hs_text__add_character(text, "0123456789abcdef"[module->image.build_id[i] >> 4]);
        hs_text__add_character(text, "0123456789abcdef"[module->image.build_id[i] & 15]);
    }
    hs_text__add_character(text, ' ');
    for (size_t i = 0; i < module->path_length; i++)
        hs_text__add_character(text, module->path[i]);
    end(saying);
}

void hs_dump_facts__each_line(struct hs_dump_facts *facts, const struct hs_profile_snapshot *snapshot,
                              void (*say)(const char *text, void *data), void *data)
{
    struct saying saying = {.facts = facts, .say = say, .data = data};
    say_text(&saying, "format", "heapsonde " HEAPSONDE_VERSION);
    hs_dump_time__add(begin(&saying, "time"), snapshot->real_ns, HS_DUMP_TIME_ISO);
    end(&saying);
    hs_dump_time__add(begin(&saying, "since"), snapshot->since_ns, HS_DUMP_TIME_ISO);
    end(&saying);
    say_number(&saying, "monotonic", facts->monotonic_ns);
    say_trigger(&saying);
    say_text(&saying, "command", facts->command);
    say_text(&saying, "executable", facts->executable);
    say_text(&saying, "host", facts->host);
    say_number(&saying, "pid", facts->pid);
    say_text(&saying, "arch", ARCHITECTURE);
    say_number(&saying, "rss", facts->resident_bytes);
    say_number(&saying, "dropped", snapshot->samples_dropped);
    if (snapshot->samples_shortened)
        say_number(&saying, "shortened", snapshot->samples_shortened);
    say_text(&saying, "attached", hs_dump_facts__attached);
    say_text(&saying, "allocators", hs_dump_facts__allocators);
    if (hs_dump_facts__older)
        say_number(&saying, "older-bytes", hs_dump_facts__older);
}

static void write_comment(const char *text, void *data)
{
    hs_dump_output__text(data, "# ");
    hs_dump_output__text(data, text);
    hs_dump_output__text(data, "\n");
}

void hs_dump_facts__write_comments(struct hs_dump_output *output, const struct hs_profile_snapshot *snapshot)
{
    struct saying modules = {.facts = output->facts, .say = write_comment, .data = output};
    hs_dump_facts__each_line(output->facts, snapshot, write_comment, output);
    for (uint32_t i = 0; i < output->facts->module_count; i++)
        say_module(&modules, &output->facts->modules[i]);
}
