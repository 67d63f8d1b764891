// SPDX-License-Identifier: MIT OR Apache-2.0
//
// top: who grows and who churns, in a terminal.
#include "host/cli/commands.h"
#include "host/cli/subject.h"
#include "host/cli/wire_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HEAPSONDE_HAS_NCURSES
#include "host/base/clock.h"
#include "host/cli/top_asking.h"
#include "host/cli/top_gather.h"
#include "host/cli/top_model.h"
#include "host/cli/top_source.h"
#include "host/report/text.h"

#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <term.h>

enum { LEAST_WIDTH = 40, LEAST_HEIGHT = 6, NUMBERS = 53, SHORTLY = 20 };

static const struct {
    const char *by, *title;
} groups[] = {{"requester", "FUNCTION"}, {"site", "LINE"}, {"library", "LIBRARY"}, {"thread", "THREAD"}};
static const char *const sorts[] = {"growth", "live memory", "allocated bytes", "allocations", "name"};

struct top {
    const struct hs_arguments *arguments;
    struct hs_top_source source;
    struct hs_top_model model;
    unsigned group;
    enum hs_top_sort sort;
    char filter[64];
    bool types, paused, ends; // types: into the filter
    size_t first;             // row that is shown
    uint64_t every_ns, next_ns;
    uint64_t used_ns;            // of the processor, up to the last refresh
    struct hs_top_asking asking; // the last one
    unsigned asked_group;        // by it
    bool asks;                   // it has not been taken
    bool is_due;                 // the next one, also when paused
    unsigned to_go_on;           // how many times to go on to the next trace
    struct hs_top_about about;
    struct hs_error error; // of the last question; empty: there was an answer
};

// ---- questions ------------------------------------------------------------------------------------------------------

static void plan_refresh(struct top *top)
{
    const uint64_t used = hs_clock__ns_of(CLOCK_PROCESS_CPUTIME_ID);
    top->next_ns = hs_clock__now() + hs_top_pause(top->every_ns, used - top->used_ns);
    top->used_ns = used;
}

static void start_asking(struct top *top)
{
    struct hs_top_asking *asking = &top->asking;
    asking->source = &top->source;
    asking->by = groups[top->group].by;
    asking->has_answer = top->model.has_answer;
    asking->time_ns = top->model.time_ns;
    asking->goes_on = top->to_go_on > 0;
    top->to_go_on -= asking->goes_on;
    top->asked_group = top->group;
    top->is_due = false;
    top->asks = true;
    hs_top_asking__start(asking);
}

// Other rows: what grew is counted from now on.
static void begin_anew(struct top *top)
{
    hs_top_model__free(&top->model);
    top->first = 0;
}

// Keys may have changed what is shown while it was asked.
static int take_rows(struct top *top)
{
    struct hs_top_asking *asking = &top->asking;
    const struct hs_top_rows *known = asking->known;
    if (top->asked_group != top->group || (!asking->rows && !known && !top->model.has_answer)) {
        top->is_due = true;
        return 0;
    }
    if (known)
        return hs_top_model__take_known(&top->model, known->row, known->count, &known->sum, known->time_ns);
    if (!asking->rows)
        hs_top_model__rest(&top->model);
    else if (hs_top_model__take(&top->model, asking->rows, asking->time_ns))
        return hs_error__set(&top->error, EPROTO, "the answer is not that of 'heapsonde server'; check the address");
    return 0;
}

static int take_answer(struct top *top)
{
    struct hs_top_asking *asking = &top->asking;
    hs_top_asking__end(asking);
    top->asks = false;
    if (asking->has_gone_on)
        begin_anew(top);
    top->error = asking->error;
    top->about = asking->about;
    const int result = asking->result ? asking->result : take_rows(top);
    free(asking->rows);
    asking->rows = NULL;
    plan_refresh(top);
    return result;
}

// ---- drawing --------------------------------------------------------------------------------------------------------

static void draw_line(int line, const char *text, attr_t how)
{
    move(line, 0);
    clrtoeol();
    attron(how);
    addnstr(text, COLS);
    attroff(how);
}

static void draw_small(void)
{
    erase();
    mvaddnstr(0, 0, "Make this window larger: 40 columns and 6 lines.", COLS * LINES - 1);
    refresh();
}

static void write_change(char *text, size_t size, int64_t change)
{
    const uint64_t bytes = change < 0 ? 0 - (uint64_t)change : (uint64_t)change;
    snprintf(text, size, "%s%s", change < 0 ? "-" : change ? "+" : "", hs_text__bytes(bytes).text);
}

