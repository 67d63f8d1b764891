// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What every command that speaks with devices takes.
#ifndef HEAPSONDE_HOST_CLI_WIRE_OPTIONS_H
#define HEAPSONDE_HOST_CLI_WIRE_OPTIONS_H

#include "host/cli/command.h"
#include "host/gather/shared_key.h"

// clang-format off
// `with`: as in struct hs_option.
#define HS_WIRE_OPTIONS(for_what, owner, with)                                                                         \
    {.name = "key-file",                                                                                               \
     .letter = 'k',                                                                                                    \
     .only_with = with,                                                                                                \
     .kind = HS_OPTION_FILE,                                                                                           \
     .argument = "FILE",                                                                                               \
     .help = for_what "the key that " owner ", too: 16 to 1,024 bytes in a file that nobody else may read; default HEAPSONDE_KEY_FILE"},                                                            \
    {.name = "insecure",                                                                                               \
     .only_with = with,                                                                                                \
     .help = for_what "allow other machines without a key, for closed test networks: anyone who can reach or watch the network can read, change and command everything"}
// clang-format on

// Reads the key that is asked for; none leaves its length 0. Returns 0, or the exit status after a line on standard
// error.
int hs_wire_options__key(const struct hs_arguments *arguments, struct hs_shared_key *key);

#endif
