// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/server/headers.h"

#include "host/server/microhttpd_library.h"

#include <stdio.h>

void hs_headers__add(struct MHD_Response *response, const struct hs_http_answer *answer)
{
    char disposition[sizeof(answer->file_name) + 32];
    hs_mhd->MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
    hs_mhd->MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL,
                                    answer->cache ? answer->cache : "no-store");
    hs_mhd->MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    hs_mhd->MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    hs_mhd->MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    hs_mhd->MHD_add_response_header(response, "Cross-Origin-Opener-Policy", "same-origin");
    hs_mhd->MHD_add_response_header(response, "Content-Security-Policy",
                                    answer->policy ? answer->policy : "default-src 'none'; frame-ancestors 'none'");
    hs_mhd->MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, "Accept, Accept-Encoding");
    if (answer->packed)
        hs_mhd->MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
    if (answer->link)
        hs_mhd->MHD_add_response_header(response, MHD_HTTP_HEADER_LINK, answer->link);
    if (answer->etag[0])
        hs_mhd->MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, answer->etag);
    if (answer->warning[0])
        hs_mhd->MHD_add_response_header(response, "X-Heapsonde-Warning", answer->warning);
    snprintf(disposition, sizeof(disposition), "attachment; filename=\"%s\"", answer->file_name);
    if (answer->file_name[0])
        hs_mhd->MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_DISPOSITION, disposition);
}

struct MHD_Response *hs_headers__lead_to(const char *path, const char *cookie)
{
    struct MHD_Response *response = hs_mhd->MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
    if (!response)
        return NULL;
    hs_mhd->MHD_add_response_header(response, MHD_HTTP_HEADER_LOCATION, path);
    hs_mhd->MHD_add_response_header(response, MHD_HTTP_HEADER_SET_COOKIE, cookie);
    hs_mhd->MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    hs_mhd->MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    return response;
}
