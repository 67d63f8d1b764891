// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/server/caller.h"

#include "host/server/login.h"
#include "host/server/microhttpd_library.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

static const char *header_of(struct MHD_Connection *mhd, const char *name)
{
    return hs_mhd->MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, name);
}

// Takes the same time wherever they differ.
static bool same_token(const char *given, const char *token)
{
    size_t length = strlen(given);
    size_t wanted = strlen(token);
    unsigned difference = length != wanted;
    for (size_t i = 0; i < length; i++)
        difference |= (unsigned char)given[i] ^ (unsigned char)token[i % wanted];
    return !difference;
}

// Whether the request comes from a page of this server, as its headers say. `unsaid`: the result if they do not say it.
// Browsers do not when a page only reads from a server that is neither on this machine nor reached by HTTPS.
static bool is_own_page(struct MHD_Connection *mhd, const char *authority, bool unsaid)
{
    static const char scheme[] = "http://";
    const char *header = header_of(mhd, MHD_HTTP_HEADER_HOST);
    const char *site = header_of(mhd, "Sec-Fetch-Site");
    const char *origin = header_of(mhd, MHD_HTTP_HEADER_ORIGIN);
    const char *host = authority ? authority : header;
    if (site)
        return !strcmp(site, "none") || !strcmp(site, "same-origin");
    if (!origin)
        return unsaid;
    return host && !strncasecmp(origin, scheme, sizeof(scheme) - 1) && !strcasecmp(origin + sizeof(scheme) - 1, host);
}

enum hs_caller_token hs_caller__token(struct MHD_Connection *mhd, const struct hs_uri *uri, const char *authority,
                                      const char *token, unsigned port)
{
    static const char scheme[] = "Bearer ";
    const char *header = header_of(mhd, MHD_HTTP_HEADER_AUTHORIZATION);
    const char *parameter = hs_uri__value(uri, "token");
    if (header && !strncasecmp(header, scheme, sizeof(scheme) - 1))
        return same_token(header + sizeof(scheme) - 1, token) ? HS_CALLER_TOKEN_IN_REQUEST : HS_CALLER_NO_TOKEN;
    if (parameter)
        return same_token(parameter, token) ? HS_CALLER_TOKEN_IN_REQUEST : HS_CALLER_NO_TOKEN;
    // Browsers send cookies to all ports of a host, also for pages that are of another one.
    const char *cookie = header_of(mhd, MHD_HTTP_HEADER_COOKIE);
    return is_own_page(mhd, authority, true) && hs_login__is_known(cookie, token, port) ? HS_CALLER_TOKEN_IN_COOKIE
                                                                                        : HS_CALLER_NO_TOKEN;
}

// PORT of HOST[:PORT]: nothing, or a number that a port can have.
static bool is_port(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return !text[digits] && digits <= 5 && strtoul(text, NULL, 10) <= UINT16_MAX;
}

bool hs_caller__is_loopback(const char *host)
{
    char name[sizeof("255.255.255.255")];
    struct in_addr address;
    size_t length = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    if (length > strlen(host) || length >= sizeof(name))
        return false;
    if (host[length] && (host[length] != ':' || !is_port(host + length + 1)))
        return false;
    memcpy(name, host, length);
    name[length] = 0;
    if (!strcasecmp(name, "localhost") || !strcmp(name, "[::1]"))
        return true;
    return inet_pton(AF_INET, name, &address) == 1 && ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET;
}

// Other sites' pages can make a browser on this machine ask, and their names can lead to it. What a target in absolute
// form names counts in place of the Host header.
bool hs_caller__is_own(struct MHD_Connection *mhd, const char *authority)
{
    const char *header = header_of(mhd, MHD_HTTP_HEADER_HOST);
    const char *host = authority ? authority : header;
    const char *site = header_of(mhd, "Sec-Fetch-Site");
    const char *origin = header_of(mhd, MHD_HTTP_HEADER_ORIGIN);
    if (host && !hs_caller__is_loopback(host))
        return false;
    if (site && strcmp(site, "none") && strcmp(site, "same-origin"))
        return false;
    return !origin || (!strncmp(origin, "http://", 7) && hs_caller__is_loopback(origin + 7));
}

bool hs_caller__may_change(struct MHD_Connection *mhd, const char *authority, enum hs_caller_token token)
{
    return token == HS_CALLER_TOKEN_IN_REQUEST || (token && is_own_page(mhd, authority, false));
}

bool hs_caller__is_no_old_page(struct MHD_Connection *mhd)
{
    const char *referer = header_of(mhd, MHD_HTTP_HEADER_REFERER), *agent = header_of(mhd, MHD_HTTP_HEADER_USER_AGENT);
    return header_of(mhd, "Sec-Fetch-Site") || (!referer && (!agent || strncasecmp(agent, "Mozilla/", 8) != 0));
}
