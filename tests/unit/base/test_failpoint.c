/* At which passages a failpoint acts. */
#include "lib/t.h"

#include "base/failpoint.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, PASSAGES = 50000 };

static void expect(const char *name, const char *passages)
{
    for (; *passages; passages++)
        assert_int_equal(failpoint_fails(name), *passages == 'x');
}

static void once_or_from_there_on(void **state)
{
    (void)state;
    expect("first", "x...");
    expect("second", ".x..");
    expect("from-the-second", ".xxxx");
    expect("nobody's", "...");
}

/* A passage that does not concern it is none; who passes that does is killed. */
static int pass_with(int count)
{
    struct concerned {
        int before;
        int64_t id;
    } all[] = {{1, 4}, {17, 18}, {1, 17}};
    int status;
    pid_t child = fork();

    if (child == 0) {
        FAILPOINT("of-one");
        FAILPOINT_WITH("of-one", all, count, id);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void of_one_alone(void **state)
{
    (void)state;
    assert_int_equal(pass_with(0), 0);
    assert_int_equal(pass_with(2), 0);
    assert_int_equal(pass_with(3), SIGKILL);
}

static void *pass_often(void *failed)
{
    for (int i = 0; i < PASSAGES; i++)
        *(int *)failed += failpoint_fails("crowded");
    return NULL;
}

/* Four passages in a row act, in any threads: each is counted once. */
static void each_passage_is_one_threads(void **state)
{
    pthread_t threads[THREADS];
    int failed[THREADS] = {0};
    int all = 0;

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, pass_often, &failed[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        all += failed[i];
    }
    assert_int_equal(all, 4);
}

int main(void)
{
    static const char spec[] = "first=fail,second=fail@2,from-the-second=fail@2+,"
                               "crowded=fail@100000,crowded=fail@100001,crowded=fail@100002,"
                               "crowded=fail@100003,of-one#17=kill";
    const struct CMUnitTest tests[] = {cmocka_unit_test(once_or_from_there_on),
                                       cmocka_unit_test(of_one_alone),
                                       cmocka_unit_test(each_passage_is_one_threads)};

    setenv("SECKILL_FAILPOINTS", spec, 1);
    if (!failpoint_check(spec) || failpoint_check("first=fail@0") || failpoint_check("first") ||
        failpoint_check("first#one=fail"))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
