/* Children: how they end, what they wrote, and that none outlives the harness. */
#include "lib/t.h"

#include "loadtest/base/process.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct error error;
static char output[256];

static bool capture(const char *command, int limit_ms)
{
    const char *const argv[] = {"sh", "-c", command, NULL};
    struct process_capture wanted = {.output = output, .size = sizeof output, .limit_ms = limit_ms};
    return process_capture(argv, &wanted, &error);
}

TEST(collects_what_it_writes)
{
    assert_true(capture("echo out; echo err >&2", 10000));
    assert_string_equal(output, "out\nerr\n");
    /* More than fits is read to its end and cut. */
    assert_true(capture("yes | head -c 100000", 10000));
    assert_int_equal(strlen(output), sizeof output - 1);
}

TEST(says_how_it_failed)
{
    assert_false(capture("echo why; exit 3", 10000));
    t_says(error.text, "exit status 3");
    t_says(error.text, "why");
    assert_false(capture("kill -9 $$", 10000));
    t_says(error.text, "signal 9");
    assert_false(capture("sleep 60", 100));
    t_says(error.text, "100 ms");
    const char *const nothing[] = {"/nowhere/at-all", NULL};
    struct process_capture wanted = {.output = output, .size = sizeof output, .limit_ms = 10000};
    assert_false(process_capture(nothing, &wanted, &error));
    t_says(error.text, "/nowhere/at-all");
}

TEST(stops_the_deaf_by_force)
{
    struct process process;
    char word[8] = "";
    int status = 0;
    const char *const argv[] = {"sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1; done",
                                NULL};
    assert_true(process_start(&process, argv, NULL, NULL, &error));
    assert_int_equal(read(process.out_fd, word, 5), 5);
    process_stop(&process, SIGTERM, 100, &status);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(process.pid, 0);
}

/* True once it is gone or waits to be reaped by somebody else. */
static bool has_died(pid_t pid)
{
    char path[64], line[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *stat = fopen(path, "r");
    bool died = !stat || !fgets(line, sizeof line, stat) || strstr(line, ") Z ");
    if (stat)
        fclose(stat);
    return died;
}

/* A harness that is killed without a word leaves no server behind. */
TEST(children_die_with_their_parent)
{
    int pipe_fds[2];
    assert_int_equal(pipe(pipe_fds), 0);
    pid_t parent = fork();
    if (parent == 0) {
        struct process child;
        const char *const argv[] = {"sleep", "60", NULL};
        bool started = process_start(&child, argv, NULL, NULL, &error) &&
                       write(pipe_fds[1], &child.pid, sizeof child.pid) > 0;
        if (started)
            pause();
        _exit(1);
    }
    pid_t child = 0;
    assert_int_equal(read(pipe_fds[0], &child, sizeof child), sizeof child);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    kill(parent, SIGKILL);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    T_UNTIL(has_died(child));
}

TEST(changes_the_environment)
{
    struct process process;
    const char *const argv[] = {"sh", "-c", "printf %s \"$SECKILL_ADMIN_TOKEN$SECKILL_REDIS\"",
                                NULL};
    const char *const environment[] = {"SECKILL_ADMIN_TOKEN=secret", "SECKILL_REDIS", NULL};
    char word[16] = "";
    setenv("SECKILL_REDIS", "here", 1);
    assert_true(process_start(&process, argv, NULL, environment, &error));
    assert_int_equal(read(process.out_fd, word, sizeof word - 1), 6);
    assert_string_equal(word, "secret");
    process_stop(&process, SIGTERM, 10000, NULL);
    assert_null(getenv("SECKILL_ADMIN_TOKEN"));
    assert_string_equal(getenv("SECKILL_REDIS"), "here");
}

TEST(an_interrupt_ends_what_waits)
{
    process_catch_signals();
    process_take_requests();
    assert_false(process_asked());
    raise(SIGINT);
    assert_true(process_asked());
    assert_false(process_interrupted());
    raise(SIGTERM);
    assert_true(process_interrupted());
    assert_false(capture("sleep 60", 60000));
    assert_string_equal(error.text, "interrupted");
    assert_false(process_sleep_ms(1));
    /* What heals is done all the same. */
    const char *const argv[] = {"sh", "-c", "echo healed", NULL};
    const struct process_capture healing = {
        .output = output, .size = sizeof output, .limit_ms = 60000, .to_its_end = true};
    assert_true(process_capture(argv, &healing, &error));
    assert_string_equal(output, "healed\n");
}
