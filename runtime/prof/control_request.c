// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/control_request.h"

#include "runtime/text.h"

enum argument { NO_ARGUMENT, SESSION, PATH, BYTES, FORMAT };

static const struct word {
    char name[10];
    enum hs_control_kind kind;
    enum argument argument;
} words[] = {
    {"start", HS_CONTROL_START, SESSION},
    {"stop", HS_CONTROL_STOP, SESSION},
    {"stop-all", HS_CONTROL_STOP_ALL, NO_ARGUMENT},
    {"status", HS_CONTROL_STATUS, NO_ARGUMENT},
    {"dump", HS_CONTROL_DUMP, PATH},
    {"reset", HS_CONTROL_RESET, NO_ARGUMENT},
    {"rate", HS_CONTROL_RATE, BYTES},
    {"get-dump", HS_CONTROL_GET_DUMP, FORMAT},
    {"stats", HS_CONTROL_STATISTICS, NO_ARGUMENT},
    {"cmdline", HS_CONTROL_COMMAND_LINE, NO_ARGUMENT},
    {"maps", HS_CONTROL_MAPS, NO_ARGUMENT},
};

static const struct {
    char name[12];
    enum hs_dump_format format;
} formats[] = {
    {"heap_v2", HS_DUMP_HEAP_V2},       {"text", HS_DUMP_TEXT},           {"proto", HS_DUMP_PROTO},
    {"symbolized", HS_DUMP_SYMBOLIZED}, {"collapsed", HS_DUMP_COLLAPSED},
};

static bool is_session_character(char character)
{
    char lower = (char)(character | 0x20);
    return (lower >= 'a' && lower <= 'z') || (character >= '0' && character <= '9') || character == '_' ||
           character == '.' || character == '-';
}

static const char *parse_session(struct hs_control_request *request, const char *text)
{
    size_t length = 0;
    for (; text[length]; length++) {
        if (length == HS_CONTROL_SESSION - 1)
            return "the name of a session has at most 32 characters";
        if (!is_session_character(text[length]))
            return "the name of a session is made of letters, digits, '_', '.' and '-'";
        request->session[length] = text[length];
    }
    return length ? NULL : "the name of the session is missing after the space";
}

static const char *parse_bytes(struct hs_control_request *request, const char *text)
{
    if (hs_text__length(text) > 15)
        return "the rate is at most 2^48";
    const char *end = text;
    request->bytes = hs_text__parse(&end, 10);
    if (end == text || *end)
        return "the rate is a number of bytes";
    if (request->bytes == 0 || request->bytes > HS_CONTROL_MOST_RATE)
        return "the rate is at least 1 and at most 2^48";
    return NULL;
}

static const char *parse_format(struct hs_control_request *request, const char *text)
{
    for (unsigned i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (hs_text__equal(text, formats[i].name)) {
            request->format = formats[i].format;
            return NULL;
        }
    }
    return "the formats are heap_v2, text, proto, symbolized and collapsed";
}

static const char *parse_path(struct hs_control_request *request, const char *text)
{
    if (*text != '/')
        return "the path has to begin with '/'";
    request->path = text;
    return NULL;
}

static const char *parse_argument(struct hs_control_request *request, enum argument argument, const char *text)
{
    switch (argument) {
    case SESSION:
        return parse_session(request, text);
    case PATH:
        return parse_path(request, text);
    case BYTES:
        return parse_bytes(request, text);
    case FORMAT:
        return parse_format(request, text);
    case NO_ARGUMENT:
        break;
    }
    return "this request takes no argument";
}

static bool is_text(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
            return false;
    return true;
}

const char *hs_control_request__parse(struct hs_control_request *request, char *line, size_t length)
{
    *request = (struct hs_control_request){0};
    if (length == 0 || line[length - 1] != '\n')
        return "the request does not end with a newline";
    line[--length] = 0;
    if (!is_text(line, length))
        return "the request contains a control character";
    size_t name = 0;
    while (line[name] && line[name] != ' ')
        name++;
    const char *argument = line[name] ? line + name + 1 : NULL;
    line[name] = 0;
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        if (!hs_text__equal(line, words[i].name))
            continue;
        request->kind = words[i].kind;
        if (argument)
            return parse_argument(request, words[i].argument, argument);
        bool needed = words[i].argument == BYTES || words[i].argument == FORMAT;
        return needed ? "this request needs an argument" : NULL;
    }
    return "there is no such request";
}
