// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A package of split units (.dwp): the .dwo files of a program in one. Each unit has a part of each section; the index
// of the package says which. libdw reads single .dwo files, so a unit is shown to it as a file of its own: the package
// as it is mapped, with another table of sections behind it.
#ifndef HEAPSONDE_HOST_SYMBOLS_PACKAGE_H
#define HEAPSONDE_HOST_SYMBOLS_PACKAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_package;

struct hs_package_bytes {
    const uint8_t *bytes;
    size_t size;
};

// NULL when the file is no package, or a damaged one. `fd` stays the caller's and may be closed.
struct hs_package *hs_package__open(int fd);
void hs_package__close(struct hs_package *package);

// `id`: as the unit's skeleton has it.
bool hs_package__holds(const struct hs_package *package, uint64_t id);

// A unit as an ELF file in memory, with the sections of a plain file.
struct hs_package_unit {
    void *image;
    size_t size;
    struct hs_package_bytes info;   // its part of .debug_info
    struct hs_package_bytes ranges; // its part of .debug_rnglists; empty: none
    bool big_endian;
};

// `addresses`: the part of the program's .debug_addr that the unit's numbers count in. False when the unit is not
// there, what the index says of it lies outside the sections, or memory is exhausted.
bool hs_package__map(const struct hs_package *package, uint64_t id, struct hs_package_bytes addresses,
                     struct hs_package_unit *unit);
void hs_package__unmap(struct hs_package_unit *unit);

#endif
