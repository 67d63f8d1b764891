// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/store/torn_pages.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static uintptr_t page_size;
static volatile sig_atomic_t found;

static void mend(int number, siginfo_t *info, void *context)
{
    (void)context;
    void *page = (void *)((uintptr_t)info->si_addr & ~(page_size - 1));
    // mmap is a plain system call here.
    if (info->si_code == BUS_ADRERR &&
        mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page) {
        found = 1;
        return;
    }
    signal(number, SIG_DFL);
}

void hs_torn_pages__mend(void)
{
    struct sigaction action = {.sa_sigaction = mend, .sa_flags = SA_SIGINFO | SA_RESTART};
    page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

bool hs_torn_pages__found(void)
{
    return found;
}
