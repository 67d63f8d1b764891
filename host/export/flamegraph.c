// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The flame graph as one SVG file, callers above callees. All places are percentages, so the picture has the width of
// the window even without its script; the script adds zoom, search and details.
#include "host/base/utf8.h"
#include "host/export/export.h"
#include "host/report/call_tree.h"
#include "host/report/frames.h"
#include "host/report/text.h"

#include "flamegraph_script.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PICTURE_WIDTH 1200.0 // what a usual window shows: decides which boxes are too small to draw
#define LEAST_PIXELS  0.1
#define ROW           18
#define TOP           92
#define BOTTOM        12
#define DEEPEST       4000
#define LETTER_PIXELS 7

struct flamegraph_drawing {
    FILE *out;
    const struct hs_subject *subject;
    const struct hs_call_tree *tree;
    const struct hs_export_options *options;
    const char *executable;
    uint64_t whole;
    uint64_t least;
    uint64_t *left; // by depth: where the next box begins
    unsigned deepest;
    bool measuring; // only find out how deep it gets
};

// ---- text ----------------------------------------------------------------------------------------------------------

static void write_xml_byte(FILE *out, unsigned char byte)
{
    switch (byte) {
    case '<':
        fputs("&lt;", out);
        return;
    case '>':
        fputs("&gt;", out);
        return;
    case '&':
        fputs("&amp;", out);
        return;
    case '"':
        fputs("&quot;", out);
        return;
    case '\'':
        fputs("&#39;", out);
        return;
    default:
        putc_unlocked(byte < 0x20 || byte == 0x7f ? '?' : byte, out);
    }
}

// Names may hold any bytes; XML may not.
static void write_xml(FILE *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t sequence = hs_utf8__length(text + i, length - i);
        if (sequence == 1)
            write_xml_byte(out, (unsigned char)text[i]);
        else if (sequence)
            fwrite_unlocked(text + i, 1, sequence, out);
        else
            putc_unlocked('?', out);
        i += sequence ? sequence : 1;
    }
}

static void write_xml_text(FILE *out, const char *text)
{
    write_xml(out, text, strlen(text));
}

