// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/program.h"

#include "host/board/words.h"
#include "host/cli/wrappers.h"
#include "host/inject/inject.h"
#include "host/inject/permission.h"
#include "host/symbols/elf_probe.h"
#include "host/symbols/own_allocator.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MOST_INTERPRETERS 4 // as in the kernel

// ---- finding -------------------------------------------------------------------------------------------------------

static int check_file(const char *path)
{
    struct stat status;
    if (stat(path, &status))
        return errno;
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    return access(path, X_OK) ? EACCES : 0;
}

static char *find_in_path(const char *name, int *problem)
{
    const char *path = getenv("PATH");
    *problem = ENOENT;
    if (!path)
        path = "/bin:/usr/bin";
    for (;;) {
        char full[PATH_MAX];
        size_t length = strcspn(path, ":");
        int written = snprintf(full, sizeof(full), "%.*s%s%s", (int)length, path, length ? "/" : "./", name);
        int result = written > 0 && (size_t)written < sizeof(full) ? check_file(full) : ENAMETOOLONG;
        if (!result)
            return strdup(full);
        // A file in a folder without search permission counts as missing.
        if (result == EACCES && !access(full, F_OK))
            *problem = EACCES;
        if (!path[length])
            return NULL;
        path += length + 1;
    }
}

static int find_program(const char *name, char **path, struct hs_error *error)
{
    int problem = 0;
    bool direct = strchr(name, '/') != NULL;
    if (direct)
        problem = check_file(name);
    *path = !direct ? find_in_path(name, &problem) : problem ? NULL : strdup(name);
    if (*path)
        return 0;
    switch (problem) {
    case EACCES:
        hs_error__set(error, EACCES,
                      "%s is not executable by this user; 'chmod +x' it, or name the program that runs it", name);
        return HS_EXIT_CANNOT_RUN;
    case EISDIR:
        hs_error__set(error, EISDIR, "%s is a folder; name a program in it", name);
        return HS_EXIT_CANNOT_RUN;
    case ENOENT:
    case ENOTDIR:
        hs_error__set(error, ENOENT, "%s was not found%s; check the name", name,
                      direct ? "" : " in any folder of PATH");
        return HS_EXIT_NOT_FOUND;
    default:
        hs_error__set(error, problem, "%s cannot be run: %s", name, strerror(problem));
        return HS_EXIT_CANNOT_RUN;
    }
}

// ---- can it be recorded? -------------------------------------------------------------------------------------------

// The kernel starts such a program in secure mode, in which the loader takes no library from LD_PRELOAD.
static const char *elevation(const char *path)
{
    struct stat status;
    if (stat(path, &status))
        return NULL;
    if ((status.st_mode & S_ISUID) && status.st_uid != getuid())
        return "set-uid";
    if ((status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP) && status.st_gid != getgid())
        return "set-gid";
    if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
        return "given file capabilities";
    return NULL;
}

// ARM: how floating-point numbers are passed. The loader requires that this agrees. "": the file does not contain it.
static const char *float_abi(const struct hs_probe *probe)
{
    if (probe->machine != EM_ARM)
        return "";
    return probe->flags & EF_ARM_ABI_FLOAT_HARD   ? " (hard-float)"
           : probe->flags & EF_ARM_ABI_FLOAT_SOFT ? " (soft-float)"
                                                  : "";
}

static void describe(const struct hs_probe *probe, char *text, size_t size)
{
    char buffer[32];
    const char *variant = float_abi(probe);
    if (probe->machine == EM_MIPS)
        variant = probe->big_endian ? " (big-endian)" : " (little-endian)";
    snprintf(text, size, "%d-bit %s%s", probe->pointer_size * 8, hs_machine_name(probe->machine, buffer), variant);
}

static bool same_machine(const struct hs_probe *program, const struct hs_probe *library)
{
    const char *left = float_abi(program), *right = float_abi(library);
    return program->machine == library->machine && program->pointer_size == library->pointer_size &&
           program->big_endian == library->big_endian && (!*left || !*right || !strcmp(left, right));
}

// The name for messages: the file, or the interpreter of the named script.
static void name_target(char *text, size_t size, const char *typed, const char *path)
{
    const char *base = strrchr(path, '/');
    bool same = !strcmp(typed, path) || (base && !strcmp(typed, base + 1));
    if (same)
        snprintf(text, size, "%s", path);
    else
        snprintf(text, size, "%s (which runs %s)", path, typed);
}

// The loader maps a file that was cut off as well, and the program ends with SIGBUS.
static bool is_intact(const struct hs_probe *probe)
{
    return probe->kind == HS_PROBE_ELF && !probe->damaged && !probe->incomplete;
}

