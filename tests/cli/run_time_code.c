// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Makes code while it runs and says what it is called, as runtimes do. Prints its process id. The first word says what
// is written: "map", "half" (a map whose last line has no end), "full" (a map as large as files may be), "dump", "here"
// (a dump in the current folder, and a symbolic link where one in /tmp would be), "link" (the map is a symbolic link),
// "old" (the map is older than the process), "fork" (a child that has no map of its own allocates). "kill" as a second
// word: it kills itself at the end.
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined __x86_64__
// push rbp; mov rbp, rsp; call rdi; pop rbp; ret
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
#elif defined __aarch64__
// stp x29, x30, [sp, -16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], 16; ret
static const uint32_t code[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
#endif

enum { ELSEWHERE = 512 };

static char *memory;
static char path[64];

void allocate_first(void)
{
    free(malloc(1000));
}

void allocate_second(void)
{
    free(malloc(3000));
}

static void call(size_t place, void (*function)(void))
{
    ((void (*)(void (*)(void)))(uintptr_t)(memory + place))(function);
}

void begin(void)
{
    call(0, allocate_first);
}

void go_on(void)
{
    call(0, allocate_second);
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

// ---- maps ----------------------------------------------------------------------------------------------------------

static void fill(FILE *map)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit))
        exit(1);
    for (rlim_t left = limit.rlim_cur - (rlim_t)ftell(map); left > 8; left -= 8)
        fprintf(map, "1 1 any\n");
}

static void write_map(const char *mode)
{
    char target[sizeof(path) + 8];
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    snprintf(target, sizeof(target), "%s%s", path, strcmp(mode, "link") ? "" : ".target");
    remove(path); // of another process with this id
    FILE *map = fopen(target, "w");
    if (!map)
        exit(1);
    fprintf(map, "%lx %zx before\n", (unsigned long)(uintptr_t)memory, sizeof(code));
    fprintf(map, "%lx %zx JS:*work on it /src/my app.js:12:34\n", (unsigned long)(uintptr_t)memory, sizeof(code));
    fprintf(map, "%lx %zx py::more:/src/more.py%s", (unsigned long)(uintptr_t)(memory + ELSEWHERE), sizeof(code),
            strcmp(mode, "half") ? "\n" : "");
    if (!strcmp(mode, "full"))
        fill(map);
    fclose(map);
    if (!strcmp(mode, "link") && symlink(target, path))
        exit(1);
    const struct timespec past[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    if (!strcmp(mode, "old") && utimensat(AT_FDCWD, path, past, 0))
        exit(1);
}

// ---- dumps ---------------------------------------------------------------------------------------------------------

static void put(FILE *dump, const void *bytes, size_t length)
{
    if (fwrite(bytes, 1, length, dump) != length)
        exit(1);
}

static void put_word(FILE *dump, uint32_t word)
{
    put(dump, &word, sizeof(word));
}

static void put_long(FILE *dump, uint64_t word)
{
    put(dump, &word, sizeof(word));
}

static void put_lines(FILE *dump, const char *file, uint32_t line)
{
    const uint32_t length = 16 + 16 + 16 + (uint32_t)strlen(file) + 1;
    put_word(dump, 2);
    put_word(dump, length);
    put_long(dump, now());
    put_long(dump, (uintptr_t)memory);
    put_long(dump, 1);
    put_long(dump, (uintptr_t)memory);
    put_word(dump, line);
    put_word(dump, 0);
    put(dump, file, strlen(file) + 1);
}

static void put_function(FILE *dump, const char *name, uint64_t index)
{
    const uint32_t length = 16 + 40 + (uint32_t)strlen(name) + 1 + sizeof(code);
    put_word(dump, 0);
    put_word(dump, length);
    put_long(dump, now());
    put_word(dump, (uint32_t)getpid());
    put_word(dump, (uint32_t)getpid());
    put_long(dump, (uintptr_t)memory);
    put_long(dump, (uintptr_t)memory);
    put_long(dump, sizeof(code));
    put_long(dump, index);
    put(dump, name, strlen(name) + 1);
    put(dump, code, sizeof(code));
}

static void put_move(FILE *dump, uint64_t index)
{
    put_word(dump, 1);
    put_word(dump, 16 + 48);
    put_long(dump, now());
    put_long(dump, 0);
    put_long(dump, (uintptr_t)memory);
    put_long(dump, (uintptr_t)memory);
    put_long(dump, (uintptr_t)memory + ELSEWHERE);
    put_long(dump, sizeof(code));
    put_long(dump, index);
}

static FILE *start_dump(bool is_here)
{
    snprintf(path, sizeof(path), "/tmp/jit-%d.dump", (int)getpid());
    remove(path); // of another process with this id
    if (is_here && symlink("nowhere", path))
        exit(1);
    if (is_here)
        snprintf(path, sizeof(path), "jit-%d.dump", (int)getpid());
    FILE *dump = fopen(path, "w");
    if (!dump)
        exit(1);
    put_word(dump, 0x4a695444);
    put_word(dump, 1);
    put_word(dump, 40);
    put_word(dump, 62);
    put_word(dump, 0);
    put_word(dump, (uint32_t)getpid());
    put_long(dump, now());
    put_long(dump, 0);
    return dump;
}

// The second function takes the place of the first one, which moves. The pauses are far longer than the difference
// between the clocks of the dump and of the trace.
static void run_with_dump(bool is_here)
{
    FILE *dump = start_dump(is_here);
    put_lines(dump, "/src/first.js", 7);
    put_function(dump, "first", 1);
    begin();
    usleep(50000);
    put_move(dump, 1);
    put_lines(dump, "/src/second.js", 8);
    put_function(dump, "second", 2);
    usleep(50000);
    go_on();
    call(ELSEWHERE, allocate_first);
    fclose(dump);
}

int main(int count, char **words)
{
    const char *mode = words[1];
    memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    memcpy(memory, code, sizeof(code));
    memcpy(memory + ELSEWHERE, code, sizeof(code));
    __builtin___clear_cache(memory, memory + 4096);
    printf("%d", (int)getpid());
    fflush(stdout);
    if (!strcmp(mode, "dump") || !strcmp(mode, "here")) {
        run_with_dump(!strcmp(mode, "here"));
    } else {
        write_map(mode);
        begin();
        call(ELSEWHERE, allocate_second);
    }
    // The child begins when the map is older than the coarse clock's tick.
    if (!strcmp(mode, "fork"))
        usleep(100000);
    if (!strcmp(mode, "fork") && !fork()) {
        go_on();
        return 0;
    }
    wait(NULL);
    if (count > 2)
        kill(getpid(), SIGKILL);
    return 0;
}
