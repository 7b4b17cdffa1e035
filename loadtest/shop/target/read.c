/*
 * Reads a target's file: see target.h, and docs/JUDGING.md for the format.
 *
 * The file is read field by field in the order of the table below, in which each may count on those
 * before it: texts name the columns of the users' file and what steps have taken, SQL needs the
 * database, a claim what the audit names. The first mistake ends the reading.
 */
#include "loadtest/shop/target.h"

#include "loadtest/base/share.h"
#include "loadtest/shop/target/reading.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_name(const struct place *place, void *into)
{
    return value_text(place, "a name", &((struct reading *)into)->target->name);
}

/* What libpq says of it may repeat a password, so it is asked for yes or no alone. */
static bool read_database(const struct place *place, void *into)
{
    struct target *target = ((struct reading *)into)->target;
    if (!value_standing(place, "a connection string", standing_database, &target->database))
        return false;
    PQconninfoOption *options = PQconninfoParse(target->database, NULL);
    bool good = options != NULL;
    PQconninfoFree(options);
    return good || place_refuse(place, "no connection string of PostgreSQL: host=db dbname=shop "
                                       "user=tester, or postgresql://tester@db/shop");
}

static bool read_product(const struct place *place, void *into)
{
    return value_number(place, 0, INT64_MAX, &((struct reading *)into)->target->product);
}

static bool read_stock(const struct place *place, void *into)
{
    return value_number(place, 1, 1000000000, &((struct reading *)into)->target->stock);
}

static bool read_limit(const struct place *place, void *into)
{
    return value_number(place, 1, 1000000000, &((struct reading *)into)->target->limit);
}

/* --- repeats --- */

static bool read_repeats(const struct place *place, void *into)
{
    struct target *target = ((struct reading *)into)->target;
    char quoted[PLACE_QUOTE_SIZE];
    const char *word = value_word(place, "a share (5%)");
    if (!word)
        return false;
    if (!share_read(word, &target->repeats))
        return place_refuse(place, "%s is no share from 0%% to 100%%: 5%%",
                            place_quote(word, quoted));
    return target->repeats <= 0 || shop_request_names(&target->purchase, "key") ||
           place_refuse(place, "{key} stands nowhere in \"request\", so the shop could not tell a "
                               "repeat from a second purchase");
}

/* --- the file --- */

static bool read_root(struct document *document, struct reading *reading)
{
    static const struct place_field fields[] = {
        {"name", read_name, false},          {"server", reading_server, true},
        {"database", read_database, false},  {"product", read_product, false},
        {"stock", read_stock, true},         {"limit", read_limit, false},
        {"users", reading_users, false},     {"before", reading_steps, false},
        {"request", reading_purchase, true}, {"repeats", read_repeats, false},
        {"outcome", reading_outcome, true},  {"poll", reading_poll, false},
        {"reset", reading_reset, false},     {"quiet", reading_quiet, false},
        {"audit", reading_audit, false},     {"claims", reading_claims, false},
    };
    struct place root = document_root(document);
    return reading_add_name(reading, &root, "product") && reading_add_name(reading, &root, "key") &&
           (place_has(&root, "users") || reading_add_name(reading, &root, "user")) &&
           place_read(&root, fields, sizeof fields / sizeof *fields, reading);
}

static bool copy_text(const char *text, size_t length, char **out, struct error *error)
{
    *out = strndup(text, length);
    return *out || error_fail(error, "out of memory");
}

/* The file's name without folder and ending. */
static bool name_by_file(struct target *target, struct error *error)
{
    const char *slash = strrchr(target->path, '/');
    const char *base = slash ? slash + 1 : target->path;
    return target->name || copy_text(base, strcspn(base, "."), &target->name, error);
}

static void set_defaults(struct target *target)
{
    *target = (struct target){.product = 1,
                              .user_from = 1,
                              .user_to = 100000,
                              .poll_every_us = 100000,
                              .poll_within_us = 30000000,
                              .quiet_within_us = 60000000};
    for (size_t i = 0; i < SHOP_CLAIMS; i++)
        target->claims[i] = true;
}

static void fini_reading(struct reading *reading)
{
    free(reading->server);
    for (size_t i = 0; i < reading->name_count; i++)
        free(reading->names[i]);
}

static bool read_document(struct target *target, const char *path, struct error *error)
{
    struct document document;
    struct reading reading = {.target = target};
    if (!document_open(&document, path, error))
        return false;
    bool read = read_root(&document, &reading);
    fini_reading(&reading);
    document_close(&document);
    return read;
}

bool target_read(const char *path, struct target *out, struct error *error)
{
    set_defaults(out);
    bool read = copy_text(path, strlen(path), &out->path, error) &&
                read_document(out, path, error) && name_by_file(out, error);
    if (!read)
        target_fini(out);
    return read;
}

/* --- the end --- */

static void free_rules(struct shop_rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(rules[i].pointer);
        free(rules[i].equals);
        free(rules[i].contains);
        free(rules[i].order);
    }
    free(rules);
}

static void fini_request(struct shop_request *request)
{
    for (size_t i = 0; i < request->header_count; i++) {
        free(request->headers[i].name);
        free(request->headers[i].value);
    }
    for (size_t i = 0; i < request->take_count; i++) {
        free(request->takes[i].field);
        free(request->takes[i].pointer);
    }
    free(request->headers);
    free(request->takes);
    free_rules(request->rules, request->rule_count);
    free(request->method);
    free(request->url);
    free(request->body);
}

static void fini_query(struct shop_query *query)
{
    free(query->sql);
    free(query->command);
}

void target_fini(struct target *target)
{
    for (size_t i = 0; i < target->step_count; i++)
        fini_request(&target->steps[i]);
    free(target->steps);
    fini_request(&target->purchase);
    fini_request(&target->poll);
    free_rules(target->rules, target->rule_count);
    free_rules(target->poll_rules, target->poll_rule_count);
    fini_query(&target->reset);
    fini_query(&target->quiet);
    fini_query(&target->stock_left);
    fini_query(&target->orders);
    free(target->path);
    free(target->name);
    free(target->database);
    free(target->users_csv);
    free(target->users_command);
    *target = (struct target){.path = NULL};
}
