// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The table of blocks or samples as a Parquet file: groups of rows, in each a page for each column, packed with gzip;
// texts are in dictionaries. The description of it all, in Thrift's compact protocol, ends the file.
#include "host/base/buffer.h"
#include "host/base/id_map.h"
#include "host/base/utf8.h"
#include "host/export/block.h"
#include "host/export/export.h"
#include "host/report/text.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define GROUP_ROWS      (1u << 17)
#define DICTIONARY_MOST ((size_t)16 << 20) // bytes of texts in one group of rows

enum type { TYPE_BOOLEAN = 0, TYPE_INT32 = 1, TYPE_INT64 = 2, TYPE_TEXT = 6 };
enum { CONVERTED_UTF8 = 0, CONVERTED_UINT32 = 13, CONVERTED_UINT64 = 14, CONVERTED_NONE = -1 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_DICTIONARY = 8 };
enum { CODEC_GZIP = 2 };
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };

// The columns of blocks, and the whole stack.
enum { COLUMN_BACKTRACE = HS_COLUMN_COUNT, COLUMNS };

static const struct {
    enum type type;
    int converted;
} types[] = {[HS_COLUMN_OF_NUMBER] = {TYPE_INT64, CONVERTED_UINT64},
             [HS_COLUMN_OF_NUMBER_OR_NO] = {TYPE_INT64, CONVERTED_UINT64},
             [HS_COLUMN_OF_ADDRESS] = {TYPE_INT64, CONVERTED_UINT64},
             [HS_COLUMN_OF_SMALL_NUMBER] = {TYPE_INT32, CONVERTED_UINT32},
             [HS_COLUMN_OF_BOOLEAN] = {TYPE_BOOLEAN, CONVERTED_NONE},
             [HS_COLUMN_OF_TEXT] = {TYPE_TEXT, CONVERTED_UTF8}};

static enum hs_export_column_type kind_of(unsigned column)
{
    return column == COLUMN_BACKTRACE ? HS_COLUMN_OF_TEXT : hs_columns_of_blocks[column].type;
}

static enum type type_of(unsigned column)
{
    return types[kind_of(column)].type;
}

static bool is_optional(unsigned column)
{
    return kind_of(column) == HS_COLUMN_OF_NUMBER_OR_NO;
}

static const char *name_of(unsigned column)
{
    return column == COLUMN_BACKTRACE ? "backtrace" : hs_columns_of_blocks[column].name;
}

struct dictionary {
    struct hs_id_map known;
    struct hs_buffer texts; // each with its length in front
    uint32_t count;
};

struct parquet_column {
    uint64_t *value; // GROUP_ROWS; of texts: numbers in the dictionary
    struct dictionary dictionary;
};

struct parquet_writing {
    FILE *out;
    struct hs_trace_symbols *symbols;
    enum hs_events events;
    unsigned columns; // that these events have
    struct parquet_column column[COLUMNS];
    uint32_t rows; // in the group in progress
    uint64_t all_rows, offset;
    struct hs_buffer plain, packed, header;
    struct hs_buffer groups; // their descriptions
    uint32_t group_count;
    struct hs_buffer text, nodes; // of a stack
    bool failed;
};

// ---- Thrift's compact protocol -------------------------------------------------------------------------------------

enum { THRIFT_INT32 = 5, THRIFT_INT64 = 6, THRIFT_TEXT = 8, THRIFT_LIST = 9, THRIFT_STRUCT = 12 };

struct thrift {
    struct hs_buffer *to;
    unsigned last; // field of the structure
};

static void put_field(struct thrift *thrift, unsigned field, unsigned type)
{
    hs_buffer__put_fixed(thrift->to, (field - thrift->last) << 4 | type, 1);
    thrift->last = field;
}

static uint64_t zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static void put_int(struct thrift *thrift, unsigned field, unsigned type, int64_t value)
{
    put_field(thrift, field, type);
    hs_buffer__put_number(thrift->to, zigzag(value));
}

static void put_text(struct hs_buffer *to, const char *text)
{
    hs_buffer__put_number(to, strlen(text));
    hs_buffer__put(to, text, strlen(text));
}

