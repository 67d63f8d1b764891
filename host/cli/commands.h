// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The sub-commands: a file each. A new one is that file, a line here and a line in commands.c.
#ifndef HEAPSONDE_HOST_CLI_COMMANDS_H
#define HEAPSONDE_HOST_CLI_COMMANDS_H

#include "host/cli/command.h"

extern const struct hs_command hs_command_run;
extern const struct hs_command hs_command_attach;
extern const struct hs_command hs_command_detach;
extern const struct hs_command hs_command_report;
extern const struct hs_command hs_command_ask;
extern const struct hs_command hs_command_export;
extern const struct hs_command hs_command_diff;
extern const struct hs_command hs_command_symbolize;
extern const struct hs_command hs_command_import;
extern const struct hs_command hs_command_extract;
extern const struct hs_command hs_command_strip;
extern const struct hs_command hs_command_gather;
extern const struct hs_command hs_command_fleet; // with libcurl
extern const struct hs_command hs_command_push;  // with libcurl
extern const struct hs_command hs_command_ctl;
extern const struct hs_command hs_command_server;
extern const struct hs_command hs_command_top;
extern const struct hs_command hs_command_doctor;
extern const struct hs_command hs_command_shims;
extern const struct hs_command hs_command_baseline;
extern const struct hs_command hs_command_help;

#endif