static uint64_t value_of(const struct flamegraph_drawing *drawing, uint32_t index)
{
    const struct hs_value *value = &drawing->tree->paths.at[index].value;
    return drawing->options->blocks ? value->count : value->bytes;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

// ---- colour --------------------------------------------------------------------------------------------------------

// The hue tells where the code comes from, the shade tells neighbours apart and is the same in every picture.
static void write_colour(FILE *out, const char *function, enum hs_origin origin)
{
    static const struct {
        int hue, hue_range, saturation, lightness;
    } colours[] = {[HS_ORIGIN_PROGRAM] = {18, 26, 88, 68},
                   [HS_ORIGIN_LIBRARY] = {196, 26, 60, 71},
                   [HS_ORIGIN_RUNTIME] = {96, 26, 38, 72},
                   [HS_ORIGIN_UNKNOWN] = {270, 20, 25, 76},
                   [HS_ORIGIN_CUT] = {350, 6, 70, 62}};
    uint32_t hash = 2166136261u;
    for (const char *at = function; *at && *at != '('; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    hash ^= hash >> 15;
    int hue = colours[origin].hue + (int)(hash % (unsigned)colours[origin].hue_range);
    int lightness = colours[origin].lightness - 5 + (int)((hash >> 8) % 11);
    fprintf(out, "hsl(%d,%d%%,%d%%)", hue, colours[origin].saturation, lightness);
}

// ---- boxes ---------------------------------------------------------------------------------------------------------

static void write_title(const struct flamegraph_drawing *drawing, const char *name, uint32_t index)
{
    FILE *out = drawing->out;
    const struct hs_call_node *node = &drawing->tree->node[index];
    const struct hs_value *value = &drawing->tree->paths.at[index].value;
    fputs("<title>", out);
    write_xml_text(out, name);
    if (node->frame && *node->frame->module) {
        fputs(" (", out);
        write_xml_text(out, base_name(node->frame->module));
        fputs(node->inlined ? ", inlined)" : ")", out);
    }
    fprintf(out, ": %s, %s in %s</title>", hs_text__percent(value_of(drawing, index), drawing->whole).text,
            hs_subject__events(drawing->subject)->sum(value->bytes).text,
            hs_subject__events(drawing->subject)->count(value->count).text);
}

static void write_label(const struct flamegraph_drawing *drawing, const char *name, double x, double width,
                        unsigned row)
{
    size_t length = strlen(name);
    double room = (width / 100 * PICTURE_WIDTH - 6) / LETTER_PIXELS;
    size_t letters = room > 0 ? (size_t)room : 0;
    fprintf(drawing->out, "<text x=\"%.4f%%\" dx=\"3\" y=\"%u\">", x, TOP + row * ROW + 13);
    if (letters >= length) {
        write_xml(drawing->out, name, length);
    } else if (letters >= 3) {
        write_xml(drawing->out, name, letters - 2);
        fputs("..", drawing->out);
    }
    fputs("</text>", drawing->out);
}

static void write_box(const struct flamegraph_drawing *drawing, uint32_t index, const char *name, uint64_t left,
                      unsigned row, enum hs_origin origin)
{
    FILE *out = drawing->out;
    double x = 100.0 * (double)left / (double)drawing->whole;
    double width = 100.0 * (double)value_of(drawing, index) / (double)drawing->whole;
    fputs("<g data-n=\"", out);
    write_xml_text(out, name);
    fprintf(out, "\" data-l=\"%" PRIu64 "\" data-v=\"%" PRIu64 "\" data-d=\"%u\">", left, value_of(drawing, index),
            row);
    write_title(drawing, name, index);
    fprintf(out, "<rect x=\"%.4f%%\" y=\"%u\" width=\"%.4f%%\" height=\"%d\" fill=\"", x, TOP + row * ROW, width,
            ROW - 1);
    write_colour(out, name, origin);
    fputs("\"/>", out);
    write_label(drawing, name, x, width, row);
    fputs("</g>\n", out);
}

static int draw_node(void *context, uint32_t index, unsigned depth)
{
    struct flamegraph_drawing *drawing = context;
    uint64_t value = value_of(drawing, index);
    uint64_t left = drawing->left[depth];
    drawing->left[depth] += value;
    if (value < drawing->least || !value)
        return HS_PATHS_SKIP;
    if (depth + 1 > drawing->deepest)
        drawing->deepest = depth + 1;
    if (!drawing->measuring) {
        const struct hs_frame *frame = drawing->tree->node[index].frame;
        enum hs_origin origin = hs_frame__origin(frame->function, frame->module, drawing->executable);
        write_box(drawing, index, frame->function, left, depth + 1, origin);
    }
    if (depth + 1 >= DEEPEST)
        return HS_PATHS_SKIP;
    drawing->left[depth + 1] = left;
    return 0;
}

// ---- the page ------------------------------------------------------------------------------------------------------

static void write_style(FILE *out)
{
    fputs("<style>\n"
          "svg { font: 12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; background: #fdfdfb }\n"
          "text { fill: #1b1b1b; pointer-events: none }\n"
          "#boxes g { cursor: pointer }\n"
          "#boxes rect { stroke: #fdfdfb; stroke-width: .4 }\n"
          "#boxes g:hover rect { stroke: #000; stroke-width: 1 }\n"
          "#boxes g.caller rect { opacity: .55 }\n"
          "#boxes g.match rect { fill: #d81bd8 }\n"
          "#boxes g.match text { fill: #fff }\n"
          "#heading { font-size: 16px; font-weight: bold }\n"
          ".button { cursor: pointer; pointer-events: all; fill: #0645ad }\n"
          ".hidden { display: none }\n"
          "input { font: inherit; box-sizing: border-box; width: 100%; padding: 1px 4px }\n"
          "</style>\n",
          out);
}

static void write_heading(const struct flamegraph_drawing *drawing)
{
    const struct hs_value *whole = &drawing->tree->paths.at[0].value;
    FILE *out = drawing->out;
    const char *program = base_name(drawing->executable);
    const struct hs_events_kind *events = hs_subject__events(drawing->subject);
    char heading[128];
    hs_subject__heading(drawing->subject, drawing->options->cost, heading, sizeof(heading));
    fputs("<rect id=\"background\" x=\"0\" y=\"0\" width=\"100%\" height=\"100%\" fill=\"#fdfdfb\"/>\n"
          "<text id=\"heading\" x=\"8\" y=\"20\">",
          out);
    write_xml_text(out, *program ? program : "heapsonde");
    fprintf(out, ": %s, %s in %s", heading, events->sum(whole->bytes).text, events->count(whole->count).text);
    if (drawing->subject->restriction) {
        fputs(", only ", out);
        write_xml_text(out, drawing->subject->restriction);
    }
    if (drawing->subject->transforms) {
        fputs("; ", out);
        write_xml_text(out, drawing->subject->transforms);
    }
    fputs("</text>\n<text id=\"details\" x=\"8\" y=\"82\"></text>\n"
          "<text id=\"reset\" class=\"button hidden\" x=\"8\" y=\"40\">Reset zoom (Esc)</text>\n"
          "<text id=\"search\" class=\"button\" x=\"160\" y=\"40\">Search (Ctrl-F)</text>\n"
          "<text id=\"matched\" x=\"540\" y=\"40\"></text>\n"
          "<foreignObject id=\"search-field\" class=\"hidden\" x=\"280\" y=\"26\" width=\"250\" height=\"26\">"
          "<input xmlns=\"http://www.w3.org/1999/xhtml\" id=\"search-input\" type=\"text\" "
          "placeholder=\"part of a name, or a regular expression\"/></foreignObject>\n",
          out);
}

static void write_legend(FILE *out)
{
    static const struct {
        const char *name;
        enum hs_origin origin;
    } kinds[] = {{"program", HS_ORIGIN_PROGRAM},
                 {"libraries", HS_ORIGIN_LIBRARY},
                 {"C and C++ runtime", HS_ORIGIN_RUNTIME},
                 {"unknown", HS_ORIGIN_UNKNOWN},
                 {"cut", HS_ORIGIN_CUT}};
    fputs("<g id=\"legend\">", out);
    unsigned x = 8;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        fprintf(out, "<rect x=\"%u\" y=\"51\" width=\"11\" height=\"11\" fill=\"", x);
        write_colour(out, "", kinds[i].origin);
        fprintf(out, "\"/><text x=\"%u\" y=\"61\">%s</text>", x + 15, kinds[i].name);
        x += 26 + LETTER_PIXELS * (unsigned)strlen(kinds[i].name);
    }
    fputs("</g>\n", out);
}

static void write_page(struct flamegraph_drawing *drawing)
{
    FILE *out = drawing->out;
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"100%%\" height=\"%u\">\n",
            TOP + (drawing->deepest + 1) * ROW + BOTTOM);
    write_style(out);
    write_heading(drawing);
    write_legend(out);
    fputs("<g id=\"boxes\">\n", out);
    write_box(drawing, 0, "all", 0, 0, HS_ORIGIN_UNKNOWN);
    drawing->left[0] = 0;
    hs_paths__walk(&drawing->tree->paths, draw_node, NULL, drawing);
    fputs("</g>\n<script><![CDATA[\n", out);
    fwrite(flamegraph_script, 1, sizeof(flamegraph_script), out);
    fputs("]]></script>\n</svg>\n", out);
}

int hs_export__flamegraph(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options)
{
    struct hs_call_tree tree;
    int result = hs_call_tree__build(&tree, subject->symbols, &subject->totals, options->cost, HS_TREE_BY_NAME);
    if (result)
        return result;
    struct flamegraph_drawing drawing = {.out = out,
                                         .subject = subject,
                                         .tree = &tree,
                                         .options = options,
                                         .executable = hs_program_name(subject->store),
                                         .left = calloc(DEEPEST + 1, sizeof(uint64_t)),
                                         .measuring = true};
    drawing.whole = value_of(&drawing, 0);
    drawing.least = (uint64_t)((double)drawing.whole * LEAST_PIXELS / PICTURE_WIDTH);
    if (!drawing.whole)
        drawing.whole = 1;
    if (drawing.left) {
        hs_paths__walk(&tree.paths, draw_node, NULL, &drawing);
        drawing.measuring = false;
        write_page(&drawing);
    }
    result = drawing.left ? 0 : -ENOMEM;
    free(drawing.left);
    hs_call_tree__free(&tree);
    return result;
}
