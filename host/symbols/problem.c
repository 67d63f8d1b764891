// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Why addresses of a module cannot be named, and the file that would help.
#include "host/symbols/candidates.h"
#include "host/symbols/elf_probe.h"
#include "host/symbols/session.h"
#include "host/symbols/symbols.h"

#include <stdio.h>
#include <string.h>

void hs_symbols__status(struct hs_symbols *self, size_t module, struct hs_symbols_status *status)
{
    struct hs_module_symbols *it = self->modules[module];
    hs_module_symbols__open(it);
    *status = (struct hs_symbols_status){.state = it->state,
                                         .has_lines = hs_module_symbols__has_lines(it),
                                         .is_packed = it->packed,
                                         .lacks_memory = it->lacks_memory,
                                         .lacks_units = hs_module_symbols__lacks_units(it),
                                         .path = it->description.path,
                                         .build_id = it->description.build_id,
                                         .build_id_length = it->description.build_id_length,
                                         .file = it->file,
                                         .debug_file = it->debug_file,
                                         .debug_link = it->link};
    status->has_no_file = status->path[0] != '/' && it->state == HS_SYMBOLS_MISSING;
}

const char *hs_symbols_reason(const struct hs_symbols_status *status)
{
    static const char *const reasons[] = {[HS_SYMBOLS_UNUSED] = "unused",   [HS_SYMBOLS_FOUND] = "no_debug_information",
                                          [HS_SYMBOLS_MISSING] = "no_file", [HS_SYMBOLS_MISMATCH] = "other_build",
                                          [HS_SYMBOLS_CHANGED] = "changed", [HS_SYMBOLS_FOREIGN] = "other_machine",
                                          [HS_SYMBOLS_DAMAGED] = "damaged"};
    bool complete =
        status->state == HS_SYMBOLS_FOUND && status->has_lines && !status->lacks_units && !status->lacks_memory;
    return complete || status->has_no_file ? NULL : reasons[status->state];
}

bool hs_symbols__wanted(const struct hs_symbols_status *status, enum hs_wanted kind, char *path, size_t size)
{
    char by_id[32 + 2 * HS_BUILD_ID_MAX];
    if (!hs_symbols_reason(status) || status->lacks_memory)
        return false;
    switch (kind) {
    case HS_WANTED_BY_BUILD_ID:
        if (!hs_build_id_path(status->build_id, status->build_id_length, by_id, sizeof(by_id)))
            return false;
        return (size_t)snprintf(path, size, "%s.debug", by_id + 1) < size;
    case HS_WANTED_BY_PATH:
        // A file without debug information lies there already.
        return status->path[0] == '/' && status->state != HS_SYMBOLS_FOUND &&
               (size_t)snprintf(path, size, "%s", status->path + 1) < size;
    case HS_WANTED_BY_LINK:
        return status->debug_link && (size_t)snprintf(path, size, "%s", status->debug_link) < size;
    default:
        return false;
    }
}

static void explain(const struct hs_symbols_status *status, char *text, size_t size)
{
    static const char *const words[] = {
        [HS_SYMBOLS_FOUND] = "has no debug information",
        [HS_SYMBOLS_MISMATCH] = "has another build id than the one recorded",
        [HS_SYMBOLS_CHANGED] = "may be another file: it was written or replaced, or its mode, owner or links changed "
                               "since; --sysroot / uses it as it is",
        [HS_SYMBOLS_FOREIGN] = "is built for another machine than the trace",
        [HS_SYMBOLS_DAMAGED] = "is not a readable ELF file, or its sections unpack to far more than such files have",
    };
    if (status->state == HS_SYMBOLS_FOUND && status->lacks_memory) {
        snprintf(text, size, "has debug information that there was no memory to read");
        return;
    }
    if (status->state == HS_SYMBOLS_FOUND && status->is_packed) {
        snprintf(text, size, "has debug information that cannot be unpacked: it is damaged, or larger than it can be");
        return;
    }
    if (status->state == HS_SYMBOLS_FOUND && status->lacks_units) {
        snprintf(text, size, "has inlined calls in .dwo files that are not here, nor in a .dwp file");
        return;
    }
    bool elsewhere = status->file && strcmp(status->file, status->path);
    if (status->state == HS_SYMBOLS_MISMATCH && !status->build_id_length) {
        snprintf(text, size, "%s%sis not the file that was recorded, or was written since",
                 elsewhere ? status->file : "", elsewhere ? " " : "");
        return;
    }
    if (status->state == HS_SYMBOLS_MISSING)
        snprintf(text, size, "no file found");
    else
        snprintf(text, size, "%s%s%s", elsewhere ? status->file : "", elsewhere ? " " : "", words[status->state]);
}

