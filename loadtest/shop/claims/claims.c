/* See claims.h. A rule a function; `rules` says which is whose. */
#include "loadtest/shop/claims/claims.h"

#include "loadtest/shop/claims/people.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a rule looks at. */
struct evidence {
    const struct target *target;
    const struct shop_history *history;
    const struct shop_books *books;
    const struct shop_people *people;
    const char **told; /* owned; the ids that buyers were told with `sold`, each once, sorted */
    size_t told_ids;
    size_t told_orders;    /* at least so many purchases were told `sold` */
    size_t repeats;        /* of which the shop heard */
    size_t sold, sold_out; /* answers, in the end */
};

__attribute__((format(printf, 3, 4))) static void
say(struct claim_finding *finding, enum claim_result result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
    finding->result = result;
}

#define broken(finding, ...)    say(finding, CLAIM_BROKEN, __VA_ARGS__)
#define unchecked(finding, ...) say(finding, CLAIM_NOT_CHECKED, __VA_ARGS__)
#define kept(finding, ...)      say(finding, CLAIM_KEPT, __VA_ARGS__)

static const char *id_of(const struct shop_row *row)
{
    return row && row->id ? row->id : "(no id)";
}

static const char *user_of(const struct shop_row *row)
{
    return row && row->user ? row->user : "(not named)";
}

/* The first order for which there was no unit, as the audit lists them. */
static const struct shop_row *first_beyond(const struct shop_books *books, int64_t stock)
{
    int64_t units = 0;
    for (size_t i = 0; i < books->count; i++) {
        units += books->rows[i].units;
        if (units > stock)
            return &books->rows[i];
    }
    return NULL;
}

static void never_oversold(const struct evidence *is, struct claim_finding *finding)
{
    int64_t stock = is->target->stock, units = is->people->units;
    if (is->books->has_rows && units > stock) {
        const struct shop_row *row = first_beyond(is->books, stock);
        broken(finding,
               "%" PRId64 " units in %zu orders, %" PRId64 " were on sale: %" PRId64
               " too many, the first of them order %.80s of user %.80s",
               units, is->books->count, stock, units - stock, id_of(row), user_of(row));
    } else if (is->books->has_left && is->books->left < 0)
        broken(finding, "%" PRId64 " are left", is->books->left);
    else if ((int64_t)is->told_orders > stock)
        broken(finding, "%zu buyers were told that they bought, %" PRId64 " units were on sale",
               is->told_orders, stock);
    else if (!is->books->has_rows)
        unchecked(finding, "the audit names no orders");
    else if (units < stock)
        unchecked(finding,
                  "%" PRId64 " of %" PRId64 " units were sold, so nothing could be oversold: more "
                  "buyers, or less stock",
                  units, stock);
    else
        kept(finding, "%" PRId64 " units in %zu orders, %" PRId64 " were on sale", units,
             is->books->count, stock);
}

/* When the first buyer was told that nothing is left; INT64_MAX: nobody was. */
static int64_t first_sold_out_us(const struct shop_history *history)
{
    int64_t first_us = INT64_MAX;
    for (size_t i = 0; i < history->count; i++) {
        const struct shop_purchase *one = &history->items[i];
        if (one->last == SHOP_SOLD_OUT && one->end_us < first_us)
            first_us = one->end_us;
    }
    return first_us;
}

/* Purchases that the limit alone can have stopped: by another key of a user who had been told
 * `sold` as often as it allows, and answered while there was something to sell. */
static size_t count_tries(const struct evidence *is, const struct shop_purchase **example)
{
    int64_t until_us = first_sold_out_us(is->history);
    size_t tries = 0;
    for (size_t i = 0; i < is->history->count; i++) {
        const struct shop_purchase *one = &is->history->items[i];
        const struct shop_person *person = people_find(is->people, one->user);
        bool full = person->full_us && one->start_us > person->full_us;
        if (!full || !one->asked || (one->repeat && one->key) || one->end_us >= until_us ||
            (one->last != SHOP_REFUSED && one->last != SHOP_SOLD))
            continue;
        tries++;
        *example = one;
    }
    return tries;
}

