// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A table of blocks in the order in which they were allocated, as RFC 4180 has it but with plain ends of lines. A block
// that was never freed has no free time.
#include "host/export/block.h"
#include "host/export/export.h"
#include "host/report/text.h"

#include <inttypes.h>
#include <string.h>

struct writing {
    FILE *out;
    struct hs_call_sites sites;
};

// Always quoted: names have commas. Spreadsheets take what begins with one of these for a formula.
static void write_text(FILE *out, const char *text)
{
    size_t length = strlen(text);
    fputs(strchr("=+-@\t\r", *text) && *text ? ",\"'" : ",\"", out);
    for (size_t i = 0; i < length;) {
        size_t sequence = hs_utf8__length(text + i, length - i);
        if (!sequence || (unsigned char)text[i] < 0x20)
            putc_unlocked('?', out);
        else
            fwrite_unlocked(text + i, 1, sequence, out);
        if (text[i] == '"')
            putc_unlocked('"', out);
        i += sequence ? sequence : 1;
    }
    putc_unlocked('"', out);
}

static int write_block(void *context, const struct hs_store *store, uint64_t row)
{
    struct writing *writing = context;
    struct hs_block block;
    hs_block__of_row(&block, store, row);
    fprintf(writing->out, "%" PRIu64 ",", block.time);
    if (block.free_time != HS_NEVER)
        fprintf(writing->out, "%" PRIu64, block.free_time);
    fprintf(writing->out, ",%" PRIu64 ",0x%" PRIx64 ",%" PRIu64 ",%" PRIu64 ",%s,%d,%" PRIu32, block.lifetime,
            block.address, block.size, block.usable, block.kind, block.temporary, block.tid);
    write_text(writing->out, block.thread);
    const struct hs_frame *frame = hs_call_sites__of(&writing->sites, block.stack);
    fprintf(writing->out, ",%" PRIu32, block.stack);
    write_text(writing->out, frame->function);
    write_text(writing->out, frame->file ? frame->file : "");
    fprintf(writing->out, ",%" PRIu32, frame->line);
    write_text(writing->out, frame->module);
    putc_unlocked('\n', writing->out);
    return 0;
}

int hs_export__csv(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options)
{
    struct writing writing = {.out = out};
    int result = hs_call_sites__start(&writing.sites, subject);
    if (result)
        return result;
    fputs("time_ns,free_time_ns,lifetime_ns,address,size,usable_size,kind,temporary,thread,thread_name,stack,function,"
          "file,line,module\n",
          out);
    result = hs_query__each(subject->store, subject->filter, options->control, write_block, &writing, NULL);
    hs_call_sites__free(&writing.sites);
    return result;
}
