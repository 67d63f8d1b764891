// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tests/decoder/oracle.h"

#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REASONS_MAX    64
#define SHOWN_MAX      60 // differences in all
#define SHOWN_OF_ONE   3  // of one mnemonic
#define MNEMONICS      2048
#define LEAST_EXPECTED 10000

struct count {
    const char *reason;
    unsigned long count;
};

struct run {
    const struct oracle *oracle;
    csh handle;
    cs_insn *insn;
    unsigned long instructions, unknown, differences;
    struct count excused[REASONS_MAX];
    unsigned char shown[MNEMONICS];
    unsigned shown_in_all;
};

static const char *flow_names[] = {"next", "call", "branch", "jump", "indirect", "return", "stop"};

static bool tracks(const struct oracle *oracle, unsigned reg)
{
    return oracle->tracked >> reg & 1;
}

// Applies our effects to registers that hold themselves.
static void view_of_effects(const struct oracle *oracle, const struct hs_instruction *instruction,
                            struct oracle_view *view)
{
    struct oracle_value now[HS_DECODER_REGISTERS];
    for (unsigned i = 0; i < HS_DECODER_REGISTERS; i++)
        now[i] = (struct oracle_value){true, (uint8_t)i, 0};
    view->flow = instruction->flow;
    view->conditional = instruction->conditional;
    view->delay_slot = instruction->delay_slot;
    view->likely = instruction->likely;
    view->target = instruction->flow == HS_FLOW_NEXT ? 0 : instruction->target; // else a computed address
    for (unsigned i = 0; i < instruction->count; i++) {
        const struct hs_effect *effect = &instruction->effects[i];
        struct oracle_value source = now[effect->source];
        if ((effect->kind == HS_EFFECT_STORE || effect->kind == HS_EFFECT_LOAD) && tracks(oracle, effect->reg) &&
            source.known)
            oracle_view__access(view, effect->kind == HS_EFFECT_STORE, effect->reg, source.base,
                                source.offset + effect->value);
        if (effect->kind == HS_EFFECT_STORE)
            continue;
        view->writes |= UINT64_C(1) << effect->reg;
        now[effect->reg].known = effect->kind == HS_EFFECT_ADD && source.known;
        if (now[effect->reg].known)
            now[effect->reg] = (struct oracle_value){true, source.base, source.offset + effect->value};
    }
    memcpy(view->values, now, sizeof now);
}

static bool has_access(const struct oracle_view *view, const struct oracle_access *wanted)
{
    for (unsigned i = 0; i < view->access_count; i++) {
        const struct oracle_access *access = &view->accesses[i];
        if (access->store == wanted->store && access->reg == wanted->reg && access->base == wanted->base &&
            access->offset == wanted->offset)
            return true;
    }
    return false;
}

static bool same_accesses(const struct oracle_view *a, const struct oracle_view *b)
{
    for (unsigned i = 0; i < a->access_count; i++)
        if (!has_access(b, &a->accesses[i]))
            return false;
    for (unsigned i = 0; i < b->access_count; i++)
        if (!has_access(a, &b->accesses[i]))
            return false;
    return true;
}

static const char *difference(const struct oracle *oracle, const struct oracle_view *ours,
                              const struct oracle_view *theirs)
{
    if (ours->flow != theirs->flow || ours->conditional != theirs->conditional)
        return "flow";
    if (ours->delay_slot != theirs->delay_slot || ours->likely != theirs->likely)
        return "delay slot";
    if (ours->target != theirs->target)
        return "target";
    if ((ours->writes ^ theirs->writes) & oracle->tracked)
        return "writes";
    for (unsigned i = 0; i < HS_DECODER_REGISTERS; i++) {
        const struct oracle_value *a = &ours->values[i], *b = &theirs->values[i];
        if ((theirs->writes & oracle->tracked) >> i & 1 && b->known &&
            (!a->known || a->base != b->base || a->offset != b->offset))
            return "value";
    }
    return same_accesses(ours, theirs) ? NULL : "accesses";
}

static void count_excused(struct run *run, const char *reason)
{
    for (unsigned i = 0; i < REASONS_MAX; i++) {
        if (!run->excused[i].reason)
            run->excused[i].reason = reason;
        if (strcmp(run->excused[i].reason, reason) == 0) {
            run->excused[i].count++;
            return;
        }
    }
}