static int check_library(const char *target, const struct hs_probe *probe, const char *library, struct hs_error *error)
{
    char program_machine[80];
    char library_machine[80];
    struct hs_probe library_probe;
    if (hs_probe__file(&library_probe, library))
        return 0;
    if (!is_intact(&library_probe)) {
        hs_error__set(error, ENOEXEC,
                      "heapsonde cannot record %s: the recording library %s is not an intact ELF file; install it "
                      "again, or name another in HEAPSONDE_LIBRARY",
                      target, library);
        return HS_EXIT_CANNOT_RUN;
    }
    if (same_machine(probe, &library_probe))
        return 0;
    describe(probe, program_machine, sizeof(program_machine));
    describe(&library_probe, library_machine, sizeof(library_machine));
    hs_error__set(error, ENOEXEC,
                  "heapsonde cannot record %s: it is a %s program and the recording library %s is for %s; "
                  "name the library for its machine in HEAPSONDE_LIBRARY, or record on such a machine",
                  target, program_machine, library, library_machine);
    return HS_EXIT_CANNOT_RUN;
}

// Whether a program, named itself, is for another machine than this one, and such are recorded.
static const struct hs_abi *foreign_abi(const struct hs_program *program, const char *path,
                                        const struct hs_probe *probe)
{
    const struct hs_abi *abi = hs_abi__of(probe);
    bool is_named = program->path && !strcmp(path, program->path);
    return is_named && abi != hs_abi__of_this_machine() ? abi : NULL;
}

static int check_foreign(struct hs_program *program, const char *target, const struct hs_abi *abi,
                         const struct hs_probe *probe, struct hs_error *error)
{
    int result = hs_emulator__find(&program->emulator, target, abi, probe, program->sysroots, error);
    if (!probe->has_interpreter)
        result = hs_error__set(error, ENOEXEC,
                               "heapsonde cannot record %s: it is a statically linked program for %s, so no loader can "
                               "add the recording library to it; link it dynamically",
                               target, abi->what);
    program->is_emulated = !result;
    return result;
}

// A program that is linked statically, and is named itself or followed.
static bool can_be_injected(const struct hs_program *program, const char *path, const struct hs_probe *probe)
{
    bool is_named = !program->wrapped && program->path && !strcmp(path, program->path);
    return hs_inject__is_supported() && !probe->has_interpreter && (is_named || program->is_followed);
}

// A tracer that may trace any process does not take their rights from such programs, and needs no LD_PRELOAD.
static bool keeps_rights(const struct hs_program *program)
{
    return program->is_followed && hs_permission__has_capability(CAP_SYS_PTRACE);
}

// `is_injectable`: it would be if it were named itself, or followed.
static int refuse_static(const struct hs_program *program, const char *target, bool is_injectable,
                         struct hs_error *error)
{
    const char *way = !is_injectable ? ""
                      : program->wrapped
                          ? "name it directly, not behind another program, or use --follow-children=trace; else "
                          : "use --follow-children=trace, or name it directly; else ";
    hs_error__set(error, ENOEXEC,
                  "heapsonde cannot record %s: it is statically linked, so no loader can add the recording library "
                  "to it; %slink it dynamically, or link libheapsonde-trace.so into it",
                  target, way);
    return HS_EXIT_CANNOT_RUN;
}

static int refuse_elevated(const char *target, const char *elevated, struct hs_error *error)
{
    hs_error__set(error, EPERM,
                  "heapsonde cannot record %s: it is %s, and for such programs the loader ignores LD_PRELOAD; "
                  "record a copy ('cp' does not preserve this), run heapsonde as the file's owner%s",
                  target, elevated, hs_inject__is_supported() ? ", or, as root, use --follow-children=trace" : "");
    return HS_EXIT_CANNOT_RUN;
}

// `is_loaded`: a loader that the user named takes the file, and not the kernel.
static int check_elf(struct hs_program *program, const char *target, const char *path, const struct hs_probe *probe,
                     bool is_loaded, const char *library, struct hs_error *error)
{
    if (!is_intact(probe)) {
        hs_error__set(error, ENOEXEC, "%s is a damaged ELF file; get an intact copy", target);
        return HS_EXIT_CANNOT_RUN;
    }
    const struct hs_abi *foreign = is_loaded ? NULL : foreign_abi(program, path, probe);
    int result =
        foreign ? check_foreign(program, target, foreign, probe, error) : check_library(target, probe, library, error);
    if (result)
        return HS_EXIT_CANNOT_RUN;
    program->is_static = !is_loaded && !foreign && can_be_injected(program, path, probe);
    if (!program->is_static && (is_loaded ? !probe->has_dynamic : !probe->has_interpreter))
        return refuse_static(program, target, hs_inject__is_supported() && !is_loaded && !foreign, error);
    const char *sanitizer = hs_sanitizer(path);
    if (sanitizer) {
        hs_error__set(error, ENOEXEC,
                      "heapsonde cannot record %s: it is built with %s, whose runtime has its own allocator and does "
                      "not work with another preloaded library; record a build without it",
                      target, sanitizer);
        return HS_EXIT_CANNOT_RUN;
    }
    const char *elevated = is_loaded || foreign || keeps_rights(program) ? NULL : elevation(path);
    return elevated ? refuse_elevated(target, elevated, error) : 0;
}

