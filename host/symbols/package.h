// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A package of split units (.dwp): all .dwo files of a program in one file. Each unit has a part of each section; the
// index of the package contains the offsets. libdw reads only single .dwo files, so each unit is presented as a file of
// its own: the mapped package, followed by another section table.
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

// NULL if the file is not a package or is damaged. The caller keeps `fd` and may close it.
struct hs_package *hs_package__open(int fd);
void hs_package__close(struct hs_package *package);

// `id`: from the skeleton of the unit.
bool hs_package__holds(const struct hs_package *package, uint64_t id);

// A unit as an ELF file in memory, with the sections of an ordinary file.
struct hs_package_unit {
    void *image;
    size_t size;
    struct hs_package_bytes info;   // its part of .debug_info
    struct hs_package_bytes ranges; // its part of .debug_rnglists; empty: none
    bool big_endian;
};

// `addresses`: the part of the program's .debug_addr to which the indexes of the unit refer. False if the package does
// not contain the unit, its index entry is outside the sections, or memory is exhausted.
bool hs_package__map(const struct hs_package *package, uint64_t id, struct hs_package_bytes addresses,
                     struct hs_package_unit *unit);
void hs_package__unmap(struct hs_package_unit *unit);

#endif
