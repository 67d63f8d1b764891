// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_HOST_REST_UNKNOWN_H
#define HEAPSONDE_HOST_REST_UNKNOWN_H

#include "host/base/error.h"
#include "host/rest/endpoint.h"

// Whether some endpoint takes the parameter. Clients send the same parameters to several endpoints.
bool hs_unknown__is_known(const char *name);

// Checks a parameter that the endpoint does not have. -EINVAL if it looks like a mistyped one. Others are ignored,
// because some clients send parameters of other servers; see warnings.h.
int hs_unknown__check(const struct hs_endpoint *endpoint, const char *name, struct hs_error *error);

#endif
