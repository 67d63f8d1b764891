// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/place.h"

#include "runtime/text.h"

#include <errno.h>
#include <sys/stat.h>

enum { MOST_LINKS = 40, FOLDER = O_PATH | O_DIRECTORY | O_CLOEXEC };

static const unsigned long PROC_MAGIC = 0x9fa0;

// The rest of the path. It is at the end of the buffer, so that the target of a link fits before it.
struct way {
    char *at;
    char text[PATH_MAX + NAME_MAX];
};

static long open_at(int folder, const char *name, int flags, int mode)
{
    if (hs_system_forbids(HS_FORBIDDEN_FILES))
        return -EPERM;
    return HS_SYSTEM4(SYS_openat, folder, name, flags | HS_KERNEL_OPEN_FLAGS, mode);
}

// An emulator that looks for absolute paths in a folder of its own first (QEMU's -L) takes "/" for that folder; this
// name it leaves to the kernel.
static long open_root(void)
{
    long root = open_at(AT_FDCWD, "/proc/self/root", FOLDER, 0);
    return root < 0 ? open_at(AT_FDCWD, "/", FOLDER, 0) : root;
}

static void leave_for(struct hs_place *place, long folder)
{
    hs_system_close(place->folder);
    place->folder = (int)folder;
}

static bool take_name(struct way *way, char *name)
{
    size_t length = 0;
    for (; *way->at && *way->at != '/'; way->at++)
        if (length < NAME_MAX)
            name[length++] = *way->at;
        else
            return false;
    name[length] = 0;
    while (*way->at == '/')
        way->at++;
    return length != 0;
}

static bool is_in_proc(int fd)
{
    unsigned long status[32]; // struct statfs
    return HS_SYSTEM2(SYS_fstatfs, fd, status) == 0 && (uint32_t)status[0] == PROC_MAGIC;
}

static bool is_trusted(uint32_t user)
{
    return user == 0 || user == (uint32_t)HS_SYSTEM0(HS_KERNEL_GETEUID);
}

// Puts the link's target before what is left.
static long follow(struct way *way, long link)
{
    size_t room = (size_t)(way->at - way->text);
    long length = HS_SYSTEM4(SYS_readlinkat, link, "", way->text, room);
    if (length <= 0 || (size_t)length + 1 >= room)
        return -ENAMETOOLONG;
    if (*way->at)
        *--way->at = '/';
    way->at -= length;
    __builtin_memmove(way->at, way->text, (size_t)length);
    return 0;
}

static long start(struct hs_place *place, struct way *way, const char *path)
{
    size_t length = hs_text__length(path);
    if (length >= PATH_MAX)
        return -ENAMETOOLONG;
    way->at = way->text + sizeof way->text - 1 - length;
    __builtin_memcpy(way->at, path, length + 1);
    place->flags = O_NOFOLLOW;
    place->folder = (int)(*path == '/' ? open_root() : open_at(AT_FDCWD, ".", FOLDER, 0));
    return place->folder < 0 ? place->folder : 0;
}

// One name further. 1: the last one is reached.
static long step(struct hs_place *place, struct way *way, bool last, unsigned *links)
{
    struct hs_file_status status;
    if (*way->at == '/')
        leave_for(place, open_root());
    while (*way->at == '/')
        way->at++;
    if (!take_name(way, place->name))
        return -ENOENT;
    if (!*way->at && !last)
        return 1;
    long next = open_at(place->folder, place->name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
    if (next < 0)
        return *way->at ? next : 1;
    long result = hs_system_status((int)next, &status);
    if (result == 0 && S_ISLNK(status.mode)) {
        if (is_in_proc((int)next) && !*way->at)
            place->flags = 0, result = 1;
        else if (!is_trusted(status.user) || ++*links > MOST_LINKS)
            result = -ELOOP;
        else
            result = follow(way, next);
    } else if (result == 0 && *way->at) {
        leave_for(place, next);
        return 0;
    } else if (result == 0) {
        result = 1;
    }
    hs_system_close((int)next);
    return result;
}

long hs_place__find(struct hs_place *place, const char *path, bool last)
{
    struct way way;
    unsigned links = 0;
    long result = start(place, &way, path);
    if (result)
        return result;
    do
        result = step(place, &way, last, &links);
    while (result == 0);
    if (result < 0)
        hs_place__leave(place);
    return result < 0 ? result : 0;
}

void hs_place__leave(const struct hs_place *place)
{
    hs_system_close(place->folder);
}

long hs_place__open(const struct hs_place *place, const char *name, int flags, int mode)
{
    return open_at(place->folder, name, flags | place->flags | O_CLOEXEC | O_NOCTTY, mode);
}

long hs_place__status(const struct hs_place *place, const char *name, struct hs_file_status *status)
{
    return hs_system_status_at(place->folder, name, AT_SYMLINK_NOFOLLOW, status);
}

long hs_place__remove(const struct hs_place *place, const char *name)
{
    return HS_SYSTEM3(SYS_unlinkat, place->folder, name, 0);
}

long hs_place__rename(const struct hs_place *place, const char *from, const char *to)
{
    return HS_SYSTEM4(SYS_renameat, place->folder, from, place->folder, to);
}

bool hs_place__is_own(const struct hs_file_status *file)
{
    return file->user == (uint32_t)HS_SYSTEM0(HS_KERNEL_GETEUID) && file->links == 1;
}

long hs_place__write_to(const char *path, int flags, int mode)
{
    struct hs_place place;
    struct hs_file_status status;
    long fd = hs_place__find(&place, path, true);
    if (fd)
        return fd;
    // The file is looked at before it is cut.
    fd = hs_place__open(&place, place.name, (flags & ~O_TRUNC) | O_WRONLY | O_CREAT, mode);
    hs_place__leave(&place);
    if (fd < 0)
        return fd;
    bool is_file = hs_system_status((int)fd, &status) == 0 && S_ISREG(status.mode);
    if (is_file && place.flags && !hs_place__is_own(&status)) {
        hs_system_close((int)fd);
        return -EACCES;
    }
    if (is_file && flags & O_TRUNC)
        HS_SYSTEM2(SYS_ftruncate, fd, 0);
    return fd;
}
