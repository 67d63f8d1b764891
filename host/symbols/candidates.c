// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/candidates.h"

#include "format/trace_format.h"
#include "host/symbols/compressed.h"
#include "host/symbols/elf_probe.h"
#include "host/symbols/sysroot.h"

#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static bool is_of_machine(const struct hs_symbols_options *options, const struct hs_probe *probe)
{
    if (options->machine && probe->machine != options->machine)
        return false;
    if (options->pointer_size && probe->pointer_size != options->pointer_size)
        return false;
    return !options->byte_order || probe->big_endian == (options->byte_order == HS_BYTE_ORDER_BIG);
}

bool hs_is_foreign(const struct hs_symbols_options *options)
{
    struct hs_probe self;
    return !hs_probe__file(&self, "/proc/self/exe") && !is_of_machine(options, &self);
}

#define CLOCK_IS_SET (UINT64_C(1000000000) * 1000000000) // 2001

// ---- checksums -----------------------------------------------------------------------------------------------------

// CRC-32 as .gnu_debuglink has it (IEEE 802.3, reflected).
static uint32_t checksum_bytes(uint32_t sum, const uint8_t *bytes, size_t count)
{
    static uint32_t table[256];
    for (uint32_t i = 0; !table[255] && i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = value >> 1 ^ (value & 1 ? 0xedb88320u : 0);
        table[i] = value;
    }
    for (size_t i = 0; i < count; i++)
        sum = sum >> 8 ^ table[(sum ^ bytes[i]) & 0xff];
    return sum;
}

static bool has_checksum(int fd, uint32_t expected)
{
    uint8_t bytes[1 << 15];
    uint32_t sum = UINT32_MAX;
    off_t offset = 0;
    ssize_t count;
    while ((count = pread(fd, bytes, sizeof(bytes), offset)) > 0) {
        sum = checksum_bytes(sum, bytes, (size_t)count);
        offset += count;
    }
    return count == 0 && ~sum == expected;
}

// ---- layout --------------------------------------------------------------------------------------------------------

enum { SMALLEST_PAGE = 4096, LARGEST_PAGE = 65536 };

// Past the last page of the module. A part that is mapped from the start of the file again, as data behind little code
// is, begins a module of its own for the recorder; with large pages little would then be known. 0: too little.
static uint64_t end_of_pages(const struct hs_probe *probe, uint64_t bias, uint64_t page)
{
    size_t count = 1;
    while (count < probe->load_count && probe->loads[count].offset >= page)
        count++;
    if (count < probe->load_count && page > SMALLEST_PAGE)
        return 0;
    return (bias + probe->loads[count - 1].end + page - 1) & ~(page - 1);
}

// Whether the file, loaded where the module was, fills exactly the pages that the module filled, whatever the size of a
// page was there.
static bool has_layout(const struct hs_symbols_module *module, const struct hs_probe *probe)
{
    if (!module->end || module->bias_of_bytes || !probe->load_count)
        return false;
    for (uint64_t page = SMALLEST_PAGE; page <= LARGEST_PAGE; page *= 2) {
        uint64_t start = (module->bias + probe->loads[0].address) & ~(page - 1);
        if (start == module->start && end_of_pages(probe, module->bias, page) == module->end)
            return true;
    }
    return false;
}

static bool same_bytes(int left, int right, uint64_t from, uint64_t to)
{
    uint8_t bytes[2][1 << 15];
    while (from < to) {
        size_t count = to - from < sizeof(bytes[0]) ? (size_t)(to - from) : sizeof(bytes[0]);
        if (pread(left, bytes[0], count, (off_t)from) != (ssize_t)count ||
            pread(right, bytes[1], count, (off_t)from) != (ssize_t)count || memcmp(bytes[0], bytes[1], count) != 0)
            return false;
        from += count;
    }
    return true;
}

// Whether what is mapped of the two files is the same. Their headers, which say where the sections are, may differ.
static bool is_same_program(const char *path, const struct hs_probe *probe, int fd)
{
    struct hs_probe own;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool same = file >= 0 && !hs_probe__descriptor(&own, file) && own.load_count == probe->load_count;
    for (size_t i = 0; same && i < own.load_count; i++) {
        const struct hs_probe_load *load = &own.loads[i];
        uint64_t begin = load->offset ? load->offset : sizeof(Elf64_Ehdr);
        same = !memcmp(load, &probe->loads[i], sizeof(*load)) &&
               same_bytes(file, fd, begin, load->offset + (load->end - load->address));
    }
    if (file >= 0)
        close(file);
    return same;
}

