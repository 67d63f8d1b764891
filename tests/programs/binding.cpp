// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocations from within the loader, while it binds a function that is called for the first time.
// Usage: binding dependency|resolver|thread-local|signal|signal-early ROUNDS
#include "program.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>

static char folder[PATH_MAX];
static void *binder; // the library of this round
static char *table;  // the pages with what its stubs jump to
static size_t table_size;
static volatile sig_atomic_t faults;

static void *open_library(const char *name, int flags)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/libheapsonde_test_%s.so", folder, name);
    void *library = dlopen(path, flags | RTLD_LAZY);
    if (!library)
        say("%s\n", dlerror());
    MUST(library);
    return library;
}

typedef int (*binder_function)(int);

static binder_function find(const char *name)
{
    void *function = dlsym(binder, name);
    MUST(function);
    return reinterpret_cast<binder_function>(function);
}

static NOINLINE int call(binder_function function, int number)
{
    return function(number) + 1;
}

static int find_table(struct dl_phdr_info *info, size_t, void *library)
{
    const struct link_map *map = static_cast<struct link_map *>(library);
    const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)) - 1;
    uintptr_t start = 0;
    if (info->dlpi_addr != map->l_addr)
        return 0;
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_PLTGOT)
            start = entry->d_un.d_ptr + (entry->d_un.d_ptr < map->l_addr ? map->l_addr : 0); // MIPS: as in the file
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t first = info->dlpi_addr + header->p_vaddr, end = first + header->p_memsz;
        if (header->p_type != PT_LOAD || start < first || start >= end)
            continue;
        table = reinterpret_cast<char *>(start & ~page);
        table_size = ((end + page) & ~page) - (start & ~page);
        return 1;
    }
    return 0;
}

static void on_fault(int, siginfo_t *info, void *)
{
    MUST(static_cast<size_t>(static_cast<char *>(info->si_addr) - table) < table_size);
    MUST(mprotect(table, table_size, PROT_READ | PROT_WRITE) == 0);
    faults += call(find("binder_allocate"), 0);
}

static NOINLINE int bind_interrupted(int protection, int number)
{
    binder_function function = find("binder_plain");
    MUST(dl_iterate_phdr(find_table, binder) == 1);
    MUST(mprotect(table, table_size, protection) == 0);
    int result = call(function, number);
    MUST(faults == number + 1);
    return result;
}

static NOINLINE int bind(const char *mode, int number)
{
    if (!strcmp(mode, "dependency"))
        return call(find("binder_plain"), number);
    if (!strcmp(mode, "resolver"))
        return call(find("binder_resolved"), number);
    if (!strcmp(mode, "thread-local"))
        return call(find("binder_tls"), number);
    // The loader finds the function, and cannot write down where it is.
    if (!strcmp(mode, "signal"))
        return bind_interrupted(PROT_READ, number);
    // The stub cannot read where to jump to.
    MUST(!strcmp(mode, "signal-early"));
    return bind_interrupted(PROT_NONE, number);
}

int main(int count, char **arguments)
{
    MUST(count == 3);
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    MUST(length > 0);
    dirname(folder);
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    MUST(sigaction(SIGSEGV, &action, nullptr) == 0);
    open_library("bound", RTLD_GLOBAL);
    int rounds = atoi(arguments[2]), sum = 0;
    for (int i = 0; i < rounds; i++) {
        binder = open_library("binder", RTLD_LOCAL);
        sum += bind(arguments[1], i) - i;
        MUST(dlclose(binder) == 0);
    }
    say("%d rounds, %d\n", rounds, sum);
    return 0;
}
