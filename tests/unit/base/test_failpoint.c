/* At which passages a failpoint acts. */
#include "lib/t.h"

#include "base/failpoint.h"

#include <stdlib.h>

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

int main(void)
{
    static const char spec[] = "first=fail,second=fail@2,from-the-second=fail@2+";
    const struct CMUnitTest tests[] = {cmocka_unit_test(once_or_from_there_on)};

    setenv("SECKILL_FAILPOINTS", spec, 1);
    if (!failpoint_check(spec) || failpoint_check("first=fail@0") || failpoint_check("first"))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
