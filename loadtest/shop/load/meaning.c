/* See meaning.h. JSON Pointer: RFC 6901, section 4. */
#include "loadtest/shop/load/meaning.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* "~1" is a slash and "~0" a tilde, which is undone last. In place. */
static void unescape(char *token)
{
    char *to = token;
    for (const char *at = token; *at; at++) {
        bool escaped = at[0] == '~' && (at[1] == '0' || at[1] == '1');
        at += escaped;
        *to++ = (char)(!escaped ? *at : *at == '1' ? '/' : '~');
    }
    *to = '\0';
}

/* Digits without a leading zero. "-" is the element behind the last, which is never there. */
static json_t *element(const json_t *array, const char *token)
{
    char *end = NULL;
    bool plain = token[0] >= '0' && token[0] <= '9' && (token[0] != '0' || token[1] == '\0');
    unsigned long long index = plain ? strtoull(token, &end, 10) : 0;
    return plain && *end == '\0' ? json_array_get(array, (size_t)index) : NULL;
}

static json_t *find(json_t *at, const char *pointer)
{
    char *copy = memory_copy(pointer), *rest = copy;
    const char *before = strsep(&rest, "/"); /* the first slash */
    if (!before || *before)
        at = NULL;
    for (char *token; at && (token = strsep(&rest, "/")) != NULL;) {
        unescape(token);
        at = json_is_array(at) ? element(at, token) : json_object_get(at, token);
    }
    free(copy);
    return at;
}

/* NULL: nothing that could be named. */
static char *text_of(const json_t *value)
{
    if (!value || json_is_null(value))
        return NULL;
    if (!json_is_string(value))
        return json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    return json_string_length(value) > 0 ? memory_copy(json_string_value(value)) : NULL;
}

/* 5001 and 5001.0 are the same number. */
static bool is_equal(const json_t *value, const char *wanted)
{
    json_t *other = json_loads(wanted, JSON_DECODE_ANY, NULL);
    bool equal = json_is_number(value) && json_is_number(other)
                     ? json_number_value(value) == json_number_value(other)
                     : json_equal(value, other) == 1;
    json_decref(other);
    return equal;
}

static bool matches(const struct shop_rule *rule, const struct shop_answer *answer, json_t *root)
{
    if (rule->status_from != 0 &&
        (answer->status < rule->status_from || answer->status > rule->status_to))
        return false;
    if (rule->contains &&
        !memmem(answer->body, answer->length, rule->contains, strlen(rule->contains)))
        return false;
    if (!rule->pointer)
        return true;
    const json_t *value = find(root, rule->pointer);
    return value && (!rule->equals || is_equal(value, rule->equals));
}

static json_t *parse(const struct shop_answer *answer)
{
    return json_loadb(answer->body ? answer->body : "", answer->length, JSON_DECODE_ANY, NULL);
}

enum shop_meaning meaning_of(const struct shop_request *request, const struct shop_answer *answer,
                             char **order)
{
    size_t at = answer->status ? 0 : request->rule_count;
    json_t *root = at < request->rule_count ? parse(answer) : NULL;
    while (at < request->rule_count && !matches(&request->rules[at], answer, root))
        at++;
    const struct shop_rule *rule = at < request->rule_count ? &request->rules[at] : NULL;
    *order = rule && rule->order ? text_of(find(root, rule->order)) : NULL;
    json_decref(root);
    return rule ? rule->meaning : SHOP_UNKNOWN;
}

char *meaning_take(const struct shop_answer *answer, const char *pointer)
{
    json_t *root = parse(answer);
    char *text = text_of(find(root, pointer));
    json_decref(root);
    return text;
}