static void draw_head(const struct top *top)
{
    const struct hs_top_model *model = &top->model;
    const struct hs_top_about *about = &top->about;
    char text[512], grew[32];
    char place[64] = "";
    if (about->of > 1)
        snprintf(place, sizeof(place), ", %zu of %zu (d)", about->place, about->of);
    snprintf(text, sizeof(text), "heapsonde top  %s%s%s  %s%s%s%s", about->program, *about->device ? " on " : "",
             about->device, about->state, place, top->paused ? ", paused" : "",
             top->error.message[0] ? ", no answer" : "");
    draw_line(0, text, A_BOLD);
    if (top->error.message[0]) {
        draw_line(1, top->error.message, A_NORMAL);
        return;
    }
    write_change(grew, sizeof(grew), (int64_t)(model->sum.live_bytes - model->marked.live_bytes));
    snprintf(text, sizeof(text), "%s: %s live, %s since the mark, peak %s, %s/s in %.0f blocks/s",
             hs_text__time_of(model->time_ns, about->clock).text, hs_text__bytes(model->sum.live_bytes).text, grew,
             hs_text__bytes(about->peak_bytes).text, hs_text__bytes((uint64_t)model->bytes_per_second).text,
             model->blocks_per_second);
    draw_line(1, text, A_NORMAL);
}

static void draw_row(int line, const struct hs_top_row *row)
{
    char text[160], grew[32];
    write_change(grew, sizeof(grew), hs_top_row__grew(row));
    snprintf(text, sizeof(text), "%10s %11s %9s %10s %8.0f  ", grew, hs_text__bytes(row->now.live_bytes).text,
             hs_text__count(row->now.live_count).text, hs_text__bytes((uint64_t)row->bytes_per_second).text,
             row->blocks_per_second);
    draw_line(line, text, A_NORMAL);
    if (COLS > NUMBERS)
        mvaddnstr(line, NUMBERS, row->name, -1);
}

static void draw_foot(const struct top *top)
{
    char text[256];
    if (top->types)
        snprintf(text, sizeof(text), "Names with: %s_  (Enter: keep, Esc: all)", top->filter);
    else
        snprintf(text, sizeof(text), "by %s%s%s  glycn: sort  b: by  /: filter  m: mark  space: pause  q: quit",
                 sorts[top->sort], *top->filter ? ", with " : "", top->filter);
    draw_line(LINES - 1, text, A_REVERSE);
}

static void draw(struct top *top)
{
    const size_t *rows;
    size_t count;
    char head[160];
    if (COLS < LEAST_WIDTH || LINES < LEAST_HEIGHT) {
        draw_small();
        return;
    }
    if (hs_top_model__list(&top->model, top->sort, top->filter, &rows, &count))
        return;
    const size_t room = (size_t)LINES - 4;
    top->first = top->first + room > count ? (count > room ? count - room : 0) : top->first;
    erase();
    draw_head(top);
    snprintf(head, sizeof(head), "%10s %11s %9s %10s %8s  %s", "GREW", "LIVE", "BLOCKS", "BYTES/S", "CALLS/S",
             groups[top->group].title);
    draw_line(2, head, A_REVERSE);
    for (size_t i = 0; i < room && top->first + i < count; i++)
        draw_row(3 + (int)i, &top->model.row[rows[top->first + i]]);
    draw_foot(top);
    refresh();
}

// ---- keys -----------------------------------------------------------------------------------------------------------

static void type(struct top *top, int key)
{
    const size_t length = strlen(top->filter);
    if (key == 27)
        top->filter[0] = 0;
    if (key == 27 || key == '\n' || key == '\r' || key == KEY_ENTER)
        top->types = false;
    else if ((key == KEY_BACKSPACE || key == 127 || key == 8) && length)
        top->filter[length - 1] = 0;
    else if (key >= ' ' && key < 256 && key != 127 && length + 1 < sizeof(top->filter))
        snprintf(top->filter + length, sizeof(top->filter) - length, "%c", key);
    top->first = 0;
}

static void scroll_to(struct top *top, int key)
{
    const size_t page = LINES > 4 ? (size_t)LINES - 4 : 1;
    const size_t step = key == KEY_UP || key == KEY_DOWN ? 1 : page;
    if (key == KEY_DOWN || key == KEY_NPAGE)
        top->first += step; // drawing limits it
    else
        top->first = top->first > step && key != KEY_HOME ? top->first - step : 0;
}

static void sort_by(struct top *top, enum hs_top_sort sort)
{
    top->sort = sort;
    top->first = 0;
}

