/*
 * What a target's answers mean: "outcome", the one of "poll", and those of steps, which can only
 * say no. A line names a meaning and its conditions; one with several statuses becomes a rule for
 * each.
 */
#include "loadtest/shop/target/reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RULES_MAX = 64, STATUSES_MAX = 16 };

struct status_range {
    int from, to;
};

/* A line while it is read. What it owns goes over to the rules, or is freed. */
struct line {
    bool of_step;
    enum shop_meaning meaning; /* SHOP_UNKNOWN: none yet */
    struct status_range statuses[STATUSES_MAX];
    size_t status_count;               /* 0: any */
    char *pointer, *equals, *contains; /* owned */
    char *order;                       /* owned */
};

static const char *const meanings[SHOP_MEANINGS] = {
    [SHOP_UNKNOWN] = "unknown",   [SHOP_SOLD] = "sold",       [SHOP_ACCEPTED] = "accepted",
    [SHOP_SOLD_OUT] = "sold_out", [SHOP_REFUSED] = "refused", [SHOP_SHED] = "shed",
};

const char *shop_meaning_name(enum shop_meaning meaning)
{
    return meanings[meaning];
}

/* --- conditions --- */

static bool parse_status(const char *word, struct status_range *out)
{
    if (strlen(word) != 3 || word[0] < '1' || word[0] > '5')
        return false;
    int hundred = (word[0] - '0') * 100;
    if (strcmp(word + 1, "xx") == 0) {
        *out = (struct status_range){hundred, hundred + 99};
        return true;
    }
    if (strspn(word, "0123456789") != 3)
        return false;
    int status = hundred + (word[1] - '0') * 10 + (word[2] - '0');
    *out = (struct status_range){status, status};
    return true;
}

static bool add_status(const struct place *place, struct line *line)
{
    char quoted[PLACE_QUOTE_SIZE];
    const char *word = value_word(place, "a status (201, 4xx)");
    if (!word)
        return false;
    if (line->status_count == STATUSES_MAX)
        return place_refuse(place, "too many: %d at most", STATUSES_MAX);
    if (!parse_status(word, &line->statuses[line->status_count]))
        return place_refuse(place,
                            "%s is no status: a number from 100 to 599, or 4xx for each "
                            "that begins so",
                            place_quote(word, quoted));
    line->status_count++;
    return true;
}

static bool read_status(const struct place *place, void *into)
{
    if (place_kind(place) != PLACE_LIST)
        return add_status(place, into);
    if (!place_is_list(place, "[201, 202]"))
        return false;
    for (size_t i = 0; i < place_count(place); i++) {
        struct place child = place_child(place, i);
        if (!add_status(&child, into))
            return false;
    }
    return true;
}

/* "/id" alone: it is there. */
static bool read_json(const struct place *place, void *into)
{
    struct line *line = into;
    if (place_kind(place) == PLACE_TEXT)
        return value_pointer(place, &line->pointer);
    if (!place_is_map(place, "{/code: 5001}, or /code: it is there"))
        return false;
    if (place_count(place) > 1)
        return place_refuse(place, "one pointer a rule; a second rule can look at another");
    struct place child = place_child(place, 0);
    if (!value_check_pointer(&child, child.key) || !value_json(&child, &line->equals))
        return false;
    line->pointer = strdup(child.key);
    return line->pointer || error_fail(place->document->error, "out of memory");
}

static bool read_contains(const struct place *place, void *into)
{
    struct line *line = into;
    return value_text(place, "a text", &line->contains);
}

static bool read_conditions(const struct place *place, struct line *line)
{
    static const struct place_field fields[] = {
        {"status", read_status, false}, {"json", read_json, false}, {"text", read_contains, false}};
    if (place_kind(place) == PLACE_MAP)
        return place_read(place, fields, sizeof fields / sizeof *fields, line);
    if (place_kind(place) == PLACE_LIST)
        return read_status(place, line);
    const char *word = value_word(place, "a status, \"any\", or {status: …, json: …, text: …}");
    return word && (strcmp(word, "any") == 0 || add_status(place, line));
}

/* --- lines --- */

static bool read_meaning(const struct place *place, struct line *line, enum shop_meaning meaning)
{
    if (line->meaning != SHOP_UNKNOWN)
        return place_refuse(place, "a line has one meaning, and this one has \"%s\" too",
                            meanings[line->meaning]);
    if (line->of_step && (meaning == SHOP_SOLD || meaning == SHOP_ACCEPTED))
        return place_refuse(place, "a step sells nothing: sold_out, refused or shed end the "
                                   "purchase there");
    line->meaning = meaning;
    return read_conditions(place, line);
}

static bool read_sold(const struct place *place, void *into)
{
    return read_meaning(place, into, SHOP_SOLD);
}

static bool read_accepted(const struct place *place, void *into)
{
    return read_meaning(place, into, SHOP_ACCEPTED);
}

