/* The short matrix: the cells that tell the strategies apart are as expected, each column's control
 * seen red. */
#include "lib/t.h"

#include "harness/fixtures/program.h"

#include <string.h>

TEST(every_cell_is_as_expected)
{
    int status = program_run("faults --short --runs 1");
    if (status != 0)
        fail_msg("exit status %d: %s", status, program->output);
    assert_null(strstr(program->output, "proves nothing"));
    program_says("commit is proven: control-guess-commit broke");
}

TEST_EACH(program_alone, program_end)