static void change_group(struct top *top)
{
    top->group = (top->group + 1) % (sizeof(groups) / sizeof(groups[0]));
    begin_anew(top);
    top->is_due = true;
}

static void change_trace(struct top *top)
{
    top->to_go_on++;
    top->is_due = true;
}

static void take_command(struct top *top, int key)
{
    switch (key) {
    case 'q':
        top->ends = true;
        break;
    case ' ':
        top->paused = !top->paused;
        break;
    case 'm':
        hs_top_model__mark(&top->model);
        break;
    case '/':
        top->types = true;
        break;
    case 'L' - '@':
        clearok(stdscr, TRUE);
        break;
    case 'b':
        change_group(top);
        break;
    case 'd':
        change_trace(top);
        break;
    case 'g':
    case 'l':
    case 'y':
    case 'c':
    case 'n':
        sort_by(top, (enum hs_top_sort)(strchr("glycn", key) - "glycn"));
        break;
    case KEY_UP:
    case KEY_DOWN:
    case KEY_PPAGE:
    case KEY_NPAGE:
    case KEY_HOME:
        scroll_to(top, key);
        break;
    default:
        break;
    }
}

// Milliseconds to wait for a key; -1: until there is one.
static int time_to_wait(const struct top *top)
{
    const uint64_t now = hs_clock__now();
    if (top->asks)
        return SHORTLY;
    if (top->is_due)
        return 0;
    return top->paused ? -1 : top->next_ns > now ? (int)((top->next_ns - now) / 1000000) + 1 : 0;
}

// Whether there was one.
static bool take_key(struct top *top)
{
    timeout(time_to_wait(top));
    const int key = getch();
    if (key == ERR)
        return false;
    if (key != KEY_RESIZE && top->types)
        type(top, key);
    else if (key != KEY_RESIZE)
        take_command(top, key);
    return true;
}

// Whether there is something new to draw.
static bool go_on(struct top *top)
{
    const bool is_new = top->asks && hs_top_asking__is_done(&top->asking);
    if (is_new)
        take_answer(top);
    if (!top->asks && (top->is_due || top->to_go_on || (!top->paused && hs_clock__now() >= top->next_ns)))
        start_asking(top);
    return is_new;
}

static void run_screen(struct top *top)
{
    draw(top);
    while (!top->ends) {
        const bool is_new = go_on(top);
        if (take_key(top) || is_new)
            draw(top);
    }
}

static int show(struct top *top)
{
    setlocale(LC_CTYPE, "");
    set_escdelay(25);
    int problem = 0;
    const bool known = setupterm(NULL, STDOUT_FILENO, &problem) == OK;
    if (known)
        del_curterm(cur_term);
    SCREEN *screen = known ? newterm(NULL, stdout, stdin) : NULL;
    if (!screen) {
        hs_complain(top->arguments->command, "the terminal '%s' is not known here; set TERM",
                    getenv("TERM") ? getenv("TERM") : "");
        return HS_EXIT_FAILURE;
    }
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    curs_set(0);
    run_screen(top);
    endwin();
    delscreen(screen);
    return HS_EXIT_OK;
}

// Until the first trace is there.
static int open_gathered(struct top *top, const struct hs_symbols_options *symbols, struct hs_top_gather *gather)
{
    int result = 0;
    fprintf(stderr, "heapsonde top: waiting for %s; Ctrl-C ends\n", top->arguments->operands[0]);
    do {
        result = hs_top_gather__wait(gather, &top->error);
        if (!result && hs_top_source__open(&top->source, gather->folder, NULL, symbols, &top->error))
            hs_top_source__close(&top->source);
    } while (!result && !top->source.rest);
    return result;
}

static int open_source(struct top *top, const struct hs_symbols_options *symbols, struct hs_top_gather *gather)
{
    return gather->folder
               ? open_gathered(top, symbols, gather)
               : hs_top_source__open(&top->source, top->arguments->operands[0],
                                     hs_arguments__text(top->arguments, "device", NULL), symbols, &top->error);
}

// The terminal is as it was.
static void leave(struct top *top, struct hs_top_gather *gather, int status)
{
    if (top->asks && !hs_top_asking__give_up(&top->asking)) {
        hs_top_gather__end(gather);
        fflush(NULL);
        _exit(status);
    }
    hs_top_source__close(&top->source);
    hs_top_model__free(&top->model);
}

