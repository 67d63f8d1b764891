// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Finds or creates the store of a trace. A new store has a temporary name and is renamed atomically, so that others see
// a complete store or none.
#include "host/base/memory.h"
#include "host/base/path.h"
#include "host/import/cache.h"
#include "host/import/left_over.h"
#include "host/import/most_live.h"
#include "host/import/resume.h"
#include "host/import/run.h"
#include "host/import/snapshots.h"
#include "host/import/store_key.h"
#include "host/import/trace.h"
#include "host/query/stack_totals_make.h"
#include "host/store/attach.h"
#include "host/store/folder.h"
#include "host/store/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX         ".store"
#define WORTH_FLUSHING ((off_t)32 << 20) // of the trace

struct import_open_place {
    char directory[PATH_MAX];
    bool is_cached;
};

// The properties that a store must have.
struct wanted {
    struct hs_store_key key;
    uid_t owner; // of the trace
    const struct hs_symbols_options *symbols;
};

static bool is_of(const char *directory, const struct hs_store_key *key, struct hs_store_head *head)
{
    return !hs_store__read_head(directory, head) && !memcmp(&head->key, key, sizeof *key);
}

// Accepts a store of the trace's owner. A store of any other user could have contents that are not from the trace.
static bool is_trusted(const char *directory, const struct wanted *wanted)
{
    struct stat status;
    return !stat(directory, &status) && (hs_user__is_trusted(status.st_uid) || status.st_uid == wanted->owner);
}

// If stacks were unwound here, the store also depends on the files with which this was done.
static bool matches(const char *directory, const struct wanted *wanted)
{
    struct hs_store_head head;
    return is_trusted(directory, wanted) && is_of(directory, &wanted->key, &head) &&
           (!head.unwound_with || head.unwound_with == hs_snapshots__found_files(directory, wanted->symbols));
}

// ---- places, best first --------------------------------------------------------------------------------------------

static bool beside(const char *path, struct import_open_place *place)
{
    return snprintf(place->directory, sizeof place->directory, "%s" SUFFIX, path) < (int)sizeof place->directory;
}

// In a directory of the user's the name says which file it is, also when that has grown since.
static bool inside(const char *parent, const struct hs_trace *trace, struct import_open_place *place)
{
    struct stat status;
    char id[HS_TRACE_ID];
    if (fstat(trace->fd, &status))
        return false;
    hs_trace__write_id(trace, id);
    int length = snprintf(place->directory, sizeof place->directory, "%s/%s-%llx" SUFFIX, parent, id,
                          (unsigned long long)status.st_ino);
    return length < (int)sizeof place->directory;
}

static bool in_cache(const struct hs_trace *trace, struct import_open_place *place)
{
    char parent[PATH_MAX];
    place->is_cached = true;
    return hs_cache__folder(parent, sizeof parent) && inside(parent, trace, place);
}

// ---- making --------------------------------------------------------------------------------------------------------

static int add_totals(const char *directory, int directory_fd)
{
    struct hs_store *store;
    int failed = hs_store__open_unsealed(directory, &store, NULL);
    if (failed)
        return failed;
    failed = hs_stack_totals_column__write(store, directory_fd);
    hs_store__close(store);
    return failed;
}

static int import_to(const struct hs_trace *trace, const struct hs_import_options *options,
                     const struct hs_resume *resume, const char *directory)
{
    int directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int failed = directory_fd < 0 ? -errno : 0;
    if (!failed) {
        hs_left_over__hold(directory_fd);
        failed = hs_import__run(trace, options, resume, directory_fd);
    }
    if (!failed)
        failed = add_totals(directory, directory_fd);
    if (directory_fd >= 0)
        close(directory_fd);
    return failed;
}

static bool is_whole(const char *directory)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool whole = fd >= 0 && !hs_seal__check(fd);
    if (fd >= 0)
        close(fd);
    return whole;
}

// Flushing is not worth while for a small store, which is quickly made again, or for that of a growing trace, which is
// soon replaced.
static int seal(const char *directory, const struct hs_trace *trace)
{
    struct stat status;
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    bool large = !fstat(trace->fd, &status) && status.st_size >= WORTH_FLUSHING;
    int failed = hs_seal__write(fd, large && faccessat(fd, "resume", F_OK, 0));
    close(fd);
    return failed;
}

// Gives the built directory its final name. Another process may have been faster: then its store is as good.
static int take_name(const char *built, const char *final, const struct wanted *wanted)
{
    for (int attempt = 0; attempt < 3; attempt++) {
        if (!rename(built, final))
            return 0;
        if (errno != ENOTEMPTY && errno != EEXIST)
            return -errno;
        if (matches(final, wanted) && is_whole(final)) {
            hs_store__remove(built);
            return 0;
        }
        // There is a store of an older state of the trace, or a damaged one. It is moved away first; processes that
        // have it open keep its files.
        char old[PATH_MAX];
        if (snprintf(old, sizeof old, "%s.old-%d", final, (int)getpid()) >= (int)sizeof old)
            return -ENAMETOOLONG;
        if (!rename(final, old))
            hs_store__remove(old);
    }
    return -EEXIST;
}