// ---- one file ------------------------------------------------------------------------------------------------------

static bool is_right_build(const struct hs_search *search, const struct hs_candidate *candidate,
                           const struct hs_probe *probe, int fd)
{
    const struct hs_symbols_module *module = search->module;
    if (module->build_id_length && (probe->build_id_length || candidate->trust != HS_TRUST_CHECKSUM))
        return probe->build_id_length == module->build_id_length &&
               !memcmp(probe->build_id, module->build_id, module->build_id_length);
    if (candidate->trust == HS_TRUST_CHECKSUM)
        return has_checksum(fd, candidate->checksum);
    if (candidate->trust == HS_TRUST_LAYOUT)
        return !probe->build_id_length && has_layout(module, probe) &&
               (!search->own || is_same_program(search->own, probe, fd));
    if (candidate->trust != HS_TRUST_PATH || (module->layout && probe->layout != module->layout))
        return false;
    return !candidate->is_own || (!probe->build_id_length && (module->layout || has_layout(module, probe)));
}

static bool has_code(int fd)
{
    bool found = false;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    Elf_Scn *section = NULL;
    size_t count = 0;
    while (elf && !found && (section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        found = gelf_getshdr(section, &header) && header.sh_flags & SHF_EXECINSTR && header.sh_type != SHT_NOBITS;
        count++;
    }
    elf_end(elf);
    return found || !count; // without section headers nothing speaks against it
}

static bool is_debug_section(Elf *elf, size_t names, Elf_Scn *section)
{
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
        return false;
    const char *name = elf_strptr(elf, names, header.sh_name);
    return name && (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info"));
}

static bool has_debug_information(int fd)
{
    size_t names = 0;
    bool found = false;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    Elf_Scn *section = NULL;
    if (elf && !elf_getshdrstrndx(elf, &names)) {
        while (!found && (section = elf_nextscn(elf, section)))
            found = is_debug_section(elf, names, section);
    }
    elf_end(elf);
    return found;
}

static bool unpacks_sanely(int fd)
{
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    bool sane = hs_compressed__is_sane(elf);
    elf_end(elf);
    return sane;
}

bool hs_has_lasting_inodes(int fd)
{
    static const uint32_t systems[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
                                       TMPFS_MAGIC};
    struct statfs system;
    bool found = false;
    for (size_t i = 0; i < sizeof systems / sizeof *systems && fstatfs(fd, &system) == 0; i++)
        found |= (uint32_t)system.f_type == systems[i];
    return found;
}

static uint64_t nanoseconds(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

// Without a build id the file of that path is the one that was loaded, if it is still the same inode and has not been
// written since. Anybody may set the time of the last write, so the kernel's own time of the last change decides, too,
// although other changes than of the bytes set it. A copy of the recorded machine's files, or one in the trace, need
// not be that old; some machines do not know the time.
static enum hs_symbols_state compare_history(const struct hs_search *search, const struct hs_candidate *candidate,
                                             int fd)
{
    const struct hs_symbols_module *module = search->module;
    struct stat status;
    if (candidate->trust != HS_TRUST_PATH || candidate->root || !candidate->path || module->build_id_length ||
        fstat(fd, &status))
        return HS_SYMBOLS_FOUND;
    const bool knows_time = module->recorded_ns >= CLOCK_IS_SET;
    if (knows_time && nanoseconds(&status.st_mtim) > module->recorded_ns)
        return HS_SYMBOLS_MISMATCH;
    const bool is_compared = module->inode && hs_has_lasting_inodes(fd);
    if (candidate->is_own && search->options->sysroot_count && !is_compared)
        return HS_SYMBOLS_MISMATCH; // headers alone are too little: the system root's files are meant
    const bool is_other = is_compared && module->inode != (uint64_t)status.st_ino;
    const bool was_changed = knows_time && nanoseconds(&status.st_ctim) > module->recorded_ns;
    return is_other || was_changed ? HS_SYMBOLS_CHANGED : HS_SYMBOLS_FOUND;
}

static enum hs_symbols_state judge(const struct hs_search *search, const struct hs_candidate *candidate, int fd)
{
    struct hs_probe probe;
    if (search->accepts)
        return search->accepts(search->context, fd) ? HS_SYMBOLS_FOUND : HS_SYMBOLS_MISMATCH;
    if (hs_probe__descriptor(&probe, fd) || probe.kind != HS_PROBE_ELF || probe.damaged)
        return HS_SYMBOLS_DAMAGED;
    if (!is_of_machine(search->options, &probe))
        return HS_SYMBOLS_FOREIGN;
    if (!is_right_build(search, candidate, &probe, fd) ||
        (search->needs_debug_information && !has_debug_information(fd)) || (search->needs_code && !has_code(fd)))
        return HS_SYMBOLS_MISMATCH;
    enum hs_symbols_state state = compare_history(search, candidate, fd);
    return state == HS_SYMBOLS_FOUND && !unpacks_sanely(fd) ? HS_SYMBOLS_DAMAGED : state;
}

static void remember(struct hs_located *located, enum hs_symbols_state state, int fd, const char *path)
{
    free(located->path);
    located->path = strdup(path);
    located->state = state;
    located->fd = fd;
}

bool hs_candidate__try_descriptor(struct hs_search *search, const struct hs_candidate *candidate, int fd,
                                  const char *path)
{
    enum hs_symbols_state state = judge(search, candidate, fd);
    if (state == HS_SYMBOLS_FOUND) {
        remember(search->located, state, fd, path);
        return true;
    }
    close(fd);
    // The first file that speaks against itself is the one the user expects; say what is wrong with that one.
    bool is_other = candidate->is_own && (state != HS_SYMBOLS_MISMATCH || !search->module->build_id_length);
    bool expected = candidate->trust == HS_TRUST_PATH && !is_other;
    if (expected && search->located->state == HS_SYMBOLS_MISSING)
        remember(search->located, state, -1, path);
    return false;
}

static int open_regular(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return -1;
    if (!fstat(fd, &status) && S_ISREG(status.st_mode))
        return fd;
    close(fd);
    return -1;
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static bool try_path(struct hs_search *search, const struct hs_candidate *candidate)
{
    char path[PATH_MAX];
    char full[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s%s%s", or_empty(candidate->directory), candidate->path,
                          or_empty(candidate->suffix));
    if (length < 0 || (size_t)length >= sizeof(path))
        return false;
    if (candidate->root && hs_sysroot__resolve(candidate->root, path, full, sizeof(full)))
        return false;
    const char *name = candidate->root ? full : path;
    int fd = open_regular(name);
    return fd >= 0 && hs_candidate__try_descriptor(search, candidate, fd, name);
}

// What the kernel's maps say of a path besides it: newlines are written \\012, and whether the file was deleted, or
// replaced by another one. False: nothing.
static bool plain_path(const char *path, char *plain, size_t size)
{
    static const char deleted[] = " (deleted)";
    size_t length = strlen(path), suffix = sizeof(deleted) - 1, used = 0;
    bool was_deleted = length > suffix && !strcmp(path + length - suffix, deleted);
    if (length >= size || (!was_deleted && !strstr(path, "\\012")))
        return false;
    length -= was_deleted ? suffix : 0;
    for (size_t i = 0; i < length; i++) {
        bool newline = !strncmp(path + i, "\\012", 4);
        plain[used++] = newline ? '\n' : path[i];
        i += newline ? 3 : 0;
    }
    plain[used] = 0;
    return true;
}

bool hs_candidate__try(struct hs_search *search, const struct hs_candidate *candidate)
{
    char plain[PATH_MAX];
    struct hs_candidate other = *candidate;
    if (try_path(search, candidate))
        return true;
    other.path = plain;
    return plain_path(candidate->path, plain, sizeof(plain)) && try_path(search, &other);
}

// ---- places --------------------------------------------------------------------------------------------------------

bool hs_debug_place(const struct hs_symbols_options *options, size_t index, struct hs_candidate *place)
{
    *place = (struct hs_candidate){.directory = "/usr/lib/debug", .trust = HS_TRUST_BUILD_ID};
    if (index < options->debug_dir_count) {
        place->directory = options->debug_dirs[index];
        place->trust = HS_TRUST_LAYOUT;
        return true;
    }
    index -= options->debug_dir_count;
    if (index < options->sysroot_count)
        place->root = options->sysroots[index];
    return index <= options->sysroot_count;
}

bool hs_build_id_path(const uint8_t *build_id, size_t length, char *path, size_t size)
{
    if (length < 2 || length > HS_BUILD_ID_MAX || size < 32 + 2 * length)
        return false;
    size_t used = (size_t)snprintf(path, size, "/.build-id/%02x/", build_id[0]);
    for (size_t i = 1; i < length; i++)
        used += (size_t)snprintf(path + used, size - used, "%02x", build_id[i]);
    return true;
}
