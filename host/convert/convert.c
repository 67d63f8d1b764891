// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/convert/convert.h"

#include "host/base/path.h"
#include "host/convert/unpack.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *hs_foreign__name(enum hs_foreign kind)
{
    static const char *const names[] = {"", "heaptrack", "memory-profiler"};
    return names[kind];
}

static bool is_heaptrack(FILE *in)
{
    unsigned version, format;
    char line[64];
    return fgets(line, sizeof(line), in) && sscanf(line, "v %x %x\n", &version, &format) == 2;
}

enum hs_foreign hs_foreign__recognise(const char *path)
{
    struct stat status;
    // A pipe would lose what is read from it.
    FILE *in = !stat(path, &status) && S_ISREG(status.st_mode) ? hs_unpack__open(path) : NULL;
    // A file that cannot be unpacked may be one; hs_foreign__convert() then reports the problem.
    bool heaptrack = in && (is_heaptrack(in) || ferror(in));
    if (in)
        fclose(in);
    if (heaptrack)
        return HS_FOREIGN_HEAPTRACK;
    in = in ? fopen(path, "rbe") : NULL;
    bool recorder = in && hs_convert__is_recorder(in);
    if (in)
        fclose(in);
    return recorder ? HS_FOREIGN_RECORDER : HS_FOREIGN_NONE;
}

static bool is_zstd(const char *path)
{
    unsigned char first = 0;
    FILE *in = fopen(path, "rbe");
    bool is = in && fread(&first, 1, 1, in) == 1 && first == 0x28;
    if (in)
        fclose(in);
    return is;
}

// For compressed files from which not even the first byte can be unpacked.
static int check_start(const char *path, FILE *in, struct hs_error *error)
{
    struct stat status = {0};
    ungetc(getc(in), in);
    int problem = errno;
    if (!ferror(in))
        return 0;
    stat(path, &status);
    const char *packed = is_zstd(path) ? "zstd, as heaptrack does" : "gzip, as pprof does, and heaptrack without zstd";
    if (problem == ENODATA)
        return hs_error__set(error, EBADMSG,
                             "%s: compressed with %s, but truncated: it ends after %lld bytes, in its first block, and "
                             "nothing can be read",
                             path, packed, (long long)status.st_size);
    return hs_error__set(error, EBADMSG, "%s: compressed with %s, but damaged in its first block: nothing can be read",
                         path, packed);
}

// ---- reading that can be followed and cancelled ---------------------------------------------------------------------

struct convert_watched {
    FILE *in;
    const struct hs_import_options *options;
    uint64_t done;
};

// How much will come of a compressed file is not known.
static ssize_t read_watched(void *cookie, char *to, size_t size)
{
    struct convert_watched *watched = cookie;
    const struct hs_import_options *options = watched->options;
    if (options->progress)
        options->progress(options->context, watched->done, 0);
    if (options->cancel && *options->cancel) {
        errno = ECANCELED;
        return -1;
    }
    const size_t got = fread(to, 1, size, watched->in);
    watched->done += got;
    return !got && ferror(watched->in) ? -1 : (ssize_t)got;
}

// `watched` and what it reads stay the caller's.
static FILE *watch(struct convert_watched *watched)
{
    FILE *stream = fopencookie(watched, "r", (cookie_io_functions_t){.read = read_watched});
    if (stream)
        setvbuf(stream, NULL, _IOFBF, 1 << 16);
    return stream;
}

static int read_watched_file(const char *path, bool heaptrack, FILE *in, FILE *out, struct hs_error *error)
{
    int result = heaptrack ? check_start(path, in, error) : 0;
    if (!result)
        result = heaptrack ? hs_convert__heaptrack(path, in, out, error) : hs_convert__recorder(path, in, out, error);
    return result;
}

int hs_foreign__convert(const char *path, enum hs_foreign kind, const struct hs_import_options *options, FILE *out,
                        struct hs_error *error)
{
    static const struct hs_import_options none;
    struct convert_watched watched = {.options = options ? options : &none};
    const bool heaptrack = kind == HS_FOREIGN_HEAPTRACK;
    watched.in = heaptrack ? hs_unpack__open(path) : fopen(path, "rbe");
    if (!watched.in)
        return hs_error__set(error, errno, "%s: %s", path, strerror(errno));
    FILE *in = watch(&watched);
    int result = in ? read_watched_file(path, heaptrack, in, out, error)
                    : hs_error__set(error, ENOMEM, "%s: out of memory", path);
    if (in)
        fclose(in);
    fclose(watched.in);
    if (watched.options->cancel && *watched.options->cancel)
        result = hs_error__set(error, ECANCELED, "%s: cancelled", path);
    return result;
}

// ---- a trace that goes ----------------------------------------------------------------------------------------------

// Without a name, if it can be opened by /proc: a process that is killed leaves nothing behind. `made`: where it can be
// opened as long as it is open.
static FILE *make_file(char *made, size_t size, bool *has_name)
{
    snprintf(made, size, "%s/heapsonde-XXXXXX", hs_path__temporary());
    int fd = mkstemp(made);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "wb+");
    if (!file && fd >= 0) {
        close(fd);
        unlink(made);
    }
    *has_name = access("/proc/self/fd", F_OK) != 0;
    if (file && !*has_name) {
        unlink(made);
        snprintf(made, size, "/proc/self/fd/%d", fd);
    }
    return file;
}

// The user knows the file that was converted, not the one that was made of it.
static void name_converted(struct hs_error *error, int result, const char *made, const char *path)
{
    const size_t length = strlen(made);
    if (!error || strncmp(error->message, made, length) != 0)
        return;
    const struct hs_error told = *error;
    hs_error__set(error, -result, "%s%s", path, told.message + length);
}

static int open_recording(const char *path, enum hs_foreign kind, const struct hs_import_options *options,
                          struct hs_store **store, struct hs_error *error)
{
    char made[PATH_MAX];
    struct hs_import_options temporary = options ? *options : (struct hs_import_options){0};
    temporary.temporary = true;
    bool has_name;
    FILE *file = make_file(made, sizeof(made), &has_name);
    if (!file)
        return hs_error__set(error, errno, "%s: %s", made, strerror(errno));
    int result = hs_foreign__convert(path, kind, options, file, error);
    if (fflush(file) && !result)
        result = hs_error__set(error, errno, "%s: %s", hs_path__temporary(), strerror(errno));
    if (!result && (result = hs_import__open(made, &temporary, store, error)))
        name_converted(error, result, made, path);
    fclose(file);
    if (has_name)
        unlink(made); // the store has it open
    return result;
}

int hs_foreign__open(const char *path, const struct hs_import_options *options, struct hs_store **store,
                     struct hs_error *error)
{
    const enum hs_foreign kind = hs_foreign__recognise(path);
    return kind ? open_recording(path, kind, options, store, error) : hs_import__open(path, options, store, error);
}
