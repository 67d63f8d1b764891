// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/left_over.h"

#include "arch/system.h"
#include "runtime/lock.h"
#include "runtime/text.h"

#include <errno.h>
#include <sys/prctl.h>

static struct {
    uint32_t number;
    uint64_t at; // address of the tid until the thread has ended; 0: unknown
} starter;

void hs_left_over__begin(void)
{
    starter.number = (uint32_t)hs_system_gettid();
    HS_SYSTEM2(SYS_prctl, PR_GET_TID_ADDRESS, &starter.at);
}

// A filter of system calls that would kill who looks is not met while the starter is there. In the line of the process
// are its first thread's state, behind the name, and, last, that thread's status; its folder of threads has a link from
// each, and two.
bool hs_left_over__is_all(uint32_t threads, uint32_t *status)
{
    char text[1024]; // behind what ends both searches
    text[0] = ')';
    text[1] = ' ';
    struct hs_file_status folder;
    if (hs_futex__wait((_Atomic uint32_t *)(uintptr_t)starter.at, starter.number, 0) == -ETIMEDOUT ||
        hs_system_status_of("/proc/self/task", 0, &folder) != 0 || folder.links != threads + 3)
        return false;
    const char *at = text + 2 + hs_text__read_file("/proc/self/stat", text + 2, sizeof text - 2);
    while (at[-1] != ' ')
        at--;
    const char *last = at;
    while (*at != ')')
        at--;
    if (at[2] != 'Z')
        return false;
    *status = (uint32_t)hs_text__parse(&last, 10) >> 8;
    return true;
}