// A sanitizer's runtime in LD_PRELOAD, as interpreters have it whose modules are built for one.
static int check_preloaded(const struct hs_program *program, struct hs_error *error)
{
    static const char *const runtimes[] = {"libasan.so", "libtsan.so", "liblsan.so", "libhwasan.so", "libclang_rt."};
    const char *list = getenv("LD_PRELOAD");
    while (list && *list) {
        size_t length = strcspn(list, " :");
        const char *slash = memrchr(list, '/', length);
        const char *base = slash ? slash + 1 : list;
        for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
            if (strncmp(base, runtimes[i], strlen(runtimes[i])) != 0)
                continue;
            hs_error__set(error, ENOEXEC,
                          "heapsonde cannot record %s: %.*s in LD_PRELOAD is the runtime of a sanitizer, which has its "
                          "own allocator and does not work with another preloaded library; leave it out",
                          program->name, (int)length, list);
            return HS_EXIT_CANNOT_RUN;
        }
        list += length + (list[length] != 0);
    }
    return 0;
}

static bool is_loader(const char *name, const char *path, const struct hs_probe *probe)
{
    return probe->has_dynamic && !probe->has_interpreter && (hs_loader__is_named(name) || hs_loader__is_named(path));
}

// ld.so PROGRAM.
static int check_loaded(struct hs_program *program, const char *library, struct hs_error *error)
{
    struct hs_probe probe;
    size_t at = hs_loader__program(program->arguments);
    if (!at) {
        hs_error__set(error, EINVAL, "%s is the dynamic loader; name a program after it", program->name);
        return HS_EXIT_CANNOT_RUN;
    }
    const char *path = program->arguments[at];
    program->is_loaded = true;
    // The loader itself reports what it cannot find.
    if (hs_probe__file(&probe, path) || probe.kind != HS_PROBE_ELF)
        return 0;
    program->recorded = strdup(path);
    return check_elf(program, path, path, &probe, true, library, error);
}

// ---- scripts -------------------------------------------------------------------------------------------------------

// The word after "#! /usr/bin/env", if it is one plain program name.
static bool env_program(const char *script, char *name, size_t size)
{
    char line[512];
    FILE *file = fopen(script, "re");
    bool read = file && fgets(line, sizeof(line), file);
    if (file)
        fclose(file);
    if (!read)
        return false;
    char *rest = NULL;
    strtok_r(line + 2, " \t\r\n", &rest);
    const char *word = strtok_r(NULL, " \t\r\n", &rest);
    const char *more = strtok_r(NULL, " \t\r\n", &rest);
    if (!word || more || word[0] == '-' || strchr(word, '=') || strlen(word) >= size)
        return false;
    strcpy(name, word);
    return true;
}

static bool is_env(const char *interpreter)
{
    const char *base = strrchr(interpreter, '/');
    return !strcmp(base ? base + 1 : interpreter, "env");
}

// env would replace itself by the interpreter, and a program that is executed later is not recorded: run the
// interpreter directly, with what env would have given it.
static int replace_env(struct hs_program *program, const char *interpreter, struct hs_error *error)
{
    size_t count = 0;
    while (program->arguments[count])
        count++;
    char **arguments = calloc(count + 2, sizeof(*arguments));
    char *path = NULL;
    int result = find_program(interpreter, &path, error);
    if (result || !arguments) {
        free(arguments);
        return result ? result : HS_EXIT_CANNOT_RUN;
    }
    program->interpreter = strdup(interpreter);
    program->script = program->path;
    arguments[0] = program->interpreter;
    arguments[1] = program->script;
    memcpy(arguments + 2, program->arguments + 1, (count - 1) * sizeof(*arguments));
    free(program->arguments);
    program->arguments = arguments;
    program->path = path;
    return 0;
}

