/*
 * Reads a target's file: see target.h, and docs/JUDGING.md for the format. The fields are one
 * table, in the order of reading, in which each may count on those before it: texts name the
 * columns of the users' file and what steps have taken, SQL needs the database, a claim what the
 * audit names. The first mistake ends the reading.
 */
#include "loadtest/shop/target/reading.h"

#include <stdio.h>
#include <string.h>

#define IN(type, member) offsetof(struct type, member)
static const struct field FIELDS[] = {
    {PART_TARGET, "name", TEXT, .at = IN(target, name), .wanted = "a name"},
    {PART_TARGET, "server", TEXT, .at = IN(target, server), .required = true,
     .wanted = "a URL (http://127.0.0.1:3000)", .then = reading_server},
    {PART_TARGET, "database", TEXT, .at = IN(target, database), .wanted = "a connection string",
     .where = IN_DATABASE, .then = reading_database},
    {PART_TARGET, "product", NUMBER, .at = IN(target, product), .to = INT64_MAX},
    {PART_TARGET, "stock", NUMBER, .at = IN(target, stock), .required = true, .from = 1,
     .to = 1000000000},
    {PART_TARGET, "limit", NUMBER, .at = IN(target, limit), .from = 1, .to = 1000000000},
    {PART_TARGET, "users", OWN, .then = reading_users},
    {PART_TARGET, "before", LIST, .at = IN(target, steps), .each = reading_step,
     .size = sizeof(struct shop_request), .most = 16, .many = "too many steps",
     .wanted = "- {method: POST, path: /login}"},
    {PART_TARGET, "request", MAP, .at = IN(target, purchase), .required = true,
     .part = PART_PURCHASE, .then = reading_purchase},
    {PART_TARGET, "repeats", OWN, .then = reading_repeats},
    {PART_TARGET, "outcome", LIST, .of = IN(target, purchase), .at = IN(shop_request, rules),
     .required = true, .each = reading_line, .then = reading_outcome,
     .size = sizeof(struct shop_rule), .most = RULES_MAX, .wanted = "- sold: 201"},
    {PART_TARGET, "poll", OWN, .then = reading_poll},
    {PART_TARGET, "reset", MAP, .at = IN(target, reset), .part = PART_QUERY, .then = reading_query},
    {PART_TARGET, "quiet", MAP, .at = IN(target, quiet), .part = PART_QUIET, .then = reading_query},
    {PART_TARGET, "audit", MAP, .part = PART_AUDIT},
    {PART_TARGET, "claims", LIST, .each = reading_claim, .wanted = "[never_oversold]"},

    {PART_REQUEST, "method", RAW, .at = IN(shop_request, method), .wanted = "a method",
     .then = reading_method},
    {PART_REQUEST, "path", TEMPLATE, .at = IN(shop_request, url), .required = true,
     .wanted = "a path (/orders)", .where = IN_PATH, .then = reading_path},
    {PART_REQUEST, "headers", PAIRS, .at = IN(shop_request, headers), .each = reading_header,
     .size = sizeof(struct shop_pair), .most = 32, .many = "too many headers",
     .wanted = "{X-Name: value}"},
    {PART_REQUEST, "body", OWN, .then = reading_body},
    {PART_REQUEST, "chunked", BOOL, .at = IN(shop_request, chunked), .then = reading_chunked},
    {PART_REQUEST, "keep_alive", BOOL, .at = IN(shop_request, closes), .then = reading_keep_alive},
    {PART_STEP, "expect", NUMBER, .at = IN(shop_request, expect), .from = 100, .to = 599},
    {PART_POLL, "every", TIME, .at = IN(shop_request, every_us)},
    {PART_POLL, "within", TIME, .at = IN(shop_request, within_us), .then = reading_poll_within},
    {PART_STEP, "outcome", LIST, .at = IN(shop_request, rules), .each = reading_line,
     .size = sizeof(struct shop_rule), .most = RULES_MAX, .wanted = "- refused: 403"},
    {PART_POLL, "outcome", LIST, .at = IN(shop_request, rules), .required = true,
     .each = reading_line, .then = reading_outcome, .size = sizeof(struct shop_rule),
     .most = RULES_MAX, .wanted = "- sold: 201"},
    /* After the step's own texts, which cannot use them yet. */
    {PART_STEP, "take", PAIRS, .at = IN(shop_request, takes), .each = reading_take,
     .size = sizeof(struct shop_take), .most = 16, .many = "too many", .wanted = "{token: /token}"},

    {PART_LINE, "sold", OWN, .then = reading_meaning},
    {PART_LINE, "accepted", OWN, .then = reading_meaning},
    {PART_LINE, "sold_out", OWN, .then = reading_meaning},
    {PART_LINE, "refused", OWN, .then = reading_meaning},
    {PART_LINE, "shed", OWN, .then = reading_meaning},
    {PART_LINE, "order", POINTER, .at = IN(line, rule.order), .then = reading_order},

    {PART_CONDITIONS, "status", OWN, .then = reading_status},
    {PART_CONDITIONS, "json", OWN, .then = reading_json},
    {PART_CONDITIONS, "text", TEXT, .at = IN(line, rule.contains), .wanted = "a text"},

    {PART_USERS, "csv", TEXT, .at = IN(target, users_csv), .wanted = "a file", .then = reading_csv},
    {PART_USERS, "command", RAW, .at = IN(target, users_command), .wanted = "a command for sh -c"},
    {PART_USERS, "columns", LIST, .each = reading_column, .then = reading_columns,
     .wanted = "[user, token]"},

    {PART_QUERY | PART_QUIET, "sql", OWN, .then = reading_sql},
    {PART_QUERY | PART_QUIET, "command", RAW, .at = IN(shop_query, command),
     .wanted = "a command for sh -c"},
    {PART_QUIET, "within", TIME, .at = IN(shop_query, within_us)},

    {PART_AUDIT, "stock", MAP, .at = IN(target, stock_left), .part = PART_QUERY,
     .then = reading_query},
    {PART_AUDIT, "orders", MAP, .at = IN(target, orders), .part = PART_QUERY,
     .then = reading_query},
    {.name = NULL},
};

/* --- a file --- */

static bool read_root(const struct place *root, struct target *target)
{
    return names_add(root, "product") && names_add(root, "key") &&
           (place_field(root, "users") || names_add(root, "user")) &&
           fields_read(root, PART_TARGET, target);
}

/* The file's name without folder and ending. */
static const char *name_by_file(struct target *target)
{
    const char *slash = strrchr(target->path, '/');
    const char *base = slash ? slash + 1 : target->path;
    return pool_text(&target->pool, "%.*s", (int)strcspn(base, "."), base);
}

bool target_read(const char *path, struct target *out, struct error *error)
{
    struct reading reading = {.target = out, .error = error, .fields = FIELDS};
    *out = (struct target){.product = 1,
                           .user_from = 1,
                           .user_to = 100000,
                           .poll = {.every_us = 100000, .within_us = 30000000},
                           .quiet.within_us = 60000000};
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++)
        out->claims[i] = *claim_name((enum finding_kind)i) != '\0';
    out->path = pool_text(&out->pool, "%s", path);
    bool read = places_read(&reading) && read_root(reading.root, out);
    if (!out->name)
        out->name = name_by_file(out);
    if (!read)
        target_fini(out);
    return read;
}

void target_fini(struct target *target)
{
    pool_fini(&target->pool);
    *target = (struct target){.path = NULL};
}
