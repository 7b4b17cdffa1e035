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

TEST(once_or_from_there_on)
{
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

TEST(of_one_alone)
{
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
TEST(each_passage_is_one_threads)
{
    pthread_t threads[THREADS];
    int failed[THREADS] = {0};
    int all = 0;

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

    setenv("SECKILL_FAILPOINTS", spec, 1);
    if (!failpoint_check(spec) || failpoint_check("first=fail@0") || failpoint_check("first") ||
        failpoint_check("first#one=fail"))
        return 1;
    return t_run_all(NULL, NULL);
}