static void one_a_user(const struct evidence *is, struct claim_finding *finding)
{
    const struct shop_person *worst = NULL;
    const struct shop_purchase *example = NULL;
    int64_t limit = is->target->limit;
    size_t over = 0, tries = count_tries(is, &example);
    for (size_t i = 0; i < is->people->count; i++) {
        const struct shop_person *one = &is->people->items[i];
        over += one->units > limit;
        worst = !worst || one->units > worst->units ? one : worst;
    }
    if (limit == 0)
        unchecked(finding, "the target has no limit");
    else if (over > 0)
        broken(finding,
               "%zu users have more than %" PRId64 "; user %.80s has %" PRId64
               ": orders %.80s%s%.80s",
               over, limit, worst->user, worst->units, id_of(worst->row),
               worst->second ? " and " : "", worst->second ? id_of(worst->second) : "");
    else if (!is->people->rows_have_users)
        unchecked(finding, "the audit does not name the orders' users");
    else if (!example)
        unchecked(finding,
                  "nobody who had been told `sold` asked for more than %" PRId64
                  " by another key while there was stock: more stock, or fewer users",
                  limit);
    else
        kept(finding,
             "no user has more than %" PRId64 "; %zu purchases of users who had that were "
             "refused while there was stock, one of them user %.80s's",
             limit, tries, example->user);
}

/* Why a `sold` answer is not borne out; NULL: it is. */
static const char *lacks_row(const struct evidence *is, const struct shop_purchase *purchase)
{
    const struct shop_person *person = people_find(is->people, purchase->user);
    if (!purchase->order || !is->people->rows_have_ids)
        return is->people->rows_have_users && person->rows == 0 ? "its user has no order" : NULL;
    const struct shop_row *row = people_order(is->people, purchase->order);
    if (!row)
        return "there is no such order";
    return row->user && strcmp(row->user, purchase->user) != 0 ? "that order is another user's"
                                                               : NULL;
}

/* Where the target has the order's id in an answer that leads to `sold`; NULL: nowhere. */
static const char *order_pointer(const struct target *target)
{
    const char *found = NULL;
    for (size_t i = 0; i < target->rule_count + target->poll.rule_count; i++) {
        const struct shop_rule *rule = i < target->rule_count
                                           ? &target->rules[i]
                                           : &target->poll.rules[i - target->rule_count];
        bool leads = rule->meaning == SHOP_SOLD || rule->meaning == SHOP_ACCEPTED;
        found = leads && rule->order && !found ? rule->order : found;
    }
    return found;
}

static void sold_has_its_row(const struct evidence *is, struct claim_finding *finding)
{
    const struct shop_purchase *example = NULL;
    const char *pointer = order_pointer(is->target);
    size_t without = 0, checked = 0, named = 0, by_id = 0;
    for (size_t i = 0; i < is->history->count; i++) {
        const struct shop_purchase *one = &is->history->items[i];
        if (one->last != SHOP_SOLD)
            continue;
        bool has_id = one->order && is->people->rows_have_ids;
        checked += has_id || is->people->rows_have_users;
        named += one->order != NULL;
        by_id += has_id;
        bool lacks = lacks_row(is, one) != NULL;
        without += lacks;
        example = lacks && !example ? one : example;
    }
    if (!is->books->has_rows)
        unchecked(finding, "the audit names no orders");
    else if (is->sold == 0)
        unchecked(finding, "nobody was told `sold`");
    else if (example)
        broken(finding,
               "%zu of %zu answers `sold` have no order; user %.80s was told order %.80s: %s",
               without, is->sold, example->user, example->order ? example->order : "(no id)",
               lacks_row(is, example));
    else if (pointer && named == 0)
        unchecked(finding, "none of %zu `sold` answers has anything at %.80s", is->sold, pointer);
    else if (checked < is->sold)
        unchecked(finding, "the audit names neither the orders' ids nor their users, or the "
                           "answers no ids");
    else
        kept(finding, "%zu answers `sold`, each with its order: %zu by its id, %zu by its user",
             is->sold, by_id, is->sold - by_id);
}

