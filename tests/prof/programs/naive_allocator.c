// SPDX-License-Identifier: MIT OR Apache-2.0
//
// An allocator as somebody writes one to preload it: each function calls the others by their public names.
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define PUBLIC __attribute__((visibility("default")))

enum { CLASSES = 48, SMALLEST = 6, CHUNK = 16 << 20, ALIGNED = 0x5151 };

struct head {
    size_t size; // of the block; of an aligned one: where the block around it is
    size_t kind;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct head *freed[CLASSES];
static char *chunk, *chunk_end;

PUBLIC void *malloc(size_t size);
PUBLIC void free(void *block);
PUBLIC size_t malloc_usable_size(void *block);
PUBLIC void *memalign(size_t alignment, size_t size);

static unsigned class_of(size_t size)
{
    unsigned class = SMALLEST;
    while ((size_t)1 << class < size)
        class ++;
    return class;
}

static struct head *cut(size_t size)
{
    if ((size_t)(chunk_end - chunk) < size) {
        size_t length = size > CHUNK ? size : CHUNK;
        chunk = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (chunk == MAP_FAILED) {
            chunk = chunk_end = NULL;
            return NULL;
        }
        chunk_end = chunk + length;
    }
    struct head *head = (struct head *)(void *)chunk;
    chunk += size;
    return head;
}

PUBLIC void *malloc(size_t size)
{
    if (size > (size_t)1 << (sizeof size == 8 ? 36 : 30)) {
        errno = ENOMEM;
        return NULL;
    }
    unsigned class = class_of(size + 2 * sizeof(struct head));
    pthread_mutex_lock(&lock);
    struct head *head = freed[class];
    if (head)
        memcpy(&freed[class], head + 1, sizeof head);
    else
        head = cut((size_t)1 << class);
    pthread_mutex_unlock(&lock);
    if (!head)
        return NULL;
    *head = (struct head){((size_t)1 << class) - sizeof *head, 0};
    return head + 1;
}

PUBLIC void free(void *block)
{
    if (!block)
        return;
    struct head *head = (struct head *)block - 1;
    if (head->kind == ALIGNED) {
        free((void *)head->size);
        return;
    }
    unsigned class = class_of(head->size + sizeof *head);
    pthread_mutex_lock(&lock);
    memcpy(block, &freed[class], sizeof head);
    freed[class] = head;
    pthread_mutex_unlock(&lock);
}

PUBLIC size_t malloc_usable_size(void *block)
{
    if (!block)
        return 0;
    struct head *head = (struct head *)block - 1;
    if (head->kind != ALIGNED)
        return head->size;
    char *whole = (char *)head->size;
    return malloc_usable_size(whole) - (size_t)((char *)block - whole);
}

PUBLIC void *calloc(size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    void *block = malloc(total);
    return block ? memset(block, 0, total) : NULL;
}

PUBLIC void *realloc(void *old, size_t size)
{
    if (!old)
        return malloc(size);
    size_t usable = malloc_usable_size(old);
    if (size == 0) {
        free(old);
        return NULL;
    }
    if (size <= usable && size > usable / 2)
        return old;
    void *block = malloc(size);
    if (!block)
        return NULL;
    memcpy(block, old, usable < size ? usable : size);
    free(old);
    return block;
}

PUBLIC void *memalign(size_t alignment, size_t size)
{
    if (size > SIZE_MAX / 4)
        return malloc(size);
    char *whole = malloc(size + alignment + 2 * sizeof(struct head));
    if (!whole)
        return NULL;
    uintptr_t start = ((uintptr_t)whole + sizeof(struct head) + alignment - 1) & ~(uintptr_t)(alignment - 1);
    struct head *head = (struct head *)start - 1;
    *head = (struct head){(size_t)whole, ALIGNED};
    return head + 1;
}

PUBLIC void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

PUBLIC void *valloc(size_t size)
{
    return memalign(4096, size);
}

PUBLIC int posix_memalign(void **result, size_t alignment, size_t size)
{
    *result = memalign(alignment, size);
    return *result ? 0 : ENOMEM;
}
