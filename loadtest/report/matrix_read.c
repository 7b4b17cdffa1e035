/* See matrix_report.h: a faults.json that was written before. What a cell must have and has not, or
 * has in another shape, is named with the cell's number: a file that was edited, or is older than
 * what is needed here, is not guessed at. */
#include "loadtest/report/matrix_report.h"

#include "loadtest/base/pool.h"
#include "loadtest/report/document/document.h"
#include "loadtest/report/files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool take_integer(const json_t *object, const char *name, int64_t least, int64_t *out,
                         struct error *error)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_integer(value) || json_integer_value(value) < least)
        return error_fail(error, "\"%s\" is not a whole number from %" PRId64 " on", name, least);
    *out = (int64_t)json_integer_value(value);
    return true;
}

static bool take_size(const json_t *object, const char *name, size_t *out, struct error *error)
{
    int64_t value = 0;
    if (!take_integer(object, name, 0, &value, error))
        return false;
    *out = (size_t)value;
    return true;
}

static bool take_text(const json_t *object, const char *name, char *out, size_t size,
                      struct error *error)
{
    const char *text = json_string_value(json_object_get(object, name));
    if (!text || strlen(text) >= size)
        return error_fail(error, "\"%s\" is not a text of at most %zu bytes", name, size - 1);
    snprintf(out, size, "%s", text);
    return true;
}

static bool take_expected(const json_t *object, struct cell *cell, struct error *error)
{
    char name[32];
    if (!take_text(object, "expected", name, sizeof name, error))
        return false;
    for (int i = CELL_HOLDS; i <= CELL_NOTHING; i++) {
        cell->expected = (enum cell_expectation)i;
        if (strcmp(name, cell_expectation_name(cell->expected)) == 0)
            return true;
    }
    return error_fail(error, "\"expected\" is '%s', which is no expectation", name);
}

static bool take_violations(const json_t *object, struct cell *cell, struct error *error)
{
    json_t *all = json_object_get(object, "violations"), *value;
    const char *name;
    if (!json_is_object(all))
        return error_fail(error, "\"violations\" is no object");
    json_object_foreach(all, name, value)
    {
        int kind = 0;
        while (kind < FINDING_KIND_COUNT &&
               strcmp(finding_name((enum finding_kind)kind), name) != 0)
            kind++;
        if (kind == FINDING_KIND_COUNT)
            return error_fail(error, "\"violations\" has '%s', which is none", name);
        if (!take_size(all, name, &cell->violations[kind], error))
            return false;
    }
    return true;
}

static bool take_seeds(const json_t *object, struct cell *cell, struct error *error)
{
    const json_t *all = json_object_get(object, "seeds");
    if (!json_is_array(all) || json_array_size(all) > CELL_SEEDS_MAX)
        return error_fail(error, "\"seeds\" is no list of at most %d stretches", CELL_SEEDS_MAX);
    for (size_t i = 0; i < json_array_size(all); i++) {
        json_int_t first = 0, last = -1;
        if (json_unpack(json_array_get(all, i), "[II]", &first, &last) != 0 || first > last)
            return error_fail(error, "\"seeds\"[%zu] is not a first and a last one", i);
        cell->seeds[cell->seeds_count++] = (struct seeds){first, last};
    }
    return true;
}

static bool take_steps(const json_t *timeline, struct sales *sales, struct error *error)
{
    const json_t *steps = json_object_get(timeline, "sales");
    if (!json_is_array(steps) || json_array_size(steps) > SALES_STEPS_MAX)
        return error_fail(error, "\"timeline\" has no list of at most %d \"sales\"",
                          SALES_STEPS_MAX);
    for (size_t i = 0; i < json_array_size(steps); i++) {
        const json_t *step = json_array_get(steps, i);
        if (!json_is_integer(step) || json_integer_value(step) < 0 ||
            json_integer_value(step) > INT32_MAX)
            return error_fail(error, "\"timeline\", \"sales\"[%zu] is no number of sales", i);
        sales->steps[sales->count++] = (int)json_integer_value(step);
    }
    return true;
}

