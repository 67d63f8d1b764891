// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/module.h"

#include "host/base/memory.h"
#include "host/base/text_stream.h"
#include "host/symbols/expand.h"
#include "host/symbols/locate.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// libdwfl may ask again for the same file; a status that was given out earlier still points to the text then.
static void keep_text(char **kept, const char *text)
{
    if (*kept && text && !strcmp(*kept, text))
        return;
    free(*kept);
    *kept = text ? strdup(text) : NULL;
}

// Files that are found by build id, or by name in places that the user gave; else what libdwfl finds, with debuginfod.
static int find_debug_information(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
                                  const char *file, const char *link, GElf_Word checksum, char **found)
{
    struct hs_module_symbols *self = *userdata;
    // libdwfl also asks for the supplementary file of dwz, which has another build id; then it names no file.
    if (self && file) {
        struct hs_debug_link wanted = {self->file, link, checksum};
        int fd = hs_locate_debug(self->options, &self->description, &wanted, found);
        keep_text(&self->link, link);
        keep_text(&self->debug_file, fd >= 0 ? *found : NULL);
        // Without a build id and a link, libdwfl would take any file of that name.
        if (fd >= 0 || (!link && !self->description.build_id_length))
            return hs_expand__sections(fd, &self->packed);
    }
    int fd = dwfl_standard_find_debuginfo(module, userdata, name, base, file, link, checksum, found);
    return hs_expand__sections(fd, self ? &self->packed : NULL);
}

static char *debug_search_path(const struct hs_symbols_options *options)
{
    struct hs_text_stream text;
    FILE *stream = hs_text_stream__open(&text);
    if (!stream)
        return NULL;
    fputs("+:.debug", stream);
    for (size_t i = 0; i < options->sysroot_count; i++)
        fprintf(stream, ":%s/usr/lib/debug", options->sysroots[i]);
    for (size_t i = 0; i < options->debug_dir_count; i++)
        fprintf(stream, ":%s", options->debug_dirs[i]);
    fputs(":/usr/lib/debug", stream);
    return hs_text_stream__close(&text);
}

// Consumes `fd`.
static int report_file(struct hs_module_symbols *self, int fd)
{
    self->debug_path = debug_search_path(self->options);
    self->callbacks = (Dwfl_Callbacks){.find_elf = dwfl_build_id_find_elf,
                                       .find_debuginfo = find_debug_information,
                                       .section_address = dwfl_offline_section_address,
                                       .debuginfo_path = &self->debug_path};
    self->dwfl = dwfl_begin(&self->callbacks);
    if (!self->dwfl) {
        close(fd);
        return -1;
    }
    dwfl_report_begin(self->dwfl);
    self->module = dwfl_report_elf(self->dwfl, self->description.path, self->file, fd, 0, true);
    dwfl_report_end(self->dwfl, NULL, NULL);
    if (!self->module) {
        close(fd);
        return -1;
    }
    void **userdata;
    dwfl_module_info(self->module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
    *userdata = self;
    return 0;
}

// The trace does not say which build was recorded; the debug information has at least to be that of the file.
static void take_build_id(struct hs_module_symbols *self, int fd)
{
    if (hs_probe__descriptor(&self->probe, fd))
        return;
    self->description.build_id = self->probe.build_id;
    self->description.build_id_length = self->probe.build_id_length;
}

// How far a segment's addresses in the file lie from its bytes; of the segment that holds the code at `offset`.
static uint64_t address_of_bytes(Elf *elf, uint64_t offset)
{
    size_t count = 0;
    GElf_Phdr header;
    GElf_Phdr found = {0};
    if (elf_getphdrnum(elf, &count))
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD)
            continue;
        bool holds = offset - header.p_offset < header.p_filesz;
        if (holds && (!found.p_type || (header.p_flags & PF_X)))
            found = header;
    }
    return found.p_vaddr - found.p_offset;
}

static void correct_bias(struct hs_module_symbols *self, int fd)
{
    if (!self->description.bias_of_bytes)
        return;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (elf)
        self->description.bias -= address_of_bytes(elf, self->description.mapped_offset);
    elf_end(elf);
}

void hs_module_symbols__open(struct hs_module_symbols *self)
{
    struct hs_located located;
    if (self->state != HS_SYMBOLS_UNUSED)
        return;
    hs_locate(self->options, &self->description, &located);
    self->state = located.state;
    self->file = located.path;
    if (located.state == HS_SYMBOLS_FOUND && !self->description.build_id_length)
        take_build_id(self, located.fd);
    if (located.state == HS_SYMBOLS_FOUND)
        correct_bias(self, located.fd);
    if (located.state == HS_SYMBOLS_FOUND && report_file(self, hs_expand__sections(located.fd, &self->packed)))
        self->state = HS_SYMBOLS_DAMAGED;
}

void hs_module_symbols__close(struct hs_module_symbols *self)
{
    hs_dwarf__destroy(self->dwarf);
    hs_symbol_table__free(&self->table);
    if (self->dwfl)
        dwfl_end(self->dwfl);
    if (self->supplement) {
        dwarf_end(self->supplement);
        close(self->supplement_fd);
    }
    free(self->debug_path);
    free(self->file);
    free(self->debug_file);
    free(self->link);
}

