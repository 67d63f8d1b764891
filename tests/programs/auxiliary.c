// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Looks for what the kernel says behind the environment, as runtimes without a C library do: behind each of the lists
// that lead there.
#include "program.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

extern char **environ;

static void tell(const char *where, char **variables)
{
    while (*variables)
        variables++;
    const ElfW(auxv_t) *entry = (const ElfW(auxv_t) *)(variables + 1);
    unsigned count = 0, known = 0;
    for (; count < 100 && entry->a_type != AT_NULL; entry++, count++)
        known += entry->a_type == AT_PAGESZ && entry->a_un.a_val == getauxval(AT_PAGESZ);
    say("%s: %s\n", where, count > 5 && known == 1 ? "there" : "missing");
}

static __attribute__((constructor)) void begin(int count, char **arguments, char **variables)
{
    (void)count, (void)arguments;
#ifdef __GLIBC__
    tell("in a constructor", variables);
#else
    (void)variables;
#endif
}

int main(int count, char **arguments, char **variables)
{
    free(allocate(10));
    tell("in main", variables);
    tell("behind the arguments", arguments + count + 1);
    tell("of the C library", environ);
    return 0;
}
