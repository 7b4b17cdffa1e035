/* See draft.h. */
#include "loadtest/shop/draft/draft.h"

#include "loadtest/shop/draft/pasted.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* --- the request's texts, as values of YAML, with fields in the place of what they name; `found`
 * learns what was there. What a value was is left between two marks until the text is written, so
 * that braces of the shop's own are not taken for fields --- */

#define MARK "\x7f" /* stands in no request */

/* What can be known by its name in a request. */
enum draft_field { DRAFT_PRODUCT, DRAFT_USER, DRAFT_KEY, DRAFT_FIELDS };

struct draft_found {
    bool fields[DRAFT_FIELDS];
    char product[24]; /* the product's number; "": none was found */
};

static const char *const FIELD_NAMES[] = {"product", "user", "key"};
static const char *const NAMES[DRAFT_FIELDS][12] = {
    {"product", "productid", "sku", "skuid", "item", "itemid", "goods", "goodsid", NULL},
    {"user", "userid", "uid", "buyer", "buyerid", "customer", "customerid", "member", "memberid",
     NULL},
    {"key", "idempotencykey", "xidempotencykey", "requestid", "xrequestid", NULL},
};

/* Whether a name is one of the list, which ends with NULL, but for case, '_' and '-'. */
static bool is_named(const char *name, size_t length, const char *const *names)
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
        if (!is_named(name, length, NAMES[i]))
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
    FILE *to = memory_need(open_memstream(&out, &size));
    for (const char *at = text; *at; at++) {
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
    fclose(to);
    return out;
}

/* Takes the JSON; NULL is written as nothing. */
static void write_json(FILE *to, json_t *json)
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
        write_json(to, json_string(text));
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
    FILE *memory = memory_need(open_memstream(&marked, &size));
    fprintf(memory, "%.*s", (int)before, text);
    mark_pairs(memory, text + before, found);
    fclose(memory);
    write_value(to, marked);
    free(marked);
}

static void write_path(FILE *to, const char *path, struct draft_found *found)
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

static void write_body(FILE *to, const struct shop_request *curl, struct draft_found *found)
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

static bool is_secret(const char *header)
{
    static const char *const parts[] = {"authorization", "cookie", "token",  "secret",
                                        "session",       "csrf",   "api-key"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcasestr(header, parts[i]))
            return true;
    return false;
}

static void write_header(FILE *to, const struct shop_pair *header, struct draft_found *found)
{
    /* Never the product, which is known by a number. */
    const char *field = field_of(header->name, strlen(header->name), "", 0, found);
    if (field) {
        fprintf(to, "'{%s}'", field);
    } else if (is_secret(header->name)) {
        fputs("${SHOP_", to);
        for (const char *c = header->name; *c; c++)
            fputc(isalnum((unsigned char)*c) ? toupper(*c) : '_', to);
        fputs("}   # one buyer's, which is not repeated here; see users", to);
    } else {
        write_value(to, header->value);
    }
}

/* --- what an answer means, by what tells two of them apart --- */

enum { TEXT_MAX = 80 };

/* A value of one answer that the other does not have there. */
struct difference {
    const char *pointer;  /* NULL: none was found */
    json_t *here, *there; /* borrowed; `there` NULL: nothing */
    int rank;
    const char *order; /* where the answer has the order's id; NULL: nowhere that its name shows */
};

static const char *const TELLING[] = {"code",    "error",  "errorcode", "errcode",
                                      "status",  "reason", "result",    "success",
                                      "message", "msg",    NULL};
static const char *const ORDERS[] = {"id", "order", "orderid", "orderno", "ordersn", NULL};

/* By how much it looks like what a shop says its answer with, and not like a time or a number. */
static int rank_of(const char *name, const json_t *here, const json_t *there)
{
    bool telling = is_named(name, strlen(name), TELLING);
    bool both = there && json_typeof(there) == json_typeof(here);
    if (json_is_string(here) && json_string_length(here) > TEXT_MAX)
        return 0;
    return 1 + (telling ? 4 : 0) + (both ? 1 : 0) + (json_is_boolean(here) ? 2 : 0);
}

static void compare(struct pool *pool, json_t *here, json_t *there, const char *way,
                    struct difference *best)
{
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach(here, name, value)
    {
        json_t *other = json_object_get(there, name);
        const char *pointer = pool_text(pool, "%s/%s", way, name);
        int rank = rank_of(name, value, other);
        if (strpbrk(name, "/~"))
            continue;
        if (json_is_object(value)) {
            compare(pool, value, other, pointer, best);
            continue;
        }
        if (!best->order && (json_is_string(value) || json_is_integer(value)) &&
            is_named(name, strlen(name), ORDERS))
            best->order = pointer;
        if (json_is_array(value) || json_is_null(value) || (other && json_equal(value, other)) ||
            rank <= best->rank)
            continue;
        *best = (struct difference){pointer, value, other, rank, best->order};
    }
}