static void nothing_behind_a_no(const struct evidence *is, struct claim_finding *finding)
{
    const struct shop_person *example = NULL;
    size_t refused = 0, with = 0;
    for (size_t i = 0; i < is->people->count; i++) {
        const struct shop_person *one = &is->people->items[i];
        bool all_noes = one->heard > 0 && one->noes == one->heard;
        refused += all_noes;
        with += all_noes && one->rows > 0;
        example = all_noes && one->rows > 0 && !example ? one : example;
    }
    if (!is->people->rows_have_users)
        unchecked(finding, "the audit does not name the orders' users");
    else if (refused == 0)
        unchecked(finding, "no user was refused for good");
    else if (example)
        broken(finding,
               "%zu users have an order and were refused each time; user %.80s has order %.80s",
               with, example->user, id_of(example->row));
    else
        kept(finding, "%zu users were refused each time, and have no order", refused);
}

static const struct shop_purchase *told_sold_out(const struct shop_history *history)
{
    for (size_t i = 0; i < history->count; i++) {
        if (history->items[i].last == SHOP_SOLD_OUT)
            return &history->items[i];
    }
    return NULL;
}

static void nothing_left(const struct evidence *is, struct claim_finding *finding)
{
    const struct shop_purchase *first = told_sold_out(is->history);
    int64_t stock = is->target->stock;
    if (!is->books->has_left && !is->books->has_rows)
        unchecked(finding, "the audit names neither what is left nor the orders");
    else if (!first)
        unchecked(finding, "nobody was told `sold_out`");
    else if (is->books->has_left && is->books->left > 0)
        broken(finding, "%zu answers `sold_out`, user %.80s's the first, and %" PRId64 " are left",
               is->sold_out, first->user, is->books->left);
    else if (is->books->has_rows && is->people->units < stock)
        broken(finding,
               "%zu answers `sold_out`, user %.80s's the first, and only %" PRId64 " of %" PRId64
               " units are in orders",
               is->sold_out, first->user, is->people->units, stock);
    else
        kept(finding, "%zu answers `sold_out`, and nothing is left", is->sold_out);
}

static void conserved(const struct evidence *is, struct claim_finding *finding)
{
    int64_t sum = is->books->left + is->people->units, stock = is->target->stock;
    if (!is->books->has_left || !is->books->has_rows)
        unchecked(finding, "the audit names %s",
                  is->books->has_left ? "no orders" : "no stock that is left");
    else if (sum != stock)
        broken(finding,
               "%" PRId64 " left and %" PRId64 " in orders are %" PRId64 ", %" PRId64
               " were there: %" PRId64 " %s",
               is->books->left, is->people->units, sum, stock,
               sum > stock ? sum - stock : stock - sum,
               sum > stock ? "came from nowhere" : "are lost");
    else
        kept(finding, "%" PRId64 " left and %" PRId64 " in orders are the %" PRId64 " of the start",
             is->books->left, is->people->units, stock);
}

static int compare_keys(const void *a, const void *b)
{
    const struct shop_purchase *const *one = a, *const *other = b;
    return strcmp((*one)->key, (*other)->key);
}

/* The first two answers with one key and two ids, side by side in `keyed`; NULL: none. */
static const struct shop_purchase **two_ids(const struct shop_purchase **keyed, size_t count)
{
    const struct shop_purchase **first = keyed;
    for (size_t i = 1; i < count; i++) {
        if (compare_keys(first, &keyed[i]) != 0)
            first = &keyed[i];
        else if (strcmp((*first)->order, keyed[i]->order) != 0)
            return &keyed[i];
    }
    return NULL;
}

