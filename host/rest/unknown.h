// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_HOST_REST_UNKNOWN_H
#define HEAPSONDE_HOST_REST_UNKNOWN_H

#include "host/rest/endpoint.h"
#include "host/store/error.h"

// A parameter that the endpoint does not take: -EINVAL when it is one of those mistyped. Others are left alone, as they
// always were: clients send them that were made for other servers.
int hs_unknown__check(const struct hs_endpoint *endpoint, const char *name, struct hs_error *error);

#endif
