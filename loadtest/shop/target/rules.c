/*
 * What a target's answers mean: "outcome", the one of "poll", and those of steps, which can only
 * say no. A line names a meaning and its conditions; one with several statuses becomes a rule for
 * each.
 */
#include "loadtest/shop/target/reading.h"

#include <stdlib.h>
#include <string.h>

/* --- conditions --- */

static bool parse_status(const char *word, struct status_range *out)
{
    bool is_hundred = word[0] && strcmp(word + 1, "xx") == 0;
    if (strlen(word) != 3 || word[0] < '1' || word[0] > '5' ||
        (!is_hundred && strspn(word, "0123456789") != 3))
        return false;
    int from = is_hundred ? (word[0] - '0') * 100 : (int)strtol(word, NULL, 10);
    *out = (struct status_range){from, is_hundred ? from + 99 : from};
    return true;
}

static bool add_status(const struct place *place, struct line *line)
{
    const char *word = value_word(place, "a status (201, 4xx)");
    if (!word)
        return false;
    if (line->status_count == STATUSES_MAX)
        return place_refuse(place, "too many: %d at most", STATUSES_MAX);
    if (!parse_status(word, &line->statuses[line->status_count]))
        return place_refuse(place,
                            "%s is no status: a number from 100 to 599, or 4xx for each "
                            "that begins so",
                            place_quote(place, word));
    line->status_count++;
    return true;
}

bool reading_status(const struct place *place, void *into)
{
    if (place->kind != PLACE_LIST)
        return add_status(place, into);
    bool read = place_is(place, PLACE_LIST, "[201, 202]");
    for (const struct place *child = place->first; read && child; child = child->next)
        read = add_status(child, into);
    return read;
}

/* "/id" alone: it is there. */
bool reading_json(const struct place *place, void *into)
{
    struct shop_rule *rule = &((struct line *)into)->rule;
    if (place->kind == PLACE_TEXT)
        return value_pointer(place, &rule->pointer);
    if (!place_is(place, PLACE_MAP, "{/code: 5001}, or /code: it is there"))
        return false;
    if (place->count > 1)
        return place_refuse(place, "one pointer a rule; a second rule can look at another");
    const struct place *child = place->first;
    rule->pointer = child->key;
    return value_check_pointer(child, child->key) && value_json(child, &rule->equals);
}

/* --- lines --- */

static bool read_conditions(const struct place *place, struct line *line)
{
    if (place->kind == PLACE_MAP)
        return fields_read(place, PART_CONDITIONS, line);
    if (place->kind == PLACE_LIST)
        return reading_status(place, line);
    const char *word = value_word(place, "a status, \"any\", or {status: …, json: …, text: …}");
    return word && (strcmp(word, "any") == 0 || add_status(place, line));
}

bool reading_meaning(const struct place *place, void *into)
{
    struct line *line = into;
    enum shop_meaning *meaning = &line->rule.meaning;
    if (*meaning != SHOP_UNKNOWN)
        return place_refuse(place, "a line has one meaning, and this one has \"%s\" too",
                            shop_meaning_name(*meaning));
    *meaning = (enum shop_meaning)shop_meaning_named(place->key);
    if (line->of_step && (*meaning == SHOP_SOLD || *meaning == SHOP_ACCEPTED))
        return place_refuse(place, "a step sells nothing: sold_out, refused or shed end the "
                                   "purchase there");
    return read_conditions(place, line);
}

bool reading_order(const struct place *place, void *into)
{
    enum shop_meaning meaning = ((const struct line *)into)->rule.meaning;
    return meaning == SHOP_SOLD || meaning == SHOP_ACCEPTED || meaning == SHOP_UNKNOWN ||
           place_refuse(place, "only what is sold or accepted has an order");
}

static bool is_catch_all(const struct shop_rule *rule)
{
    return rule->status_from == 0 && !rule->pointer && !rule->contains;
}

/* --- lists of lines --- */

static bool add_rule(const struct place *place, struct shop_request *to, const struct line *line)
{
    if (to->rule_count == RULES_MAX)
        return place_refuse(place, "too many rules: %d at most, one for each status", RULES_MAX);
    if (to->rule_count > 0 && is_catch_all(&to->rules[to->rule_count - 1]))
        return place_refuse(place, "never reached: the line before it takes any answer");
    if (line->of_step && is_catch_all(&line->rule))
        return place_refuse(place, "any answer would end the purchase here: name a status, json "
                                   "or text of it");
    to->rules[to->rule_count++] = line->rule;
    return true;
}

bool reading_line(const struct place *place, void *into)
{
    const struct target *target = place->reading->target;
    struct line line = {.of_step = into != &target->purchase && into != &target->poll};
    if (!fields_read(place, PART_LINE, &line))
        return false;
    if (line.rule.meaning == SHOP_UNKNOWN)
        return place_refuse(place, "what it means is missing: %ssold_out, refused, shed",
                            line.of_step ? "" : "sold, accepted, ");
    size_t i = 0;
    do {
        line.rule.status_from = line.statuses[i].from;
        line.rule.status_to = line.statuses[i].to;
        if (!add_rule(place, into, &line))
            return false;
    } while (++i < line.status_count);
    return true;
}

static bool has_meaning(const struct shop_request *request, enum shop_meaning meaning)
{
    for (size_t i = 0; i < request->rule_count; i++)
        if (request->rules[i].meaning == meaning)
            return true;
    return false;
}

/* Of the purchase and of "poll"; a step sells nothing. */
bool reading_outcome(const struct place *place, void *into)
{
    bool accepts = into == &place->reading->target->purchase;
    return has_meaning(into, SHOP_SOLD) || (accepts && has_meaning(into, SHOP_ACCEPTED)) ||
           place_refuse(place, "no answer is \"sold\"%s: nothing could be bought",
                        accepts ? " or \"accepted\"" : "");
}
