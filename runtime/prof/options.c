// SPDX-License-Identifier: MIT OR Apache-2.0
//
// jemalloc reads every source twice and looks in the first reading for confirm_conf alone; therefore what is wrong with
// a source as a whole is said twice, and what is wrong with a pair once.
#include "runtime/prof/options.h"

#include "arch/system.h"
#include "runtime/config.h"
#include "runtime/memory.h"
#include "runtime/prof/option_table.h"
#include "runtime/text.h"

#include <fcntl.h>
#include <sys/stat.h>

extern char **environ __attribute__((weak));

enum { LINE = 4096, KERNEL_COPY = 256 * 1024, OPTION_LIMIT = 160, SOURCE_COUNT = 5, REMEMBERED = 16 * 1024 };

struct piece {
    const char *at, *end;
};

static struct {
    const char *given[OPTION_LIMIT]; // text of options without a value
    char *free, *free_end;           // room for such texts
    bool failed;                     // something in a source was wrong
    bool sample_given, interval_given, control_given;
} state;

// ---- messages -------------------------------------------------------------------------------------------------------

static void say(const char *text)
{
    hs_prof_options_message(text);
}

static void add_piece(struct hs_text *text, struct piece piece)
{
    for (; piece.at < piece.end; piece.at++)
        hs_text__add_character(text, *piece.at);
}

static void say_pair(const char *what, struct piece key, struct piece value, const char *note)
{
    static char line[LINE];
    struct hs_text text;
    hs_text__start(&text, line, sizeof line);
    hs_text__add(&text, "<jemalloc>: ");
    hs_text__add(&text, what);
    hs_text__add(&text, ": ");
    add_piece(&text, key);
    hs_text__add_character(&text, ':');
    add_piece(&text, value);
    hs_text__add(&text, note);
    hs_text__add_character(&text, '\n');
    say(line);
}

static void stop_if_asked(void)
{
    if (!state.failed || !hs_prof_options.abort_conf)
        return;
    hs_prof_options_abort("<jemalloc>: Abort (abort_conf:true) on invalid conf value (see above).\n");
}

// ---- values ---------------------------------------------------------------------------------------------------------

enum verdict { ACCEPTED, INVALID, OUT_OF_RANGE, WRONG_SETTINGS };

static bool equals(struct piece piece, const char *text)
{
    size_t length = hs_text__length(text);
    if ((size_t)(piece.end - piece.at) != length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (piece.at[i] != text[i])
            return false;
    return true;
}

static bool starts_with(struct piece piece, const char *prefix)
{
    size_t length = hs_text__length(prefix);
    return (size_t)(piece.end - piece.at) >= length && equals((struct piece){piece.at, piece.at + length}, prefix);
}

static unsigned digit_value(char character)
{
    if (character >= '0' && character <= '9')
        return (unsigned)(character - '0');
    char lower = (char)(character | 0x20);
    return lower >= 'a' && lower <= 'f' ? (unsigned)(lower - 'a' + 10) : 99;
}

static bool is_blank(char character)
{
    return character == ' ' || (character >= '\t' && character <= '\r');
}

bool hs_prof_options__number(const char *text, const char *end, uint64_t *number, bool *negative)
{
    while (text < end && is_blank(*text))
        text++;
    bool minus = text < end && *text == '-';
    if (text < end && (*text == '-' || *text == '+'))
        text++;
    unsigned base = 10;
    if (end - text > 2 && text[0] == '0' && (text[1] | 0x20) == 'x' && digit_value(text[2]) < 16) {
        base = 16;
        text += 2;
    } else if (text < end && *text == '0') {
        base = 8;
    }
    uint64_t value = 0;
    const char *digits = text;
    for (; text < end && digit_value(*text) < base; text++)
        if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit_value(*text), &value))
            return false;
    if (text == digits || text != end)
        return false;
    *number = minus ? -value : value;
    if (negative)
        *negative = minus && value;
    return true;
}

