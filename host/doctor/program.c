// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/doctor/checks.h"
#include "host/symbols/elf_probe.h"
#include "host/symbols/own_allocator.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void look_allocator(const char *program, struct hs_doctor_finding *finding)
{
    const char *name = hs_own_allocator(program), *source = name ? NULL : hs_maps_alone(program);
    if (source) {
        hs_doctor__say(finding, HS_DOCTOR_LIMITED, "%s calls %s, but no malloc: it may have its own allocator", program,
                       source);
        hs_doctor__advise(finding,
                          "its mappings are recorded, but not the blocks in them; on AMD64 and AArch64, name the "
                          "allocator's functions with --allocator-symbols or --allocator-at");
        return;
    }
    if (!name) {
        hs_doctor__say(finding, HS_DOCTOR_WORKS, "%s", program);
        return;
    }
    hs_doctor__say(finding, HS_DOCTOR_LIMITED, "%s has its own allocator (%s)", program, name);
    hs_doctor__advise(finding,
                      strcmp(name, "malloc")
                          ? "on AMD64 and AArch64, it is recorded if all of its functions have symbols; otherwise "
                            "name them with --allocator-symbols or --allocator-at. On other machines, link the "
                            "program with the system's malloc"
                          : "nothing is recorded unless it calls the next malloc; on AMD64 and AArch64, add "
                            "--allocator-symbols none; on other machines, link the program with the system's "
                            "malloc or with an allocator's shared library");
}

struct sections {
    bool read;
    bool eh_frame, debug_frame, exidx, pdr, symbols, debug_info;
};

static void note_section(struct sections *sections, const char *name, const GElf_Shdr *header)
{
    if (header->sh_type == SHT_NOBITS) // moved to a file of debug information
        return;
    sections->eh_frame |= !strcmp(name, ".eh_frame");
    sections->debug_frame |= !strcmp(name, ".debug_frame") || !strcmp(name, ".zdebug_frame");
    sections->exidx |= !strcmp(name, ".ARM.exidx");
    sections->pdr |= !strcmp(name, ".pdr");
    sections->symbols |= header->sh_type == SHT_SYMTAB;
    sections->debug_info |= !strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info");
}

static struct sections sections_of(const char *path)
{
    struct sections sections = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    elf_version(EV_CURRENT);
    Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
    size_t names = 0;
    if (elf && elf_kind(elf) == ELF_K_ELF && !elf_getshdrstrndx(elf, &names)) {
        Elf_Scn *section = NULL;
        GElf_Shdr header;
        while ((section = elf_nextscn(elf, section))) {
            const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
            if (name)
                note_section(&sections, name, &header);
            sections.read = true;
        }
    }
    elf_end(elf);
    if (fd >= 0)
        close(fd);
    return sections;
}

void hs_doctor__look_program(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding)
{
    if (scene->program_problem)
        hs_doctor__say(finding, HS_DOCTOR_FAILS, "%s", scene->program_problem);
    else if (!scene->program)
        hs_doctor__say(finding, HS_DOCTOR_UNASKED, "no program was named; 'heapsonde doctor -- PROGRAM' checks one");
    else if (scene->program_is_static && !sections_of(scene->program).symbols)
        hs_doctor__say(finding, HS_DOCTOR_FAILS, "%s is statically linked and has no table of symbols", scene->program);
    else if (scene->program_is_static)
        hs_doctor__say(finding, HS_DOCTOR_WORKS, "%s is statically linked: 'heapsonde run' puts the library into it",
                       scene->program);
    else
        look_allocator(scene->program, finding);
}

// Whether there are sections to look at; else the finding says why not.
static bool look_at_sections(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding,
                             struct sections *sections)
{
    if (!scene->program) {
        hs_doctor__say(finding, HS_DOCTOR_UNASKED, "no program was named");
        return false;
    }
    *sections = sections_of(scene->program);
    if (!sections->read)
        hs_doctor__say(finding, HS_DOCTOR_UNASKED, "%s has no sections", scene->program);
    return sections->read;
}

void hs_doctor__look_tables(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding)
{
    struct sections sections;
    if (!look_at_sections(scene, finding, &sections))
        return;
    const char *table = sections.eh_frame      ? ".eh_frame"
                        : sections.exidx       ? ".ARM.exidx"
                        : sections.debug_frame ? ".debug_frame"
                        : sections.pdr         ? ".pdr"
                                               : NULL;
    if (table)
        hs_doctor__say(finding, HS_DOCTOR_WORKS, "%s", table);
    else
        hs_doctor__say(finding, HS_DOCTOR_WORKS, "none; its machine code is analysed instead");
}

void hs_doctor__look_symbols(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding)
{
    struct sections sections;
    if (!look_at_sections(scene, finding, &sections))
        return;
    if (sections.debug_info) {
        hs_doctor__say(finding, HS_DOCTOR_WORKS, "debug information: functions, files and lines");
    } else if (sections.symbols) {
        hs_doctor__say(finding, HS_DOCTOR_LIMITED, "a symbol table: functions, but no lines");
        hs_doctor__advise(finding, "compile with -g, or install the debug package, for files and lines");
    } else {
        hs_doctor__say(finding, HS_DOCTOR_LIMITED, "stripped");
        hs_doctor__advise(finding, "name the folder of its debug files to report with --debug-dir, or set "
                                   "DEBUGINFOD_URLS");
    }
}

void hs_doctor__look_build_id(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding)
{
    struct hs_probe probe;
    char digits[2 * HS_BUILD_ID_MAX + 1] = "";
    if (!scene->program) {
        hs_doctor__say(finding, HS_DOCTOR_UNASKED, "no program was named");
        return;
    }
    int result = hs_probe__file(&probe, scene->program);
    if (result || !probe.build_id_length) {
        hs_doctor__say(finding, HS_DOCTOR_LIMITED, "%s", result ? strerror(-result) : "none");
        if (!result)
            hs_doctor__advise(finding, "link with -Wl,--build-id");
        return;
    }
    for (size_t i = 0; i < probe.build_id_length; i++)
        snprintf(digits + 2 * i, 3, "%02x", probe.build_id[i]);
    hs_doctor__say(finding, HS_DOCTOR_WORKS, "%s", digits);
}
