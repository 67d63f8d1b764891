// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/store/column_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_BYTES (256u << 10)
#define STEP_BYTES  (64u << 20)

int hs_column_file__create(struct hs_column_file *file, int directory_fd, const char *name, size_t element)
{
    *file = (struct hs_column_file){.element = element};
    file->fd = openat(directory_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return file->fd < 0 ? -errno : 0;
}

int hs_column_file__reserve(struct hs_column_file *file, uint64_t count)
{
    if (count <= file->capacity)
        return 0;
    uint64_t bytes = file->mapped;
    uint64_t more = bytes < FIRST_BYTES ? FIRST_BYTES : bytes < STEP_BYTES ? bytes : STEP_BYTES;
    uint64_t wanted = bytes + more;
    if (wanted < count * file->element)
        wanted = count * file->element;
    wanted = (wanted + 4095) & ~(uint64_t)4095;
    int failed = posix_fallocate(file->fd, (off_t)bytes, (off_t)(wanted - bytes));
    if (failed)
        return -failed;
    void *data = file->data ? mremap(file->data, bytes, wanted, MREMAP_MAYMOVE)
                            : mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
    if (data == MAP_FAILED)
        return -errno;
    file->data = data;
    file->mapped = wanted;
    file->capacity = wanted / file->element;
    return 0;
}

static void unmap(struct hs_column_file *file)
{
    if (file->data)
        munmap(file->data, file->mapped);
    file->data = NULL;
    file->capacity = file->mapped = 0;
}

int hs_column_file__finish(struct hs_column_file *file, uint64_t count)
{
    unmap(file);
    int failed = ftruncate(file->fd, (off_t)(count * file->element)) ? -errno : 0;
    if (close(file->fd) && !failed)
        failed = -errno;
    file->fd = -1;
    return failed;
}

void hs_column_file__abandon(struct hs_column_file *file)
{
    unmap(file);
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

int hs_column_file__open_any(struct hs_column_file *file, int directory_fd, const char *name, size_t element)
{
    struct stat status;
    *file = (struct hs_column_file){.element = element, .fd = -1};
    int fd = openat(directory_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    int failed = fstat(fd, &status) ? -errno : 0;
    if (!failed && (uint64_t)status.st_size % element)
        failed = -EBADMSG;
    if (!failed && status.st_size) {
        void *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
        if (data == MAP_FAILED)
            failed = -errno;
        else
            file->data = data;
    }
    close(fd);
    if (!failed)
        file->capacity = (uint64_t)status.st_size / element;
    return failed;
}

int hs_column_file__open(struct hs_column_file *file, int directory_fd, const char *name, size_t element,
                         uint64_t count)
{
    int failed = hs_column_file__open_any(file, directory_fd, name, element);
    if (failed || file->capacity == count)
        return failed;
    hs_column_file__close(file);
    return -EBADMSG;
}

void hs_column_file__close(struct hs_column_file *file)
{
    if (file->data)
        munmap(file->data, file->capacity * file->element);
    file->data = NULL;
    file->capacity = 0;
}
