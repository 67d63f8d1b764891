// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reads what the first bytes of a file tell about a program, without trusting them. It is used before a program is run,
// and before a file is taken for a module of a trace. Symbols themselves are read by libdw.
#ifndef HEAPSONDE_HOST_SYMBOLS_ELF_PROBE_H
#define HEAPSONDE_HOST_SYMBOLS_ELF_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_BUILD_ID_MAX 64

#define HS_PROBE_LOADS_MAX 16

struct hs_probe_load {
    uint64_t offset;
    uint64_t address, end; // in addresses of the file; only what the file contains
};

enum hs_probe_kind { HS_PROBE_OTHER, HS_PROBE_ELF, HS_PROBE_SCRIPT };

struct hs_probe {
    enum hs_probe_kind kind;
    bool damaged;         // an ELF file whose headers point outside the file
    bool incomplete;      // an ELF file that ends before its mapped parts do; also some files that contain only symbols
    bool has_interpreter; // PT_INTERP: started by a dynamic loader
    bool has_dynamic;     // PT_DYNAMIC
    uint8_t pointer_size; // 4 or 8
    bool big_endian;
    uint16_t type;                                  // ET_*
    uint16_t machine;                               // EM_*
    uint32_t flags;                                 // EF_*, of the machine
    uint32_t layout;                                // hash of the program headers (docs/format.md, LAYOUT)
    struct hs_probe_load loads[HS_PROBE_LOADS_MAX]; // the first mapped segments of the file
    size_t load_count;
    uint8_t build_id[HS_BUILD_ID_MAX];
    size_t build_id_length;
    char interpreter[256]; // of a script: the program after #!, without its argument; of an ELF file: the loader
};

// 0, or a negative errno if the file cannot be read.
int hs_probe__file(struct hs_probe *probe, const char *path);
int hs_probe__descriptor(struct hs_probe *probe, int fd);
void hs_probe__bytes(struct hs_probe *probe, const uint8_t *bytes, size_t size);

// "x86-64", "AArch64", "ARM", "MIPS", ... or "machine 123" (in `buffer`).
const char *hs_machine_name(uint16_t machine, char buffer[32]);

#endif
