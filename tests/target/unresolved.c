// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where the search finds none of the program's own functions, the shim's do what the kernel does, or fail in order.
#include "shims/trace/maps.c"
#include "shims/trace/signals.c"

#include <stdio.h>
#include <string.h>

struct hs_real hs_real; // nothing was found
struct hs_config hs_config;
static struct hs_shared shared;
struct hs_shared *hs_shared = &shared;

void hs_real__resolve(void)
{
}

void hs_real__set_errno(int error)
{
    errno = error;
}

long hs_real__result(long result)
{
    if (!hs_system_failed(result))
        return result;
    errno = (int)-result;
    return -1;
}

void hs_process__toggle_on_signal(int signal)
{
    (void)signal;
}

struct hs_thread *hs_record__enter_map(uint32_t *before)
{
    (void)before;
    return NULL;
}

void hs_record__wide(struct hs_thread *thread, const struct hs_registers *caller, uint32_t kind, uint64_t *words,
                     uint32_t count, uint32_t stack_word, uint32_t stack_shift)
{
    (void)thread, (void)caller, (void)kind, (void)words, (void)count, (void)stack_word, (void)stack_shift;
}

void hs_capture_step(struct hs_registers *registers)
{
    (void)registers;
}

void hs_module_code_appears(void)
{
}

size_t hs_memory__page_size(void)
{
    return 4096;
}

static int failures;

static void expect(const char *what, int holds)
{
    if (!holds)
        printf("does not hold: %s (errno %d)\n", what, errno);
    failures += !holds;
    errno = 0;
}

int main(void)
{
    struct sigaction action;
    size_t size = 65536;
    memset(&action, 0, sizeof action);
    expect("sigaction", sigaction(SIGUSR1, &action, NULL) == -1 && errno == ENOSYS);
    expect("signal", signal(SIGUSR1, SIG_IGN) == SIG_ERR && errno == ENOSYS);
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect("mmap", memory != MAP_FAILED && !memory[0]);
    expect("mmap of nothing",
           mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
    memory = mremap(memory, size, 2 * size, MREMAP_MAYMOVE);
    expect("mremap", memory != MAP_FAILED && !memory[2 * size - 1]);
    expect("munmap", munmap(memory, 2 * size) == 0);
    char *end = sbrk(0);
    expect("sbrk", sbrk(4096) == end && sbrk(0) == end + 4096);
    expect("brk", brk(end) == 0 && sbrk(0) == end);
    // With 32 bits there may be as much.
    expect("sbrk too far", sizeof(void *) == 4 || (sbrk(INTPTR_MAX - 65535) == (void *)-1 && errno == ENOMEM));
    return failures != 0;
}