static bool read_sold_out(const struct place *place, void *into)
{
    return read_meaning(place, into, SHOP_SOLD_OUT);
}

static bool read_refused(const struct place *place, void *into)
{
    return read_meaning(place, into, SHOP_REFUSED);
}

static bool read_shed(const struct place *place, void *into)
{
    return read_meaning(place, into, SHOP_SHED);
}

static bool read_order(const struct place *place, void *into)
{
    struct line *line = into;
    if (line->meaning == SHOP_SOLD_OUT || line->meaning == SHOP_REFUSED ||
        line->meaning == SHOP_SHED)
        return place_refuse(place, "only what is sold or accepted has an order");
    return value_pointer(place, &line->order);
}

static bool read_line(const struct place *place, struct line *line)
{
    static const struct place_field fields[] = {
        {"sold", read_sold, false},         {"accepted", read_accepted, false},
        {"sold_out", read_sold_out, false}, {"refused", read_refused, false},
        {"shed", read_shed, false},         {"order", read_order, false},
    };
    if (!place_read(place, fields, sizeof fields / sizeof *fields, line))
        return false;
    return line->meaning != SHOP_UNKNOWN ||
           place_refuse(place, "what it means is missing: %ssold_out, refused, shed",
                        line->of_step ? "" : "sold, accepted, ");
}

static bool copy_text(const struct place *place, const char *text, char **out)
{
    *out = text ? strdup(text) : NULL;
    return !text || *out || error_fail(place->document->error, "out of memory");
}

static bool is_catch_all(const struct shop_rule *rule)
{
    return rule->status_from == 0 && !rule->pointer && !rule->contains;
}

static bool add_rule(const struct place *place, const struct line *line, struct status_range status,
                     struct shop_rule **rules, size_t *count)
{
    if (*count == RULES_MAX)
        return place_refuse(place, "too many rules: %d at most, one for each status", RULES_MAX);
    if (*count > 0 && is_catch_all(&(*rules)[*count - 1]))
        return place_refuse(place, "never reached: the line before it takes any answer");
    struct shop_rule *grown = reading_grow(place, *rules, *count, sizeof *grown);
    if (!grown)
        return false;
    *rules = grown;
    struct shop_rule *rule = &grown[(*count)++];
    rule->meaning = line->meaning;
    rule->status_from = status.from;
    rule->status_to = status.to;
    return copy_text(place, line->pointer, &rule->pointer) &&
           copy_text(place, line->equals, &rule->equals) &&
           copy_text(place, line->contains, &rule->contains) &&
           copy_text(place, line->order, &rule->order);
}

/* Where rules go. */
struct rules {
    struct shop_rule **items;
    size_t *count;
    bool of_step;
};

static bool add_line(const struct place *place, const struct rules *to)
{
    struct line line = {.of_step = to->of_step};
    bool added = read_line(place, &line);
    size_t many = line.status_count > 0 ? line.status_count : 1;

    for (size_t i = 0; added && i < many; i++)
        added = add_rule(place, &line, line.statuses[i], to->items, to->count);
    if (added && to->of_step && is_catch_all(&(*to->items)[*to->count - 1]))
        added = place_refuse(place, "any answer would end the purchase here: name a status, json "
                                    "or text of it");
    free(line.pointer);
    free(line.equals);
    free(line.contains);
    free(line.order);
    return added;
}

static bool read_rules(const struct place *place, const struct rules *to)
{
    if (!place_is_list(place, to->of_step ? "- refused: 403" : "- sold: 201"))
        return false;
    for (size_t i = 0; i < place_count(place); i++) {
        struct place child = place_child(place, i);
        if (!add_line(&child, to))
            return false;
    }
    return true;
}

static bool has_meaning(const struct shop_rule *rules, size_t count, enum shop_meaning meaning)
{
    for (size_t i = 0; i < count; i++)
        if (rules[i].meaning == meaning)
            return true;
    return false;
}

bool reading_outcome(const struct place *place, void *into)
{
    struct target *target = ((struct reading *)into)->target;
    if (!read_rules(place, &(struct rules){&target->rules, &target->rule_count, false}))
        return false;
    return has_meaning(target->rules, target->rule_count, SHOP_SOLD) ||
           has_meaning(target->rules, target->rule_count, SHOP_ACCEPTED) ||
           place_refuse(place, "no answer is \"sold\" or \"accepted\": nothing could be bought");
}

bool reading_poll_rules(const struct place *place, struct target *target)
{
    if (!read_rules(place, &(struct rules){&target->poll_rules, &target->poll_rule_count, false}))
        return false;
    return has_meaning(target->poll_rules, target->poll_rule_count, SHOP_SOLD) ||
           place_refuse(place, "no answer is \"sold\": nothing could be bought");
}

bool reading_step_rules(const struct place *place, struct shop_request *step)
{
    return read_rules(place, &(struct rules){&step->rules, &step->rule_count, true});
}
