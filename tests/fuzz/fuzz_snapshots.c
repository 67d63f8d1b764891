// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Stacks that the host unwinds: any bytes as the file of a module and as snapshots in it, of any machine.
// make_snapshots says how an input is laid out. Every walk ends, and all of them together look at no more than they
// may.
#include "host/import/snapshot_words.h"
#include "host/unwind/offline.h"
#include "host/unwind/view.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MODULE = 0x10000, MODULE_SIZE = 0x20000, SNAPSHOTS_MOST = 64 };

static const struct {
    uint16_t machine;
    uint8_t pointer_size;
    bool big_endian;
} kinds[] = {
    {EM_X86_64, 8, false}, {EM_AARCH64, 8, false}, {EM_ARM, 4, false}, {EM_MIPS, 8, false}, {EM_MIPS, 8, true}};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *at;
    size_t left;
};

// A length of two bytes, and as many bytes as are there.
static struct input take_part(struct input *input)
{
    struct input part = {input->at, 0};
    if (input->left < 2)
        return part;
    part.at = input->at + 2;
    part.left = input->at[0] | (size_t)input->at[1] << 8;
    if (part.left > input->left - 2)
        part.left = input->left - 2;
    input->at = part.at + part.left;
    input->left -= 2 + part.left;
    return part;
}

static int to_file(struct input part)
{
    int fd = memfd_create("fuzzed", MFD_CLOEXEC);
    if (fd < 0 || write(fd, part.at, part.left) != (ssize_t)part.left)
        abort();
    return fd;
}

static int number_of_file(void *context, size_t module)
{
    (void)module;
    return *(int *)context;
}

static void walk(struct hs_offline *session, const struct hs_snapshot_form *form, struct input words)
{
    static struct hs_offline_stack stack;
    struct hs_offline_snapshot snapshot = {.size = 0};
    uint8_t *copy = NULL;
    if (!hs_snapshot_words__read(form, words.at, words.left, snapshot.registers, &copy, &snapshot.size))
        return;
    snapshot.copy = copy;
    hs_offline__walk(session, &snapshot, &stack);
    if (!stack.depth || stack.depth > HS_OFFLINE_FRAMES || stack.end < 0 || stack.end > HS_OFFLINE_TOO_DEAR)
        abort();
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool unknown;
    if (!size)
        return 0;
    size_t kind = data[0] % (sizeof kinds / sizeof *kinds);
    struct input input = {data + 1, size - 1};
    struct hs_offline *session =
        hs_offline__create(kinds[kind].machine, kinds[kind].pointer_size, kinds[kind].big_endian, &unknown);
    if (!session)
        abort();
    const struct hs_snapshot_form form = {kinds[kind].pointer_size, kinds[kind].big_endian,
                                          hs_offline__registers(session)};
    const struct hs_offline_module module = {MODULE, MODULE + MODULE_SIZE, MODULE, 0};
    int file = hs_offline__add_file(session, to_file(take_part(&input)), -1);
    hs_offline__on_first_use(session, number_of_file, &file);
    hs_offline__set_modules(session, &module, 1);
    for (uint64_t i = 0; input.left && i < SNAPSHOTS_MOST; i++) {
        walk(session, &form, take_part(&input));
        if (hs_offline__looked_at(session) > HS_OFFLINE_WORK_FIRST + i * HS_OFFLINE_WORK_EACH)
            abort();
    }
    hs_offline__destroy(session);
    return 0;
}
