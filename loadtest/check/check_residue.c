/* What should not be in a database when all is quiet. */
#include "loadtest/check/checks.h"

#include <inttypes.h>

void check_residue(const struct view *view)
{
    const struct rows *rows = view->rows;
    const struct {
        int64_t count;
        const char *what;
    } kinds[] = {
        {rows->idle_transactions, "sessions stand idle in a transaction, for 5 s and more"},
        {rows->prepared, "prepared transactions wait for somebody to end them"},
        {rows->waiting, "sessions have waited for a lock for 5 s and more"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].count > 0)
            findings_add(view->findings, FINDING_RESIDUE, 0, 0, "%" PRId64 " %s", kinds[i].count,
                         kinds[i].what);
    }
}
