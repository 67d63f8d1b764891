// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_HOST_CLI_BROWSER_H
#define HEAPSONDE_HOST_CLI_BROWSER_H

#include "host/cli/command.h"

// Shows an address in the user's browser: $BROWSER, or what xdg-open starts. Never as root, whose browser would show
// everybody's pages with all rights; then, and where nothing can be started, a line says so.
void hs_browser__open(const struct hs_command *command, const char *address);

#endif
