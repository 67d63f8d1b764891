// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Loaded behind the shim, and so started before it: from then on the kernel does not know the system call whose number
// is in REFUSE, as far as the shim is concerned. Everybody else has it.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { LOW = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0, HIGH = 4 - LOW };

static void fail(const char *why)
{
    fprintf(stderr, "refuse.c: %s\n", why);
    _Exit(99);
}

// The code of the shim. Nothing here may allocate: the shim starts at the first allocation.
static void find_shim(unsigned long long *start, unsigned long long *end)
{
    static char maps[1 << 16];
    int file = open("/proc/self/maps", O_RDONLY);
    size_t length = 0;
    for (ssize_t more; length < sizeof maps - 1 && (more = read(file, maps + length, sizeof maps - 1 - length)) > 0;)
        length += (size_t)more;
    close(file);
    for (char *line = maps, *next; *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = 0;
        if (strstr(line, "libheapsonde-trace.so") && strstr(line, " r-xp ")) {
            *start = strtoull(line, &line, 16);
            *end = strtoull(line + 1, NULL, 16);
            return;
        }
    }
    fail("the shim is not loaded");
}

#define LOAD(offset)            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define JUMP(kind, value, t, f) BPF_JUMP(BPF_JMP | (kind) | BPF_K, value, t, f)

__attribute__((constructor)) static void refuse(void)
{
    const char *number = getenv("REFUSE");
    unsigned long long start = 0, end = 0;
    if (!number)
        return;
    find_shim(&start, &end);
    unsigned long long last = end - 1;
    bool lies_across = start >> 32 != last >> 32; // 4 GiB
    struct sock_filter program[] = {
        LOAD(offsetof(struct seccomp_data, nr)),
        JUMP(BPF_JEQ, (uint32_t)atoi(number), 0, 8),
        LOAD(offsetof(struct seccomp_data, instruction_pointer) + HIGH),
        JUMP(BPF_JEQ, (uint32_t)(start >> 32), 0, 2),
        LOAD(offsetof(struct seccomp_data, instruction_pointer) + LOW),
        JUMP(BPF_JGE, (uint32_t)start, lies_across ? 3 : 2, 4),
        JUMP(BPF_JEQ, (uint32_t)(last >> 32), 0, 3),
        LOAD(offsetof(struct seccomp_data, instruction_pointer) + LOW),
        JUMP(BPF_JGT, (uint32_t)last, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog all = {.len = sizeof program / sizeof *program, .filter = program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all))
        fail("there are no system call filters here");
}
