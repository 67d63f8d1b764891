// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Start, end and fork of a process that is sampled, and the messages to it.
#include "shims/prof/process.h"
#include "arch/system.h"
#include "runtime/memory.h"
#include "runtime/prof/contexts.h"
#include "runtime/prof/control.h"
#include "runtime/prof/dump.h"
#include "runtime/prof/events.h"
#include "runtime/prof/options.h"
#include "runtime/prof/streaming.h"
#include "runtime/text.h"
#include "shims/common/shim.h"
#include "shims/prof/hooks.h"
#include "shims/prof/mallctl.h"

#include <elf.h>
#include <link.h>

extern void abort(void) __attribute__((weak, noreturn));

size_t hs_prof_zero_reallocs;

// ---- start and end --------------------------------------------------------------------------------------------------

static __attribute__((constructor)) void library_begins(void)
{
    hs_real__resolve();
    hs_prof__try_headers();
    hs_prof__begin();
}

static bool is_go_note(const ElfW(Nhdr) * note, uintptr_t end)
{
    while ((uintptr_t)(note + 1) + 4 <= end) {
        const char *name = (const char *)(note + 1);
        if (note->n_namesz == 4 && name[0] == 'G' && name[1] == 'o' && !name[2])
            return true;
        note = (const ElfW(Nhdr) *)(name + ((note->n_namesz + 3) & ~3u) + ((note->n_descsz + 3) & ~3u));
    }
    return false;
}

static bool is_go_program(void)
{
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)hs_memory__auxiliary(AT_PHDR);
    unsigned long count = headers ? hs_memory__auxiliary(AT_PHNUM) : 0;
    uintptr_t bias = 0;
    bool is_placed = false; // a loader that was started as the program does not say where it is
    for (unsigned long i = 0; i < count; i++) {
        if (headers[i].p_type == PT_PHDR) {
            bias = (uintptr_t)headers - headers[i].p_vaddr;
            is_placed = true;
        }
        uintptr_t start = bias + headers[i].p_vaddr;
        if (is_placed && headers[i].p_type == PT_NOTE &&
            is_go_note((const ElfW(Nhdr) *)start, start + headers[i].p_memsz))
            return true;
    }
    return false;
}

void hs_prof__begin(void)
{
    hs_sampler__start();
    if (hs_prof_options.final && hs_sampler__is_on() && is_go_program())
        hs_prof_options_message("heapsonde: no final dump: Go programs end without libc; use lg_prof_interval\n");
    hs_prof_ctl__start();
    hs_control__start();
    hs_streaming__start();
}

static bool is_forked;

int hs_prof__end(void)
{
    static _Atomic uint32_t ended;
    if (atomic_exchange(&ended, 1))
        return 0;
    hs_prof_ctl__at_exit();
    int status = hs_dump__final();
    hs_streaming__end();
    return status;
}

static void end(void)
{
    int status = hs_prof__end();
    if (status)
        HS_SYSTEM1(SYS_exit_group, status);
}

static __attribute__((destructor)) void library_ends(void)
{
    hs_control__exit();
    end();
}

// Programs such as linkers end this way to be quick, and a final dump is wanted of them. Forked children end this way
// to skip what their parent does at its end.
void hs_shim__process_ends(void)
{
    hs_control__exit();
    if ((!is_forked || hs_prof_options.dump_on_exit_paths) && !hs_sampler__is_vforked())
        end();
    hs_streaming__end();
}

uint64_t hs_shim__before_fork(void)
{
    return hs_sampler__before_fork();
}

void hs_shim__after_fork(bool child, uint64_t locks)
{
    hs_sampler__after_fork(child, locks);
    if (!child)
        return;
    is_forked = true;
    hs_streaming__after_fork();
    hs_control__after_fork();
}

void hs_shim__before_exec(void)
{
    hs_streaming__before_exec();
}

void hs_shim__after_failed_exec(void)
{
    hs_streaming__after_failed_exec();
}

void hs_shim__before_single_threaded(void)
{
    hs_control__stop();
    hs_streaming__pause();
}

// As what the process has become.
void hs_shim__after_single_threaded(void)
{
    hs_control__restart();
    hs_streaming__go_on();
}

void hs_shim__before_filter(uint32_t forbidden, bool all_threads)
{
    (void)forbidden;
    if (all_threads) {
        hs_control__stop();
        hs_streaming__pause();
    }
}

void hs_shim__code_will_be_unloaded(void)
{
}

void hs_shim__code_was_unloaded(void)
{
}

// ---- messages -------------------------------------------------------------------------------------------------------

static void print_message(const char *message)
{
    if (malloc_message)
        malloc_message(NULL, message);
    else
        hs_system_write(2, message, hs_text__length(message));
}

void (*hs_prof_options_message)(const char *message) = print_message;
void (*hs_prof_options_abort)(const char *message) = hs_prof__abort;

void hs_prof__abort(const char *message)
{
    print_message(message);
    if (abort)
        abort();
    for (;;)
        HS_SYSTEM2(SYS_kill, hs_system_getpid(), 6);
}
