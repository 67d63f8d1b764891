// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Unwinds the snapshots of tests/target/snapshots.c, which standard input has, on this machine:
//   walk_offline MACHINE POINTER_SIZE big|little [FILE=DEBUG_FILE | FILE=]...
// The stacks have to be those that were found there. FILE= leaves a file out: then all stacks have to end in it.
// --most BYTES behind that: no more of code and tables may be looked at. --damaged SEED ROUNDS: bytes are changed at
// random, and all that has to come is an end.
#include "host/unwind/offline.h"
#include "host/unwind/view.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODULES = 64, LINE = 1 << 20 };

static struct hs_offline *session;
static struct hs_offline_module modules[MODULES];
static char *paths[MODULES];
static int files[MODULES];
static size_t module_count;
static struct hs_offline_snapshot snapshot;
static uint8_t copy[1 << 18];
static struct hs_offline_stack stack;
static char name[64];
static int failures, stacks;
static bool left_out;
static unsigned seed, rounds;
static uint64_t most_looked_at = UINT64_MAX;
static uint64_t walks, given_up;

static void fail(const char *what)
{
    printf("%s: %s\n", name, what);
    failures++;
}

static int file_of(void *context, size_t number)
{
    (void)context;
    return files[number];
}

static int open_below_root(const char *path)
{
    char below[8192];
    const char *root = getenv("HEAPSONDE_TEST_SYSROOT");
    snprintf(below, sizeof below, "%s%s", root ? root : "", path);
    int fd = open(below, O_RDONLY);
    return fd < 0 ? open(path, O_RDONLY) : fd;
}

static void add_module(const char *line, int given, char **names)
{
    char path[4096];
    struct hs_offline_module *module = &modules[module_count];
    if (module_count == MODULES || sscanf(line, "module %" SCNx64 " %" SCNx64 " %" SCNx64 " %4095s", &module->start,
                                          &module->end, &module->bias, path) != 4)
        return;
    const char *debug = NULL;
    for (int i = 0; i < given; i++) {
        size_t length = strcspn(names[i], "=");
        if (strlen(path) >= length && !strncmp(path + strlen(path) - length, names[i], length))
            debug = names[i] + length + 1;
    }
    int code = open_below_root(path), debug_file = debug && *debug ? open(debug, O_RDONLY) : -1;
    bool leave = debug && !*debug;
    if (debug && *debug && debug_file < 0)
        fail("the debug file cannot be opened");
    left_out |= leave;
    files[module_count] = code < 0 || leave ? -1 : hs_offline__add_file(session, code, debug_file);
    printf("%s: %s%s\n", path, files[module_count] < 0 ? "not used" : "used", debug_file >= 0 ? ", with another" : "");
    module->number = (uint32_t)module_count;
    paths[module_count++] = strdup(path);
    hs_offline__set_modules(session, modules, module_count);
}

static void read_registers(char *line)
{
    char *next = line + strlen("registers");
    for (unsigned i = 0; i < hs_offline__registers(session); i++)
        snapshot.registers[i] = strtoull(next, &next, 16);
}

static void read_copy(char *line)
{
    char *hex;
    snapshot.size = strtoul(line + strlen("copy "), &hex, 10);
    hex++;
    for (size_t i = 0; i < snapshot.size && i < sizeof copy; i++)
        sscanf(hex + 2 * i, "%2hhx", &copy[i]);
    snapshot.copy = copy;
}

static void compare(char *line)
{
    char *next = line + strlen("stack ");
    long end = strtol(next, &next, 10);
    unsigned long depth = strtoul(next, &next, 10);
    hs_offline__walk(session, &snapshot, &stack);
    walks++;
    given_up += stack.end == HS_OFFLINE_TOO_DEAR;
    stacks++;
    printf("%s: depth %u of %lu, ends with %d\n", name, stack.depth, depth, stack.end);
    if (left_out ? stack.end != HS_OFFLINE_NO_FILE : stack.end != end)
        fail("another end");
    if (left_out ? stack.depth > depth : stack.depth != depth)
        fail("another depth");
    for (unsigned i = 0; i < stack.depth && i < depth; i++) {
        uint64_t pc = strtoull(next, &next, 16);
        if (stack.pcs[i] == pc)
            continue;
        printf("%s: frame %u is %" PRIx64 ", not %" PRIx64 "\n", name, i, stack.pcs[i], pc);
        failures++;
        break;
    }
}

