// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the report keeps with the store: the same as going through all stacks again, or nothing.
#include "command.h"
#include "host/import/import.h"
#include "host/report/digest.h"
#include "tests/format/check_random.h"
#include "tests/rounds.h"
#include "tests/store/trace_writer.h"
#include "tests/suite.h"

#include <check.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define FIRST     0x10000000u
#define SPAN      0x100000u
#define MODULES   3
#define FUNCTIONS 24
#define NODES     1500
#define EVENTS    6000

static struct trace_writer writer;
static uint8_t bytes[HS_SLOT_RECORDS_SIZE];
static struct hs_meta_writer meta;

// ---- a random trace of files that are there with symbols, and stripped ----------------------------------------------

// Names of all roles, some in more than one file: what is left out and what looks the same depends on them.
static const char *function_name(unsigned module, unsigned function)
{
    static const char *const special[] = {"malloc", "_Znwm", "_ZNSt6vectorIiE9push_backEi", "_start", "main"};
    if (function < sizeof(special) / sizeof(special[0]))
        return special[function];
    return text(function % 3 ? "function%u" : "own%u_%u", function % 3 ? function : module, function);
}

static void build_files(void)
{
    shell("mkdir -p root/opt stripped/opt");
    for (unsigned i = 0; i < MODULES; i++) {
        FILE *source = fopen(text("%s/file.S", work), "w");
        ck_assert_ptr_nonnull(source);
        for (unsigned k = 0; k < FUNCTIONS; k++)
            fprintf(source, ".type \"%s\", @function\n\"%s\": .fill 16, 1, 0x90\n.size \"%s\", 16\n",
                    function_name(i, k), function_name(i, k), function_name(i, k));
        fclose(source);
        shell("gcc -shared -nostdlib -Wl,--build-id=none -Wl,-Ttext=0x1000 file.S -o root/opt/file%u.so && "
              "strip -o stripped/opt/file%u.so root/opt/file%u.so",
              i, i, i);
    }
}

static void write_meta(struct random_state *random)
{
    memset(bytes, 0, sizeof(bytes));
    hs_meta_begin(&meta, bytes, sizeof(bytes));
    hs_meta_clock(&meta, 0, 1000000000, 1700000000000000000);
    hs_meta_thread(&meta, 1, 4711, 0, "main", 4);
    for (unsigned i = 0; i < MODULES; i++) {
        const char *path = text("/opt/file%u.so", i);
        const uint64_t start = FIRST + (uint64_t)i * SPAN;
        ck_assert(hs_meta_module(&meta, 0, start, start + SPAN, start, NULL, 0, path, strlen(path)));
    }
    for (uint32_t node = 1; node < NODES; node++) {
        const uint32_t parent = node < 4 ? 0 : (uint32_t)random_below(random, node);
        const uint64_t place = random_below(random, MODULES) * SPAN + 0x1000 + 16 * random_below(random, FUNCTIONS) + 8;
        uint64_t pc = random_below(random, 40) ? FIRST + place : 0x7000 + random_below(random, 4);
        if (node < 3)
            pc = node; // why the outer frames are missing
        else if (parent && !random_below(random, 30))
            pc = HS_NODE_GUESSED;
        if (!hs_meta_node(&meta, node, parent, pc)) {
            trace_writer__meta(&writer, bytes, (size_t)(meta.at - bytes), false);
            memset(bytes, 0, sizeof(bytes));
            hs_meta_begin(&meta, bytes, sizeof(bytes));
            ck_assert(hs_meta_node(&meta, node, parent, pc));
        }
    }
    trace_writer__meta(&writer, bytes, (size_t)(meta.at - bytes), false);
}