static bool take_timeline(const json_t *object, struct sales *sales, struct error *error)
{
    const json_t *timeline = json_object_get(object, "timeline");
    const json_t *shades = json_object_get(timeline, "faults");
    if (!take_steps(timeline, sales, error))
        return false;
    if (!json_is_array(shades) || json_array_size(shades) > FAULT_EVENTS_MAX)
        return error_fail(error, "\"timeline\" has no list of at most %d \"faults\"",
                          FAULT_EVENTS_MAX);
    for (size_t i = 0; i < json_array_size(shades); i++) {
        const json_t *shade = json_array_get(shades, i);
        struct fault_interval *its = &sales->shades[sales->shades_count++];
        if (!take_integer(shade, "begin_us", INT64_MIN, &its->begin_us, error) ||
            !take_integer(shade, "heal_us", INT64_MIN, &its->heal_us, error))
            return error_prefix(error, "\"timeline\", \"faults\"[%zu]", i);
    }
    return true;
}

static bool take_names(const json_t *object, struct cell *cell, struct error *error)
{
    char fault[64];
    if (!take_text(object, "strategy", cell->strategy.name, sizeof cell->strategy.name, error) ||
        !take_text(object, "fault", fault, sizeof fault, error))
        return false;
    cell->fault = fault_find(fault, error);
    cell->control = fault_find_control(cell->strategy.name);
    return cell->fault != NULL;
}

static bool take_cell(const json_t *object, struct cell *cell, struct error *error)
{
    struct trial_result *shown = &cell->shown;
    if (!take_names(object, cell, error) || !take_expected(object, cell, error) ||
        !take_size(object, "runs", &cell->runs, error) ||
        !take_size(object, "red", &cell->red, error) ||
        !take_size(object, "not_counted", &cell->invalid, error))
        return false;
    if (cell->red > cell->runs)
        return error_fail(error, "%zu runs were red, of %zu", cell->red, cell->runs);
    return take_seeds(object, cell, error) && take_violations(object, cell, error) &&
           take_integer(object, "longest_gap_us", 0, &cell->longest_gap_us, error) &&
           take_integer(object, "first_after_heal_us", -1, &cell->first_after_us, error) &&
           take_integer(object, "seed", INT64_MIN, &shown->seed, error) &&
           take_text(object, "evidence", shown->evidence, sizeof shown->evidence, error) &&
           take_text(object, "example", shown->example, sizeof shown->example, error) &&
           take_timeline(object, &shown->sales, error);
}

static bool take_matrix(const json_t *document, struct matrix *out, struct error *error)
{
    const json_t *cells = json_object_get(document, "cells");
    if (!json_is_array(cells) || json_array_size(cells) == 0)
        return error_fail(error, "it has no \"cells\": it is no faults.json");
    out->cells = memory_take(json_array_size(cells) * sizeof *out->cells);
    if (!take_integer(document, "seed", INT64_MIN, &out->seed, error) ||
        !take_integer(document, "runs", 0, &out->runs, error))
        return false;
    for (; out->count < json_array_size(cells); out->count++) {
        if (!take_cell(json_array_get(cells, out->count), &out->cells[out->count], error))
            return error_prefix(error, "cells[%zu]", out->count);
    }
    return true;
}

bool matrix_read(const char *path, struct matrix *out, struct error *error)
{
    char file[FILES_PATH_MAX];
    *out = (struct matrix){.count = 0};
    json_t *document = files_read_json(path, "faults.json", file, error);
    if (!document)
        return false;
    bool taken = take_matrix(document, out, error) || error_prefix(error, "%s", file);
    out->made_on = json_incref(json_object_get(document, "made_on"));
    json_decref(document);
    if (taken && !json_is_object(out->made_on))
        return error_fail(error, "%s: it does not say what it was \"made_on\"", file);
    return taken;
}

static const char *server_of(const struct matrix *matrix)
{
    return document_text(json_object_get(matrix->made_on, "versions"), "seckill-server");
}

static bool add(struct matrix *out, const char *folder, struct error *error)
{
    struct matrix one;
    bool added = matrix_read(folder, &one, error);
    if (added && out->joined > 0 && strcmp(server_of(out), server_of(&one)) != 0)
        added = error_fail(error, "%s is of another server (%s) than those before it (%s)", folder,
                           server_of(&one), server_of(out));
    else if (added)
        added = matrix_join(out, &one, error) || error_prefix(error, "%s", folder);
    matrix_fini(&one);
    return added;
}

bool matrix_join_read(const struct option_list *folders, struct matrix *out, struct error *error)
{
    *out = (struct matrix){.count = 0};
    for (size_t i = 0; i < folders->count; i++) {
        if (!add(out, folders->items[i], error))
            return error_prefix(error, "--join");
    }
    return true;
}
