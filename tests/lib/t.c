#include "lib/t.h"

#include <errno.h>
#include <fnmatch.h>
#include <ftw.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
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

    return (seconds ? atoll(seconds) : 120) * INT64_C(1000000);
}

int64_t t_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void t_wait(int64_t since_us, const char *format, ...)
{
    int64_t lasted_ms = (t_now_us() - since_us) / 1000;
    char text[1024];
    va_list values;

    if (lasted_ms < t_patience_us() / 1000) {
        poll(NULL, 0, lasted_ms < 8 ? 1 : lasted_ms > 256 ? 32 : (int)lasted_ms / 8);
        return;
    }
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    fail_msg("%s", text);
}

FILE *t_open(const char *path)
{
    FILE *file = fopen(path, "r");

    if (!file)
        fail_msg("%s: %s", path, strerror(errno));
    return file;
}

const char *t_read(const char *path, char *out, size_t size)
{
    FILE *file = t_open(path);

    out[fread(out, 1, size - 1, file)] = '\0';
    fclose(file);
    return out;
}

void t_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    bool written = file && fputs(text, file) >= 0;

    if ((file && fclose(file) != 0) || !written)
        fail_msg("%s: %s", path, strerror(errno));
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

void t_remove_folder(const char *path)
{
    nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static char folders[512][32];
static size_t folders_count;

const char *t_folder(void)
{
    char *path = folders[folders_count++];

    assert_in_range(folders_count, 1, sizeof folders / sizeof *folders);
    snprintf(path, sizeof folders[0], "/tmp/seckill-test.XXXXXX");
    assert_non_null(mkdtemp(path));
    return path;
}

static void remove_folders(void)
{
    while (folders_count > 0)
        t_remove_folder(folders[--folders_count]);
}

char *t_read_all(const char *path)
{
    FILE *file = t_open(path);
    char *text = NULL;
    size_t size = 0;

    if (getdelim(&text, &size, '\0', file) < 0)
        fail_msg("%s is empty, or cannot be read", path);
    fclose(file);
    return text;
}

void t_say(const char *text, const char *part, const char *file, int line)
{
    if (text && strstr(text, part))
        return;
    print_error("'%s' is not in '%s'\n", part, text ? text : "");
    _fail(file, line);
}

size_t t_count(const char *text, const char *part)
{
    size_t count = 0;

    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

const char *t_text(const char *format, ...)
{
    static char texts[8][2048];
    static size_t made;
    char *text = texts[made++ % 8];
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(text, sizeof texts[0], format, arguments);
    va_end(arguments);
    assert_in_range(length, 0, sizeof texts[0] - 1);
    return text;
}

static char *printed[2];
static size_t printed_last;
static FILE *printing;

FILE *t_print(void)
{
    static size_t size;
    char **text = &printed[++printed_last % 2];
    free(*text);
    printing = open_memstream(text, &size);
    assert_non_null(printing);
    return printing;
}

char *t_printed(void)
{
    int closed = fclose(printing);
    assert_int_equal(closed, 0);
    return printed[printed_last % 2];
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

/* Below the range from which the kernel gives ports to clients and to servers that ask for any:
 * none of them takes it between a server's end and the look whether it still listens. */
int t_reserve_port(int *port)
{
    enum { FIRST = 10000, PORTS = 10000 }; /* ports.sh has what is above */
    static int tried;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = t_socket(AF_INET), on = 1, failed;

    if (tried == 0)
        tried = getpid() * 101 % PORTS; /* a place of each process's own */
    do {
        *port = FIRST + tried++ % PORTS;
        at.sin_port = htons((uint16_t)*port);
        failed = bind(fd, (const struct sockaddr *)&at, sizeof at);
    } while (failed != 0 && errno == EADDRINUSE);
    assert_int_equal(failed, 0);
    /* Not before: two that may be used again could be bound to one port. */
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    return fd;
}

int t_listen(int *port)
{
    int fd = t_reserve_port(port);

    assert_int_equal(listen(fd, 128), 0);
    return fd;
}

int t_connect(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = t_socket(AF_INET);

    if (connect(fd, (const struct sockaddr *)&at, sizeof at) == 0)
        return fd;
    close(fd);
    return -1;
}

int t_free_port(void)
{
    int port;

    close(t_reserve_port(&port));
    return port;
}

/* Of the group that runs: its teardown, and whether that came to its end. */
static CMFixtureFunction group_teardown;
static bool torn_down;

static int tear_down(void **state)
{
    int failed = group_teardown(state);

    torn_down = failed == 0;
    return failed;
}

int t_run(const char *group, const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup,
          CMFixtureFunction teardown)
{
    struct CMUnitTest *chosen = calloc(count + 1, sizeof *chosen); /* there may be none */
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
        group_teardown = teardown;
        torn_down = !teardown;
        failed = _cmocka_run_group_tests(group, chosen, n, setup, teardown ? tear_down : NULL);
        failed += !torn_down; /* cmocka says so, and counts it nowhere */
    }
    remove_folders();
    free(chosen);
    return failed;
}

enum { MOST_TESTS = 128 };

static struct {
    struct CMUnitTest tests[MOST_TESTS];
    bool own[MOST_TESTS];
    size_t count;
    CMFixtureFunction setup, teardown, group_setup, group_teardown;
} added;

void t_add(struct CMUnitTest test, bool own)
{
    if (added.count == MOST_TESTS)
        abort();
    added.own[added.count] = own;
    added.tests[added.count++] = test;
}

void t_each(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    added.setup = setup ? setup : added.setup;
    added.teardown = teardown ? teardown : added.teardown;
}

void t_group(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    added.group_setup = setup ? setup : added.group_setup;
    added.group_teardown = teardown ? teardown : added.group_teardown;
}

int t_run_all(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    for (size_t i = 0; i < added.count; i++) {
        if (added.own[i])
            continue;
        added.tests[i].setup_func = added.setup;
        added.tests[i].teardown_func = added.teardown;
    }
    return t_run(program_invocation_short_name, added.tests, added.count, setup, teardown);
}

int t_main(void)
{
    return t_run_all(added.group_setup, added.group_teardown);
}