/* Its first line, where the other answer has it nowhere; NULL: it has none. */
static json_t *own_line(const struct pasted_answer *is, const struct pasted_answer *other)
{
    char line[TEXT_MAX + 1];
    size_t length = strcspn(is->body, "\r\n");
    if (length > TEXT_MAX)
        for (length = TEXT_MAX; length > 0 && ((unsigned char)is->body[length] & 0xc0) == 0x80;)
            length--;
    snprintf(line, sizeof line, "%.*s", (int)length, is->body);
    return *line && !is->json && !strstr(other->body, line) ? json_string(line) : NULL;
}

/* --- the file --- */

/* A file that is being made. */
struct draft {
    const struct draft_sources *from;
    struct shop_request curl;
    struct pasted_answer bought, sold_out;
    struct draft_found found;
    struct pool pool;
};

/* A line of the outcome but for its order; `found` gets what tells it. False: nothing is its own.
 */
static bool write_line(FILE *to, struct draft *draft, bool sold_out, struct difference *found)
{
    const struct pasted_answer *is = sold_out ? &draft->sold_out : &draft->bought;
    const struct pasted_answer *other = sold_out ? &draft->bought : &draft->sold_out;
    json_t *tells = NULL;
    bool by_status = is->status != other->status;
    *found = (struct difference){.pointer = NULL};
    compare(&draft->pool, is->json, other->json, "", found);
    /* Another "no" may have the same status; a sale has it alone. */
    bool by_json = found->pointer && (!by_status || sold_out);
    if (by_json)
        tells = found->there || sold_out ? json_pack("{sO}", found->pointer, found->here)
                                         : json_string(found->pointer);
    else if (!by_status)
        tells = own_line(is, other);
    fprintf(to, "  - %s: {status: %d",
            sold_out            ? "sold_out"
            : is->status == 202 ? "accepted"
                                : "sold",
            is->status);
    if (tells)
        fputs(by_json ? ", json: " : ", text: ", to);
    write_json(to, tells);
    fputs("}\n", to);
    return by_status || tells;
}

static void write_order(FILE *to, const char *pointer)
{
    if (!pointer)
        return;
    fputs("    order: ", to);
    write_json(to, json_string(pointer));
    fputs("   # where the answer has the order's id\n", to);
}

/* The lines of "outcome". False: the answers are alike. */
static bool write_outcome(FILE *to, struct draft *draft)
{
    struct difference found;
    if (!write_line(to, draft, true, &found) || !write_line(to, draft, false, &found))
        return false;
    write_order(to, found.order);
    if (draft->found.fields[DRAFT_KEY] && draft->bought.status == 201 &&
        draft->sold_out.status != 200) {
        fputs("  - sold: {status: 200}   # the same order again, to a repeated key\n", to);
        write_order(to, found.order);
    }
    fputs("  - shed: [429, 503]      # too busy, nothing was decided\n"
          "  - refused: 4xx          # any other no\n",
          to);
    if (draft->bought.status == 202)
        fputs("# An accepted order's end is unknown until this says how it is asked for:\n"
              "# poll:\n"
              "#   path: /orders/{order}\n"
              "#   outcome: [{sold: {json: {/status: \"paid\"}}}]\n",
              to);
    return true;
}

/* Headers that are the browser's own, or made by whatever sends. */
static bool is_left_out(const char *name)
{
    static const char *const names[] = {"host",
                                        "contentlength",
                                        "connection",
                                        "acceptencoding",
                                        "transferencoding",
                                        "accept",
                                        "useragent",
                                        "acceptlanguage",
                                        "cachecontrol",
                                        "pragma",
                                        "priority",
                                        "referer",
                                        "dnt",
                                        "upgradeinsecurerequests",
                                        NULL};
    return strncasecmp(name, "sec-", 4) == 0 || is_named(name, strlen(name), names);
}

static void write_headers(FILE *to, struct draft *draft)
{
    const struct shop_request *curl = &draft->curl;
    bool typed = false, any = false;
    for (size_t i = 0; i < curl->header_count; i++) {
        const struct shop_pair *header = &curl->headers[i];
        if (is_left_out(header->name) || !*header->value)
            continue;
        fprintf(to, "%s    %s: ", any ? "" : "  headers:\n", header->name);
        write_header(to, header, &draft->found);
        fputc('\n', to);
        any = true;
        typed = typed || strcasecmp(header->name, "Content-Type") == 0;
    }
    if (curl->body && !typed && curl->body_form != FILL_JSON)
        fprintf(to, "%s    Content-Type: application/x-www-form-urlencoded\n",
                any ? "" : "  headers:\n");
}