static void put_list(struct thrift *thrift, unsigned field, unsigned type, uint32_t count)
{
    put_field(thrift, field, THRIFT_LIST);
    if (count < 15) {
        hs_buffer__put_fixed(thrift->to, count << 4 | type, 1);
        return;
    }
    hs_buffer__put_fixed(thrift->to, 0xf0 | type, 1);
    hs_buffer__put_number(thrift->to, count);
}

static void end_struct(struct hs_buffer *to)
{
    hs_buffer__put_fixed(to, 0, 1);
}

// ---- dictionaries --------------------------------------------------------------------------------------------------

static uint32_t add_text(struct dictionary *dictionary, uint64_t key, const char *text, size_t length)
{
    size_t at = dictionary->texts.count;
    hs_buffer__put_fixed(&dictionary->texts, length, 4);
    hs_buffer__put(&dictionary->texts, text, length);
    // Texts of Parquet are UTF-8.
    for (size_t i = at + 4; !dictionary->texts.failed && i < dictionary->texts.count;) {
        size_t sequence = hs_utf8__length((char *)dictionary->texts.bytes + i, dictionary->texts.count - i);
        if (!sequence)
            dictionary->texts.bytes[i] = '?';
        i += sequence ? sequence : 1;
    }
    dictionary->texts.failed |= hs_id_map__set(&dictionary->known, key, dictionary->count) != 0;
    return dictionary->count++;
}

static uint32_t text_number(struct dictionary *dictionary, const char *text)
{
    uint32_t known = hs_id_map__find(&dictionary->known, (uintptr_t)text);
    return known != UINT32_MAX ? known : add_text(dictionary, (uintptr_t)text, text, strlen(text));
}

static void append_name(struct parquet_writing *writing, const char *name)
{
    if (writing->text.count)
        hs_buffer__put(&writing->text, ";", 1);
    hs_buffer__put(&writing->text, name, strlen(name));
}

// The whole stack, outermost first, as in collapsed stacks.
static void set_text(struct parquet_writing *writing, uint32_t stack)
{
    writing->nodes.count = 0;
    for (; stack; stack = hs_trace_symbols__parent(writing->symbols, stack))
        hs_buffer__put(&writing->nodes, &stack, sizeof(stack));
    writing->text.count = 0;
    writing->failed |= writing->nodes.failed || writing->text.failed;
    for (size_t at = writing->nodes.count; at; at -= sizeof(stack)) {
        memcpy(&stack, writing->nodes.bytes + at - sizeof(stack), sizeof(stack));
        const struct hs_frames *frames = hs_trace_symbols__node(writing->symbols, stack);
        for (uint32_t i = frames->count; i-- > 0;)
            append_name(writing, frames->frame[i].function);
    }
}

static uint32_t stack_number(struct parquet_writing *writing, uint32_t stack)
{
    struct dictionary *dictionary = &writing->column[COLUMN_BACKTRACE].dictionary;
    uint32_t known = hs_id_map__find(&dictionary->known, stack);
    if (known != UINT32_MAX)
        return known;
    set_text(writing, stack);
    return add_text(dictionary, stack, (char *)writing->text.bytes, writing->text.count);
}

// ---- pages ---------------------------------------------------------------------------------------------------------

static void put_bits(struct hs_buffer *to, const uint64_t *value, uint32_t count, unsigned width)
{
    uint64_t word = 0;
    unsigned bits = 0;
    // Whole groups of eight values.
    uint32_t all = (count + 7) / 8 * 8;
    hs_buffer__put_number(to, (uint64_t)(all / 8) << 1 | 1);
    for (uint32_t i = 0; i < all; i++) {
        word |= (i < count ? value[i] : 0) << bits;
        for (bits += width; bits >= 8; bits -= 8, word >>= 8)
            hs_buffer__put_fixed(to, word, 1);
    }
}