static void write_trace(uint64_t seed)
{
    static struct hs_event events[EVENTS];
    static bool is_live[EVENTS];
    const struct hs_codec_target target = {HS_BYTE_ORDER_LITTLE, 8, 4};
    struct random_state random = {seed};
    memset(is_live, 0, sizeof(is_live));
    trace_writer__open_for(&writer, text("%s/trace.dat", work), EM_X86_64, &target);
    write_meta(&random);
    for (uint32_t i = 0; i < EVENTS; i++) {
        const uint32_t other = (uint32_t)random_below(&random, i + 1);
        const uint32_t freed = i && random_below(&random, 3) == 0 ? i - 1 : other;
        const uint64_t size = 1 + random_below(&random, 2000);
        events[i] = (struct hs_event){.time = 1000 * (i + 1), .address = 0x7f0000000000 + 4096 * (uint64_t)freed};
        if (is_live[freed] && random_below(&random, 2)) {
            events[i].kind = HS_EVENT_FREE;
            is_live[freed] = false;
            continue;
        }
        events[i].kind = HS_EVENT_MALLOC;
        events[i].address = 0x7f0000000000 + 4096 * (uint64_t)i;
        events[i].size = size;
        events[i].usable = hs_usable_model(size, 8);
        events[i].stack = (uint32_t)random_below(&random, NODES);
        is_live[i] = true;
    }
    trace_writer__events(&writer, 1, events, EVENTS, false);
    trace_writer__close(&writer, true, 1000 * (EVENTS + 1));
}

// ---- sessions -------------------------------------------------------------------------------------------------------

struct session {
    struct hs_store *store;
    struct hs_subject subject;
    struct hs_digest digest;
    char root[128];
    const char *roots[1];
};

static void open_session(struct session *session, const char *root, bool temporary)
{
    const struct hs_symbols_options symbols = {.sysroots = session->roots, .sysroot_count = 1};
    const struct hs_import_options options = {.symbols = &symbols, .temporary = temporary};
    struct hs_error error = {""};
    *session = (struct session){0};
    snprintf(session->root, sizeof(session->root), "%s/%s", work, root);
    session->roots[0] = session->root;
    int result = hs_import__open(text("%s/trace.dat", work), &options, &session->store, &error);
    ck_assert_msg(!result, "%s", error.message);
    session->subject.store = session->store;
    session->subject.symbols = hs_trace_symbols__create(session->store, &symbols);
    ck_assert_ptr_nonnull(session->subject.symbols);
}

static void make_digest(struct session *session)
{
    struct hs_error error = {""};
    ck_assert_int_eq(hs_query__totals(session->store, NULL, NULL, &session->subject.totals, &error), 0);
    ck_assert_int_eq(hs_digest__make(&session->digest, &session->subject, false), 0);
}

static void close_session(struct session *session)
{
    hs_digest__free(&session->digest);
    hs_totals__free(&session->subject.totals);
    hs_trace_symbols__destroy(session->subject.symbols);
    hs_store__close(session->store);
}

static bool read_in_session(const char *root)
{
    struct session session;
    open_session(&session, root, false);
    bool read = hs_digest__read(&session.digest, &session.subject);
    close_session(&session);
    return read;
}

static void make_and_keep(const char *root)
{
    struct session session;
    open_session(&session, root, false);
    make_digest(&session);
    hs_digest__keep(&session.digest, &session.subject);
    close_session(&session);
}

// ---- comparing ------------------------------------------------------------------------------------------------------

static void compare_uses(const struct hs_module_uses *a, const struct hs_module_uses *b)
{
    ck_assert_uint_eq(a->count, b->count);
    ck_assert_uint_eq(a->place_count, b->place_count);
    for (size_t i = 0; i < a->count; i++) {
        ck_assert_uint_eq(a->use[i].module, b->use[i].module);
        ck_assert_uint_eq(a->use[i].frames, b->use[i].frames);
        ck_assert_uint_eq(a->use[i].unnamed, b->use[i].unnamed);
        ck_assert_uint_eq(a->use[i].stacks, b->use[i].stacks);
        ck_assert_uint_eq(a->use[i].bytes, b->use[i].bytes);
        ck_assert_int_eq(a->use[i].matters, b->use[i].matters);
        ck_assert_int_eq(a->use[i].status.state, b->use[i].status.state);
    }
}

static void compare_site(const struct hs_site *a, const struct hs_site *b)
{
    ck_assert_mem_eq(&a->sum, &b->sum, sizeof(a->sum));
    ck_assert_uint_eq(a->stack_count, b->stack_count);
    ck_assert_int_eq(a->more, b->more);
    ck_assert_uint_eq(a->frame_count, b->frame_count);
    for (uint32_t i = 0; i < a->frame_count; i++) {
        ck_assert_str_eq(a->frames[i]->function, b->frames[i]->function);
        ck_assert_uint_eq(a->frames[i]->address, b->frames[i]->address);
    }
}

