// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Any bytes as a package of split units: eight bytes of a unit's number, then the file. All entries of the unit are
// visited, and what they cover.
#include "host/symbols/split_unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_ENTRIES = 4096, MOST_RANGES = 4096 };

static void look_at(struct hs_split *split, Dwarf_Die *die)
{
    struct hs_range_walk walk = {0};
    uint64_t low, high;
    for (int i = 0; i < MOST_RANGES && hs_split__next_range(split, die, &walk, &low, &high); i++) {
    }
    hs_split__covers(split, die, 0x1000);
}

static void visit(struct hs_split *split, Dwarf_Die *parent, unsigned depth, int *left)
{
    Dwarf_Die die;
    look_at(split, parent);
    if (depth > 64 || dwarf_child(parent, &die))
        return;
    do
        visit(split, &die, depth + 1, left);
    while (--*left > 0 && !dwarf_siblingof(&die, &die));
}

static void open_unit(const uint8_t *data, size_t size, uint64_t id)
{
    static const uint8_t tables[64] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    struct hs_skeleton skeleton = {id, 0x1000, {tables, sizeof(tables)}, {tables, sizeof(tables)}};
    int left = MOST_ENTRIES;
    int fd = memfd_create("fuzzed", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    struct hs_package *package = hs_package__open(fd);
    close(fd);
    struct hs_split *split = package ? hs_split__open(package, &skeleton) : NULL;
    if (split && !hs_package__holds(package, id))
        abort();
    if (split)
        visit(split, hs_split__die(split), 0, &left);
    hs_split__close(split);
    hs_package__close(package);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t id;
    if (size < sizeof(id))
        return 0;
    memcpy(&id, data, sizeof(id));
    open_unit(data + sizeof(id), size - sizeof(id), id);
    return 0;
}
