// SPDX-License-Identifier: MIT OR Apache-2.0
//
// print_frames [--interrupted] FILE [SYMBOLS]: analyses every function that the symbol table of SYMBOLS (or of FILE)
// names and prints a line for each call: the return address, then what is known of the frame there, by register number:
//
//     RETURN_ADDRESS guessed=0 base=R:OFFSET ... saved=R:SLOT ... same=R ...
//
// or `RETURN_ADDRESS none` when the code does not tell. With --interrupted the same for each instruction that a signal
// may come before, with its address.
#include "unwind/code_part.h"

#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct function {
    uint64_t start, size;
    bool thumb;
    bool part; // of a function that lies elsewhere
};

struct mapping {
    uint64_t address;
    bool data;
};

struct image {
    Elf *elf;
    int machine;
    bool big;
    struct function *functions;
    size_t function_count;
    struct mapping *mappings;
    size_t mapping_count;
    bool interrupted; // each instruction instead of each call
};

static void fail(const char *what, const char *name)
{
    fprintf(stderr, "print_frames: %s: %s\n", name, what);
    exit(2);
}

static Elf *open_elf(const char *name)
{
    int fd = open(name, O_RDONLY);
    Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
    if (!elf || elf_kind(elf) != ELF_K_ELF)
        fail("is no ELF file that can be read", name);
    return elf;
}

static const struct hs_decoder *decoder_of(const struct image *image, bool thumb)
{
    switch (image->machine) {
    case EM_X86_64:
        return &hs_decoder_amd64;
    case EM_AARCH64:
        return &hs_decoder_aarch64;
    case EM_ARM:
        return thumb ? &hs_decoder_thumb : &hs_decoder_arm;
    case EM_MIPS:
        return image->big ? &hs_decoder_mips64 : &hs_decoder_mips64el;
    }
    return NULL;
}

