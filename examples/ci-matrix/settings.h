// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Lines of KEY=VALUE.
#ifndef SETTINGS_H
#define SETTINGS_H

struct settings;

struct settings *settings_parse(const char *text);
const char *settings_get(const struct settings *settings, const char *key);
// What `other` has replaces what `settings` has.
void settings_merge(struct settings *settings, const struct settings *other);
// Reads another text in place of the first.
void settings_reload(struct settings *settings, const char *text);
void settings_free(struct settings *settings);

#endif
