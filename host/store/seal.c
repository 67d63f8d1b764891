// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/store/seal.h"

#include "format/crc32c.h"
#include "host/store/kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC     0x6c61657365654848u
#define FILES_MAX 64
#define BOOT_SIZE 36 // of /proc/sys/kernel/random/boot_id

#define WHOLE   ((size_t)4 << 20) // columns up to this size are looked at as a whole
#define END     ((size_t)1 << 20)
#define SAMPLES 256
#define SAMPLE  ((size_t)4096)

struct sealed_file {
    char name[24];
    uint64_t size;
    uint32_t crc, reserved;
};

struct seal {
    uint64_t magic;
    uint32_t version; // of the store
    uint32_t crc;     // of all of it with crc 0
    char boot[BOOT_SIZE];
    uint32_t count;
    struct sealed_file file[FILES_MAX];
};

static uint32_t checksum(const struct seal *seal)
{
    struct seal plain = *seal;
    plain.crc = 0;
    return hs_crc32c(0, &plain, sizeof plain);
}

// All zero where the machine does not say.
static void read_boot(char boot[BOOT_SIZE])
{
    memset(boot, 0, BOOT_SIZE);
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (read(fd, boot, BOOT_SIZE) != BOOT_SIZE)
        memset(boot, 0, BOOT_SIZE);
    close(fd);
}

// ---- one file ------------------------------------------------------------------------------------------------------

static bool is_column(const char *name)
{
    static const char *const names[] = {
#define NAME(name) #name,
        HS_STORE_COLUMNS(NAME)
#undef NAME
            "totals",
        "stack_peaks"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

static uint32_t sum_of(const char *name, const uint8_t *bytes, size_t size)
{
    if (size <= WHOLE || !is_column(name))
        return hs_crc32c(0, bytes, size);
    uint32_t crc = hs_crc32c(0, bytes, END);
    const size_t step = (size - 2 * END - SAMPLE) / SAMPLES & ~(SAMPLE - 1);
    for (size_t i = 0; i < SAMPLES; i++)
        crc = hs_crc32c(crc, bytes + END + i * step, SAMPLE);
    return hs_crc32c(crc, bytes + size - END, END);
}

// `size`: the only one that is right, so that no other file is read; UINT64_MAX: any.
static int describe(int directory_fd, const char *name, bool flush, uint64_t size, struct sealed_file *file)
{
    struct stat status;
    int fd = openat(directory_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    int failed = fstat(fd, &status) ? -errno : S_ISREG(status.st_mode) ? 0 : -EBADMSG;
    void *bytes = NULL;
    if (!failed && size != UINT64_MAX && (uint64_t)status.st_size != size)
        failed = -EBADMSG;
    if (!failed && status.st_size)
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED)
        failed = -errno;
    // A file that cannot be flushed is as safe as it can be.
    else if (!failed && flush && fsync(fd) && errno != EINVAL && errno != EROFS)
        failed = -errno;
    close(fd);
    if (failed)
        return failed;
    memset(file, 0, sizeof *file);
    strncpy(file->name, name, sizeof file->name - 1);
    file->size = (uint64_t)status.st_size;
    file->crc = sum_of(name, bytes, (size_t)status.st_size);
    if (bytes)
        munmap(bytes, (size_t)status.st_size);
    return 0;
}

// ---- all of them ---------------------------------------------------------------------------------------------------

// Kept results and the state for continuing an import have their own checksums.
static bool is_sealed(const char *name)
{
    static const char *const others[] = {
        ".", "..", HS_SEAL_FILE, HS_SEAL_UNDER_WAY, HS_KEPT_FILE, HS_KEPT_UNDER_WAY, "resume"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(name, others[i]))
            return false;
    return true;
}

static int describe_all(int directory_fd, bool flush, struct seal *seal)
{
    int failed = 0;
    int listed = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = listed < 0 ? NULL : fdopendir(listed);
    if (!directory) {
        failed = -errno;
        if (listed >= 0)
            close(listed);
        return failed;
    }
    for (const struct dirent *entry; !failed && (entry = readdir(directory));) {
        if (!is_sealed(entry->d_name))
            continue;
        failed = seal->count == FILES_MAX || strlen(entry->d_name) >= sizeof seal->file->name
                     ? -EOVERFLOW
                     : describe(directory_fd, entry->d_name, flush, UINT64_MAX, &seal->file[seal->count++]);
    }
    closedir(directory);
    return failed;
}

static int put(int directory_fd, const struct seal *seal, bool flush)
{
    unlinkat(directory_fd, HS_SEAL_UNDER_WAY, 0);
    int fd = openat(directory_fd, HS_SEAL_UNDER_WAY, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    ssize_t written = write(fd, seal, sizeof *seal);
    int failed = written == (ssize_t)sizeof *seal ? 0 : written < 0 ? -errno : -ENOSPC;
    if (!failed && flush && fsync(fd) && errno != EINVAL && errno != EROFS)
        failed = -errno;
    if (close(fd) && !failed)
        failed = -errno;
    if (!failed && renameat(directory_fd, HS_SEAL_UNDER_WAY, directory_fd, HS_SEAL_FILE))
        failed = -errno;
    if (!failed && flush)
        fsync(directory_fd);
    return failed;
}

static int compare_names(const void *left, const void *right)
{
    const struct sealed_file *a = left, *b = right;
    return strcmp(a->name, b->name);
}

int hs_seal__write(int directory_fd, bool flush)
{
    struct seal *seal = calloc(1, sizeof *seal);
    if (!seal)
        return -ENOMEM;
    seal->magic = MAGIC;
    seal->version = HS_STORE_VERSION;
    if (!flush)
        read_boot(seal->boot);
    int failed = describe_all(directory_fd, flush, seal);
    qsort(seal->file, seal->count, sizeof *seal->file, compare_names);
    seal->crc = checksum(seal);
    if (!failed)
        failed = put(directory_fd, seal, flush);
    free(seal);
    return failed;
}

static int take(int directory_fd, struct seal *seal)
{
    static const char flushed[BOOT_SIZE];
    char boot[BOOT_SIZE];
    int fd = openat(directory_fd, HS_SEAL_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return -EBADMSG;
    ssize_t got = read(fd, seal, sizeof *seal);
    close(fd);
    read_boot(boot);
    bool right = got == (ssize_t)sizeof *seal && seal->magic == MAGIC && seal->version == HS_STORE_VERSION &&
                 seal->crc == checksum(seal) && seal->count <= FILES_MAX &&
                 (!memcmp(seal->boot, flushed, BOOT_SIZE) || !memcmp(seal->boot, boot, BOOT_SIZE));
    return right ? 0 : -EBADMSG;
}

int hs_seal__check(int directory_fd)
{
    struct seal *seal = malloc(sizeof *seal);
    struct sealed_file now;
    int failed = seal ? take(directory_fd, seal) : -ENOMEM;
    for (uint32_t i = 0; !failed && i < seal->count; i++) {
        const struct sealed_file *file = &seal->file[i];
        if (!memchr(file->name, 0, sizeof file->name) || describe(directory_fd, file->name, false, file->size, &now) ||
            now.crc != file->crc)
            failed = -EBADMSG;
    }
    free(seal);
    return failed;
}