/* Those that were told an order, by key; owned by the caller. */
static const struct shop_purchase **sort_keyed(const struct shop_history *history, size_t *count)
{
    const struct shop_purchase **keyed = calloc(history->count + 1, sizeof *keyed);
    *count = 0;
    for (size_t i = 0; keyed && i < history->count; i++) {
        const struct shop_purchase *one = &history->items[i];
        if (one->key && one->order)
            keyed[(*count)++] = one;
    }
    if (keyed)
        qsort(keyed, *count, sizeof(struct shop_purchase *), compare_keys);
    return keyed;
}

static void more_rows_than_keys(const struct evidence *is, struct claim_finding *finding)
{
    const struct shop_person *example = NULL;
    size_t more = 0;
    for (size_t i = 0; i < is->people->count; i++) {
        const struct shop_person *one = &is->people->items[i];
        bool too_many = one->asked > 0 && one->rows > one->keys;
        more += too_many;
        example = too_many && !example ? one : example;
    }
    if (example)
        broken(finding,
               "%zu users have more orders than they sent keys; user %.80s sent %zu and has orders "
               "%.80s and %.80s",
               more, example->user, example->keys, id_of(example->row),
               example->second ? id_of(example->second) : "no other");
    else if (is->people->rows_have_users)
        kept(finding, "%zu keys were sent again, and no user has more orders than keys",
             is->repeats);
    else if (is->told_ids > 0)
        kept(finding, "%zu keys were sent again, and none was told two orders", is->repeats);
    else
        unchecked(finding, "neither the audit nor the answers say whose an order is");
}

static void one_a_key(const struct evidence *is, struct claim_finding *finding)
{
    size_t count = 0;
    const struct shop_purchase **keyed = sort_keyed(is->history, &count);
    const struct shop_purchase **two = keyed ? two_ids(keyed, count) : NULL;
    if (is->repeats == 0)
        unchecked(finding, "no key was sent twice: give the target repeats");
    else if (!keyed)
        unchecked(finding, "out of memory");
    else if (two)
        broken(finding, "key %.80s of user %.80s was told two orders, %.80s and %.80s", (*two)->key,
               (*two)->user, two[-1]->order, (*two)->order);
    else
        more_rows_than_keys(is, finding);
    free(keyed);
}

static void (*const rules[SHOP_CLAIMS])(const struct evidence *, struct claim_finding *) = {
    [SHOP_NEVER_OVERSOLD] = never_oversold,
    [SHOP_ONE_A_USER] = one_a_user,
    [SHOP_SOLD_HAS_ITS_ROW] = sold_has_its_row,
    [SHOP_NOTHING_BEHIND_A_NO] = nothing_behind_a_no,
    [SHOP_NOTHING_LEFT] = nothing_left,
    [SHOP_CONSERVED] = conserved,
    [SHOP_ONE_A_KEY] = one_a_key,
};

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* How many bought as far as buyers know: by ids where each answer has one, else by users, so that
 * it is never more than there were. */
static void count_told(struct evidence *is)
{
    size_t with_ids = 0, users = 0;
    for (size_t i = 0; i < is->history->count; i++) {
        const struct shop_purchase *one = &is->history->items[i];
        if (one->last == SHOP_SOLD && one->order)
            is->told[with_ids++] = one->order;
    }
    qsort(is->told, with_ids, sizeof(char *), compare_texts);
    for (size_t i = 0; i < with_ids; i++)
        is->told_ids += i == 0 || strcmp(is->told[i - 1], is->told[i]) != 0;
    for (size_t i = 0; i < is->people->count; i++)
        users += is->people->items[i].sold > 0;
    is->told_orders = with_ids == is->sold ? is->told_ids : users;
}

static bool gather(struct evidence *is)
{
    is->told = calloc(is->history->count + 1, sizeof *is->told);
    if (!is->told)
        return false;
    for (size_t i = 0; i < is->history->count; i++) {
        const struct shop_purchase *one = &is->history->items[i];
        is->repeats += one->asked && one->repeat;
        is->sold += one->last == SHOP_SOLD;
        is->sold_out += one->last == SHOP_SOLD_OUT;
    }
    count_told(is);
    return true;
}

