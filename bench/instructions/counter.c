// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A plug-in for QEMU's user mode (7.2 and later): counts the instructions that the emulated program executes and prints
// the number on standard error at its end. The interface is declared here as QEMU documents it for plug-ins of
// version 1.
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct qemu_plugin_tb;
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*callback)(uint64_t id, struct qemu_plugin_tb *block));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int operation, void *word,
                                              uint64_t operand);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*callback)(uint64_t id, void *data), void *data);
int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);

enum { INLINE_ADD_U64 = 0 };

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static uint64_t executed;

static void translated(uint64_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(block, INLINE_ADD_U64, &executed, qemu_plugin_tb_n_insns(block));
}

static void ended(uint64_t id, void *data)
{
    (void)id;
    (void)data;
    fprintf(stderr, "instructions %" PRIu64 "\n", executed);
}

__attribute__((visibility("default"))) int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
    (void)info;
    (void)argc;
    (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
