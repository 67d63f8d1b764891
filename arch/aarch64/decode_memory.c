// SPDX-License-Identifier: MIT OR Apache-2.0
//
// AArch64's loads, stores, atomics and memory copies.
#include "arch/aarch64/decode.h"

// Exclusive, ordered, compare-and-swap. Bit 23: not exclusive, bit 22: load, bit 21: a pair, or compare-and-swap.
static void exclusive(struct a64 *a64)
{
    bool plain = bit(a64, 23), load = bit(a64, 22), pair = bit(a64, 21), whole = bits(a64, 30, 2) == 3;
    if (plain && pair) { // cas
        clobber(a64, rm(a64));
    } else if (plain && load) {
        if (whole)
            load_word(a64, rd(a64), rn(a64), 0);
        else
            clobber(a64, rd(a64));
    } else if (plain) {
        if (whole)
            store_word(a64, rd(a64), rn(a64), 0);
    } else if (pair && !bit(a64, 31)) { // casp
        clobber(a64, rm(a64));
        clobber(a64, rm(a64) | 1);
    } else if (load) {
        clobber(a64, rd(a64));
        if (pair)
            clobber(a64, rt2(a64));
    } else {
        clobber(a64, rm(a64));
    }
}

// The unprivileged ones: their pairs of compare-and-swap are plain.
static void exclusive_unprivileged(struct a64 *a64)
{
    if (bit(a64, 23) && !bit(a64, 30)) {
        clobber(a64, rm(a64));
        clobber(a64, rm(a64) | 1);
    } else if (bit(a64, 23)) {
        clobber(a64, rm(a64));
    } else {
        clobber(a64, bit(a64, 22) ? rd(a64) : rm(a64));
    }
}

// Bytes that a vector load or store of whole structures covers; 0: there is no such instruction.
static int32_t multiple_structures_size(const struct a64 *a64)
{
    unsigned registers;
    switch (bits(a64, 12, 4)) {
    case 0:
    case 2:
        registers = 4;
        break;
    case 4:
    case 6:
        registers = 3;
        break;
    case 8:
    case 10:
        registers = 2;
        break;
    case 7:
        registers = 1;
        break;
    default:
        return 0;
    }
    return (int32_t)(registers * (bit(a64, 30) ? 16 : 8));
}

static int32_t single_structure_size(const struct a64 *a64)
{
    unsigned elements = (bits(a64, 13, 1) << 1 | bits(a64, 21, 1)) + 1, scale = bits(a64, 14, 2);
    if (scale == 3)
        scale = bits(a64, 10, 2);
    else if (scale == 2 && bit(a64, 10))
        scale = 3;
    return (int32_t)(elements << scale);
}

static bool vector_structures(struct a64 *a64)
{
    bool single = bit(a64, 24), moves_base = bit(a64, 23);
    if (bit(a64, 31))
        return single && !moves_base; // ldap1, stl1
    int32_t size = single ? single_structure_size(a64) : multiple_structures_size(a64);
    if (size == 0)
        return false;
    if (moves_base && rm(a64) == A64_ZERO)
        add(a64, rn(a64), rn(a64), size);
    else if (moves_base)
        hs_effect__add(a64->instruction, HS_EFFECT_ADD_REGISTER, rn(a64), rn(a64), rm(a64), 0);
    return true;
}

static void move_base(struct a64 *a64, int32_t offset)
{
    add(a64, rn(a64), rn(a64), offset);
}

static void tags(struct a64 *a64)
{
    bool loads = bit(a64, 22), bulk = bits(a64, 10, 2) == 0;
    int32_t offset = hs_bits__signed(a64->word, 12, 9) * 16;
    if (bulk && loads) // ldg, ldgm
        clobber(a64, rd(a64));
    else if (bits(a64, 10, 1)) // post- and pre-index
        move_base(a64, offset);
}

// 128-bit atomics and those of translation tables.
static void wide_atomic(struct a64 *a64)
{
    switch (bits(a64, 10, 2)) {
    case 0: // ldclrp, swpp
        clobber(a64, rd(a64));
        clobber(a64, rm(a64));
        return;
    case 1:
        clobber(a64, rd(a64));
        return;
    case 2: // rcwcas
        clobber(a64, rm(a64));
        return;
    default:
        clobber(a64, rm(a64));
        clobber(a64, rm(a64) | 1);
    }
}

// cpyp, cpym, cpye and the setters: they move their pointers and count down.
static void copy_memory(struct a64 *a64)
{
    bool sets = bits(a64, 22, 2) == 3;
    clobber(a64, rd(a64));
    clobber(a64, rn(a64));
    if (!sets)
        clobber(a64, rm(a64));
}

static void load_acquire_pair(struct a64 *a64)
{
    bool loads = bit(a64, 22), single = bit(a64, 23);
    bool moves = single || bits(a64, 12, 4) == 0;
    int32_t size = (bit(a64, 30) ? 8 : 4) * (single ? 1 : 2);
    if (moves && !loads)
        move_base(a64, -size);
    if (loads) {
        clobber(a64, rd(a64));
        if (!single)
            clobber(a64, rm(a64));
    } else if (bit(a64, 30)) {
        store_word(a64, rd(a64), rn(a64), 0);
        if (!single)
            store_word(a64, rm(a64), rn(a64), 8);
    }
    if (moves && loads)
        move_base(a64, size);
}

static void ordered_unscaled(struct a64 *a64)
{
    bool whole = bits(a64, 30, 2) == 3;
    int32_t offset = hs_bits__signed(a64->word, 12, 9);
    unsigned operation = bits(a64, 22, 2);
    if (operation == 0 && whole)
        store_word(a64, rd(a64), rn(a64), offset);
    else if (operation == 1 && whole)
        load_word(a64, rd(a64), rn(a64), offset);
    else if (operation != 0)
        clobber(a64, rd(a64));
}