static int by_start(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static int by_address(const void *a, const void *b)
{
    const struct mapping *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static void add_symbol(struct image *image, const char *name, const GElf_Sym *symbol)
{
    if (name[0] == '$' && strchr("atdx", name[1]) && symbol->st_shndx != SHN_UNDEF)
        image->mappings[image->mapping_count++] = (struct mapping){symbol->st_value, name[1] == 'd'};
    if (GELF_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF || !symbol->st_size)
        return;
    bool thumb = image->machine == EM_ARM && symbol->st_value & 1;
    size_t length = strlen(name);
    bool part = length > 5 && strcmp(name + length - 5, ".cold") == 0;
    image->functions[image->function_count++] =
        (struct function){symbol->st_value & ~(uint64_t)thumb, symbol->st_size, thumb, part};
}

static void read_symbols(struct image *image, Elf *elf)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while ((section = elf_nextscn(elf, section)) && gelf_getshdr(section, &header)) {
        if (header.sh_type != SHT_SYMTAB)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        size_t count = header.sh_size / header.sh_entsize;
        image->functions = calloc(count, sizeof *image->functions);
        image->mappings = calloc(count, sizeof *image->mappings);
        for (size_t i = 0; i < count; i++) {
            GElf_Sym symbol;
            const char *name = gelf_getsym(data, (int)i, &symbol) ? elf_strptr(elf, header.sh_link, symbol.st_name) : 0;
            if (name)
                add_symbol(image, name, &symbol);
        }
    }
    qsort(image->functions, image->function_count, sizeof *image->functions, by_start);
    qsort(image->mappings, image->mapping_count, sizeof *image->mappings, by_address);
}

static bool is_data(const struct image *image, uint64_t address)
{
    size_t low = 0, high = image->mapping_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (image->mappings[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && image->mappings[low - 1].data;
}

static void print_frame(uint64_t address, const struct hs_code_frame *frame)
{
    printf("%" PRIx64 " guessed=%d", address, frame->guessed);
    for (int i = 0; i < HS_DECODER_REGISTERS; i++)
        if (frame->bases >> i & 1)
            printf(" base=%d:%d", i, frame->base_offsets[i]);
    for (int i = 0; i < HS_DECODER_REGISTERS; i++)
        if (frame->saved >> i & 1)
            printf(" saved=%d:%d", i, frame->slots[i]);
    for (int i = 0; i < HS_DECODER_REGISTERS; i++)
        if (frame->unchanged >> i & 1)
            printf(" same=%d", i);
    putchar('\n');
}

static bool analyse(const struct hs_decoder *decoder, const struct hs_code *code, uintptr_t at, bool exact,
                    struct hs_code_frame *frame)
{
    void *memory = calloc(1, hs_analysis_memory_size(decoder, code->size));
    bool known = hs_analyse(decoder, code, at, exact, memory, frame);
    free(memory);
    return known;
}

static const struct function *function_at(const struct image *image, uint64_t address)
{
    for (size_t i = 0; i < image->function_count; i++)
        if (!image->functions[i].part && address - image->functions[i].start < image->functions[i].size)
            return &image->functions[i];
    return NULL;
}

static bool analyse_call_in_part(const struct image *image, const struct hs_decoder *decoder,
                                 const struct hs_code *text, const struct hs_code *code, uintptr_t at,
                                 struct hs_code_frame *frame)
{
    struct hs_jump jump;
    if (!hs_code_part__entered_by(decoder, text, code, at, &jump))
        return false;
    const struct function *function = function_at(image, jump.from);
    if (!function)
        return false;
    struct hs_code whole = {text->bytes + (function->start - text->address), function->size, function->start, NULL, 0};
    void *memory = calloc(1, hs_code_part__memory_size(decoder, &whole, code));
    bool known = hs_code_part__analyse(decoder, &whole, code, &jump, at, memory, frame);
    free(memory);
    return known;
}

static void print_known(uintptr_t address, bool known, const struct hs_code_frame *frame)
{
    if (known && !frame->outermost)
        print_frame(address, frame);
    else
        printf("%" PRIxPTR " none\n", address);
}

static void print_function(const struct image *image, const struct function *function, const struct hs_code *text)
{
    const struct hs_decoder *decoder = decoder_of(image, function->thumb);
    struct hs_code code = {text->bytes + (function->start - text->address), function->size, function->start, NULL, 0};
    uint32_t context = 0;
    for (size_t at = 0; at < code.size;) {
        struct hs_instruction call;
        struct hs_code_frame frame;
        if (is_data(image, code.address + at) ||
            !decoder->decode(code.bytes + at, code.size - at, code.address + at, &context, &call)) {
            at += decoder->alignment;
            context = 0;
            continue;
        }
        uintptr_t after = code.address + at + call.size * (call.delay_slot ? 2 : 1), asked = after - decoder->call_size;
        bool known;
        if (image->interrupted) {
            known = analyse(decoder, &code, code.address + at, true, &frame);
            print_known(code.address + at, known, &frame);
        } else if (call.flow == HS_FLOW_CALL) {
            known = function->part ? analyse_call_in_part(image, decoder, text, &code, asked, &frame)
                                   : analyse(decoder, &code, asked, false, &frame);
            print_known(after, known, &frame);
        }
        at += call.size;
    }
}

static void print_section(const struct image *image, const GElf_Shdr *header, const uint8_t *bytes)
{
    const struct hs_code text = {bytes, header->sh_size, header->sh_addr, NULL, 0};
    uint64_t previous = UINT64_MAX;
    for (size_t i = 0; i < image->function_count; i++) {
        const struct function *function = &image->functions[i];
        uint64_t offset = function->start - header->sh_addr;
        if (offset >= header->sh_size || function->size > header->sh_size - offset || function->start == previous)
            continue;
        previous = function->start;
        print_function(image, function, &text);
    }
}

int main(int argc, char **argv)
{
    bool interrupted = argc > 1 && strcmp(argv[1], "--interrupted") == 0;
    argc -= interrupted;
    argv += interrupted;
    if (argc < 2 || argc > 3)
        fail("usage: print_frames [--interrupted] FILE [SYMBOLS]", "arguments");
    elf_version(EV_CURRENT);
    struct image image = {.elf = open_elf(argv[1]), .interrupted = interrupted};
    GElf_Ehdr header;
    gelf_getehdr(image.elf, &header);
    image.machine = header.e_machine;
    image.big = header.e_ident[EI_DATA] == ELFDATA2MSB;
    if (!decoder_of(&image, false))
        fail("is for a machine without a decoder", argv[1]);
    read_symbols(&image, argc == 3 ? open_elf(argv[2]) : image.elf);
    if (!image.function_count)
        fail("no symbol table", argv[argc - 1]);
    Elf_Scn *section = NULL;
    GElf_Shdr section_header;
    while ((section = elf_nextscn(image.elf, section)) && gelf_getshdr(section, &section_header)) {
        if (section_header.sh_type != SHT_PROGBITS || !(section_header.sh_flags & SHF_EXECINSTR))
            continue;
        Elf_Data *data = elf_rawdata(section, NULL);
        print_section(&image, &section_header, data->d_buf);
    }
    return 0;
}
