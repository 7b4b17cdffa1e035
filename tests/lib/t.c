#include "lib/t.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

bool t_is_chosen(const char *name)
{
    const char *only = getenv("SECKILL_TEST_ONLY");
    bool chosen = !only;
    char *patterns = strdup(only ? only : "");
    char *rest = patterns;

    if (!patterns)
        abort();
    for (const char *pattern; !chosen && (pattern = strsep(&rest, "|"));)
        chosen = fnmatch(pattern, name, 0) == 0;
    free(patterns);
    return chosen;
}

int64_t t_patience_us(void)
{
    const char *seconds = getenv("SECKILL_TEST_PATIENCE_S");

    return (seconds ? atoll(seconds) : 60) * INT64_C(1000000);
}

FILE *t_open(const char *path)
{
    FILE *file = fopen(path, "r");

    if (!file)
        fail_msg("%s: %s", path, strerror(errno));
    return file;
}

void t_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    bool written = file && fputs(text, file) >= 0;

    if ((file && fclose(file) != 0) || !written)
        fail_msg("%s: %s", path, strerror(errno));
}

void t_rewind(FILE *file)
{
    if (fseek(file, 0, SEEK_SET) != 0)
        fail_msg("fseek: %s", strerror(errno));
}

int t_call(char *const argv[])
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        execvp(argv[0], argv);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

void t_raise_files(void)
{
    struct rlimit files;

    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

int t_socket(int family)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        fail_msg("socket: %s", strerror(errno));
    return fd;
}

int t_run(const char *group, const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup,
          CMFixtureFunction teardown)
{
    struct CMUnitTest *chosen = calloc(count, sizeof *chosen);
    size_t n = 0;
    int failed = 0;

    if (!chosen)
        abort();
    for (size_t i = 0; i < count; i++)
        if (t_is_chosen(tests[i].name))
            chosen[n++] = tests[i];
    if (n == 0) {
        fprintf(stderr, "%s: no test is named %s\n", group, getenv("SECKILL_TEST_ONLY"));
        failed = T_NONE_CHOSEN;
    } else {
        failed = _cmocka_run_group_tests(group, chosen, n, setup, teardown);
    }
    free(chosen);
    return failed;
}
