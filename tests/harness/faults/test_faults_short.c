/* The short matrix: the cells that tell the strategies apart are as expected, each column's control
 * seen red. */
#include "lib/t.h"

#include "harness/bed/bed.h"

#include <string.h>

static void every_cell_is_as_expected(void **state)
{
    (void)state;
    struct bed *bed = bed_create(0);
    int status = bed_run(bed, "faults --short --runs 1 --server-binary " SERVER);
    if (status != 0)
        fail_msg("exit status %d: %s", status, bed->output);
    assert_null(strstr(bed->output, "proves nothing"));
    assert_non_null(strstr(bed->output, "commit is proven: control-guess-commit broke"));
    bed_destroy(bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_cell_is_as_expected)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