static void write_request(FILE *to, struct draft *draft)
{
    const struct shop_request *curl = &draft->curl;
    fprintf(to, "request:\n  method: %s\n  path: ", curl->method);
    write_path(to, curl->url, &draft->found);
    fputc('\n', to);
    write_headers(to, draft);
    if (curl->body) {
        fputs("  body: ", to);
        write_body(to, curl, &draft->found);
        fputc('\n', to);
    }
}

static bool has_secret(const struct shop_request *curl)
{
    for (size_t i = 0; i < curl->header_count; i++)
        if (is_secret(curl->headers[i].name))
            return true;
    return false;
}

/* What stands before the request, of which it tells. */
static void write_top(FILE *to, const struct draft *draft)
{
    const struct draft_found *found = &draft->found;
    fprintf(to,
            "# Made by seckill-loadtest shop --init. All fields: docs/JUDGING.md#the-target-file\n"
            "server: %s\n",
            draft->from->server);
    if (found->fields[DRAFT_PRODUCT])
        fprintf(to, "product: %s\n", found->product);
    fputs("stock: 100         # units that the shop has at the start\n"
          "# limit: 1         # units a user may have\n",
          to);
    if (found->fields[DRAFT_USER])
        fputs("users: 1..100000   # {user}\n", to);
    else
        fputs("# Nothing in the request looked like a user: all purchases are one buyer's until "
              "{user}\n"
              "# stands in it.\n",
              to);
    if (has_secret(&draft->curl))
        fputs("# What is a buyer's own comes from a file, and stands in the request as {token}:\n"
              "# users: {csv: users.csv}   # its first line: user,token\n",
              to);
    fputs(found->fields[DRAFT_KEY] ? "repeats: 5%        # bought twice with the same {key}\n"
                                   : "# repeats: 5%      # bought twice with the same key: "
                                     "\"{key}\" stands in the request\n",
          to);
}

static void write_books(FILE *to)
{
    fputs("# Until these stand here the shop is judged by its answers alone, and by one sale from "
          "a full\n"
          "# stock. {command: ...} does instead of {sql: ...}.\n"
          "# database: ${SHOP_DATABASE}   # host=db dbname=shop user=tester\n"
          "# reset:\n"
          "#   sql: UPDATE products SET stock = {stock} WHERE id = {product}\n"
          "# audit:\n"
          "#   stock: {sql: \"SELECT stock FROM products WHERE id = {product}\"}\n"
          "#   orders: {sql: \"SELECT id, user_id, quantity FROM orders WHERE product_id = "
          "{product}\"}\n",
          to);
}

/* The request is written first, into memory: the top of the file tells what it found. */
static bool write_all(FILE *to, struct draft *draft, struct error *error)
{
    char *request = NULL;
    size_t size = 0;
    FILE *memory = memory_need(open_memstream(&request, &size));
    write_request(memory, draft);
    fputs("outcome:\n", memory);
    bool apart = write_outcome(memory, draft);
    fclose(memory);
    if (apart) {
        write_top(to, draft);
        fputs(request, to);
        write_books(to);
    }
    free(request);
    return apart || error_fail(error,
                               "%.200s and %.200s are alike: the same status, and nothing of its "
                               "own in the second",
                               draft->from->bought, draft->from->sold_out);
}

static bool write_file(struct draft *draft, const char *path, struct error *error)
{
    FILE *to = fopen(path, "wxe");
    if (!to)
        return error_fail(error, "%.300s: %s", path, strerror(errno));
    bool written = write_all(to, draft, error);
    bool kept = fclose(to) == 0;
    if (written && !kept)
        written = error_fail(error, "cannot write %.300s", path);
    if (!written)
        unlink(path);
    return written;
}

bool draft_make(const struct draft_sources *from, const char *path, struct error *error)
{
    struct draft draft = {.from = from};
    struct pool *pool = &draft.pool;
    bool made = pasted_read_curl(from->curl, pool, &draft.curl, error) &&
                pasted_read_answer(from->bought, pool, &draft.bought, error) &&
                pasted_read_answer(from->sold_out, pool, &draft.sold_out, error) &&
                write_file(&draft, path, error);
    json_decref(draft.bought.json);
    json_decref(draft.sold_out.json);
    pool_fini(pool);
    return made;
}