static int import_again_to(const struct hs_trace *trace, const struct hs_import_options *options,
                           const struct hs_resume *resume, const char *directory)
{
    hs_store__remove(directory);
    if (mkdir(directory, 0700))
        return -errno;
    return import_to(trace, options, resume, directory);
}

static bool is_further(const struct hs_resume *resume, const struct hs_resume *than)
{
    return resume && (!than || hs_resume__time(resume) > hs_resume__time(than));
}

// Goes on from the store of an earlier state of the trace or from an import that did not end, whichever came further,
// where there is one that can be gone on from.
static int import_rest_to(const struct hs_trace *trace, const struct hs_import_options *options, const char *earlier,
                          const struct hs_left_over *left, const char *directory)
{
    struct hs_resume *resume = earlier ? hs_resume__open(earlier, trace) : NULL;
    const struct hs_resume *first = is_further(left->resume, resume) ? left->resume : resume;
    const struct hs_resume *second = first == resume ? left->resume : resume;
    int failed = import_to(trace, options, first, directory);
    if (first && failed == -ESTALE)
        failed = import_again_to(trace, options, second, directory);
    if (second && failed == -ESTALE)
        failed = import_again_to(trace, options, NULL, directory);
    hs_resume__close(resume);
    return failed;
}

// A file system that has no room for the store. What has no room in one place has none in another place of it.
struct import_open_full {
    dev_t device;
    int failed; // 0: none was full
};

static bool is_about_room(int failed)
{
    return failed == -ENOSPC || failed == -EDQUOT || failed == -EFBIG;
}

static void note_full(struct import_open_full *full, const char *directory, int failed)
{
    struct stat status;
    if (is_about_room(failed) && !stat(directory, &status))
        *full = (struct import_open_full){status.st_dev, failed};
}

static int refuse_full(const struct import_open_full *full, const char *directory)
{
    struct stat status;
    return full->failed && !stat(directory, &status) && status.st_dev == full->device ? full->failed : 0;
}

// A cancelled import may be repeated later.
static void remove_unless_partial(const char *built, int failed)
{
    char partial[PATH_MAX];
    if (failed != -ECANCELED || snprintf(partial, sizeof partial, "%s/partial", built) >= (int)sizeof partial ||
        access(partial, F_OK))
        hs_store__remove(built);
}

// Imports into `place` and opens it. -EACCES, -EROFS and the like mean: try the next place.
static int make(const struct hs_trace *trace, const struct hs_import_options *options,
                const struct import_open_place *place, const struct wanted *wanted, struct import_open_full *full,
                struct hs_store **store, struct hs_error *error)
{
    char built[PATH_MAX];
    if (snprintf(built, sizeof built, "%s" HS_MAKING_SUFFIX, place->directory) >= (int)sizeof built)
        return -ENAMETOOLONG;
    struct hs_left_over left;
    hs_left_over__take(&left, place->directory, options && options->force ? NULL : trace);
    int failed = mkdtemp(built) ? refuse_full(full, built) : -errno;
    if (failed) {
        rmdir(built);
        hs_left_over__free(&left, false);
        return failed;
    }
    const bool afresh = (options && options->force) || !is_trusted(place->directory, wanted);
    failed = import_rest_to(trace, options, afresh ? NULL : place->directory, &left, built);
    if (!failed && options && options->force && matches(place->directory, wanted))
        hs_store__remove(place->directory);
    if (!failed)
        failed = seal(built, trace);
    if (!failed)
        failed = take_name(built, place->directory, wanted);
    note_full(full, built, failed);
    if (failed)
        remove_unless_partial(built, failed);
    hs_left_over__free(&left, !failed);
    return failed ? failed : hs_store__open(place->directory, store, error);
}

static bool is_about_the_place(int failed)
{
    return failed == -EACCES || failed == -EROFS || failed == -EPERM || failed == -ENOENT || failed == -ENAMETOOLONG ||
           failed == -ENOTDIR || failed == -EOPNOTSUPP || failed == -EINVAL || failed == -EEXIST ||
           is_about_room(failed);
}

static int make_temporary(const struct hs_trace *trace, const struct hs_import_options *options,
                          struct import_open_full *full, struct hs_store **store, struct hs_error *error)
{
    char built[PATH_MAX];
    if (snprintf(built, sizeof built, "%s/heapsonde-XXXXXX", hs_path__temporary()) >= (int)sizeof built)
        return -ENAMETOOLONG;
    if (!mkdtemp(built))
        return -errno;
    int failed = refuse_full(full, built);
    if (!failed)
        failed = import_to(trace, options, NULL, built);
    if (!failed)
        failed = hs_store__open_unsealed(built, store, error);
    if (failed) {
        hs_store__close(*store);
        *store = NULL;
    } else {
        hs_store__keep_nothing(*store);
    }
    hs_store__remove(built); // what is open goes with this process, however that ends
    return failed;
}

