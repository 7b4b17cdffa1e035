/* What `run` prints where: data alone on stdout when a program is to read it, colours and the line
 * that is rewritten on a terminal alone. */
#include "lib/t.h"

#include "harness/fixtures/program.h"
#include "loadtest/base/terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file of the program's folder, as far as it fits. */
static const char *content(const char *name, char *out, size_t size)
{
    return t_read(program_path(name), out, size);
}

/* The harness in a shell, in the program's folder: its exit status. */
static int run(const char *before, const char *arguments, const char *after)
{
    const char *command =
        t_text("cd %s && %s " LOADTEST
               " run --scenario counter --strategies conditional,none --duration 1s "
               "--connections 8 --out . %s %s",
               program->folder, before, arguments, after);
    const char *const argv[] = {"/bin/sh", "-c", command, NULL};
    struct process process;
    struct error error;
    assert_true(process_start(&process, argv, NULL, NULL, &error));
    return program_finish(&process);
}

TEST(data_stands_alone_on_stdout)
{
    static char out[1 << 16], file[1 << 16], said[1 << 16];
    static const char *const formats[] = {"json", "csv"};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(run("", t_text("--format %s", formats[i]), "> out 2> said"), 0);
        assert_string_equal(content("out", out, sizeof out),
                            content(t_text("results.%s", formats[i]), file, sizeof file));
        content("said", said, sizeof said);
        t_says(said, "times conditional's");
        t_says(said, "Files: ./results.csv");
        t_says(said, "2 of 2: none, 1 instance");
        assert_null(strchr(said, '\033'));
    }
    assert_int_equal(run("", "--format md", "> out 2> said"), 0);
    assert_memory_equal(content("out", out, sizeof out), "| strategy | inst |", 19);
    t_says(out, "| lost updates |\n");
    t_says(out, "\n- none, 1 instance: ");
    assert_null(strstr(out, "Files: "));
}

/* script(1) gives it a terminal. */
TEST(a_terminal_has_colours_and_one_line)
{
    static char typed[1 << 16];
    assert_int_equal(run("env -u NO_COLOR TERM=xterm script -qec '", "", "' typed > /dev/null"), 0);
    content("typed", typed, sizeof typed);
    t_says(typed, "\r\033[K1 of 2: ");
    t_says(typed, "\r\033[K2 of 2, ");
    t_says(typed, " s left: none, 1 instance, round 1, load: ");
    t_says(typed, "\033[32mkept\033[0m");
    t_says(typed, "\033[31mlost updates\033[0m");
    assert_null(strstr(typed, "seckill-loadtest: 1 of 2")); /* the lines for a log */
}

/* The last word of the two that are given wins. */
TEST(what_is_sold_and_oversold_so_far_moves_with_the_line)
{
    static char typed[1 << 16];
    long long most = 0;
    assert_int_equal(run("env TERM=xterm script -qec '",
                         "--scenario hot --strategies none,conditional --stock 20 --duration 2s",
                         "' typed > /dev/null"),
                     0);
    content("typed", typed, sizeof typed);
    t_says(typed, " oversold: conditional, ");
    t_says(typed, " sold, 1 instance, round 1, truth: ");
    for (const char *at = typed; (at = strstr(at, ": none, ")); at++) {
        long long sold = strtoll(at + strlen(": none, "), NULL, 10);
        most = sold > most ? sold : most;
    }
    assert_true(most > 20); /* of the speed phase, whose stock does not end */
}

TEST(a_terminal_may_want_no_colours)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    FILE *terminal = fopen(ptsname(master), "r+");
    FILE *file = tmpfile();
    assert_non_null(terminal);
    assert_non_null(file);
    static const struct {
        const char *term, *no_color;
        bool rewrites, colours;
    } cases[] = {
        {"xterm", NULL, true, true},  {"xterm", "", true, true},  {"xterm", "1", true, false},
        {"dumb", NULL, false, false}, {NULL, NULL, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsetenv("TERM");
        unsetenv("NO_COLOR");
        if (cases[i].term)
            setenv("TERM", cases[i].term, 1);
        if (cases[i].no_color)
            setenv("NO_COLOR", cases[i].no_color, 1);
        assert_int_equal(terminal_rewrites(terminal), cases[i].rewrites);
        assert_int_equal(terminal_has_colours(terminal), cases[i].colours);
        assert_false(terminal_rewrites(file));
        assert_false(terminal_has_colours(file));
    }
    assert_int_equal(terminal_columns(file), 80);
    fclose(terminal);
    fclose(file);
    close(master);
}

/* A strategy that is not there is found out on the servers. */
TEST(a_mistyped_strategy_is_guessed)
{
    program_tells(2, "run --strategies condtional",
                  "have no 'condtional': did you mean conditional?");
}

TEST(nothing_is_answered_with_what_there_is)
{
    struct error error;
    struct process process;
    static const char *const argv[] = {LOADTEST, NULL};
    assert_true(process_start(&process, argv, NULL, NULL, &error));
    assert_int_equal(program_finish(&process), 2);
    assert_memory_equal(program->output, "seckill-loadtest COMMAND", 24);
    for (const char *line = program->output; *line; line += strcspn(line, "\n") + 1)
        assert_in_range(strcspn(line, "\n"), 0, 80); /* a terminal's columns */
}

BEFORE_ALL()
{
    program = program_create(0);
    setenv("SECKILL_DATABASE", program_database(), 1);
}

TEST_GROUP(NULL, program_end)
