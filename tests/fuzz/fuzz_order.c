/*
 * Bodies of POST /orders, of PUT and POST /products and of a restock: JSON against a table of
 * members.
 *
 * A body that is read is within its bounds, and reads the same when it is written as JSON; a
 * refusal says why in a problem that is JSON itself, and an accepted body leaves no problem.
 */
#include "fuzz/fuzz.h"

#include "base/clock.h"
#include "http/reader/reader.h"
#include "order/order.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { MEMBERS_MAX = 5, NAME_CHARS = 100, KINDS = 4 };

struct table {
    size_t count;
    struct member members[MEMBERS_MAX];
    char name[4 * NAME_CHARS + 1];
};

/* As api/orders.c and api/products.c have them. */
static void make_table(unsigned kind, struct table *to)
{
    const struct member id = {.required = true, .is_id = true, .min = 1, .max = ORDER_ID_MAX};
    const struct member quantity = {.name = "quantity", .min = 1, .max = ORDER_QUANTITY_MAX};
    const struct member stock = {
        .name = "stock", .required = true, .min = 0, .max = ORDER_UNITS_MAX};
    struct member *m = to->members;

    memset(to, 0, sizeof *to);
    if (kind == 0) {
        m[to->count++] = id;
        m[to->count++] = id;
        m[0].name = "product_id";
        m[1].name = "user_id";
        m[to->count++] = quantity;
    } else if (kind == 1) {
        m[to->count++] = (struct member){.name = "name",
                                         .type = MEMBER_TEXT,
                                         .nullable = true,
                                         .text = to->name,
                                         .text_chars = NAME_CHARS};
        m[to->count++] = (struct member){
            .name = "limit_per_user", .nullable = true, .min = 1, .max = ORDER_UNITS_MAX};
        m[to->count++] = (struct member){.name = "opens_at", .type = MEMBER_TIME, .nullable = true};
        m[to->count++] =
            (struct member){.name = "closes_at", .type = MEMBER_TIME, .nullable = true};
        m[to->count++] = stock;
    } else if (kind == 2) {
        m[to->count++] = id;
        m[0].name = "first_id";
        m[to->count++] =
            (struct member){.name = "count", .required = true, .min = 1, .max = 1000000};
        m[to->count++] = stock;
    } else {
        m[to->count++] = quantity;
        m[0].required = true;
    }
}

static json_t *value_of(const struct member *member)
{
    char time[CLOCK_RFC3339_LENGTH + 1];

    if (member->type == MEMBER_TEXT)
        return json_string(member->text);
    if (member->type == MEMBER_INTEGER)
        return json_integer(member->number);
    clock_format_rfc3339(member->number, time);
    return json_string(time);
}

static char *write_again(const struct table *table)
{
    json_t *object = json_object();

    for (size_t i = 0; i < table->count; i++) {
        const struct member *member = &table->members[i];
        FUZZ_HOLDS(!member->given || !member->is_null);
        FUZZ_HOLDS(member->given || !member->required);
        if (member->given)
            json_object_set_new(object, member->name, value_of(member));
        else if (member->is_null)
            json_object_set_new(object, member->name, json_null());
        if (member->given && member->type == MEMBER_INTEGER)
            FUZZ_HOLDS(member->number >= member->min && member->number <= member->max);
    }
    char *text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    FUZZ_HOLDS(text);
    return text;
}

static void check_read(unsigned kind, const struct table *first)
{
    struct problem problem = {0};
    struct table again;
    char *text = write_again(first);

    make_table(kind, &again);
    FUZZ_HOLDS(reader_object(text, strlen(text), again.members, again.count, &problem));
    FUZZ_HOLDS(strcmp(first->name, again.name) == 0);
    for (size_t i = 0; i < first->count; i++) {
        FUZZ_HOLDS(first->members[i].given == again.members[i].given);
        FUZZ_HOLDS(first->members[i].is_null == again.members[i].is_null);
        FUZZ_HOLDS(first->members[i].number == again.members[i].number);
    }
    free(text);
}

static void check_refused(const struct problem *problem)
{
    char document[PROBLEM_JSON_MAX];
    json_error_t error;
    size_t length = problem_render(problem, document);

    FUZZ_HOLDS(problem->status == 400 && *problem->code && *problem->detail);
    FUZZ_HOLDS(length < sizeof document && length == strlen(document));
    json_t *read = json_loadb(document, length, JSON_REJECT_DUPLICATES, &error);
    FUZZ_HOLDS(json_is_object(read));
    json_decref(read);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned kind = fuzz_kind(&data, &size, KINDS);
    struct problem problem = {0};
    struct table table;
    char *body = fuzz_copy(data, size);

    make_table(kind, &table);
    if (reader_object(body, size, table.members, table.count, &problem)) {
        FUZZ_HOLDS(problem.status == 0);
        check_read(kind, &table);
    } else {
        check_refused(&problem);
    }
    free(body);
    return 0;
}
