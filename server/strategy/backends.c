#include "strategy/backends.h"

#define BACKEND_ROW(NAME, name) [BACKEND_##NAME] = &backend_##name,
static const struct backend *const rows[BACKEND_COUNT] = {BACKENDS(BACKEND_ROW)};
#undef BACKEND_ROW

const struct backend *backend_at(int id)
{
    return rows[id];
}

bool backends_open(struct services *services, struct error *error)
{
    for (int i = 0; i < BACKEND_COUNT; i++) {
        if (!rows[i]->open)
            continue;
        error->code = ERROR_NONE;
        services->backends[i] = rows[i]->open(services->settings, error);
        if (error->code != ERROR_NONE)
            return false;
    }
    return true;
}

bool backends_greet(const struct services *services, struct error *error)
{
    for (int i = 0; i < BACKEND_COUNT; i++)
        if (services->backends[i] && rows[i]->greet &&
            !rows[i]->greet(services->backends[i], error))
            return false;
    return true;
}

void backends_close(struct services *services)
{
    for (int i = BACKEND_COUNT - 1; i >= 0; i--) {
        if (services->backends[i])
            rows[i]->close(services->backends[i]);
        services->backends[i] = NULL;
    }
}

void backends_report(const struct services *services, backend_report *report, void *to)
{
    for (int i = 0; i < BACKEND_COUNT; i++) {
        void *backend = services->backends[i];
        if (!backend)
            continue;
        if (rows[i]->health) {
            rows[i]->health(backend, report, to);
        } else {
            bool up = rows[i]->up(backend);
            report(to, rows[i]->name, up, up ? "" : "out of reach");
        }
    }
}

const char *backends_lacking(const struct services *services, unsigned needs)
{
    for (int i = 0; i < BACKEND_COUNT; i++) {
        if (!(needs & 1u << i))
            continue;
        if (!services->backends[i])
            return rows[i]->absent;
        const char *unfit = rows[i]->unfit ? rows[i]->unfit(services->backends[i]) : NULL;
        if (unfit)
            return unfit;
    }
    return NULL;
}