// The path of a file by build id: below the first debug directory, else below the first system root.
static void name_by_build_id(FILE *stream, const struct hs_symbols_options *options, const char *path)
{
    if (options->debug_dir_count)
        fprintf(stream, "%s/%s", options->debug_dirs[0], path);
    else if (options->sysroot_count)
        fprintf(stream, "%s/usr/lib/debug/%s, or below DIR with --debug-dir DIR", options->sysroots[0], path);
    else if (hs_is_foreign(options))
        fprintf(stream, "DIR/%s with --debug-dir DIR", path);
    else
        fprintf(stream, "/usr/lib/debug/%s", path);
}

static void name_wanted(const struct hs_symbols_options *options, const struct hs_symbols_status *status, char *text,
                        size_t size)
{
    char path[4096];
    char link[4096];
    FILE *stream = fmemopen(text, size, "w");
    const char *separator = "";
    *text = 0;
    if (!stream)
        return;
    if (hs_symbols__wanted(status, HS_WANTED_BY_PATH, path, sizeof(path))) {
        bool given = options->sysroot_count;
        fprintf(stream, "%s/%s%s", given ? options->sysroots[0] : "DIR", path, given ? "" : " with --sysroot DIR");
        separator = " or ";
    }
    bool by_id = hs_symbols__wanted(status, HS_WANTED_BY_BUILD_ID, path, sizeof(path));
    bool by_link = hs_symbols__wanted(status, HS_WANTED_BY_LINK, link, sizeof(link));
    // Some name the file in the link as by build id.
    if (by_link && !(by_id && strstr(path, link))) {
        fprintf(stream, "%s%s beside it", separator, link);
        separator = " or ";
    }
    if (by_id) {
        fputs(separator, stream);
        name_by_build_id(stream, options, path);
    }
    if (status->lacks_memory)
        fputs("more memory with --memory SIZE", stream);
    else if (!by_id && !*separator)
        fputs("the same build with debug information in its place", stream);
    fclose(stream);
}

bool hs_symbols__needs_sysroot(const struct hs_symbols *self)
{
    return !self->options.sysroot_count && hs_is_foreign(&self->options);
}

bool hs_symbols__explain(const struct hs_symbols *self, const struct hs_symbols_status *status, char *why,
                         size_t why_size, char *wanted, size_t wanted_size)
{
    *why = 0;
    *wanted = 0;
    if (!hs_symbols_reason(status))
        return false;
    explain(status, why, why_size);
    name_wanted(&self->options, status, wanted, wanted_size);
    return true;
}

bool hs_symbols__problem(struct hs_symbols *self, size_t module, char *line, size_t size)
{
    struct hs_symbols_status status;
    char why[4096 + 64];
    char wanted[3 * 4096];
    const struct hs_module_symbols *it = self->modules[module];
    if (it->state == HS_SYMBOLS_UNUSED || (it->state == HS_SYMBOLS_FOUND && !it->lacks_memory))
        return false;
    hs_symbols__status(self, module, &status);
    if (!hs_symbols__explain(self, &status, why, sizeof(why), wanted, sizeof(wanted)))
        return false;
    snprintf(line, size, "%s: %s; wanted: %s", status.path, why, wanted);
    return true;
}
