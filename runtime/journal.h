// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The journal: meta records (stack nodes, modules, threads, clock points, ...) in slots of their own, so that they
// survive a kill as events do. A full slot goes to the writer like any other.
//
// Nodes and modules go into one journal, so that a node belongs to the modules before it: those functions run under the
// stack table's lock. The others take a lock of their own. A function returns false when the record could not be
// stored. The writer must not call them: they may wait for it.
#ifndef HEAPSONDE_RUNTIME_JOURNAL_H
#define HEAPSONDE_RUNTIME_JOURNAL_H

#include "runtime/code_range.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool hs_journal__node(uint32_t id, uint32_t parent, uintptr_t pc);

// Nodes in this code (in the order of addresses) do not occur again: it is about to be unloaded.
void hs_journal__code_ends(const struct hs_code_range *code, uint32_t count);
// `time`: recorded time; nodes that were journalled before are in this module if none was journalled later than that.
bool hs_journal__module(uint64_t time, uint64_t start, uint64_t end, uint64_t bias, const void *build_id,
                        size_t build_id_length, const char *path);
// For the module that was announced last, which has no build id. `inode`: that of its file.
bool hs_journal__layout(uint32_t hash, uint64_t inode);
bool hs_journal__unload(uint64_t start);
bool hs_journal__thread(uint32_t stream, uint32_t tid, const char *name);
bool hs_journal__toggle(bool on);
bool hs_journal__info(const char *key, const char *value);
bool hs_journal__snapshot(uint32_t number, const void *words, size_t length);
struct hs_meta_code;
bool hs_journal__code(const struct hs_meta_code *code);
bool hs_journal__mark(uint32_t stream, uint64_t value, const char *text);

// Submits the slot in use, so that the writer seals it in its next round.
void hs_journal__flush_code(void);
void hs_journal__flush_others(void);

// Under the stack table's lock: the slot in use, which the caller seals. NULL: there is none.
struct hs_slot;
struct hs_slot *hs_journal__take_code(void);

// Starts again in a forked child.
void hs_journal__reset(void);

#endif
