// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/control_sessions.h"

#include "runtime/prof/control_request.h"

enum { MOST_SESSIONS = 16 };

static struct {
    bool unnamed;
    char names[MOST_SESSIONS][HS_CONTROL_SESSION]; // empty: free
} sessions;

static char *find(const char *name)
{
    for (unsigned i = 0; i < MOST_SESSIONS; i++)
        if (hs_text__equal(sessions.names[i], name))
            return sessions.names[i];
    return NULL;
}

bool hs_sessions__holds(const char *name)
{
    return *name ? find(name) != NULL : sessions.unnamed;
}

bool hs_sessions__any(void)
{
    for (unsigned i = 0; i < MOST_SESSIONS; i++)
        if (sessions.names[i][0])
            return true;
    return sessions.unnamed;
}

void hs_sessions__clear(void)
{
    sessions.unnamed = false;
    for (unsigned i = 0; i < MOST_SESSIONS; i++)
        sessions.names[i][0] = 0;
}

void hs_sessions__meet(bool active)
{
    if (!active)
        hs_sessions__clear();
    else if (!hs_sessions__any())
        sessions.unnamed = true;
}

bool hs_sessions__add(const char *name)
{
    if (!*name) {
        sessions.unnamed = true;
        return true;
    }
    char *entry = find(name);
    if (entry)
        return true;
    entry = find("");
    if (!entry)
        return false;
    struct hs_text text;
    hs_text__start(&text, entry, HS_CONTROL_SESSION);
    hs_text__add(&text, name);
    return true;
}

void hs_sessions__remove(const char *name)
{
    char *entry = *name ? find(name) : NULL;
    if (entry)
        *entry = 0;
    if (!*name)
        sessions.unnamed = false;
}

void hs_sessions__print(struct hs_text *text)
{
    const char *between = "";
    if (sessions.unnamed) {
        hs_text__add(text, "-");
        between = " ";
    }
    for (unsigned i = 0; i < MOST_SESSIONS; i++) {
        if (!sessions.names[i][0])
            continue;
        hs_text__add(text, between);
        hs_text__add(text, sessions.names[i]);
        between = " ";
    }
}