static bool load_miscellaneous(struct a64 *a64)
{
    bool vector = bit(a64, 26);
    unsigned kind = bits(a64, 10, 2);
    if (!bit(a64, 24)) { // literals
        bool prefetches = bits(a64, 30, 2) == 3;
        if (!vector && !prefetches)
            clobber(a64, rd(a64));
        return true;
    }
    if (bit(a64, 21)) {
        if (vector)
            return false;
        if (bits(a64, 30, 2) == 3)
            tags(a64);
        else
            wide_atomic(a64);
        return true;
    }
    if (kind == 1 && bits(a64, 30, 2) == 0)
        copy_memory(a64);
    else if (!vector && kind == 0)
        ordered_unscaled(a64);
    else if (!vector && kind == 2)
        load_acquire_pair(a64);
    return true;
}

static bool load_pair(struct a64 *a64)
{
    enum { NO_ALLOCATE, POST, OFFSET, PRE };
    bool vector = bit(a64, 26), loads = bit(a64, 22);
    unsigned operation = bits(a64, 30, 2), mode = bits(a64, 23, 2);
    unsigned scale = vector                     ? (operation == 3 ? 4 : 2 + operation)
                     : operation >= 2           ? 3
                     : operation == 1 && !loads ? 4
                                                : 2;
    bool whole = !vector && (operation >= 2 || (operation == 1 && !loads)); // stgp, too
    int32_t offset = hs_bits__signed(a64->word, 15, 7) * (1 << scale);
    int32_t at = mode == POST || mode == PRE ? 0 : offset;
    if (mode == PRE)
        move_base(a64, offset);
    if (whole && loads) { // the base last
        bool first_is_base = rd(a64) == rn(a64);
        load_word(a64, first_is_base ? rt2(a64) : rd(a64), rn(a64), first_is_base ? at + 8 : at);
        load_word(a64, first_is_base ? rd(a64) : rt2(a64), rn(a64), first_is_base ? at : at + 8);
    } else if (whole) {
        store_word(a64, rd(a64), rn(a64), at);
        store_word(a64, rt2(a64), rn(a64), at + 8);
    } else if (loads && !vector) {
        clobber(a64, rd(a64));
        clobber(a64, rt2(a64));
    }
    if (mode == POST)
        move_base(a64, offset);
    return true;
}

// One general register at [rn + offset]. Bits 22-23: store, load, load with sign (64 bits), load with sign (32 bits).
static void access_word(struct a64 *a64, int32_t offset)
{
    unsigned size = bits(a64, 30, 2), operation = bits(a64, 22, 2);
    bool prefetches = size == 3 && operation >= 2;
    if (size == 3 && operation == 0)
        store_word(a64, rd(a64), rn(a64), offset);
    else if (size == 3 && operation == 1)
        load_word(a64, rd(a64), rn(a64), offset);
    else if (operation != 0 && !prefetches)
        clobber(a64, rd(a64));
}

static void atomic(struct a64 *a64)
{
    unsigned operation = bits(a64, 12, 4);
    bool of_64_bytes = bits(a64, 22, 2) == 0 && bits(a64, 30, 2) == 3;
    if (operation == 9 && of_64_bytes) // st64b
        return;
    if ((operation == 10 || operation == 11) && of_64_bytes) { // st64bv
        clobber(a64, rm(a64));
    } else if (operation == 13 && of_64_bytes) { // ld64b
        for (unsigned i = 0; i < 8 && rd(a64) + i < A64_ZERO; i++)
            clobber(a64, rd(a64) + i);
    } else {
        clobber(a64, rd(a64));
    }
}

static void load_authenticated(struct a64 *a64)
{
    int32_t offset = (int32_t)(bits(a64, 12, 9) | bits(a64, 22, 1) << 9);
    offset = (offset ^ 0x200) - 0x200;
    if (bit(a64, 11)) { // pre-index
        move_base(a64, offset * 8);
        load_word(a64, rd(a64), rn(a64), 0);
    } else { // by an authenticated copy of the base, which is the base for our purposes
        load_word(a64, rd(a64), rn(a64), offset * 8);
    }
}

static bool load_register(struct a64 *a64)
{
    bool vector = bit(a64, 26);
    unsigned kind = bits(a64, 10, 2), size = bits(a64, 30, 2);
    if (bit(a64, 24)) {
        if (!vector)
            access_word(a64, (int32_t)(bits(a64, 10, 12) << size));
        return true;
    }
    if (bit(a64, 21)) {
        if (vector)
            return true;
        if (kind == 0)
            atomic(a64);
        else if (kind != 2)
            load_authenticated(a64);
        else if (bits(a64, 22, 2) != 0 && !(size == 3 && bits(a64, 22, 2) >= 2))
            clobber(a64, rd(a64));
        return true;
    }
    int32_t offset = hs_bits__signed(a64->word, 12, 9);
    if (kind == 3) // pre-index
        move_base(a64, offset);
    if (!vector)
        access_word(a64, kind & 1 ? 0 : offset);
    if (kind == 1) // post-index
        move_base(a64, offset);
    return true;
}

bool hs_aarch64_decode_memory(struct a64 *a64)
{
    switch (bits(a64, 28, 2)) {
    case 0:
        if (bit(a64, 26))
            return vector_structures(a64);
        if (bit(a64, 24))
            exclusive_unprivileged(a64);
        else
            exclusive(a64);
        return true;
    case 1:
        return load_miscellaneous(a64);
    case 2:
        return load_pair(a64);
    default:
        return load_register(a64);
    }
}