static void show_view(const char *who, const struct oracle_view *view, uint64_t tracked)
{
    printf("    %-8s %s%s target %#" PRIx64 " writes %#" PRIx64, who, flow_names[view->flow],
           view->conditional ? " (conditional)" : "", view->target, view->writes & tracked);
    for (unsigned i = 0; i < HS_DECODER_REGISTERS; i++)
        if ((view->writes & tracked) >> i & 1 && view->values[i].known)
            printf(" r%u=r%u%+" PRId64, i, view->values[i].base, view->values[i].offset);
    for (unsigned i = 0; i < view->access_count; i++)
        printf(" %s r%u [r%u%+" PRId64 "]", view->accesses[i].store ? "store" : "load", view->accesses[i].reg,
               view->accesses[i].base, view->accesses[i].offset);
    printf("\n");
}

static void show(struct run *run, const char *what, const struct oracle_view *ours, const struct oracle_view *theirs)
{
    const cs_insn *insn = run->insn;
    run->differences++;
    if (run->shown[insn->id % MNEMONICS] >= SHOWN_OF_ONE || run->shown_in_all >= SHOWN_MAX)
        return;
    run->shown[insn->id % MNEMONICS]++;
    run->shown_in_all++;
    printf("%s differs at %#" PRIx64 ":", what, insn->address);
    for (unsigned i = 0; i < insn->size; i++)
        printf(" %02x", insn->bytes[i]);
    printf("  %s %s\n", insn->mnemonic, insn->op_str);
    if (!ours)
        return;
    show_view("ours", ours, run->oracle->tracked);
    show_view("capstone", theirs, run->oracle->tracked);
}

static void compare(struct run *run, const struct hs_instruction *instruction)
{
    const struct oracle *oracle = run->oracle;
    struct oracle_view ours = {0}, theirs = {0};
    view_of_effects(oracle, instruction, &ours);
    oracle->expect(run->handle, run->insn, &theirs);
    const char *what = instruction->size != run->insn->size ? "size" : difference(oracle, &ours, &theirs);
    if (!what)
        return;
    const char *reason = oracle->excuse(run->insn, &ours, &theirs);
    if (reason)
        count_excused(run, reason);
    else
        show(run, what, instruction->size ? &ours : NULL, &theirs);
}

static void compare_section(struct run *run, const uint8_t *code, size_t size, uint64_t address)
{
    const struct oracle *oracle = run->oracle;
    uint32_t context = 0;
    while (size) {
        struct hs_instruction instruction;
        oracle->decoder->decode(code, size, (uintptr_t)address, &context, &instruction);
        const uint8_t *next = code;
        uint64_t next_address = address;
        size_t rest = size;
        size_t step;
        if (cs_disasm_iter(run->handle, &next, &rest, &next_address, run->insn)) {
            run->instructions++;
            compare(run, &instruction);
            step = run->insn->size;
        } else {
            run->unknown++;
            step = oracle->unknown_step ? oracle->unknown_step
                   : instruction.size   ? instruction.size
                                        : oracle->decoder->alignment;
        }
        if (step > size)
            return;
        code += step;
        size -= step;
        address += step;
    }
}

static bool compare_file(struct run *run, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
    unsigned long before = run->instructions;
    for (Elf_Scn *section = NULL; elf && (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_PROGBITS || !(header.sh_flags & SHF_EXECINSTR))
            continue;
        const Elf_Data *data = elf_rawdata(section, NULL);
        if (data && data->d_buf)
            compare_section(run, data->d_buf, data->d_size, header.sh_addr);
    }
    elf_end(elf);
    if (fd >= 0)
        close(fd);
    printf("%s: %s: %lu instructions\n", run->oracle->name, path, run->instructions - before);
    return run->instructions - before >= LEAST_EXPECTED;
}

static void summarise(const struct run *run)
{
    printf("%s: %lu instructions, %lu differ, %lu places are no instruction to capstone\n", run->oracle->name,
           run->instructions, run->differences, run->unknown);
    for (unsigned i = 0; i < REASONS_MAX && run->excused[i].reason; i++)
        printf("  excused: %lu: %s\n", run->excused[i].count, run->excused[i].reason);
}

int oracle_run(const struct oracle *oracle, int argc, char **argv)
{
    struct run run = {.oracle = oracle};
    bool complete = argc > 1;
    elf_version(EV_CURRENT);
    if (cs_open(oracle->arch, oracle->mode, &run.handle) != CS_ERR_OK) {
        printf("%s: this capstone does not know the architecture\n", oracle->name);
        return 1;
    }
    cs_option(run.handle, CS_OPT_DETAIL, CS_OPT_ON);
    run.insn = cs_malloc(run.handle);
    for (int i = 1; i < argc; i++)
        complete = compare_file(&run, argv[i]) && complete;
    summarise(&run);
    cs_free(run.insn, 1);
    cs_close(&run.handle);
    if (!complete)
        printf("%s: a file is missing or holds next to no code\n", oracle->name);
    return complete && run.differences == 0 ? 0 : 1;
}