/* An order of a user who never asked: the load was not alone, or the reset left something. */
static const struct shop_person *find_stranger(const struct shop_people *people)
{
    for (size_t i = 0; i < people->count; i++) {
        if (people->items[i].asked == 0 && people->items[i].rows > 0)
            return &people->items[i];
    }
    return NULL;
}

static void conclude(const struct evidence *is, struct shop_judgement *out)
{
    size_t counts[CLAIM_BROKEN + 1] = {0};
    const struct shop_person *stranger = find_stranger(is->people);
    for (size_t i = 0; i < SHOP_CLAIMS; i++)
        counts[out->claims[i].result]++;
    size_t wanted = SHOP_CLAIMS - counts[CLAIM_NOT_ASKED];
    out->verdict = SHOP_VERDICT_INVALID;
    if (counts[CLAIM_BROKEN] > 0) {
        out->verdict = SHOP_VERDICT_BROKEN;
        snprintf(out->why, sizeof out->why, "%zu of %zu claims are broken", counts[CLAIM_BROKEN],
                 wanted);
    } else if (is->books->has_rows ? is->people->units == 0 : is->sold == 0)
        snprintf(out->why, sizeof out->why, "nothing was sold, so nothing was shown");
    else if (counts[CLAIM_KEPT] == 0)
        snprintf(out->why, sizeof out->why, "no claim could be checked");
    else if (stranger)
        snprintf(out->why, sizeof out->why,
                 "order %.80s is of user %.80s, who did not ask: somebody else buys, or the reset "
                 "leaves orders",
                 id_of(stranger->row), stranger->user);
    else if (out->claims[SHOP_NEVER_OVERSOLD].result == CLAIM_NOT_CHECKED && is->books->has_rows)
        snprintf(out->why, sizeof out->why,
                 "the stock did not run out: more buyers, or less stock");
    else {
        out->verdict = SHOP_VERDICT_KEPT;
        snprintf(out->why, sizeof out->why, "%zu of %zu claims were checked, and all of these hold",
                 counts[CLAIM_KEPT], wanted);
    }
}

bool claims_judge(const struct target *target, const struct shop_history *history,
                  const struct shop_books *books, struct shop_judgement *out, struct error *error)
{
    struct shop_people people;
    *out = (struct shop_judgement){.verdict = SHOP_VERDICT_INVALID};
    if (!people_make(&people, history, books, target->limit))
        return error_fail(error, "out of memory");
    struct evidence is = {.target = target, .history = history, .books = books, .people = &people};
    bool made = gather(&is);
    for (size_t i = 0; made && i < SHOP_CLAIMS; i++) {
        if (target->claims[i])
            rules[i](&is, &out->claims[i]);
    }
    if (made)
        conclude(&is, out);
    free(is.told);
    people_fini(&people);
    return made || error_fail(error, "out of memory");
}

const char *claim_result_name(enum claim_result result)
{
    static const char *const names[] = {[CLAIM_NOT_ASKED] = "",
                                        [CLAIM_KEPT] = "kept",
                                        [CLAIM_NOT_CHECKED] = "not checked",
                                        [CLAIM_BROKEN] = "BROKEN"};
    return names[result];
}

const char *shop_verdict_name(enum shop_verdict verdict)
{
    static const char *const names[] = {[SHOP_VERDICT_KEPT] = "kept",
                                        [SHOP_VERDICT_BROKEN] = "BROKEN",
                                        [SHOP_VERDICT_INVALID] = "INVALID"};
    return names[verdict];
}

int shop_verdict_exit_status(enum shop_verdict verdict)
{
    static const int statuses[] = {
        [SHOP_VERDICT_KEPT] = 0, [SHOP_VERDICT_BROKEN] = 1, [SHOP_VERDICT_INVALID] = 2};
    return statuses[verdict];
}