// Any bytes: the walk ends, and its reason is one of those.
static void damage(void)
{
    static uint8_t whole[sizeof copy];
    const struct hs_offline_snapshot before = snapshot;
    memcpy(whole, copy, sizeof copy);
    for (unsigned round = 0; round < rounds; round++) {
        for (int i = 0; i < 200 && snapshot.size; i++)
            copy[(size_t)rand_r(&seed) % snapshot.size] = (uint8_t)rand_r(&seed);
        if (round % 3 == 0)
            snapshot.registers[(unsigned)rand_r(&seed) % hs_offline__registers(session)] =
                (uint64_t)rand_r(&seed) << ((unsigned)rand_r(&seed) % 48);
        if (round % 5 == 0) {
            const struct hs_offline_module *module = &modules[(size_t)rand_r(&seed) % module_count];
            snapshot.registers[hs_offline__pc(session)] =
                module->start + (uint64_t)rand_r(&seed) % (module->end - module->start);
        }
        hs_offline__walk(session, &snapshot, &stack);
        walks++;
        given_up += stack.end == HS_OFFLINE_TOO_DEAR;
        if (!stack.depth || stack.depth > HS_OFFLINE_FRAMES || stack.end < 0 || stack.end > HS_OFFLINE_TOO_DEAR)
            fail("no end");
        memcpy(copy, whole, sizeof copy);
        snapshot = before;
    }
}

// However bad the stacks are, what is done for them has its bounds.
static void check_work(void)
{
    uint64_t most = HS_OFFLINE_WORK_FIRST + (walks - 1) * HS_OFFLINE_WORK_EACH, bytes = hs_offline__looked_at(session);
    printf("%" PRIu64 " walks looked at %" PRIu64 " bytes, at most %" PRIu64 "; %" PRIu64 " were given up\n", walks,
           bytes, most, given_up);
    if (bytes > most)
        fail("too much work");
    if (bytes > most_looked_at)
        fail("tables were there, and more than they was looked at");
    if (given_up && !rounds)
        fail("stacks that are well were given up");
}

int main(int count, char **arguments)
{
    bool unknown;
    static char line[LINE];
    if (count < 4)
        return 2;
    int given = count - 4;
    if (count > 5 && !strcmp(arguments[count - 2], "--most")) {
        most_looked_at = strtoull(arguments[count - 1], NULL, 10);
        count -= 2;
        given -= 2;
    }
    for (int i = 4; i + 2 < count; i++)
        if (!strcmp(arguments[i], "--damaged")) {
            given = i - 4;
            seed = (unsigned)strtoul(arguments[i + 1], NULL, 10);
            rounds = (unsigned)strtoul(arguments[i + 2], NULL, 10);
            printf("seed %u\n", seed);
        }
    session = hs_offline__create((uint16_t)strtoul(arguments[1], NULL, 10), (uint8_t)strtoul(arguments[2], NULL, 10),
                                 !strcmp(arguments[3], "big"), &unknown);
    if (!session)
        return 2;
    hs_offline__on_first_use(session, file_of, NULL);
    while (fgets(line, sizeof line, stdin)) {
        if (!strncmp(line, "module ", 7))
            add_module(line, given, arguments + 4);
        else if (sscanf(line, "snapshot %63s", name) == 1)
            continue;
        else if (!strncmp(line, "registers ", 10))
            read_registers(line);
        else if (!strncmp(line, "copy ", 5))
            read_copy(line);
        else if (!strncmp(line, "stack ", 6) && rounds)
            damage(), stacks++;
        else if (!strncmp(line, "stack ", 6))
            compare(line);
    }
    check_work();
    hs_offline__destroy(session);
    if (stacks != 4)
        fail("stacks are missing");
    return failures != 0;
}
