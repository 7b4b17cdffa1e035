/*
 * cmocka for every test: it wants four standard headers before its own, and runs what the
 * environment picks.
 *
 *     TEST(a_name_is_what_the_test_proves)
 *     {
 *         assert_true(…);
 *     }
 *
 * adds a test to its program, which runs them as they stand in the file; main() is lib/t_main.c's
 * unless a program has its own, which calls t_run_all.
 *
 * SECKILL_TEST_ONLY='pattern|pattern…' (with * and ?) runs the tests whose names match, and fails
 * when there is none.
 */
#ifndef SECKILL_TESTS_LIB_T_H
#define SECKILL_TESTS_LIB_T_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* clang-format off */
#include <cmocka.h>
/* clang-format on */

/* cmocka's own do not tell the analyzer that a failed assertion does not come back. */
#ifdef __clang_analyzer__
#undef assert_true
#undef assert_false
#undef assert_non_null
#undef assert_int_equal
#define assert_true(holds)             ((holds) ? (void)0 : __builtin_trap())
#define assert_false(holds)            ((holds) ? __builtin_trap() : (void)0)
#define assert_non_null(pointer)       assert_true((pointer) != NULL)
#define assert_int_equal(first, other) assert_true((intmax_t)(first) == (intmax_t)(other))
#endif

bool t_is_chosen(const char *name);

/* How long a test waits for what must come: a minute, or SECKILL_TEST_PATIENCE_S seconds
 * (tests/mutations.sh knows that it will not come). */
int64_t t_patience_us(void);

/* Until it holds, as is looked at every millisecond; the test fails when its patience is over. */
#define T_UNTIL(holds)                                                                             \
    do {                                                                                           \
        int64_t t_until_us = t_patience_ends_us();                                                 \
        while (!(holds))                                                                           \
            t_wait(t_until_us, #holds);                                                            \
    } while (0)
int64_t t_patience_ends_us(void);
void t_wait(int64_t until_us, const char *what);

/* To read; the test fails when it cannot be opened. The caller closes it. */
FILE *t_open(const char *path);

/* A file's text, as far as it fits; the test fails when it cannot be read. Returns `out`. */
const char *t_read(const char *path, char *out, size_t size);

/* A file anew, with this text; the test fails when it cannot. */
void t_write(const char *path, const char *text);

/* A folder with all that is in it, as far as that goes. */
void t_remove_folder(const char *path);

/* A new folder below /tmp; it goes, with all that is in it, when the program's tests are over. The
 * path stays. */
const char *t_folder(void);

/* All of a file, a text; free it. The test fails when it cannot. */
char *t_read_all(const char *path);

/* A call that says with a struct error why it was not done; the test fails with its words. */
#define t_done(done, error)                                                                        \
    do {                                                                                           \
        if (!(done))                                                                               \
            fail_msg("%s", (error).text);                                                          \
    } while (0)
/* The test fails, with both, unless `part` stands in the text. */
#define t_says(text, part) t_say(text, part, __FILE__, __LINE__)
void t_say(const char *text, const char *part, const char *file, int line);

/* How often `part` stands in a text. */
size_t t_count(const char *text, const char *part);
/* A text as printf makes it. It stays until seven more were made; the test fails when it is longer
 * than 2047 bytes. */
const char *t_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A stream for prints; t_printed closes it and gives its text, which stays until two more were
 * made. */
FILE *t_print(void);
char *t_printed(void);

/* From its beginning again. */
void t_rewind(FILE *file);

/* Runs a program of PATH to its end: its exit status, or -1. */
int t_call(char *const argv[]);

/* As many files as may be open, for this program and what it starts: for more than a thousand
 * clients a user's usual limit is too low. */
void t_raise_files(void);

/* A stream socket of AF_…; the test fails when there is none. The caller closes it. */
int t_socket(int family);
/* A port of 127.0.0.1 that is the test's alone while the socket is open: who sets SO_REUSEADDR may
 * listen on it, time and again. The caller closes it. */
int t_reserve_port(int *port);
/* A socket that listens on a free port of 127.0.0.1; the test fails when there is none. The caller
 * closes it. */
int t_listen(int *port);
/* One that was free a moment ago: somebody else may take it first. */
int t_free_port(void);

/* No test has a name that SECKILL_TEST_ONLY picks. */
enum { T_NONE_CHOSEN = -1 };

/* How many have failed, a teardown of the group's among them, or T_NONE_CHOSEN. */
int t_run(const char *group, const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup,
          CMFixtureFunction teardown);

/* The tests that the program's files have added. */
int t_run_all(CMFixtureFunction setup, CMFixtureFunction teardown);
/* The same, with what TEST_GROUP said. */
int t_main(void);

/* What the macros call; `own`: TEST_EACH does not concern this one. NULL leaves what was said. */
void t_add(struct CMUnitTest test, bool own);
void t_each(CMFixtureFunction setup, CMFixtureFunction teardown);
void t_group(CMFixtureFunction setup, CMFixtureFunction teardown);

#define TEST(name) T_TEST(name, false, NULL, NULL)
/* One with a beginning and an end of its own; NULL: none. */
#define TEST_WITH(name, setup, teardown) T_TEST(name, true, setup, teardown)

/* Wherever it stands in the file: what begins and ends each test of the program, or all of it. */
#define TEST_EACH(setup, teardown)  T_SAY(t_each, setup, teardown)
#define TEST_GROUP(setup, teardown) T_SAY(t_group, setup, teardown)

/* The same as a body, which is called before_each() in the file, and so on. */
#define BEFORE_EACH() T_BODY(before_each, t_each(before_each_hook, NULL))
#define AFTER_EACH()  T_BODY(after_each, t_each(NULL, after_each_hook))
#define BEFORE_ALL()  T_BODY(before_all, t_group(before_all_hook, NULL))
#define AFTER_ALL()   T_BODY(after_all, t_group(NULL, after_all_hook))

#define T_TEST(name, own, setup, teardown)                                                         \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void t_add_##name(void)                                    \
    {                                                                                              \
        t_add((struct CMUnitTest){#name, name, setup, teardown, NULL}, own);                       \
    }                                                                                              \
    static void name(void **state __attribute__((unused)))

#define T_SAY(what, setup, teardown)                                                               \
    __attribute__((constructor)) static void what##_said(void)                                     \
    {                                                                                              \
        what(setup, teardown);                                                                     \
    }

#define T_BODY(name, say)                                                                          \
    static void name(void);                                                                        \
    static int name##_hook(void **state)                                                           \
    {                                                                                              \
        (void)state;                                                                               \
        name();                                                                                    \
        return 0;                                                                                  \
    }                                                                                              \
    __attribute__((constructor)) static void name##_said(void)                                     \
    {                                                                                              \
        say;                                                                                       \
    }                                                                                              \
    static void name(void)

#undef cmocka_run_group_tests
#define cmocka_run_group_tests(tests, setup, teardown)                                             \
    t_run(#tests, tests, sizeof(tests) / sizeof *(tests), setup, teardown)

#endif