static unsigned size_shift(char suffix)
{
    switch (suffix | 0x20) {
    case 'k':
        return 10;
    case 'm':
        return 20;
    case 'g':
        return 30;
    case 't':
        return 40;
    default:
        return 0;
    }
}

static bool parse_size(struct piece value, uint64_t *size)
{
    bool negative;
    unsigned shift = value.end > value.at ? size_shift(value.end[-1]) : 0;
    if (!hs_prof_options__number(value.at, value.end - (shift != 0), size, &negative) || negative)
        return false;
    if (*size > UINT64_MAX >> shift)
        return false;
    *size <<= shift;
    return true;
}

// For both byte orders: the value is stored in the width of the field.
static void store(const struct hs_option *option, uint64_t number)
{
    void *value = hs_option__value(option);
    if (option->size == 1)
        *(uint8_t *)value = (uint8_t)number;
    else if (option->size == 4)
        *(uint32_t *)value = (uint32_t)number;
    else if (option->size == 8)
        *(uint64_t *)value = number;
}

static void store_text(const struct hs_option *option, struct piece value)
{
    char *to = hs_option__value(option);
    char *last = to + option->size - 1;
    while (value.at < value.end && to < last)
        *to++ = *value.at++;
    *to = 0;
}

static void store_letters(const struct hs_option *option, struct piece value)
{
    char *letters = hs_option__value(option);
    for (; value.at < value.end; value.at++) {
        size_t count = 0;
        bool wanted = false;
        for (const char *known = "Jgmdablxeh"; *known; known++)
            wanted |= *known == *value.at;
        for (; letters[count]; count++)
            wanted &= letters[count] != *value.at;
        if (wanted && count < (size_t)option->size - 1) {
            letters[count] = *value.at;
            letters[count + 1] = 0;
        }
    }
}

static enum verdict read_unsigned(const struct hs_option *option, struct piece value, uint64_t *number)
{
    if (!hs_prof_options__number(value.at, value.end, number, NULL))
        return INVALID;
    if (*number >= (uint64_t)(int64_t)option->minimum && *number <= option->maximum)
        return ACCEPTED;
    if (option->limits == HS_OPTION_REJECTS)
        return OUT_OF_RANGE;
    *number = *number < (uint64_t)(int64_t)option->minimum ? (uint64_t)(int64_t)option->minimum : option->maximum;
    return ACCEPTED;
}

// Values that are too large for the type wrap around, like in jemalloc: the largest unsigned number is -1.
static enum verdict read_signed(const struct hs_option *option, struct piece value, uint64_t *number)
{
    if (!hs_prof_options__number(value.at, value.end, number, NULL))
        return INVALID;
    int64_t integer = (int64_t)*number;
    return integer < option->minimum || integer > (int64_t)option->maximum ? OUT_OF_RANGE : ACCEPTED;
}

static enum verdict read_choice(const struct hs_option *option, struct piece value, uint64_t *number)
{
    char word[32];
    const char *choices = hs_option__choices(option);
    for (*number = 0; *choices; ++*number) {
        struct hs_text text;
        hs_text__start(&text, word, sizeof word);
        while (*choices && *choices != '|')
            hs_text__add_character(&text, *choices++);
        choices += *choices != 0;
        if (*word && equals(value, word))
            return ACCEPTED;
    }
    return INVALID;
}

static const char *skip_digits(struct piece value, uint64_t *number)
{
    for (*number = 0; value.at < value.end && digit_value(*value.at) < 10; value.at++)
        if (*number <= UINT32_MAX)
            *number = *number * 10 + digit_value(*value.at);
    return value.at;
}

// 16 bits before the point; digits before it, behind it, or both.
static enum verdict read_fraction(struct piece value)
{
    uint64_t whole, rest;
    if (equals(value, "-1"))
        return ACCEPTED;
    const char *point = skip_digits(value, &whole);
    if (whole > UINT16_MAX || (point == value.end && point == value.at))
        return INVALID;
    if (point == value.end)
        return ACCEPTED;
    const char *end = *point == '.' ? skip_digits((struct piece){point + 1, value.end}, &rest) : point;
    return end > point + 1 && end == value.end ? ACCEPTED : INVALID;
}