static int watch(const struct hs_arguments *arguments, const struct hs_symbols_options *symbols,
                 struct hs_top_gather *gather)
{
    struct top top = {.arguments = arguments, .every_ns = hs_arguments__number(arguments, "interval", 1) * 1000000000u};
    int result = open_source(&top, symbols, gather);
    top.used_ns = hs_clock__ns_of(CLOCK_PROCESS_CPUTIME_ID);
    if (!result) {
        start_asking(&top);
        result = take_answer(&top);
    }
    if (result)
        hs_complain(arguments->command, "%s", top.error.message);
    const int status = result ? HS_EXIT_FAILURE : show(&top);
    leave(&top, gather, status);
    return status;
}

// Before anything else, so that there is one thread.
static int start_gathering(const struct hs_arguments *arguments, struct hs_top_gather *gather)
{
    struct hs_shared_key key;
    struct hs_error error = {.message = ""};
    *gather = (struct hs_top_gather){0};
    if (!hs_arguments__flag(arguments, "gather"))
        return HS_EXIT_OK;
    const int status = hs_wire_options__key(arguments, &key);
    if (status)
        return status;
    const int result =
        hs_top_gather__start(gather, arguments->operands[0], &key, hs_arguments__flag(arguments, "insecure"), &error);
    hs_shared_key__forget(&key);
    if (result)
        hs_complain(arguments->command, "%s", error.message);
    return result ? HS_EXIT_FAILURE : HS_EXIT_OK;
}

static bool check_options(const struct hs_arguments *arguments)
{
    const bool idle = hs_arguments__flag(arguments, "gather") && hs_arguments__given(arguments, "device");
    if (idle)
        hs_complain(arguments->command, "--device has no effect with --gather");
    if (hs_arguments__number(arguments, "interval", 1) - 1 < 86400)
        return !idle;
    hs_complain(arguments->command, "--interval takes 1 to 86400 seconds");
    return false;
}

static int top(const struct hs_arguments *arguments)
{
    struct hs_symbols_options symbols;
    struct hs_top_gather gather;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        hs_complain(arguments->command, "needs a terminal; 'heapsonde report --growth FILE' writes what grows");
        return HS_EXIT_USAGE;
    }
    if (!check_options(arguments))
        return HS_EXIT_USAGE;
    int status = start_gathering(arguments, &gather);
    if (status)
        return status;
    status = hs_symbols_options__read(&symbols, arguments) ? HS_EXIT_FAILURE : watch(arguments, &symbols, &gather);
    hs_symbols_options__free(&symbols);
    hs_top_gather__end(&gather);
    return status;
}
#else
static int top(const struct hs_arguments *arguments)
{
    hs_complain(arguments->command, "needs ncursesw, and this heapsonde was built without it");
    return HS_EXIT_FAILURE;
}
#endif

static const struct hs_option options[] = {
    {.name = "interval",
     .letter = 'i',
     .kind = HS_OPTION_NUMBER,
     .argument = "SECONDS",
     .help = "update after this time; default 1"},
    {.name = "device",
     .kind = HS_OPTION_TEXT,
     .argument = "NAME",
     .help = "with a folder or a server: show only traces of this device, program or process id"},
    {.name = "gather",
     .letter = 'g',
     .help = "ADDRESS is HOST:PORT of a process that listens (HEAPSONDE_ENABLE_SERVER=1): gather its trace into a "
             "temporary "
             "folder and show it"},
    HS_WIRE_OPTIONS("with --gather: ", "the devices have", "gather"),
    HS_SYMBOL_OPTIONS,
    HS_MEMORY_OPTION,
    {0},
};

const struct hs_command hs_command_top = {
    .name = "top",
    .synopsis = "[OPTIONS] FILE|FOLDER|ADDRESS",
    .summary = "watch in a terminal which functions grow, and which allocate most",
    .description =
        "Shows the functions that request memory, and updates every second: how much of it is live, how much this has "
        "grown since a mark, and how much they allocate per second. FILE is a trace, which may still grow. FOLDER is "
        "one that 'heapsonde gather' writes; its newest trace that has not ended is shown. ADDRESS is that of "
        "'heapsonde server', such as http://127.0.0.1:8080; its last trace is shown. With --gather, ADDRESS is "
        "HOST:PORT of a process that listens. Keys: d shows the next trace of a folder or server; g, l, y, c "
        "and n sort by growth, live memory, bytes per second, calls per second and name; b shows functions, lines, "
        "libraries or threads; / selects rows by a part of their names; m sets the mark; space pauses; arrows and page "
        "keys scroll; q quits.",
    .operand = HS_OPERAND_TRACE,
    .least_operands = 1,
    .most_operands = 1,
    .options = options,
    .run = top,
};
