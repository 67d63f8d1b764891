// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The page on which browsers show traces: its files are part of the command. It is a client of REST and nothing else.
#ifndef HEAPSONDE_HOST_WEBUI_WEBUI_H
#define HEAPSONDE_HOST_WEBUI_WEBUI_H

#include "host/server/http.h"

// For the server: pages that are open to everybody, "/" among them for browsers. Returns how many there are; a NULL
// array counts only.
size_t hs_webui__pages(struct hs_http_page *pages);

#endif