static void compare_sites(const struct hs_sites *a, const struct hs_sites *b)
{
    for (int cost = 0; cost < HS_COST_COUNT; cost++) {
        struct hs_top first, second;
        ck_assert_int_eq(hs_sites__top(a, (enum hs_cost)cost, HS_DIGEST_SITES, &first), 0);
        ck_assert_int_eq(hs_sites__top(b, (enum hs_cost)cost, HS_DIGEST_SITES, &second), 0);
        ck_assert_uint_eq(first.count, second.count);
        for (size_t i = 0; i < first.count; i++)
            compare_site(&a->site[first.number[i]], &b->site[second.number[i]]);
        hs_top__free(&first);
        hs_top__free(&second);
    }
}

static void compare(const struct hs_digest *a, const struct hs_digest *b)
{
    ck_assert_mem_eq(&a->sum, &b->sum, sizeof(a->sum));
    ck_assert_mem_eq(&a->cut, &b->cut, sizeof(a->cut));
    ck_assert_uint_eq(a->stacks, b->stacks);
    compare_uses(&a->uses, &b->uses);
    compare_sites(&a->sites, &b->sites);
}

// What was kept is what going through the stacks says.
static void expect_the_same(const char *root)
{
    struct session made, read;
    open_session(&made, root, false);
    make_digest(&made);
    open_session(&read, root, false);
    ck_assert(hs_digest__read(&read.digest, &read.subject));
    ck_assert_uint_gt(made.digest.sites.count, read.digest.sites.count);
    compare(&made.digest, &read.digest);
    close_session(&made);
    close_session(&read);
}

// ---- tests ----------------------------------------------------------------------------------------------------------

START_TEST(test_random)
{
    build_files();
    for (unsigned round = 0; round < test_rounds(8); round++) {
        shell("rm -rf trace.dat*");
        write_trace(test_seed("report_digest") + round);
        ck_assert(!read_in_session("root"));
        make_and_keep("root");
        expect_the_same("root");
    }
}
END_TEST

// What looks the same and what is left out is different then.
START_TEST(test_other_symbols)
{
    build_files();
    write_trace(test_seed("report_digest"));
    make_and_keep("root");
    ck_assert(!read_in_session("stripped"));
    make_and_keep("stripped");
    expect_the_same("stripped");
    ck_assert(!read_in_session("root"));
    // The file that was taken is exchanged for another one.
    shell("cp root/opt/file1.so stripped/opt/file1.so");
    ck_assert(!read_in_session("stripped"));
}
END_TEST

START_TEST(test_other_state_of_the_trace)
{
    build_files();
    write_trace(test_seed("report_digest"));
    make_and_keep("root");
    write_trace(test_seed("report_digest") + 1);
    ck_assert(!read_in_session("root"));
    // What is kept goes with its store.
    shell("test ! -e trace.dat.store/digest");
}
END_TEST

// As of another store, which was copied here.
START_TEST(test_of_another_store)
{
    build_files();
    write_trace(test_seed("report_digest"));
    make_and_keep("root");
    shell("mv trace.dat.store/digest .");
    write_trace(test_seed("report_digest") + 1);
    ck_assert(!read_in_session("root"));
    shell("cp digest trace.dat.store/");
    ck_assert(!read_in_session("root"));
}
END_TEST

START_TEST(test_damage)
{
    struct random_state random = {test_seed("report_digest")};
    size_t length;
    build_files();
    write_trace(test_seed("report_digest"));
    make_and_keep("root");
    char *whole = read_file(text("%s/trace.dat.store/digest", work), &length);
    for (unsigned round = 0; round < test_rounds(100); round++) {
        size_t at = random_below(&random, length);
        const char before = whole[at];
        whole[at] = (char)(before ^ (1 << random_below(&random, 8)));
        write_file(text("%s/trace.dat.store/digest", work), whole, length);
        ck_assert(!read_in_session("root"));
        write_file(text("%s/trace.dat.store/digest", work), whole, at);
        ck_assert(!read_in_session("root"));
        whole[at] = before;
    }
    free(whole);
    shell("rm trace.dat.store/digest && mkdir trace.dat.store/digest");
    ck_assert(!read_in_session("root"));
    shell("rmdir trace.dat.store/digest && mkfifo trace.dat.store/digest");
    ck_assert(!read_in_session("root"));
}
END_TEST

