// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/findings/suppression_match.h"

#include <string.h>

#define MOST_FRAMES 4096

// ---- patterns ------------------------------------------------------------------------------------------------------

// The first place in the text where the piece, which has no wildcard, occurs.
static const char *find_piece(const char *text, const char *piece, size_t length)
{
    return length ? memmem(text, strlen(text), piece, length) : text;
}

bool hs_suppression__pattern_matches(const char *pattern, const char *text)
{
    bool anchored = *pattern == '^';
    pattern += anchored;
    while (*pattern) {
        if (*pattern == '*') {
            anchored = false;
            pattern++;
            continue;
        }
        if (*pattern == '$' && !pattern[1])
            return !*text || !anchored;
        const size_t length = strcspn(pattern, "*$");
        const char *rest = pattern + length;
        const bool is_last = *rest == '$' && !rest[1];
        const size_t piece = *rest == '$' && !is_last ? length + 1 : length;
        if (is_last) {
            const size_t left = strlen(text);
            return left >= length && (!anchored || left == length) && !memcmp(text + left - length, pattern, length);
        }
        const char *found = anchored ? (strncmp(text, pattern, piece) ? NULL : text) : find_piece(text, pattern, piece);
        if (!found)
            return false;
        text = found + piece;
        pattern += piece;
        anchored = true;
    }
    return true;
}

// ---- matching ------------------------------------------------------------------------------------------------------

static bool matches_frame(const char *pattern, const struct hs_frame *frame)
{
    return hs_suppression__pattern_matches(pattern, frame->function) ||
           (frame->linked && hs_suppression__pattern_matches(pattern, frame->linked)) ||
           (frame->file && hs_suppression__pattern_matches(pattern, frame->file)) ||
           (*frame->module && hs_suppression__pattern_matches(pattern, frame->module));
}

static bool matches_node(const char *pattern, const struct hs_frames *frames)
{
    for (uint32_t i = 0; i < frames->count; i++)
        if (matches_frame(pattern, &frames->frame[i]))
            return true;
    return false;
}

bool hs_suppressions__match(const struct hs_suppressions *suppressions, const char *kind,
                            struct hs_trace_symbols *symbols, uint32_t stack)
{
    for (size_t i = 0; suppressions && i < suppressions->count; i++) {
        const struct hs_suppression *one = &suppressions->at[i];
        unsigned frames = 0;
        if (one->kind && strcmp(one->kind, kind) != 0)
            continue;
        for (uint32_t node = stack; node && frames < MOST_FRAMES; node = hs_trace_symbols__parent(symbols, node))
            if (!hs_trace_symbols__is_cut(symbols, node) && !hs_trace_symbols__is_guess(symbols, node) &&
                (frames++, matches_node(one->pattern, hs_trace_symbols__node(symbols, node))))
                return true;
    }
    return suppressions && hs_suppressions__match(suppressions->other, kind, symbols, stack);
}
