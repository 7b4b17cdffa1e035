/* What PostgreSQL's error codes mean, and of which of them an accepted order may die. */
#include "lib/t.h"

#include "postgres/pg_internal.h"

TEST(what_an_error_means)
{
    static const struct {
        const char *sqlstate; /* NULL: the connection broke */
        enum pg_status status;
    } meanings[] = {
        {"40001", PG_CONFLICT}, {"40P01", PG_CONFLICT}, {"55P03", PG_BUSY},
        {"23505", PG_UNIQUE},   {"23514", PG_BUG},      {"22003", PG_BUG},
        {"23503", PG_REFUSED},  {"23P01", PG_REFUSED},  {"P0001", PG_REFUSED},
        {"44000", PG_REFUSED},  {"27000", PG_REFUSED},  {"57P01", PG_LOST},
        {"57P02", PG_LOST},     {"57P03", PG_LOST},     {"57P05", PG_LOST},
        {"08006", PG_LOST},     {"25P03", PG_LOST},     {"25P04", PG_LOST},
        {"40003", PG_LOST},     {NULL, PG_LOST},        {"25006", PG_FAILED},
        {"25P02", PG_FAILED},   {"42501", PG_FAILED},   {"42P01", PG_FAILED},
        {"53100", PG_FAILED},   {"53200", PG_FAILED},   {"53300", PG_FAILED},
        {"53400", PG_FAILED},   {"54000", PG_FAILED},   {"55000", PG_FAILED},
        {"57014", PG_FAILED},   {"58030", PG_FAILED},   {"0A000", PG_CONFLICT},
        {"26000", PG_CONFLICT}, {"42P05", PG_CONFLICT}, {"XX000", PG_FAILED},
    };

    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (pg_classify(meanings[i].sqlstate) != meanings[i].status)
            fail_msg("%s is %d", meanings[i].sqlstate, pg_classify(meanings[i].sqlstate));
}

TEST(only_a_row_is_to_blame)
{
    assert_true(pg_blames_rows(PG_UNIQUE) && pg_blames_rows(PG_BUG) && pg_blames_rows(PG_REFUSED));
    assert_false(pg_blames_rows(PG_OK) || pg_blames_rows(PG_CONFLICT) || pg_blames_rows(PG_BUSY) ||
                 pg_blames_rows(PG_FAILED) || pg_blames_rows(PG_TIMEOUT) ||
                 pg_blames_rows(PG_LOST));
}