static bool pack(struct parquet_writing *writing)
{
    z_stream stream = {.next_in = writing->plain.bytes, .avail_in = (uInt)writing->plain.count};
    writing->packed.count = 0;
    if (writing->plain.failed || deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    size_t bound = deflateBound(&stream, stream.avail_in);
    bool done = hs_buffer__reserve(&writing->packed, bound);
    if (done) {
        stream.next_out = writing->packed.bytes;
        stream.avail_out = (uInt)bound;
        done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
        writing->packed.count = stream.total_out;
    }
    deflateEnd(&stream);
    return done;
}

static void write_bytes(struct parquet_writing *writing, const struct hs_buffer *bytes)
{
    fwrite(bytes->bytes, 1, bytes->count, writing->out);
    writing->offset += bytes->count;
    writing->failed |= bytes->failed;
}

struct sizes {
    uint64_t plain, packed;
};

// Writes what is in `plain` as a page.
static void write_page(struct parquet_writing *writing, unsigned type, unsigned encoding, uint32_t values,
                       struct sizes *sizes)
{
    struct thrift page = {&writing->header, 0};
    if (!pack(writing)) {
        writing->failed = true;
        return;
    }
    writing->header.count = 0;
    put_int(&page, 1, THRIFT_INT32, type);
    put_int(&page, 2, THRIFT_INT32, (int64_t)writing->plain.count);
    put_int(&page, 3, THRIFT_INT32, (int64_t)writing->packed.count);
    put_field(&page, type == PAGE_DATA ? 5 : 7, THRIFT_STRUCT);
    struct thrift inner = {&writing->header, 0};
    put_int(&inner, 1, THRIFT_INT32, values);
    put_int(&inner, 2, THRIFT_INT32, encoding);
    if (type == PAGE_DATA) {
        put_int(&inner, 3, THRIFT_INT32, ENCODING_RLE);
        put_int(&inner, 4, THRIFT_INT32, ENCODING_RLE);
    }
    end_struct(&writing->header);
    end_struct(&writing->header);
    sizes->plain += writing->header.count + writing->plain.count;
    sizes->packed += writing->header.count + writing->packed.count;
    write_bytes(writing, &writing->header);
    write_bytes(writing, &writing->packed);
}

static void put_presence(struct parquet_writing *writing, const struct parquet_column *column)
{
    static uint64_t present[GROUP_ROWS];
    for (uint32_t i = 0; i < writing->rows; i++)
        present[i] = column->value[i] != HS_NEVER;
    size_t start = writing->plain.count;
    hs_buffer__put_fixed(&writing->plain, 0, 4);
    put_bits(&writing->plain, present, writing->rows, 1);
    uint32_t length = (uint32_t)(writing->plain.count - start - 4);
    if (!writing->plain.failed)
        memcpy(writing->plain.bytes + start, &(uint32_t){htole32(length)}, 4);
}

static void put_values(struct parquet_writing *writing, unsigned index)
{
    const struct parquet_column *column = &writing->column[index];
    size_t size = type_of(index) == TYPE_INT32 ? 4 : 8;
    if (is_optional(index))
        put_presence(writing, column);
    for (uint32_t i = 0; i < writing->rows; i++) {
        if (!is_optional(index) || column->value[i] != HS_NEVER)
            hs_buffer__put_fixed(&writing->plain, column->value[i], size);
    }
}

static void put_booleans(struct parquet_writing *writing, unsigned index)
{
    for (uint32_t i = 0; i < writing->rows; i += 8) {
        uint8_t byte = 0;
        for (uint32_t k = 0; k < 8 && i + k < writing->rows; k++)
            byte |= (uint8_t)(writing->column[index].value[i + k] << k);
        hs_buffer__put_fixed(&writing->plain, byte, 1);
    }
}

static void put_numbers(struct parquet_writing *writing, unsigned index)
{
    uint32_t count = writing->column[index].dictionary.count;
    unsigned width = count > 1 ? 32 - (unsigned)__builtin_clz(count - 1) : 1;
    hs_buffer__put_fixed(&writing->plain, width, 1);
    put_bits(&writing->plain, writing->column[index].value, writing->rows, width);
}

static void write_dictionary(struct parquet_writing *writing, struct dictionary *dictionary, struct sizes *sizes)
{
    writing->plain.count = 0;
    hs_buffer__put(&writing->plain, dictionary->texts.bytes, dictionary->texts.count);
    writing->failed |= dictionary->texts.failed;
    write_page(writing, PAGE_DICTIONARY, ENCODING_PLAIN, dictionary->count, sizes);
}

static void forget(struct dictionary *dictionary)
{
    hs_id_map__free(&dictionary->known);
    dictionary->texts.count = 0;
    dictionary->count = 0;
}

static void describe_column(struct parquet_writing *writing, unsigned index, uint64_t start, uint64_t data,
                            const struct sizes *sizes)
{
    struct hs_buffer *to = &writing->groups;
    bool text = type_of(index) == TYPE_TEXT;
    struct thrift chunk = {to, 0}, column = {to, 0};
    put_int(&chunk, 2, THRIFT_INT64, (int64_t)start);
    put_field(&chunk, 3, THRIFT_STRUCT);
    put_int(&column, 1, THRIFT_INT32, type_of(index));
    put_list(&column, 2, THRIFT_INT32, 3);
    hs_buffer__put_number(to, zigzag(ENCODING_PLAIN));
    hs_buffer__put_number(to, zigzag(ENCODING_RLE));
    hs_buffer__put_number(to, zigzag(ENCODING_DICTIONARY));
    put_list(&column, 3, THRIFT_TEXT, 1);
    put_text(to, name_of(index));
    put_int(&column, 4, THRIFT_INT32, CODEC_GZIP);
    put_int(&column, 5, THRIFT_INT64, writing->rows);
    put_int(&column, 6, THRIFT_INT64, (int64_t)sizes->plain);
    put_int(&column, 7, THRIFT_INT64, (int64_t)sizes->packed);
    put_int(&column, 9, THRIFT_INT64, (int64_t)data);
    if (text)
        put_int(&column, 11, THRIFT_INT64, (int64_t)start);
    end_struct(to);
    end_struct(to);
}

static uint64_t write_column(struct parquet_writing *writing, unsigned index)
{
    struct sizes sizes = {0};
    uint64_t start = writing->offset;
    bool text = type_of(index) == TYPE_TEXT;
    if (text)
        write_dictionary(writing, &writing->column[index].dictionary, &sizes);
    uint64_t data = writing->offset;
    writing->plain.count = 0;
    if (text)
        put_numbers(writing, index);
    else if (type_of(index) == TYPE_BOOLEAN)
        put_booleans(writing, index);
    else
        put_values(writing, index);
    write_page(writing, PAGE_DATA, text ? ENCODING_DICTIONARY : ENCODING_PLAIN, writing->rows, &sizes);
    describe_column(writing, index, start, data, &sizes);
    forget(&writing->column[index].dictionary);
    return sizes.plain;
}

static bool has_column(const struct parquet_writing *writing, unsigned column)
{
    return column == COLUMN_BACKTRACE || hs_export_column__is_of((enum hs_export_column)column, writing->events);
}

static int write_group(struct parquet_writing *writing)
{
    if (!writing->rows)
        return 0;
    struct thrift group = {&writing->groups, 0};
    uint64_t plain = 0;
    put_list(&group, 1, THRIFT_STRUCT, writing->columns);
    for (unsigned i = 0; i < COLUMNS; i++)
        plain += has_column(writing, i) ? write_column(writing, i) : 0;
    put_int(&group, 2, THRIFT_INT64, (int64_t)plain);
    put_int(&group, 3, THRIFT_INT64, writing->rows);
    end_struct(&writing->groups);
    writing->group_count++;
    writing->all_rows += writing->rows;
    writing->rows = 0;
    return writing->failed || writing->groups.failed ? -ENOMEM : 0;
}

// ---- rows ----------------------------------------------------------------------------------------------------------

static int add_block(void *context, const struct hs_export_block *block)
{
    struct parquet_writing *writing = context;
    uint32_t at = writing->rows++;
    for (unsigned i = 0; i < HS_COLUMN_COUNT; i++) {
        struct parquet_column *column = &writing->column[i];
        if (!has_column(writing, i))
            continue;
        if (type_of(i) == TYPE_TEXT)
            column->value[at] =
                text_number(&column->dictionary, hs_export_block__text(block, (enum hs_export_column)i));
        else
            column->value[at] = hs_export_block__number(block, (enum hs_export_column)i);
    }
    struct parquet_column *backtrace = &writing->column[COLUMN_BACKTRACE];
    backtrace->value[at] = stack_number(writing, block->stack);
    bool full = writing->rows == GROUP_ROWS || backtrace->dictionary.texts.count > DICTIONARY_MOST;
    return full ? write_group(writing) : 0;
}

// ---- the end of the file -------------------------------------------------------------------------------------------

static void describe_schema(const struct parquet_writing *writing, struct thrift *file)
{
    struct hs_buffer *to = file->to;
    put_list(file, 2, THRIFT_STRUCT, writing->columns + 1);
    struct thrift root = {to, 0};
    put_field(&root, 4, THRIFT_TEXT);
    put_text(to, hs_events__are_samples(writing->events) ? "sample" : "block");
    put_int(&root, 5, THRIFT_INT32, writing->columns);
    end_struct(to);
    for (unsigned i = 0; i < COLUMNS; i++) {
        if (!has_column(writing, i))
            continue;
        struct thrift element = {to, 0};
        put_int(&element, 1, THRIFT_INT32, type_of(i));
        put_int(&element, 3, THRIFT_INT32, is_optional(i));
        put_field(&element, 4, THRIFT_TEXT);
        put_text(to, name_of(i));
        if (types[kind_of(i)].converted != CONVERTED_NONE)
            put_int(&element, 6, THRIFT_INT32, types[kind_of(i)].converted);
        end_struct(to);
    }
}

static void write_footer(struct parquet_writing *writing)
{
    struct hs_buffer *to = &writing->header;
    struct thrift file = {to, 0};
    to->count = 0;
    put_int(&file, 1, THRIFT_INT32, 1);
    describe_schema(writing, &file);
    put_int(&file, 3, THRIFT_INT64, (int64_t)writing->all_rows);
    put_list(&file, 4, THRIFT_STRUCT, writing->group_count);
    hs_buffer__put(to, writing->groups.bytes, writing->groups.count);
    put_field(&file, 6, THRIFT_TEXT);
    put_text(to, "heapsonde");
    end_struct(to);
    size_t length = to->count;
    hs_buffer__put_fixed(to, length, 4);
    hs_buffer__put(to, "PAR1", 4);
    write_bytes(writing, to);
}

static void free_writing(struct parquet_writing *writing)
{
    for (unsigned i = 0; i < COLUMNS; i++) {
        free(writing->column[i].value);
        forget(&writing->column[i].dictionary);
        hs_buffer__free(&writing->column[i].dictionary.texts);
    }
    hs_buffer__free(&writing->plain);
    hs_buffer__free(&writing->packed);
    hs_buffer__free(&writing->header);
    hs_buffer__free(&writing->groups);
    hs_buffer__free(&writing->text);
    hs_buffer__free(&writing->nodes);
    free(writing);
}

int hs_export__parquet(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options)
{
    struct parquet_writing *writing = calloc(1, sizeof(*writing));
    if (!writing)
        return -ENOMEM;
    writing->out = out;
    writing->symbols = subject->symbols;
    writing->events = subject->events;
    int result = 0;
    for (unsigned i = 0; !result && i < COLUMNS; i++) {
        writing->columns += has_column(writing, i);
        writing->column[i].value = calloc(GROUP_ROWS, sizeof(uint64_t));
        result = writing->column[i].value ? 0 : -ENOMEM;
    }
    fputs("PAR1", out);
    writing->offset = 4;
    if (!result)
        result = hs_export_blocks__each(subject, options->control, add_block, writing);
    if (!result)
        result = write_group(writing);
    if (!result)
        write_footer(writing);
    result = !result && writing->failed ? -ENOMEM : result;
    free_writing(writing);
    return result;
}
