// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Sessions with a board that is a shell of this machine.
#include "host/board/interrupt.h"
#include "host/board/session.h"
#include "tests/suite.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

static bool signals_child;

static void child_begins(void)
{
    if (signals_child)
        raise(SIGTERM);
}

// A signal that comes before the child executes its program ends the child. Its parent's handler does not run in it:
// that would end the other sessions.
START_TEST(test_signal_before_execution)
{
    struct hs_address_of_board address;
    struct hs_session first, second;
    struct hs_error error;
    ck_assert_int_eq(pthread_atfork(NULL, NULL, child_begins), 0);
    ck_assert_int_eq(hs_board_address__read(&address, "exec:sh -c {}", &error), 0);
    hs_interrupt__catch(true);
    ck_assert_int_eq(hs_session__start(&first, &address, "read x; exit 5", HS_SESSION_OTHER, HS_SESSION_PIPE,
                                       HS_SESSION_NOTHING, 2, false),
                     0);
    signals_child = true;
    ck_assert_int_eq(hs_session__start(&second, &address, "exit 6", HS_SESSION_OTHER, HS_SESSION_NOTHING,
                                       HS_SESSION_NOTHING, 2, false),
                     0);
    ck_assert_int_eq(hs_session__wait(&second), 128 + SIGTERM);
    hs_session__close_input(&first);
    ck_assert_int_eq(hs_session__wait(&first), 5);
    ck_assert_int_eq(hs_interrupt__came(), 0);
    hs_interrupt__catch(false);
    hs_board_address__free(&address);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("session");
    TCase *tests = tcase_create("session");
    tcase_add_test(tests, test_signal_before_execution);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
