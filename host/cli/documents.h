// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What is written from the table of commands: help, the man page, the completions for bash, zsh and fish.
#ifndef HEAPSONDE_HOST_CLI_DOCUMENTS_H
#define HEAPSONDE_HOST_CLI_DOCUMENTS_H

#include "host/cli/command.h"

#include <stdio.h>

void hs_documents__overview(FILE *out);
void hs_documents__help(FILE *out, const struct hs_command *command);
void hs_documents__man(FILE *out);
void hs_documents__completion(FILE *out);
void hs_documents__zsh_completion(FILE *out);
void hs_documents__fish_completion(FILE *out);
void hs_documents__variables(FILE *out); // what docs/variables.md is

#endif
