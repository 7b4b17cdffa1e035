/* What PostgreSQL's error codes mean to whoever runs a statement: the one place that knows them
 * (PostgreSQL documentation, appendix A). A table by prefix; the longer ones come first. */
#include "store/pg_internal.h"

#include <string.h>

enum pg_status pg_classify(const char *sqlstate)
{
    static const struct {
        const char *state;
        enum pg_status status;
    } meanings[] = {
        {"40001", PG_CONFLICT}, {"40P01", PG_CONFLICT}, {"55P03", PG_BUSY}, {"23505", PG_UNIQUE},
        {"23514", PG_BUG},      {"57P01", PG_LOST},     {"57P02", PG_LOST}, {"57P03", PG_LOST},
        {"40003", PG_LOST},     {"25P03", PG_LOST},     {"08", PG_LOST},    {"22", PG_BUG},
        {"42", PG_BUG},
    };

    if (!sqlstate)
        return PG_LOST;
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (strncmp(sqlstate, meanings[i].state, strlen(meanings[i].state)) == 0)
            return meanings[i].status;
    return PG_FAILED;
}