static const char *skip_number(struct piece value, char behind)
{
    const char *end = value.at;
    bool negative;
    uint64_t number;
    while (end < value.end && *end != behind)
        end++;
    return hs_prof_options__number(value.at, end, &number, &negative) && !negative ? end : NULL;
}

static enum verdict read_ranges(struct piece value)
{
    if (value.at == value.end)
        return WRONG_SETTINGS;
    while (value.at < value.end) {
        for (const char *behind = "-:|"; *behind; behind++) {
            const char *end = skip_number(value, *behind);
            if (!end || (end == value.end && *behind != '|'))
                return WRONG_SETTINGS;
            value.at = end + (end < value.end);
        }
    }
    return ACCEPTED;
}

static enum verdict read_size(const struct hs_option *option, struct piece value, uint64_t *number)
{
    if (!parse_size(value, number))
        return INVALID;
    return *number < (uint64_t)(int64_t)option->minimum || *number > option->maximum ? OUT_OF_RANGE : ACCEPTED;
}

static enum verdict read_step(struct piece value, uint64_t *number)
{
    if (value.end > value.at && value.end[-1] == '%') {
        bool negative;
        if (!hs_prof_options__number(value.at, value.end - 1, number, &negative) || negative)
            return INVALID;
        if (*number > UINT32_MAX)
            return OUT_OF_RANGE;
        hs_prof_options.peak_percent = (uint32_t)*number;
        *number = 0;
        return ACCEPTED;
    }
    if (!parse_size(value, number))
        return INVALID;
    hs_prof_options.peak_percent = 0;
    return ACCEPTED;
}

static enum verdict read_boolean(struct piece value, uint64_t *number)
{
    *number = equals(value, "true");
    return *number || equals(value, "false") ? ACCEPTED : INVALID;
}

static enum verdict read_value(const struct hs_option *option, struct piece value, uint64_t *number)
{
    *number = 0;
    switch (option->kind) {
    case HS_OPTION_BOOLEAN:
        return read_boolean(value, number);
    case HS_OPTION_UNSIGNED:
        return read_unsigned(option, value, number);
    case HS_OPTION_SIGNED:
        return read_signed(option, value, number);
    case HS_OPTION_FRACTION:
        return read_fraction(value);
    case HS_OPTION_CHOICE:
        return read_choice(option, value, number);
    case HS_OPTION_SIZE:
        return read_size(option, value, number);
    case HS_OPTION_STEP:
        return read_step(value, number);
    case HS_OPTION_RANGES:
        return read_ranges(value);
    default:
        return ACCEPTED;
    }
}

// ---- options without a value: their text ----------------------------------------------------------------------------

static void remember(uint32_t index, struct piece value)
{
    size_t length = (size_t)(value.end - value.at);
    if (length >= (size_t)(state.free_end - state.free)) {
        size_t room = length + 1 > REMEMBERED ? length + 1 : REMEMBERED;
        state.free = hs_memory__map(room);
        state.free_end = state.free ? state.free + room : NULL;
        if (!state.free)
            return;
    }
    state.given[index] = state.free;
    while (value.at < value.end)
        *state.free++ = *value.at++;
    *state.free++ = 0;
}

static void remember_number(uint32_t index, uint64_t number)
{
    char digits[24];
    struct hs_text text;
    hs_text__start(&text, digits, sizeof digits);
    hs_text__add_number(&text, number);
    remember(index, (struct piece){digits, text.at});
}

static struct piece whole(const char *text)
{
    return (struct piece){text, text + hs_text__length(text)};
}

static uint32_t find_option(struct piece key)
{
    uint32_t index = 0;
    while (index < hs_option_count && !equals(key, hs_option__key(&hs_option_table[index])))
        index++;
    return index;
}

const char *hs_prof_options__text(const char *key)
{
    uint32_t index = find_option(whole(key));
    if (index == hs_option_count || hs_option__value(&hs_option_table[index]))
        return NULL;
    return state.given[index] ? state.given[index] : hs_option__text(&hs_option_table[index]);
}

