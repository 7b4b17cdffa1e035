/*
 * A target's own books: how it is put back to its start, when it is quiet, what the audit reads,
 * and which claims are judged by that.
 */
#include "loadtest/shop/target/reading.h"

#include <libpq-fe.h>
#include <string.h>

/* What libpq says of it may repeat a password, so it is asked for yes or no alone. */
bool reading_database(const struct place *place, void *into)
{
    PQconninfoOption *options = PQconninfoParse(((struct target *)into)->database, NULL);
    PQconninfoFree(options);
    return options || place_refuse(place, "no connection string of PostgreSQL: host=db dbname=shop "
                                          "user=tester, or postgresql://tester@db/shop");
}

/* --- queries --- */

bool reading_sql(const struct place *place, void *into)
{
    static const struct names names = {{"product", "stock"}, 2};
    struct shop_query *query = into;
    if (!place->reading->target->database)
        return place_refuse(place, "SQL needs \"database\", where it is to be sent");
    return value_text(place, "SQL", IN_SQL, &names, &query->sql);
}

bool shop_query_is_given(const struct shop_query *query)
{
    return query->sql || query->command;
}

bool reading_query(const struct place *place, void *into)
{
    const struct shop_query *query = into;
    if (query->sql && query->command)
        return place_refuse(place, "\"sql\" and \"command\" both: one of them");
    return shop_query_is_given(query) || place_refuse(place, "\"sql\" or \"command\" is missing");
}

/* --- claims --- */

static bool refuse_claim(const struct place *place, const char *word)
{
    struct names names = {.count = 0};
    for (enum finding_kind i = 0; i < FINDING_KIND_COUNT; i++)
        if (*claim_name(i))
            names.items[names.count++] = claim_name(i);
    return place_refuse(place, "there is no claim %s%s", place_quote(place, word),
                        names_hint(place, &names, word, false));
}

/* A claim that the target names must be judged: the queries that it needs must be there. */
static bool check_claim(const struct place *place, const struct target *target,
                        enum finding_kind claim)
{
    if (claim != FINDING_UNDERSOLD && !shop_query_is_given(&target->orders))
        return place_refuse(place, "%s needs \"audit\" with \"orders\"", claim_name(claim));
    if ((claim == FINDING_UNDERSOLD || claim == FINDING_CONSERVATION) &&
        !shop_query_is_given(&target->stock_left))
        return place_refuse(place, "%s needs \"audit\" with \"stock\"", claim_name(claim));
    if (claim == FINDING_LIMIT && target->limit == 0)
        return place_refuse(place, "one_a_user needs \"limit\", the units that a user may have");
    return claim != FINDING_DUPLICATE || target->repeats > 0 ||
           place_refuse(place, "one_a_key needs \"repeats\", the share that is sent twice");
}

bool reading_claim(const struct place *place, void *into)
{
    struct target *target = into;
    const char *word = value_word(place, "a claim (never_oversold)");
    if (place->index == 0) /* all, until the file lists them */
        memset(target->claims, 0, sizeof target->claims);
    for (enum finding_kind i = 0; word && *word && i < FINDING_KIND_COUNT; i++) {
        if (strcmp(claim_name(i), word) != 0)
            continue;
        if (target->claims[i])
            return place_refuse(place, "%s stands twice", word);
        target->claims[i] = true;
        return check_claim(place, target, i);
    }
    return word && refuse_claim(place, word);
}
