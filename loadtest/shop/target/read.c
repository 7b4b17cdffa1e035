/*
 * Reads a target's file: see target.h, and docs/JUDGING.md for the format. The fields are one
 * table, in the order of reading, in which each may count on those before it: texts name the
 * columns of the users' file and what steps have taken, SQL needs the database, a claim what the
 * audit names. The first mistake ends the reading.
 */
#include "loadtest/shop/target/reading.h"

#include <stddef.h>
#include <string.h>

#define IN(type, member) offsetof(struct type, member)
static const struct field FIELDS[] = {
    {PART_TARGET, "name", TEXT, .at = IN(target, name), .wanted = "a name", .where = standing_text},
    {PART_TARGET, "server", OWN, .required = true, .then = reading_server},
    {PART_TARGET, "database", TEXT, .at = IN(target, database), .wanted = "a connection string",
     .where = standing_database, .then = reading_database},
    {PART_TARGET, "product", NUMBER, .at = IN(target, product), .to = INT64_MAX},
    {PART_TARGET, "stock", NUMBER, .at = IN(target, stock), .required = true, .from = 1,
     .to = 1000000000},
    {PART_TARGET, "limit", NUMBER, .at = IN(target, limit), .from = 1, .to = 1000000000},
    {PART_TARGET, "users", OWN, .then = reading_users},
    {PART_TARGET, "before", LIST, .at = IN(target, steps), .count = IN(target, step_count),
     .then = reading_step, .size = sizeof(struct shop_request), .most = 16,
     .many = "too many steps", .wanted = "- {method: POST, path: /login}"},
    {PART_TARGET, "request", MAP, .at = IN(target, purchase), .required = true,
     .part = PART_PURCHASE, .then = reading_purchase},
    {PART_TARGET, "repeats", OWN, .then = reading_repeats},
    {PART_TARGET, "outcome", OWN, .required = true, .then = reading_outcome},
    {PART_TARGET, "poll", OWN, .then = reading_poll},
    {PART_TARGET, "reset", MAP, .at = IN(target, reset), .part = PART_QUERY, .then = reading_query},
    {PART_TARGET, "quiet", MAP, .at = IN(target, quiet), .part = PART_QUIET, .then = reading_query},
    {PART_TARGET, "audit", MAP, .part = PART_AUDIT},
    {PART_TARGET, "claims", OWN, .then = reading_claims},

    {PART_REQUEST, "method", RAW, .at = IN(shop_request, method), .wanted = "a method",
     .then = reading_method},
    {PART_REQUEST, "path", TEMPLATE, .at = IN(shop_request, url), .required = true,
     .wanted = "a path (/orders)", .where = standing_path, .then = reading_path},
    {PART_REQUEST, "headers", PAIRS, .at = IN(shop_request, headers),
     .count = IN(shop_request, header_count), .then = reading_header,
     .size = sizeof(struct shop_pair), .most = 32, .many = "too many headers",
     .wanted = "{X-Name: value}"},
    {PART_REQUEST, "body", OWN, .then = reading_body},
    {PART_REQUEST, "chunked", BOOL, .at = IN(shop_request, chunked), .then = reading_chunked},
    {PART_REQUEST, "keep_alive", BOOL, .at = IN(shop_request, closes), .then = reading_keep_alive},
    {PART_STEP, "expect", NUMBER, .at = IN(shop_request, expect), .from = 100, .to = 599},
    {PART_POLL, "every", TIME, .at = IN(shop_request, every_us)},
    {PART_POLL, "within", TIME, .at = IN(shop_request, within_us), .then = reading_poll_within},
    {PART_STEP, "outcome", OWN, .then = reading_step_outcome},
    {PART_POLL, "outcome", OWN, .required = true, .then = reading_poll_outcome},
    /* After the step's own texts, which cannot use them yet. */
    {PART_STEP, "take", PAIRS, .at = IN(shop_request, takes), .count = IN(shop_request, take_count),
     .then = reading_take, .size = sizeof(struct shop_take), .most = 16, .many = "too many",
     .wanted = "{token: /token}"},

    {PART_LINE, "sold", OWN, .then = reading_meaning},
    {PART_LINE, "accepted", OWN, .then = reading_meaning},
    {PART_LINE, "sold_out", OWN, .then = reading_meaning},
    {PART_LINE, "refused", OWN, .then = reading_meaning},
    {PART_LINE, "shed", OWN, .then = reading_meaning},
    {PART_LINE, "order", POINTER, .at = IN(line, rule.order), .then = reading_order},

    {PART_CONDITIONS, "status", OWN, .then = reading_status},
    {PART_CONDITIONS, "json", OWN, .then = reading_json},
    {PART_CONDITIONS, "text", TEXT, .at = IN(line, rule.contains), .wanted = "a text",
     .where = standing_text},

    {PART_USERS, "csv", TEXT, .at = IN(target, users_csv), .wanted = "a file",
     .where = standing_text, .then = reading_csv},
    {PART_USERS, "command", RAW, .at = IN(target, users_command), .wanted = "a command for sh -c"},
    {PART_USERS, "columns", OWN, .then = reading_columns},

    {PART_QUERY | PART_QUIET, "sql", OWN, .at = IN(shop_query, sql), .then = reading_sql},
    {PART_QUERY | PART_QUIET, "command", RAW, .at = IN(shop_query, command),
     .wanted = "a command for sh -c"},
    {PART_QUIET, "within", TIME, .at = IN(shop_query, within_us)},

    {PART_AUDIT, "stock", MAP, .at = IN(target, stock_left), .part = PART_QUERY,
     .then = reading_query},
    {PART_AUDIT, "orders", MAP, .at = IN(target, orders), .part = PART_QUERY,
     .then = reading_query},
    {.name = NULL},
};

static bool read_root(const struct place *root, struct target *target)
{
    return reading_add_name(root, "product") && reading_add_name(root, "key") &&
           (place_field(root, "users") || reading_add_name(root, "user")) &&
           fields_read(root, PART_TARGET, target);
}

static bool read_document(struct target *target, const char *path, struct error *error)
{
    struct reading reading = {.fields = FIELDS, .target = target};
    if (!document_open(&reading.document, path, &target->pool, error))
        return false;
    bool read = read_root(reading.document.root, target);
    document_close(&reading.document);
    return read;
}

static bool keep(struct target *target, const char *text, size_t length, const char **out,
                 struct error *error)
{
    *out = pool_copy(&target->pool, text, length);
    return *out || error_fail(error, "out of memory");
}

/* The file's name without folder and ending. */
static bool name_by_file(struct target *target, struct error *error)
{
    const char *slash = strrchr(target->path, '/');
    const char *base = slash ? slash + 1 : target->path;
    return target->name || keep(target, base, strcspn(base, "."), &target->name, error);
}

bool target_read(const char *path, struct target *out, struct error *error)
{
    *out = (struct target){.product = 1,
                           .user_from = 1,
                           .user_to = 100000,
                           .poll = {.every_us = 100000, .within_us = 30000000},
                           .quiet.within_us = 60000000};
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++)
        out->claims[i] = *claim_name((enum finding_kind)i) != '\0';
    bool read = keep(out, path, strlen(path), &out->path, error) &&
                read_document(out, path, error) && name_by_file(out, error);
    if (!read)
        target_fini(out);
    return read;
}

void target_fini(struct target *target)
{
    pool_fini(&target->pool);
    *target = (struct target){.path = NULL};
}
