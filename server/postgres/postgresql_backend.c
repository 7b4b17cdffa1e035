/* PostgreSQL as a row of the table of backends. */
#include "backend/backend.h"
#include "base/clock.h"
#include "base/log.h"
#include "postgres/pg_internal.h"

#include <string.h>

enum { FIRST_CONTACT_US = 5000000, STATEMENT_MARGIN_MS = 60000 };

static void *postgresql_open(const struct settings *settings, struct error *error)
{
    struct store_limits limits = {
        .statement_ms = settings->work_timeout_ms + STATEMENT_MARGIN_MS,
        .idle_in_transaction_ms = settings->work_timeout_ms,
        .standbys = settings->standbys,
    };

    struct store_schema schema = {.name = settings->schema,
                                  .fixed = strcmp(settings->migrate, "never") == 0};

    return store_create(settings->database, limits, schema, error);
}

static void postgresql_close(void *store)
{
    store_destroy(store);
}

static void *postgresql_session_open(void *store)
{
    return pg_create(store);
}

static void postgresql_session_close(void *pg)
{
    pg_destroy(pg);
}

static bool postgresql_connect(void *session, int64_t until_us, struct error *error)
{
    struct pg *pg = session;
    const char *trouble = store_trouble(pg->store);

    if (*trouble)
        return error_set(error, ERROR_UNAVAILABLE, "PostgreSQL: %s", trouble);
    if (pg_connect(pg, until_us))
        return true;
    if (!pg_is_refused(pg)) /* that is logged once */
        *error = *pg_error(pg);
    return false;
}

static bool postgresql_greet(void *store, struct error *error)
{
    struct pg *pg = pg_create(store);
    int64_t until_us = clock_mono_us() + FIRST_CONTACT_US;

    bool fine = pg && store_prepare(store, pg, until_us, until_us, error);
    pg_destroy(pg);
    if (fine || error->code == ERROR_UNSUITABLE)
        return fine;
    if (error->code != ERROR_DENIED) /* that is logged once a minute */
        log_warn(
            "PostgreSQL: %s; starting without it, /readyz says 503 until it is there (--database)",
            error->text);
    return true;
}

static void postgresql_health(void *store, backend_report *report, void *to)
{
    bool up = store_up(store);
    char flaw[600];

    store_flaw(store, flaw, sizeof flaw);
    report(
        to, "postgresql", store_serves(store),
        !up && atomic_load_explicit(&((struct store *)store)->login_refused, memory_order_relaxed)
            ? "it refuses the login: the password, the role, or pg_hba.conf (see the log)"
        : !up                                         ? "out of reach"
        : *flaw                                       ? flaw
        : *store_trouble(store) || store_ready(store) ? store_trouble(store)
                                                      : "the schema is not usable");
}

const struct backend backend_postgresql = {
    .name = "postgresql",
    .absent = "PostgreSQL is not configured (--database)",
    .open = postgresql_open,
    .close = postgresql_close,
    .session_open = postgresql_session_open,
    .session_close = postgresql_session_close,
    .connect = postgresql_connect,
    .greet = postgresql_greet,
    .health = postgresql_health,
};