// ---- pairs ----------------------------------------------------------------------------------------------------------

static void apply(uint32_t index, struct piece value, uint64_t number)
{
    const struct hs_option *option = &hs_option_table[index];
    const void *to = hs_option__value(option);
    if (!to && option->kind == HS_OPTION_UNSIGNED && !equals(value, hs_option__text(option)))
        remember_number(index, number);
    else if (!to)
        remember(index, value);
    else if (option->kind == HS_OPTION_TEXT)
        store_text(option, value);
    else if (option->kind == HS_OPTION_LETTERS)
        store_letters(option, value);
    else
        store(option, number);
    state.sample_given |= to == &hs_prof_options.sample_bytes;
    state.interval_given |= to == &hs_prof_options.interval_bytes;
    state.control_given |= to == &hs_prof_options.control;
}

static void complain(const char *what, struct piece key, struct piece value)
{
    say_pair(what, key, value, "");
    if (!starts_with(key, "experimental_"))
        state.failed = true;
}

static void complain_of(enum verdict verdict, struct piece key, struct piece value)
{
    char settings[64];
    struct hs_text text;
    hs_text__start(&text, settings, sizeof settings);
    hs_text__add(&text, "Invalid settings for ");
    add_piece(&text, key);
    complain(verdict == INVALID        ? "Invalid conf value"
             : verdict == OUT_OF_RANGE ? "Out-of-range conf value"
                                       : settings,
             key, value);
}

static void read_pair(struct piece key, struct piece value)
{
    uint32_t index = find_option(key);
    bool nothing = key.at == key.end; // jemalloc takes ":" for an option without a name and a value
    if (index == hs_option_count && !nothing) {
        complain("Invalid conf pair", key, value);
        return;
    }
    uint64_t number = 0;
    const struct hs_option *option = nothing ? NULL : &hs_option_table[index];
    enum verdict verdict = nothing ? (value.at == value.end ? ACCEPTED : INVALID) : read_value(option, value, &number);
    if (option && *hs_option__text(option) && equals(value, hs_option__text(option)))
        verdict = ACCEPTED; // narenas:default
    if (verdict != ACCEPTED) {
        complain_of(verdict, key, value);
        return;
    }
    if (option)
        apply(index, value, number);
    if (hs_prof_options.confirm_conf)
        say_pair("-- Set conf value", key, value,
                 option && option->place == HS_OPTION_NOWHERE
                     ? " (not applicable: the program's own allocator is in use)"
                     : "");
}

static bool belongs_to_key(char character)
{
    char lower = (char)(character | 0x20);
    return (lower >= 'a' && lower <= 'z') || (character >= '0' && character <= '9') || character == '_';
}

static void malformed(const char *message)
{
    say(message);
    state.failed = true;
}

// Reads pairs until the text ends or breaks off.
static void read_text(const char *text, void (*found)(struct piece key, struct piece value))
{
    while (*text) {
        struct piece key = {text, text};
        while (belongs_to_key(*key.end))
            key.end++;
        if (*key.end != ':') {
            malformed(!*key.end ? "<jemalloc>: Conf string ends with key\n" : "<jemalloc>: Malformed conf string\n");
            return;
        }
        struct piece value = {key.end + 1, key.end + 1};
        while (*value.end && *value.end != ',')
            value.end++;
        bool last = !*value.end;
        bool comma_ends = !last && !value.end[1];
        if (comma_ends)
            malformed("<jemalloc>: Conf string ends with comma\n");
        found(key, value);
        if (last || comma_ends)
            return;
        text = value.end + 1;
    }
}

static void read_confirm(struct piece key, struct piece value)
{
    uint64_t number;
    if (equals(key, "confirm_conf") && read_boolean(value, &number) == ACCEPTED)
        hs_prof_options.confirm_conf = number != 0;
}

// ---- sources --------------------------------------------------------------------------------------------------------

static const char *value_in(const char *entry)
{
    return hs_text__starts_with(entry, "MALLOC_CONF=") ? entry + sizeof "MALLOC_CONF=" - 1 : NULL;
}

