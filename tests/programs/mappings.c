// SPDX-License-Identifier: MIT OR Apache-2.0
//
// mmap, munmap, mremap, brk and sbrk, right and wrong.
#include "program.h"

#include <fcntl.h>
#include <sys/mman.h>

int main(void)
{
    for (int i = 0; i < 1000; i++) {
        size_t length = 4096u * (1 + (size_t)i % 16);
        char *pages = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        MUST(pages != MAP_FAILED);
        pages[0] = pages[length - 1] = 1;
        char *moved = mremap(pages, length, length * 2, MREMAP_MAYMOVE);
        MUST(moved != MAP_FAILED && moved[0] == 1);
        MUST(munmap(moved + length, length) == 0);
        MUST(munmap(moved, length) == 0);
    }
    char *place = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(place != MAP_FAILED);
    char *fixed = mmap(place + 8192, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    MUST(fixed == place + 8192);
    char *target = mremap(fixed, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, place + 65536);
    MUST(target == place + 65536);
    target[0] = 3;

    errno = 0;
    void *wrong = mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    say("mmap of nothing: %d, errno %d\n", wrong == MAP_FAILED, errno);
    wrong = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, -1, 0);
    say("mmap of no file: %d, errno %d\n", wrong == MAP_FAILED, errno);
    say("munmap askew: %d, errno %d\n", munmap(place + 1, 4096), errno);
    wrong = mremap(place + 1, 4096, 8192, 0);
    say("mremap askew: %d, errno %d\n", wrong == MAP_FAILED, errno);

    int file = open("/proc/self/exe", O_RDONLY);
    void *image = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
    MUST(image != MAP_FAILED && !memcmp(image, "\177ELF", 4));
    munmap(image, 4096);
    close(file);

#ifdef __GLIBC__ // musl's heap cannot be moved by the program
    char *end = sbrk(0);
    MUST(sbrk(65536) == end);
    end[0] = end[65535] = 1;
    MUST(brk(end) == 0);
    MUST(sbrk(0) == end);
#endif
    errno = 0;
    wrong = sbrk(INTPTR_MAX - 65535);
    say("sbrk too far: %d, errno %d\n", wrong == (void *)-1, errno);
    free(allocate(100));
    MUST(munmap(place, 1 << 20) == 0);
    return 0;
}
