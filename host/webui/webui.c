// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/webui/webui.h"

#include "host/webui/files.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Trusted types would stop code of ours that makes markup out of text; there is none.
static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "worker-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'";

// Scripts of the user run in a frame without an origin, which can ask its page but nobody else. The hash in the file
// itself allows the one script that it begins with.
static const char console_policy[] =
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; worker-src blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

static bool is_console(const struct hs_webui_file *file)
{
    return !strcmp(file->path, "/console.html");
}

static bool is_shell(const struct hs_webui_file *file)
{
    return !strcmp(file->path, "/");
}

static void serve(void *context, const struct hs_http_request *request, struct hs_http_answer *answer)
{
    const struct hs_webui_file *file = request->page->detail;
    (void)context;
    *answer = (struct hs_http_answer){
        .status = 200,
        .type = file->type,
        .policy = is_console(file) ? console_policy : policy,
        // The names of the others change with what is in them.
        .cache = is_shell(file) || is_console(file) ? "no-cache" : "public, max-age=31536000, immutable"};
    snprintf(answer->etag, sizeof(answer->etag), "\"%s\"", file->etag);
    if (hs_http_request__knows(request, answer->etag)) {
        answer->status = 304;
        return;
    }
    answer->body = malloc(file->length);
    if (!answer->body) {
        hs_http_answer__text(answer, 503, "out of memory\n");
        return;
    }
    memcpy(answer->body, file->bytes, file->length);
    answer->length = file->length;
    answer->packed = true;
}

size_t hs_webui__pages(struct hs_http_page *pages)
{
    size_t count = 0;
    for (const struct hs_webui_file *file = hs_webui_files; file->path; file++, count++)
        if (pages)
            pages[count] = (struct hs_http_page){.method = "GET",
                                                 .path = file->path,
                                                 .serve = serve,
                                                 .detail = file,
                                                 .accept = is_shell(file) ? "text/html" : NULL,
                                                 .open = true};
    return count;
}
