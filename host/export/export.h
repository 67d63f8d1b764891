// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Export formats: a file each. A new one is that file, a line here and a line in formats.c.
#ifndef HEAPSONDE_HOST_EXPORT_EXPORT_H
#define HEAPSONDE_HOST_EXPORT_EXPORT_H

#include "host/report/report.h"

struct hs_export_options {
    enum hs_cost cost;
    bool blocks; // count blocks instead of bytes
};

struct hs_export_format {
    const char *name;
    const char *summary;
    bool whole; // writes all costs: `cost` and `blocks` mean nothing to it
    int (*write)(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options); // 0 or -ENOMEM
};

#define HS_EXPORT_CHOICES "collapsed flamegraph json"
extern const struct hs_export_format hs_export_formats[]; // a NULL name ends it
const struct hs_export_format *hs_export_format__find(const char *name);

int hs_export__collapsed(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options);
int hs_export__flamegraph(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options);
int hs_export__json(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options);

#endif
