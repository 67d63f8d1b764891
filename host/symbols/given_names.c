// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/given_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST    (64u << 20)
#define INLINE_MAX 256 // frames of one node

struct applying {
    struct hs_symbols *session;
    hs_given_names_taker take;
    void *context; // of `take`
    const struct hs_node *nodes;
    size_t node_count;
    uint32_t node; // of the current frames
    struct hs_frame frame[INLINE_MAX];
    uint32_t count;
};

static int end_node(struct applying *with)
{
    if (!with->count)
        return 0;
    with->frame[with->count - 1].inlined = false;
    const struct hs_frames given = {with->frame, with->count};
    const struct hs_frames *kept = hs_symbols__named(with->session, &given);
    with->count = 0;
    if (!kept)
        return -ENOMEM;
    return with->take(with->context, with->node, kept);
}

// Splits at tabs, in place; returns the text behind.
static char *cut(char **rest)
{
    char *field = *rest;
    char *tab = field ? strchr(field, '\t') : NULL;
    if (tab)
        *tab = '\0';
    *rest = tab ? tab + 1 : NULL;
    return field;
}

static int read_line(struct applying *with, char *line)
{
    char *node_text = cut(&line), *line_text = cut(&line), *function = cut(&line), *source = cut(&line);
    char *module = cut(&line);
    if (!module || !*function)
        return 0;
    unsigned long node = strtoul(node_text, NULL, 10);
    if (!node || node >= with->node_count)
        return 0;
    if (with->count && node != with->node) {
        int result = end_node(with);
        if (result)
            return result;
    }
    if (with->count == INLINE_MAX)
        return 0;
    with->node = (uint32_t)node;
    with->frame[with->count++] = (struct hs_frame){.function = function,
                                                   .file = *source ? source : NULL,
                                                   .line = (uint32_t)strtoul(line_text, NULL, 10),
                                                   .inlined = true,
                                                   .kind = HS_FRAME_NAMED,
                                                   .module = module,
                                                   .address = with->nodes[node].pc};
    return 0;
}

static int read_file(struct applying *with, const struct hs_store *store, size_t index, uint64_t length)
{
    char *text = length <= LARGEST ? malloc(length + 1) : NULL;
    if (!text)
        return length <= LARGEST ? -ENOMEM : 0;
    int result = hs_store__read_embedded(store, index, text, NULL);
    text[result ? 0 : length] = '\0';
    for (char *line = text, *end; !result && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        result = read_line(with, line);
    }
    // The current frames lie in this text.
    if (!result)
        result = end_node(with);
    free(text);
    return result == -ENOMEM ? result : 0;
}

int hs_given_names__read(const struct hs_store *store, struct hs_symbols *session, hs_given_names_taker take,
                         void *context)
{
    size_t count = 0;
    int result = 0;
    const struct hs_embedded *embedded = hs_store__embedded(store, &count);
    struct applying *with = NULL;
    for (size_t i = 0; !result && i < count; i++) {
        if (strncmp(embedded[i].name, HS_GIVEN_NAMES, strlen(HS_GIVEN_NAMES)) != 0)
            continue;
        if (!with)
            with = calloc(1, sizeof(*with));
        if (!with)
            return -ENOMEM;
        with->session = session;
        with->take = take;
        with->context = context;
        with->nodes = hs_store__nodes(store, &with->node_count);
        result = read_file(with, store, i, embedded[i].length);
    }
    free(with);
    return result;
}