static int check_target(struct hs_program *program, const char *library, struct hs_error *error)
{
    char path[PATH_MAX];
    char env_name[256];
    struct hs_probe probe;
    snprintf(path, sizeof(path), "%s", program->path);
    for (int depth = 0; depth <= MOST_INTERPRETERS; depth++) {
        int result = hs_probe__file(&probe, path);
        // A program may be executable but not readable; the kernel will know.
        if (result == -EACCES)
            return 0;
        if (result) {
            hs_error__set(error, -result, "%s, which the #! line of %s names, cannot be run: %s; install it", path,
                          program->name, strerror(-result));
            return result == -ENOENT ? HS_EXIT_NOT_FOUND : HS_EXIT_CANNOT_RUN;
        }
        if (probe.kind == HS_PROBE_ELF && is_intact(&probe) && is_loader(program->name, path, &probe))
            return check_loaded(program, library, error);
        if (probe.kind == HS_PROBE_ELF) {
            char target[512];
            name_target(target, sizeof(target), program->name, path);
            program->recorded = strdup(path);
            return check_elf(program, target, path, &probe, false, library, error);
        }
        // A shell runs files of an unknown format as scripts.
        if (probe.kind == HS_PROBE_OTHER)
            snprintf(path, sizeof(path), "/bin/sh");
        else if (depth == 0 && is_env(probe.interpreter) && env_program(path, env_name, sizeof(env_name))) {
            int replaced = replace_env(program, env_name, error);
            if (replaced)
                return replaced;
            snprintf(path, sizeof(path), "%s", program->path);
        } else
            snprintf(path, sizeof(path), "%s", probe.interpreter);
    }
    hs_error__set(error, ELOOP,
                  "%s: the interpreter in its #! line is itself a script; name the interpreter that runs it",
                  program->name);
    return HS_EXIT_CANNOT_RUN;
}

// Makes QEMU the program that is executed.
static int emulate(struct hs_program *program, struct hs_error *error)
{
    program->emulated_words = hs_emulator__words(&program->emulator, program->path, program->arguments, true);
    char *path = strdup(program->emulator.path);
    if (!path || !program->emulated_words) {
        free(path);
        hs_error__set(error, ENOMEM, "%s: out of memory", program->name);
        return HS_EXIT_CANNOT_RUN;
    }
    free(program->path);
    free(program->arguments);
    program->path = path;
    program->arguments = program->emulated_words;
    return 0;
}

static int prepare(struct hs_program *program, char **argv, bool elsewhere, const char *library, struct hs_error *error)
{
    size_t count = 0;
    while (argv[count])
        count++;
    program->name = argv[0];
    program->arguments = calloc(count + 1, sizeof(char *));
    if (!program->arguments) {
        hs_error__set(error, ENOMEM, "%s: out of memory", argv[0]);
        return HS_EXIT_CANNOT_RUN;
    }
    memcpy(program->arguments, argv, count * sizeof(char *));
    int result = find_program(argv[0], &program->path, error);
    if (result && elsewhere)
        return 0;
    if (!result)
        result = check_preloaded(program, error);
    if (!result)
        result = check_target(program, library, error);
    return !result && program->is_emulated ? emulate(program, error) : result;
}

int hs_program__prepare(struct hs_program *program, char **argv, const char *library, const char *const *sysroots,
                        bool is_followed, struct hs_error *error)
{
    const struct hs_wrapped wrapped = hs_wrappers__look(argv);
    *program = (struct hs_program){
        .words = argv, .wrapped = wrapped.program, .sysroots = sysroots, .is_followed = is_followed};
    int result = prepare(program, argv + wrapped.program, wrapped.elsewhere, library, error);
    if (!result && wrapped.program && strchr(argv[wrapped.program], '=')) {
        hs_error__set(error, EINVAL,
                      "heapsonde cannot record %s behind %s: env starts it, and reads a name with '=' as a variable; "
                      "make a link to it with another name",
                      argv[wrapped.program], argv[0]);
        result = HS_EXIT_CANNOT_RUN;
    }
    if (!result && wrapped.program)
        result = find_program(argv[0], &program->wrapper, error);
    if (!result && wrapped.program)
        result = find_program("env", &program->env, error);
    return result;
}

char **hs_program__unrecorded_words(const struct hs_program *program, char **argv)
{
    size_t count = hs_words__count(argv);
    if (program->emulator.path && program->path)
        return hs_emulator__words(&program->emulator, program->path, argv, false);
    char **words = calloc(count + 1, sizeof(*words));
    for (size_t i = 0; words && i < count; i++)
        words[i] = strdup(argv[i]);
    return words;
}

void hs_program__free(struct hs_program *program)
{
    free(program->path);
    if (program->emulated_words)
        hs_words__free(program->emulated_words);
    else
        free(program->arguments);
    hs_emulator__free(&program->emulator);
    free(program->interpreter);
    free(program->script);
    free(program->recorded);
    free(program->wrapper);
    free(program->env);
}