// Numbers that make no sense, under a right checksum: whatever comes of it, nothing else is read or written.
START_TEST(test_senseless)
{
    struct random_state random = {test_seed("report_digest")};
    uint8_t *whole, *changed;
    size_t length;
    struct session session;
    build_files();
    write_trace(test_seed("report_digest"));
    make_and_keep("root");
    open_session(&session, "root", false);
    ck_assert_int_eq(hs_store__read_kept(session.store, &whole, &length), 0);
    for (unsigned round = 0; round < test_rounds(400); round++) {
        changed = malloc(length);
        ck_assert_ptr_nonnull(changed);
        memcpy(changed, whole, length);
        for (uint64_t times = 1 + random_below(&random, 4); times; times--) {
            const size_t at = random_below(&random, length / 4) * 4;
            const uint32_t word = random_below(&random, 2) ? UINT32_MAX : (uint32_t)random_next(&random);
            memcpy(changed + at, &word, sizeof(word));
        }
        ck_assert_int_eq(hs_store__keep(session.store, changed, length), 0);
        struct hs_digest digest = {0};
        if (hs_digest__read(&digest, &session.subject))
            hs_digest__free(&digest);
        free(changed);
    }
    free(whole);
    close_session(&session);
}
END_TEST

START_TEST(test_temporary)
{
    struct session session;
    build_files();
    write_trace(test_seed("report_digest"));
    open_session(&session, "root", true);
    make_digest(&session);
    hs_digest__keep(&session.digest, &session.subject);
    struct hs_digest digest;
    ck_assert(!hs_digest__read(&digest, &session.subject));
    close_session(&session);
}
END_TEST

// Of a part of the blocks nothing is kept, and nothing of all is taken for it.
START_TEST(test_restricted)
{
    struct session session;
    build_files();
    write_trace(test_seed("report_digest"));
    open_session(&session, "root", false);
    make_digest(&session);
    session.subject.restriction = "size_min 200";
    hs_digest__keep(&session.digest, &session.subject);
    ck_assert(!read_in_session("root"));
    make_and_keep("root");
    struct hs_digest digest;
    ck_assert(!hs_digest__read(&digest, &session.subject));
    close_session(&session);
}
END_TEST

static char *output_of(const char *arguments)
{
    struct outcome outcome = run("$HEAPSONDE report %s trace.dat", arguments);
    ck_assert_msg(!outcome.status, "%s", outcome.errors);
    char *output = strdup(outcome.output);
    free_outcome(&outcome);
    return output;
}

// The command says the same whether the digest is there, was of other symbols, or has to be made.
START_TEST(test_command)
{
    static const char *const ways[] = {
        "--sysroot root",           "--sysroot stripped",           "--sysroot root --sort live --top 100",
        "--sysroot root --top 101", "--sysroot root --full-stacks", "--sysroot root --size-min 500",
        "--sysroot root --json",    "--sysroot root --modules"};
    char *first[sizeof(ways) / sizeof(ways[0])];
    build_files();
    write_trace(test_seed("report_digest"));
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        shell("rm -rf trace.dat.store");
        first[i] = output_of(ways[i]);
    }
    for (unsigned round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
            char *again = output_of(ways[i]), *once_more = output_of(ways[i]);
            ck_assert_str_eq(again, first[i]);
            ck_assert_str_eq(once_more, first[i]);
            free(again);
            free(once_more);
        }
    }
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        free(first[i]);
    shell("test -f trace.dat.store/digest");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("report_digest");
    TCase *tests = tcase_create("report_digest");
    tcase_add_checked_fixture(tests, make_work, remove_work);
    tcase_add_test(tests, test_random);
    tcase_add_test(tests, test_other_symbols);
    tcase_add_test(tests, test_other_state_of_the_trace);
    tcase_add_test(tests, test_of_another_store);
    tcase_add_test(tests, test_damage);
    tcase_add_test(tests, test_senseless);
    tcase_add_test(tests, test_temporary);
    tcase_add_test(tests, test_restricted);
    tcase_add_test(tests, test_command);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