bool hs_module_symbols__take_description(struct hs_module_symbols *self, const struct hs_module_symbols *other)
{
    const struct hs_symbols_module *now = &other->description;
    struct hs_symbols_module *kept = &self->description;
    const bool is_of_file = kept->build_id == self->probe.build_id;
    const bool is_same =
        is_of_file ? !now->build_id_length
                   : kept->build_id_length == now->build_id_length &&
                         (!now->build_id_length || !memcmp(kept->build_id, now->build_id, now->build_id_length));
    if (!is_same || (!kept->bias_of_bytes && kept->bias != now->bias))
        return false;
    const struct hs_symbols_module before = *kept; // what the file told
    *kept = *now;
    kept->bias = before.bias;
    if (is_of_file) {
        kept->build_id = before.build_id;
        kept->build_id_length = before.build_id_length;
    }
    self->options = other->options;
    return true;
}

// libdwfl looks for the file that dwz moved common parts into on this machine only.
static void add_supplement(struct hs_module_symbols *self, Dwarf *dwarf)
{
    const char *name = NULL;
    const void *build_id = NULL;
    ssize_t length = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &build_id);
    bool elsewhere = self->options->sysroot_count || self->options->debug_dir_count;
    if (length <= 0 || !elsewhere)
        return;
    const char *file = self->debug_file ? self->debug_file : self->file;
    int fd = hs_locate_supplement(self->options, file, name, build_id, (size_t)length);
    fd = hs_expand__sections(fd, &self->packed);
    Dwarf *supplement = fd >= 0 ? dwarf_begin(fd, DWARF_C_READ) : NULL;
    if (supplement) {
        self->supplement = supplement;
        self->supplement_fd = fd;
        dwarf_setalt(dwarf, supplement);
    } else if (fd >= 0) {
        close(fd);
    }
}

static bool accept_package(void *context, int fd)
{
    struct hs_module_symbols *self = context;
    struct hs_package *package = hs_package__open(fd);
    if (package && hs_dwarf__add_package(self->dwarf, package))
        return true;
    hs_package__close(package);
    return false;
}

static void add_package(struct hs_module_symbols *self)
{
    struct hs_package_search wanted = {
        .files = {self->file, self->debug_file}, .accepts = accept_package, .context = self};
    if (hs_dwarf__lacks_units(self->dwarf))
        hs_locate_package(self->options, &self->description, &wanted);
}

// The sections, which libdw has unpacked, and about as much that is made of them.
static uint64_t opened_bytes(Elf *elf)
{
    uint64_t bytes = 0;
    GElf_Shdr header;
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section; section = elf_nextscn(elf, section))
        if (gelf_getshdr(section, &header) && header.sh_type != SHT_NOBITS)
            bytes += 2 * header.sh_size;
    return bytes;
}

// If an allocation fails, libdw ends the process, or stores through NULL. To look up one address takes less than this.
#define LOOK_UP_MEMORY (16u << 20)

static bool has_room(struct hs_module_symbols *self)
{
    bool room = hs_memory__has_room(LOOK_UP_MEMORY);
    self->lacks_memory |= !room;
    return room;
}

static struct hs_dwarf *dwarf_of(struct hs_module_symbols *self)
{
    if (!self->dwarf_tried && has_room(self)) {
        self->dwarf_tried = true;
        Dwarf *dwarf = self->module ? dwfl_module_getdwarf(self->module, &self->dwarf_bias) : NULL;
        if (dwarf) {
            add_supplement(self, dwarf);
            self->bytes = opened_bytes(dwarf_getelf(dwarf));
        }
        self->dwarf = dwarf ? hs_dwarf__create(dwarf) : NULL;
        if (self->dwarf)
            add_package(self);
    }
    return self->dwarf;
}

bool hs_module_symbols__has_lines(struct hs_module_symbols *self)
{
    return dwarf_of(self) != NULL;
}

bool hs_module_symbols__lacks_units(struct hs_module_symbols *self)
{
    struct hs_dwarf *dwarf = dwarf_of(self);
    return dwarf && hs_dwarf__lacks_units(dwarf);
}

static const char *linked_name(struct hs_module_symbols *self, uint64_t address)
{
    if (!self->table_tried) {
        self->table_tried = true;
        hs_symbol_table__load(&self->table, self->module);
    }
    return hs_symbol_table__find(&self->table, address);
}

// Classes within functions have no linker name in DWARF, so their methods would lose their class; the symbol table
// knows.
static bool is_mangled(const char *name)
{
    return name && (!strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2));
}

uint32_t hs_module_symbols__frames(struct hs_module_symbols *self, uint64_t address, struct hs_dwarf_frame *frames)
{
    if (!self->module)
        return 0;
    struct hs_dwarf *dwarf = dwarf_of(self);
    bool reads = dwarf && has_room(self);
    uint32_t count = reads ? hs_dwarf__frames(dwarf, address - self->dwarf_bias, frames) : 0;
    if (!count)
        frames[count++] = (struct hs_dwarf_frame){0};
    struct hs_dwarf_frame *outermost = &frames[count - 1];
    if (!outermost->function || !is_mangled(outermost->function)) {
        const char *linked = linked_name(self, address);
        if (!outermost->function || is_mangled(linked)) {
            outermost->function = linked;
            outermost->source =
                hs_symbol_table__is_versioned(&self->table, linked) ? HS_NAME_VERSIONED : HS_NAME_LINKED;
        }
    }
    return outermost->function || outermost->file ? count : 0;
}
