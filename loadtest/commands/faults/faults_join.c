/* See faults_join.h. */
#include "loadtest/commands/faults/faults_join.h"

#include "loadtest/report/matrix_report.h"

#include <stdlib.h>
#include <string.h>

static const char *server_of(const json_t *made_on)
{
    const char *server =
        json_string_value(json_object_get(json_object_get(made_on, "versions"), "seckill-server"));
    return server ? server : "";
}

static bool add(struct matrix *out, json_t **made_on, const char *folder, struct error *error)
{
    struct matrix one;
    json_t *its = NULL;
    bool added = matrix_read(folder, &one, &its, error);
    if (added && *made_on && strcmp(server_of(*made_on), server_of(its)) != 0)
        added = error_fail(error, "%s is of another server (%s) than those before it (%s)", folder,
                           server_of(its), server_of(*made_on));
    else if (added)
        added = matrix_join(out, &one, error) || error_prefix(error, "%s", folder);
    if (added && !*made_on)
        *made_on = json_incref(its);
    json_decref(its);
    free(one.cells);
    return added;
}

bool faults_join(const struct option_list *folders, struct matrix *out, json_t **made_on,
                 struct error *error)
{
    *out = (struct matrix){.count = 0};
    *made_on = NULL;
    for (size_t i = 0; i < folders->count; i++) {
        if (!add(out, made_on, folders->items[i], error))
            return error_prefix(error, "--join");
    }
    return true;
}
