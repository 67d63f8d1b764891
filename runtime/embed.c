// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/embed.h"

#include "arch/system.h"
#include "runtime/config.h"
#include "runtime/log.h"
#include "runtime/memory.h"
#include "runtime/output.h"
#include "runtime/shared_word.h"
#include "runtime/text.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

enum { NAMES_SIZE = 256 * 1024, DIRECTORY_SIZE = 32 * 1024, VDSO_MOST = 16 * 1024 };

// Paths of modules, each terminated by NUL.
static struct {
    char *names;
    _Atomic uint32_t used; // set after the name is in place: the writer reads up to it
} embed;

static uint8_t buffer[DIRECTORY_SIZE] __attribute__((aligned(8))); // used only with the writer's role

// For want of room.
static int leave_out(void)
{
    hs_shared_word__add(&hs_output__live()->dropped[HS_DROP_FILES], 1);
    return EFBIG;
}

static void complain(enum hs_log_level level, const char *path, int error)
{
    hs_log(level, "not embedded: ", path, error);
}

static bool read_whole(int fd, uint8_t *to, uint64_t length)
{
    for (uint64_t done = 0; done < length;) {
        long got = hs_system_pread(fd, to + done, (size_t)(length - done), done);
        if (got <= 0)
            return false;
        done += (uint64_t)got;
    }
    return true;
}

static void append(const uint8_t *payload, size_t length)
{
    uint32_t total = (uint32_t)length;
    struct hs_chunk_header chunk = {.kind = HS_CHUNK_FILE, .stored_length = total, .plain_length = total};
    hs_output__append(&chunk, payload);
}

// 0 or an error.
static int append_file(const char *path, int fd, uint64_t length)
{
    size_t name = hs_text__length(path) + 1;
    bool fits = length <= HS_CHUNK_MAX_LENGTH - name;
    uint8_t *payload = fits ? hs_memory__map(name + (size_t)length) : NULL;
    if (!payload)
        return leave_out();
    __builtin_memcpy(payload, path, name);
    if (read_whole(fd, payload + name, length))
        append(payload, name + (size_t)length);
    hs_memory__unmap(payload, name + (size_t)length);
    return 0;
}

// `level`: of the message if it cannot be.
static void embed_file(const char *path, enum hs_log_level level)
{
    struct hs_file_status status;
    long fd = hs_system_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
    int error = (int)-fd;
    if (fd >= 0) {
        bool regular = hs_system_status((int)fd, &status) == 0 && S_ISREG(status.mode);
        error = regular ? append_file(path, (int)fd, status.size) : EINVAL;
        hs_system_close((int)fd);
    }
    if (error)
        complain(level, path, error);
}

// `*` stands for any characters.
static bool matches(const char *name, const char *pattern)
{
    if (*pattern == '*')
        return matches(name, pattern + 1) || (*name && matches(name + 1, pattern));
    if (*name != *pattern)
        return false;
    return *name == 0 || matches(name + 1, pattern + 1);
}

struct embed_directory_entry { // linux_dirent64
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

// `directory` ends with a slash, or is empty: the current one. One that cannot be opened has no entries.
static void embed_matching(const char *directory, const char *pattern)
{
    char path[HS_CONFIG_TEXT * 2];
    long fd = hs_system_open(directory[0] ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0), got;
    bool found = false;
    while ((got = HS_SYSTEM3(SYS_getdents64, fd, buffer, sizeof buffer)) > 0)
        for (long at = 0; at < got;) {
            const struct embed_directory_entry *entry = (const struct embed_directory_entry *)(buffer + at);
            at += entry->length;
            if (!matches(entry->name, pattern) || entry->name[0] == '.')
                continue;
            struct hs_text text;
            hs_text__start(&text, path, sizeof path);
            hs_text__add(&text, directory);
            hs_text__add(&text, entry->name);
            embed_file(path, HS_LOG_WARN);
            found = true;
        }
    hs_system_close((int)fd);
    if (!found)
        complain(HS_LOG_ERROR, hs_config.include, ENOENT);
}

void hs_embed__included_files(void)
{
    const char *pattern = hs_text__base_name(hs_config.include);
    if (hs_config.include[0] == 0)
        return;
    bool wild = false;
    for (const char *c = pattern; *c; c++)
        wild |= *c == '*';
    if (!wild) {
        embed_file(hs_config.include, HS_LOG_ERROR);
        return;
    }
    char directory[HS_CONFIG_TEXT];
    size_t length = (size_t)(pattern - hs_config.include);
    __builtin_memcpy(directory, hs_config.include, length);
    directory[length] = 0;
    embed_matching(directory, pattern);
}

void hs_embed__vdso(void)
{
    static const char name[] = "[vdso]";
    __builtin_memcpy(buffer, name, sizeof name);
    // As much as is mapped.
    size_t length = hs_memory__read(hs_memory__auxiliary(AT_SYSINFO_EHDR), buffer + sizeof name, VDSO_MOST);
    if (length)
        append(buffer, sizeof name + length);
}

void hs_embed__remember(const char *path)
{
    if (!hs_config.embed_binaries || path[0] != '/')
        return;
    if (!embed.names)
        embed.names = hs_memory__map(NAMES_SIZE);
    size_t length = hs_text__length(path) + 1;
    uint32_t used = embed.used;
    for (uint32_t at = 0; at < used; at += (uint32_t)hs_text__length(embed.names + at) + 1)
        if (hs_text__equal(embed.names + at, path))
            return;
    if (!embed.names || used + length > NAMES_SIZE) {
        leave_out();
        hs_log(HS_LOG_WARN, "not embedded, too many: ", path, 0);
        return;
    }
    __builtin_memcpy(embed.names + used, path, length);
    embed.used = used + (uint32_t)length;
}

void hs_embed__modules(void)
{
    uint32_t used = embed.used;
    for (uint32_t at = 0; at < used; at += (uint32_t)hs_text__length(embed.names + at) + 1)
        embed_file(embed.names + at, HS_LOG_WARN);
}

void hs_embed__reset(void)
{
    embed.used = 0;
}
