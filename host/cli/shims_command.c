// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/json.h"
#include "host/cli/commands.h"
#include "host/filter/nearest.h"
#include "host/shims/shims.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ABI_NAMES "amd64 aarch64 armhf armel mips64el mips64"

static const enum hs_shim kinds[] = {HS_SHIM_TRACE, HS_SHIM_PROF};

struct shims_command_place {
    bool found;
    uint64_t bytes;
    char path[PATH_MAX];
};

static struct shims_command_place look(const struct hs_abi *abi, enum hs_shim shim)
{
    struct shims_command_place place = {0};
    struct stat status;
    place.found = !hs_shim__find(abi, shim, place.path, sizeof(place.path), NULL) && !stat(place.path, &status);
    if (place.found)
        place.bytes = (uint64_t)status.st_size;
    return place;
}

static void list(void)
{
    const struct hs_abi *here = hs_abi__of_this_machine();
    printf("%-9s %-25s %-22s %8s  %s\n", "ABI", "MACHINE", "LIBRARY", "BYTES", "PATH");
    for (const struct hs_abi *abi = hs_abis; abi->name; abi++) {
        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
            struct shims_command_place place = look(abi, kinds[i]);
            char bytes[24] = "-";
            if (place.found)
                snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)place.bytes);
            printf("%-9s %-25s %-22s %8s  %s\n", abi->name, abi == here ? "this machine" : abi->what,
                   hs_shim_name(kinds[i]), bytes, place.found ? place.path : "not installed");
        }
    }
}

static void list_json(void)
{
    struct hs_json json;
    hs_json__start(&json, stdout, true);
    hs_json__open_object(&json, NULL);
    hs_json__open_array(&json, "shims");
    for (const struct hs_abi *abi = hs_abis; abi->name; abi++) {
        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
            struct shims_command_place place = look(abi, kinds[i]);
            hs_json__open_object(&json, NULL);
            hs_json__string(&json, "abi", abi->name);
            hs_json__string(&json, "machine", abi->what);
            hs_json__boolean(&json, "this_machine", abi == hs_abi__of_this_machine());
            hs_json__string(&json, "library", hs_shim_name(kinds[i]));
            hs_json__string(&json, "path", place.found ? place.path : NULL);
            if (place.found)
                hs_json__number(&json, "bytes", place.bytes);
            else
                hs_json__null(&json, "bytes");
            hs_json__close_object(&json);
        }
    }
    hs_json__close_array(&json);
    hs_json__close_object(&json);
    putchar('\n');
}

static void complain_unknown(const struct hs_command *command, const char *name)
{
    struct hs_nearest nearest = {.word = name, .length = strlen(name)};
    for (const struct hs_abi *abi = hs_abis; abi->name; abi++)
        hs_nearest__offer(&nearest, abi->name);
    if (nearest.found)
        hs_complain(command, "there is no ABI '%s'; did you mean '%s'?", name, nearest.found);
    else
        hs_complain(command, "there is no ABI '%s'; possible values: " ABI_NAMES, name);
}

static int print_path(const struct hs_command *command, const struct hs_abi *abi, enum hs_shim shim)
{
    char path[PATH_MAX];
    struct hs_error error;
    if (hs_shim__find(abi, shim, path, sizeof(path), &error)) {
        hs_complain(command, "%s", error.message);
        return HS_EXIT_FAILURE;
    }
    puts(path);
    return HS_EXIT_OK;
}

static int run(const struct hs_arguments *arguments)
{
    const char *name = hs_arguments__text(arguments, "path", NULL);
    const char *program = hs_arguments__text(arguments, "for", NULL);
    enum hs_shim shim = hs_arguments__flag(arguments, "prof") ? HS_SHIM_PROF : HS_SHIM_TRACE;
    const struct hs_abi *abi = NULL;
    struct hs_error error;
    if (name && program) {
        hs_complain(arguments->command, "--path and --for exclude each other; give one of them");
        return HS_EXIT_USAGE;
    }
    if (!name && !program && shim == HS_SHIM_PROF) {
        hs_complain(arguments->command, "--prof needs --path or --for; give one of them");
        return HS_EXIT_USAGE;
    }
    if (program && hs_abi__of_file(program, &abi, &error)) {
        hs_complain(arguments->command, "%s", error.message);
        return HS_EXIT_FAILURE;
    }
    if (name && !(abi = hs_abi__named(name))) {
        complain_unknown(arguments->command, name);
        return HS_EXIT_USAGE;
    }
    if (abi)
        return print_path(arguments->command, abi, shim);
    if (hs_arguments__flag(arguments, "json"))
        list_json();
    else
        list();
    return HS_EXIT_OK;
}

static const struct hs_option options[] = {
    {.name = "path",
     .kind = HS_OPTION_TEXT,
     .argument = "ABI",
     .help = "print the path of the recording library for this ABI, for LD_PRELOAD or for copying it to a board",
     .choices = ABI_NAMES},
    {.name = "for",
     .kind = HS_OPTION_FILE,
     .argument = "PROGRAM",
     .help = "print the path of the recording library for this program or library"},
    {.name = "prof", .help = "with --path or --for, print the path of the sampling library instead"},
    {.name = "json", .help = "write the list as JSON"},
    {0},
};

const struct hs_command hs_command_shims = {
    .name = "shims",
    .synopsis = "[OPTIONS]",
    .summary = "list the libraries for targets, or print the path of one",
    .description =
        "There is a recording library and a sampling library for each ABI. One file works with glibc and with "
        "musl. The libraries are searched in the folder that HEAPSONDE_SHIMS names, which contains a folder for each "
        "ABI. Without HEAPSONDE_SHIMS, they are searched where they are installed with this command.",
    .operand = HS_OPERAND_NONE,
    .options = options,
    .run = run,
};