// libc's environment, or the kernel's copy while libc has none.
static const char *environment_value(void)
{
    if (hs_config.unread)
        return NULL;
    if (&environ && environ) {
        for (char **entry = environ; *entry; entry++)
            if (value_in(*entry))
                return value_in(*entry);
        return NULL;
    }
    char *copy = hs_memory__map(KERNEL_COPY); // kept: it is read once in a process
    size_t length = copy ? hs_text__read_file("/proc/self/environ", copy, KERNEL_COPY) : 0;
    for (size_t at = 0; at < length; at += hs_text__length(copy + at) + 1)
        if (value_in(copy + at))
            return value_in(copy + at);
    return NULL;
}

// The target's name of the link /etc/malloc.conf; the first line when it is a file.
static const char *system_value(void)
{
    static char text[HS_PROF_PATH];
    struct hs_file_status status;
    if (hs_system_status_of("/etc/malloc.conf", 0x100, &status) != 0) // AT_SYMLINK_NOFOLLOW
        return NULL;
    if (S_ISLNK(status.mode)) {
        long length = hs_system_readlink("/etc/malloc.conf", text, sizeof text - 1);
        text[length > 0 ? length : 0] = 0;
    } else if (S_ISREG(status.mode)) {
        hs_text__read_file("/etc/malloc.conf", text, sizeof text);
        char *end = text;
        while (*end && *end != '\n')
            end++;
        *end = 0;
    }
    return text;
}

static const char *program_value(unsigned which)
{
    return hs_prof_options_program[which] ? *hs_prof_options_program[which] : NULL;
}

static void say_source(unsigned source, const char *value)
{
    static const char names[SOURCE_COUNT][76] = {
        "string specified via --with-malloc-conf",
        "string pointed to by the global variable malloc_conf",
        "\"name\" of the file referenced by the symbolic link named /etc/malloc.conf",
        "value of the environment variable MALLOC_CONF",
        "string pointed to by the global variable malloc_conf_2_conf_harder",
    };
    static char line[LINE];
    struct hs_text text;
    hs_text__start(&text, line, sizeof line);
    hs_text__add(&text, "<jemalloc>: malloc_conf #");
    hs_text__add_number(&text, source + 1);
    hs_text__add(&text, " (");
    hs_text__add(&text, names[source]);
    hs_text__add(&text, "): \"");
    hs_text__add(&text, value ? value : "");
    hs_text__add(&text, "\"\n");
    say(line);
}

// ---- what follows from what was given -------------------------------------------------------------------------------

static void derive(void)
{
    struct hs_prof_options *options = &hs_prof_options;
    if (options->leak_error && !options->final) {
        say("<jemalloc>: prof_leak_error is set w/o prof_final.\n");
        state.failed = true;
        stop_if_asked();
    }
    options->leak |= options->leak_error;
    bool by_leak_alone = options->leak && !options->prof;
    if (by_leak_alone) {
        options->prof = true;
        options->gdump = false;
    }
    if (!state.sample_given)
        options->sample_bytes = (uint64_t)1 << options->lg_sample;
    if (!state.interval_given && options->lg_interval >= 0 && !by_leak_alone)
        options->interval_bytes = (uint64_t)1 << options->lg_interval;
    if (!state.control_given)
        options->control = options->prof;
}

void hs_prof_options__begin(void)
{
    hs_config__read(NULL);
    __builtin_memcpy(hs_prof_texts.prefix, "jeprof", sizeof "jeprof");
    const char *const values[SOURCE_COUNT] = {
        NULL, program_value(0), system_value(), environment_value(), program_value(1),
    };
    for (unsigned i = 0; i < SOURCE_COUNT; i++)
        if (values[i])
            read_text(values[i], read_confirm);
    for (unsigned i = 0; i < SOURCE_COUNT; i++) {
        if (hs_prof_options.confirm_conf)
            say_source(i, values[i]);
        if (values[i])
            read_text(values[i], read_pair);
        stop_if_asked();
    }
    derive();
}
