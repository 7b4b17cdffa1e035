/* t_run counts a group's teardown that fails, in which checks of all its tests may stand. */
#include "lib/t.h"

static void passes(void **state)
{
    (void)state;
}

static int fails(void **state)
{
    (void)state;
    fail_msg("as it should");
    return 0;
}

static int ends(void **state)
{
    (void)state;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(passes)};

    return t_run("none", tests, 1, NULL, NULL) != 0 || t_run("ends", tests, 1, NULL, ends) != 0 ||
           t_run("fails", tests, 1, NULL, fails) != 1;
}
