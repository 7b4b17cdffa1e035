/*
 * Fields in a request's texts: see draft_parts.h. What a value was is left between two marks until
 * the text is written, so that braces of the shop's own are not taken for fields.
 */
#include "loadtest/shop/draft/draft_parts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MARK "\x7f" /* stands in no request */

static const char *const FIELD_NAMES[] = {"product", "user", "key"};
static const char *const NAMES[DRAFT_FIELDS][12] = {
    {"product", "productid", "sku", "skuid", "item", "itemid", "goods", "goodsid", NULL},
    {"user", "userid", "uid", "buyer", "buyerid", "customer", "customerid", "member", "memberid",
     NULL},
    {"key", "idempotencykey", "xidempotencykey", "requestid", "xrequestid", NULL},
};

bool draft_is_named(const char *name, size_t length, const char *const *names)
{
    for (; *names; names++) {
        const char *wanted = *names;
        size_t i = 0;
        for (; i < length && (name[i] == '_' || name[i] == '-' || tolower(name[i]) == *wanted); i++)
            wanted += name[i] != '_' && name[i] != '-';
        if (i == length && !*wanted)
            return true;
    }
    return false;
}

/* The field that a name means; NULL: none, or its value cannot be one. */
static const char *field_of(const char *name, size_t length, const char *value, size_t size,
                            struct draft_found *found)
{
    for (int i = 0; i < DRAFT_FIELDS; i++) {
        if (!draft_is_named(name, length, NAMES[i]))
            continue;
        if (i == DRAFT_PRODUCT) {
            if (size == 0 || size > 18 || strspn(value, "0123456789") < size || found->fields[i])
                return NULL;
            snprintf(found->product, sizeof found->product, "%.*s", (int)size, value);
        }
        found->fields[i] = true;
        return FIELD_NAMES[i];
    }
    return NULL;
}

/* --- writing --- */

static bool begins_field(const char *at)
{
    size_t name = strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    return at[1] == '{' || (name > 0 && at[1 + name] == '}');
}

/* A text with marks as a template; a number of JSON's loses the quotes that the mark was given. */
static char *template_of(const char *text)
{
    char *out = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&out, &size);
    for (const char *at = text; to && *at; at++) {
        bool number = strncmp(at, "\"" MARK "#", 3) == 0;
        const char *name = at + (number ? 3 : 1), *end = strchr(name, *MARK);
        if ((number || *at == *MARK) && end) {
            fprintf(to, "{%.*s}", (int)(end - name), name);
            at = end + number;
        } else if (strncmp(at, "${", 2) == 0) {
            fputs("$${", to);
            at++;
        } else {
            fputs(*at == '{' && begins_field(at) ? "{{" : (char[]){*at, '\0'}, to);
        }
    }
    if (to)
        fclose(to);
    return out;
}

void draft_json(FILE *to, json_t *json)
{
    json_dumpf(json, to, JSON_ENCODE_ANY);
    json_decref(json);
}

/* In single quotes, unless something in it needs an escape. */
static void write_value(FILE *to, const char *marked)
{
    char *text = template_of(marked);
    bool plain = true;
    for (const char *c = text; c && *c; c++)
        plain = plain && (unsigned char)*c >= ' ';
    if (!plain) {
        draft_json(to, json_string(text));
    } else {
        fputc('\'', to);
        for (const char *c = text; c && *c; c++)
            fputs(*c == '\'' ? "''" : (char[]){*c, '\0'}, to);
        fputc('\'', to);
    }
    free(text);
}

/* --- paths, forms --- */

/* "a=1&user=42", marked. */
static void mark_pairs(FILE *to, const char *at, struct draft_found *found)
{
    while (*at) {
        size_t pair = strcspn(at, "&"), name = strcspn(at, "=&");
        const char *field =
            name < pair ? field_of(at, name, at + name + 1, pair - name - 1, found) : NULL;
        if (field)
            fprintf(to, "%.*s=" MARK "%s" MARK, (int)name, at, field);
        else
            fprintf(to, "%.*s", (int)pair, at);
        at += pair;
        if (*at)
            fputc(*at++, to);
    }
}

static void write_pairs(FILE *to, const char *text, size_t before, struct draft_found *found)
{
    char *marked = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&marked, &size);
    if (!memory)
        return;
    fprintf(memory, "%.*s", (int)before, text);
    mark_pairs(memory, text + before, found);
    fclose(memory);
    write_value(to, marked);
    free(marked);
}

void draft_path(FILE *to, const char *path, struct draft_found *found)
{
    size_t query = strcspn(path, "?");
    write_pairs(to, path, query + (path[query] == '?'), found);
}

/* --- JSON --- */

static void mark_json(json_t *value, struct draft_found *found)
{
    const char *name = NULL;
    json_t *member = NULL;
    size_t index = 0;
    json_array_foreach(value, index, member)
    {
        mark_json(member, found);
    }
    json_object_foreach(value, name, member)
    {
        char marked[64], number[32] = "";
        bool text = json_is_string(member);
        if (json_is_integer(member))
            snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(member));
        const char *was = text ? json_string_value(member) : number;
        const char *field = *was ? field_of(name, strlen(name), was, strlen(was), found) : NULL;
        if (!field) {
            mark_json(member, found);
            continue;
        }
        snprintf(marked, sizeof marked, MARK "%s%s" MARK, text ? "" : "#", field);
        json_object_set_new(value, name, json_string(marked));
    }
}

void draft_body(FILE *to, const struct shop_request *curl, struct draft_found *found)
{
    bool is_json = curl->body_form == FILL_JSON;
    json_t *json = is_json ? json_loads(curl->body, 0, NULL) : NULL;
    mark_json(json, found);
    char *marked = json ? json_dumps(json, JSON_PRESERVE_ORDER) : NULL;
    if (marked)
        write_value(to, marked);
    else
        write_pairs(to, curl->body, is_json ? strlen(curl->body) : 0, found);
    free(marked);
    json_decref(json);
}

/* --- headers --- */

bool draft_is_secret(const char *header)
{
    static const char *const parts[] = {"authorization", "cookie", "token",  "secret",
                                        "session",       "csrf",   "api-key"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcasestr(header, parts[i]))
            return true;
    return false;
}

void draft_header(FILE *to, const struct shop_pair *header, struct draft_found *found)
{
    /* Never the product, which is known by a number. */
    const char *field = field_of(header->name, strlen(header->name), "", 0, found);
    if (field) {
        fprintf(to, "'{%s}'", field);
    } else if (draft_is_secret(header->name)) {
        fputs("${SHOP_", to);
        for (const char *c = header->name; *c; c++)
            fputc(isalnum((unsigned char)*c) ? toupper(*c) : '_', to);
        fputs("}   # one buyer's, which is not repeated here; see users", to);
    } else {
        write_value(to, header->value);
    }
}