static int find_or_make(const char *path, const struct hs_trace *trace, const struct hs_import_options *options,
                        struct hs_store **store, struct hs_error *error)
{
    struct stat status;
    struct wanted wanted = {.symbols = options ? options->symbols : NULL,
                            .owner = fstat(trace->fd, &status) ? geteuid() : status.st_uid};
    struct import_open_place places[2] = {{.is_cached = false}};
    struct import_open_full full = {.failed = 0};
    size_t count = 0;
    hs_store_key__of(trace, &wanted.key);
    if (options && options->temporary)
        return make_temporary(trace, options, &full, store, error);
    if (options && options->store) {
        count = snprintf(places[0].directory, sizeof places[0].directory, "%s", options->store) <
                (int)sizeof places[0].directory;
    } else {
        count += beside(path, &places[count]);
        count += in_cache(trace, &places[count]);
    }
    for (size_t i = 0; i < count && !(options && options->force); i++)
        if (matches(places[i].directory, &wanted) && !hs_store__open(places[i].directory, store, NULL)) {
            if (places[i].is_cached)
                hs_cache__use(places[i].directory);
            return 0;
        }
    int failed = -EACCES;
    for (size_t i = 0; i < count; i++) {
        failed = make(trace, options, &places[i], &wanted, &full, store, error);
        if (!failed && places[i].is_cached)
            hs_cache__prune();
        if (!failed || !is_about_the_place(failed))
            return failed;
    }
    return options && options->store ? failed : make_temporary(trace, options, &full, store, error);
}

// ---- opening -------------------------------------------------------------------------------------------------------

static int read_embedded(void *context, uint64_t chunk_offset, void *to, uint64_t length, struct hs_error *error)
{
    const struct hs_trace *trace = context;
    size_t count;
    const struct hs_trace_chunk *chunks = hs_trace__chunks(trace, &count);
    for (size_t i = 0; i < count; i++) {
        if (chunks[i].offset != chunk_offset)
            continue;
        uint8_t *payload;
        size_t got;
        int failed = hs_trace__payload(trace, &chunks[i], &payload, &got);
        if (failed)
            return hs_error__set(error, -failed, "%s: an embedded file is damaged", trace->path);
        if (got >= length)
            memcpy(to, payload + (got - length), length);
        free(payload);
        return got >= length ? 0 : hs_error__set(error, EBADMSG, "%s: an embedded file is damaged", trace->path);
    }
    return hs_error__set(error, ENOENT, "%s: the trace has changed", trace->path);
}

static void close_trace(void *context)
{
    hs_trace__close(context);
}

static int is_store(const char *path)
{
    struct hs_store_head head;
    struct stat status;
    return !stat(path, &status) && S_ISDIR(status.st_mode) && !hs_store__read_head(path, &head);
}

static const char *describe(int failed)
{
    switch (failed) {
    case -EOVERFLOW:
        return "more than 4294967295 allocations: too many for one store";
    case -ECANCELED:
        return "cancelled";
    default:
        return strerror(-failed);
    }
}

static int refuse_size(const char *path, const char *what, uint64_t bytes, struct hs_error *error)
{
    return hs_error__set(error, E2BIG, "%s: cannot be imported: it has far more %s than files of its size have; %s",
                         path, what, hs_memory__advice(bytes).text);
}

// Only the folders that were tried.
static int refuse_room(const char *path, const struct hs_import_options *options, int failed, struct hs_error *error)
{
    if (options && options->store && !options->temporary)
        return hs_error__set(error, -failed, "%s: cannot be imported: there is no room for the store %s: %s", path,
                             options->store, strerror(-failed));
    return hs_error__set(error, -failed,
                         "%s: cannot be imported: there is no room %sin the folder for temporary files, %s: %s; make "
                         "room, or name another folder with TMPDIR",
                         path, options && options->temporary ? "" : "beside it, in the user's cache, and ",
                         hs_path__temporary(), strerror(-failed));
}

static int refuse(const char *path, const struct hs_trace *trace, const struct hs_import_options *options, int failed,
                  struct hs_error *error)
{
    const int *cancel = options ? options->cancel : NULL;
    if (failed == -E2BIG)
        return refuse_size(path, "live blocks", hs_trace__most_live(trace, cancel) * HS_MEMORY_BLOCK, error);
    if (failed == -ENOBUFS)
        return refuse_size(path, "nodes of stacks", hs_trace__most_nodes(trace, cancel) * HS_MEMORY_NODE, error);
    if (is_about_room(failed))
        return refuse_room(path, options, failed, error);
    return hs_error__set(error, -failed, "%s: cannot be imported: %s", path, describe(failed));
}

int hs_import__open(const char *path, const struct hs_import_options *options, struct hs_store **store,
                    struct hs_error *error)
{
    *store = NULL;
    if (is_store(path))
        return hs_store__open(path, store, error);
    struct hs_trace *trace;
    int failed = hs_trace__open(path, &trace, error);
    if (failed)
        return failed;
    failed = find_or_make(path, trace, options, store, error);
    if (failed) {
        failed = refuse(path, trace, options, failed, error);
        hs_trace__close(trace);
        return failed;
    }
    hs_store__attach(*store, read_embedded, close_trace, trace);
    return 0;
}
