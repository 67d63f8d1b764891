// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/frame_key.h"

#include "host/base/path.h"
#include "host/report/report.h"

#include <string.h>

struct hs_frame_source hs_frame_source__of(const struct hs_store *store, bool by_function)
{
    struct hs_frame_source source = {.program = hs_program_name(store), .by_function = by_function};
    source.module = hs_store__modules(store, &source.modules);
    return source;
}

const char *hs_frame_key_library(const char *module, const char *program)
{
    const char *name = hs_path__name(module);
    return *name && !strcmp(name, hs_path__name(program)) ? "[main program]" : name;
}

// Successive frames are often of one module.
static const struct hs_module *module_of(struct hs_frame_source *source, const char *path)
{
    for (size_t i = 0; i < source->modules; i++) {
        const size_t at = (source->found + i) % source->modules;
        if (strcmp(source->module[at].path, path) != 0)
            continue;
        source->found = at;
        return &source->module[at];
    }
    return NULL;
}

// The text of a frame without a name has its module's name before its offset.
static void identify_offset(struct hs_frame_source *source, const struct hs_frame *frame, struct hs_frame_key *key)
{
    const struct hs_module *module = module_of(source, frame->module);
    const char *offset = strrchr(frame->function, '+');
    key->function = offset ? offset : "";
    key->build_id = module ? module->build_id : NULL;
    key->build_id_length = module ? module->build_id_length : 0;
}

struct hs_frame_key hs_frame_key__of(struct hs_frame_source *source, const struct hs_frame *frame)
{
    struct hs_frame_key key = {.function = frame->function, .library = ""};
    if (source->by_function)
        return key;
    key.library = hs_frame_key_library(frame->module, source->program);
    if (frame->kind != HS_FRAME_NAMED && *frame->module)
        identify_offset(source, frame, &key);
    return key;
}

bool hs_frame_key__is(const struct hs_frame_key *key, const struct hs_frame_key *other)
{
    return !strcmp(key->function, other->function) && !strcmp(key->library, other->library) &&
           key->build_id_length == other->build_id_length &&
           (!key->build_id_length || !memcmp(key->build_id, other->build_id, key->build_id_length));
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    for (const unsigned char *at = bytes; size--; at++)
        hash = (hash ^ *at) * 0x100000001b3u;
    return (hash ^ 0xff) * 0x100000001b3u;
}

uint64_t hs_frame_key__hash(const struct hs_frame_key *key)
{
    uint64_t hash = mix(0xcbf29ce484222325u, key->function, strlen(key->function));
    hash = mix(hash, key->library, strlen(key->library));
    if (key->build_id_length)
        hash = mix(hash, key->build_id, key->build_id_length);
    return (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
}
