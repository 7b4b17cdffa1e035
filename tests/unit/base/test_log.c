/* Reads back what reaches descriptor 2, for that is what an operator reads. */
#include "lib/t.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CAPTURE_MAX = 1 << 20 };

static FILE *captured;
static int real_stderr = -1;
static char text[CAPTURE_MAX];

static int capture(void **state)
{
    (void)state;
    captured = tmpfile();
    real_stderr = dup(STDERR_FILENO);
    if (captured == NULL || real_stderr < 0)
        return -1;
    log_set_level(LOG_LEVEL_INFO);
    return dup2(fileno(captured), STDERR_FILENO) < 0 ? -1 : 0;
}

static int restore(void **state)
{
    (void)state;
    dup2(real_stderr, STDERR_FILENO);
    close(real_stderr);
    fclose(captured);
    return 0;
}

static const char *read_back(void)
{
    ssize_t length = pread(fileno(captured), text, sizeof text - 1, 0);
    assert_true(length >= 0);
    text[length] = '\0';
    return text;
}

static int count(const char *what)
{
    int found = 0;
    for (const char *at = read_back(); (at = strstr(at, what)) != NULL; at += strlen(what))
        found++;
    return found;
}

TEST_WITH(levels_have_names, NULL, NULL)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    static const char *const others[] = {"", "ERROR", "warning", "info ", "3", "trace"};
    enum log_level level;

    for (size_t i = 0; i < 4; i++) {
        assert_true(log_level_parse(names[i], &level));
        assert_int_equal(level, i);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(log_level_parse(others[i], &level));
}

TEST(a_line_is_time_level_message)
{
    log_warn("redis is gone: %s", "refused");

    const char *line = read_back();
    char time_text[CLOCK_RFC3339_LENGTH + 1] = {0};
    int64_t us;
    memcpy(time_text, line, CLOCK_RFC3339_LENGTH);
    assert_true(clock_parse_rfc3339(time_text, &us));
    assert_true(llabs(clock_wall_us() - us) < 60 * CLOCK_US_PER_S);
    assert_string_equal(line + CLOCK_RFC3339_LENGTH, " warn redis is gone: refused\n");
}

TEST(the_level_decides)
{
    static const enum log_level levels[] = {LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO,
                                            LOG_LEVEL_DEBUG};
    for (size_t i = 0; i < 4; i++) {
        log_set_level(levels[i]);
        for (size_t j = 0; j < 4; j++)
            assert_int_equal(log_enabled(levels[j]), j <= i);
        log_error("level %zu error", i);
        log_warn("level %zu warn", i);
        log_info("level %zu info", i);
        log_debug("level %zu debug", i);
    }
    assert_int_equal(count(" error level"), 4);
    assert_int_equal(count(" warn level"), 3);
    assert_int_equal(count(" info level"), 2);
    assert_int_equal(count(" debug level 3 debug\n"), 1);
    assert_int_equal(count("\n"), 10);
}

TEST(a_client_cannot_forge_a_line)
{
    log_info("name %s.", "a\nb\r\tc\x1b[31md\x7f"
                         "e\x01");
    assert_int_equal(count("name a\\x0ab\\x0d\\x09c\\x1b[31md\\x7fe\\x01.\n"), 1);
    assert_int_equal(count("\n"), 1);
}

TEST(utf8_stays_and_what_is_not_utf8_does_not)
{
    log_info("good %s.", "caf\xc3\xa9 \xe7\xa7\x92\xe6\x9d\x80 \xf0\x9f\x8e\x89");
    assert_int_equal(count("good caf\xc3\xa9 \xe7\xa7\x92\xe6\x9d\x80 \xf0\x9f\x8e\x89.\n"), 1);
    log_info("bad %s.", "\xc2\x9b"
                        "1m \x9b \xc3( \xff \xe7\xa7");
    assert_int_equal(count("bad \\xc2\\x9b1m \\x9b \\xc3( \\xff \\xe7\\xa7.\n"), 1);
}

TEST(a_long_line_is_cut_and_still_one_line)
{
    static char wide[100000];
    memset(wide, '\n', sizeof wide - 1);
    log_info("wide %s", wide);
    assert_int_equal(count("\n"), 1);
    assert_true(strlen(read_back()) < 16384);
    assert_true(count("\\x0a") > 1000);
}

TEST(errno_is_left_alone)
{
    errno = ENOTTY;
    log_info("errno");
    assert_int_equal(errno, ENOTTY);
}

/* Lines of one format, within one second: should the machine have slept in between, another second
 * is taken. */
static void within_a_second(const char *word, int lines, void (*log_one)(const char *, int))
{
    int64_t begin_us;
    do {
        begin_us = clock_mono_us();
        assert_int_equal(ftruncate(fileno(captured), 0), 0);
        lseek(STDERR_FILENO, 0, SEEK_SET);
        for (int i = 0; i < lines; i++)
            log_one(word, i);
    } while (clock_mono_us() - begin_us >= CLOCK_US_PER_S);
    assert_int_equal(count(word), lines < 10 ? lines : 10);
}

static void log_repeat(const char *word, int i)
{
    log_warn("repeat of %s %d", word, i);
}

static void log_other(const char *word, int i)
{
    log_warn("another of %s %d", word, i);
}

static void log_third(const char *word, int i)
{
    log_warn("a third of %s %d", word, i);
}

static void after_that_second(void)
{
    clock_sleep_until(clock_mono_us() + CLOCK_US_PER_S);
    log_info("something else");
}

TEST(repeats_are_summed_up)
{
    within_a_second("quiet", 9, log_third);
    within_a_second("first", 25, log_repeat);
    log_other("not hidden by the flood", 0);
    assert_int_equal(count("not hidden by the flood"), 1);
    assert_int_equal(count("more like it"), 0);
    after_that_second();
    assert_int_equal(count(" warn repeat of first 9 \xe2\x80\xa6 and 15 more like it\n"), 1);
    assert_int_equal(count("more like it"), 1);

    /* A new second, a new ten; and what was summed up once is not told again. */
    within_a_second("second", 12, log_repeat);
    within_a_second("third", 13, log_other);
    after_that_second();
    within_a_second("fourth", 14, log_third);
    after_that_second();
    assert_int_equal(count(" warn a third of fourth 9 \xe2\x80\xa6 and 4 more like it\n"), 1);
    assert_int_equal(count("more like it"), 1);
}

/* The lines left out in the process's last second are counted in the log as well. */
TEST(the_end_sums_up)
{
    fflush(stdout); /* or the child would write it once more */
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (int i = 0; i < 14; i++)
            log_error("the end %d", i);
        exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(count(" error the end 9 \xe2\x80\xa6 and 4 more like it\n"), 1);
}

enum { THREADS = 8, EACH = 400 };

static void *log_many(void *word)
{
    for (int i = 0; i < EACH; i++)
        log_info("thread %s %d says the same thing again", (const char *)word, i);
    return NULL;
}

TEST(lines_of_many_threads_do_not_mix)
{
    pthread_t threads[THREADS];
    static char words[THREADS][2];

    for (int i = 0; i < THREADS; i++) {
        words[i][0] = (char)('a' + i);
        assert_int_equal(pthread_create(&threads[i], NULL, log_many, words[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);

    int written = count("says the same thing again\n");
    assert_in_range(written, 10, THREADS * EACH);
    assert_int_equal(count("\n"), written + count("more like it\n"));
    assert_int_equal(count(" info thread "), count("\n"));
}

TEST_EACH(capture, restore)
