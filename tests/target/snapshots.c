// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Takes snapshots of itself as the kernel would, unwinds them here, and prints both, so that another machine can unwind
// them, too (check_snapshots). Every frame is known: the walk here has to be whole.
#include "unwind/rule_cache.h"
#include "unwind/snapshot.h"

#include <inttypes.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOT_INLINE __attribute__((noinline, noclone))

enum { CAPACITY = 512, COPY = 1 << 17, DEPTH = 24 };

extern char **environ;

static struct hs_memo *memo;
static uint8_t copy[COPY];
static volatile uintptr_t sink;
static int failures;

static void print_hex(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        printf("%02x", bytes[i]);
    putchar('\n');
}

static void print_snapshot(const char *name, const struct hs_snapshot *snapshot)
{
    printf("snapshot %s %d\nregisters", name, HS_DWARF_REGISTERS);
    for (int i = 0; i < HS_DWARF_REGISTERS; i++)
        printf(" %" PRIxPTR, snapshot->registers.values[i]);
    printf("\ncopy %zu ", snapshot->size);
    print_hex(snapshot->copy, snapshot->size);
    printf("stack %d %" PRIu32, (int)memo->end, memo->depth);
    for (uint32_t i = memo->depth; i--;)
        printf(" %" PRIxPTR, memo->pcs[i]);
    putchar('\n');
}

// The registers and the stack of the function that this is in.
NOT_INLINE static void capture(const char *name)
{
    struct hs_snapshot snapshot = {.copy = copy};
    hs_capture_all(&snapshot.registers);
    uintptr_t sp = snapshot.registers.values[HS_DWARF_SP];
    snapshot.size = (uintptr_t)environ - sp; // the environment lies above the first frame
    if (snapshot.size > sizeof copy)
        snapshot.size = sizeof copy;
    memcpy(copy, (const void *)sp, snapshot.size);
    hs_memo_take_snapshot(memo, &snapshot);
    if (memo->end != HS_END_ROOT || memo->depth < 3) {
        fprintf(stderr, "%s: ends with %d at depth %u\n", name, (int)memo->end, (unsigned)memo->depth);
        failures++;
    }
    print_snapshot(name, &snapshot);
}

NOT_INLINE static uintptr_t recurse(unsigned left, uintptr_t a, uintptr_t b, const char *name)
{
    volatile uintptr_t room[1 + left % 5 * 3];
    room[0] = a;
    if (left)
        sink += recurse(left - 1, a + b, a ^ b, name);
    else
        capture(name);
    return room[0] + a * b; // callee-saved registers are in use
}

// Frames of a size that is not known, so that they need a frame pointer.
NOT_INLINE static uintptr_t with_room(unsigned left, uintptr_t a)
{
    volatile char *room = __builtin_alloca(16 + (left + a) % 100);
    room[0] = (char)a;
    if (left)
        sink += with_room(left - 1, a + 3);
    else
        recurse(3, a, 7, "rooms");
    return (uintptr_t)room[0] + a;
}

static int compare(const void *left, const void *right)
{
    static int calls;
    if (++calls == 5)
        recurse(4, 1, 2, "callback");
    return *(const int *)left - *(const int *)right;
}

static void handle(int signal)
{
    sink += (uintptr_t)signal;
    recurse(2, 5, 9, "handler");
}

NOT_INLINE static void interrupt(void)
{
    struct sigaction action = {.sa_handler = handle};
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    sink++;
}

static int print_module(struct dl_phdr_info *info, size_t size, void *unused)
{
    char path[4096] = "";
    uintptr_t start = UINTPTR_MAX, end = 0;
    (void)size, (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD)
            continue;
        uintptr_t from = (info->dlpi_addr + header->p_vaddr) & ~(uintptr_t)4095;
        start = from < start ? from : start;
        uintptr_t to = info->dlpi_addr + header->p_vaddr + header->p_memsz;
        end = to > end ? to : end;
    }
    if (info->dlpi_name && info->dlpi_name[0])
        snprintf(path, sizeof path, "%s", info->dlpi_name);
    else if (readlink("/proc/self/exe", path, sizeof path - 1) < 0)
        return 0;
    printf("module %" PRIxPTR " %" PRIxPTR " %" PRIxPTR " %s\n", start, end, (uintptr_t)info->dlpi_addr, path);
    return 0;
}

int main(void)
{
    int numbers[32];
    for (int i = 0; i < 32; i++)
        numbers[i] = i * 7919 % 32;
    memo = hs_memo_create(calloc(1, hs_memo_size(CAPACITY)), CAPACITY);
    dl_iterate_phdr(print_module, NULL);
    recurse(DEPTH, 3, 5, "plain");
    with_room(6, 2);
    qsort(numbers, 32, sizeof *numbers, compare);
    interrupt();
    printf("end\n");
    return failures != 0;
}
