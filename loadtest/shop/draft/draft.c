/* See draft.h. */
#include "loadtest/shop/draft/draft.h"

#include "loadtest/shop/draft/draft_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* A file that is being made. */
struct draft {
    const struct draft_sources *from;
    struct pasted_curl curl;
    struct pasted_answer bought, sold_out;
    struct draft_found found;
};

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
    return strncasecmp(name, "sec-", 4) == 0 || draft_is_named(name, strlen(name), names);
}

static void write_headers(FILE *to, struct draft *draft)
{
    const struct pasted_curl *curl = &draft->curl;
    bool typed = false, any = false;
    for (size_t i = 0; i < curl->header_count; i++) {
        const struct shop_pair *header = &curl->headers[i];
        if (is_left_out(header->name) || !*header->value)
            continue;
        fprintf(to, "%s    %s: ", any ? "" : "  headers:\n", header->name);
        draft_header(to, header, &draft->found);
        fputc('\n', to);
        any = true;
        typed = typed || strcasecmp(header->name, "Content-Type") == 0;
    }
    if (curl->body && !typed && !curl->body_is_json)
        fprintf(to, "%s    Content-Type: application/x-www-form-urlencoded\n",
                any ? "" : "  headers:\n");
}

static void write_request(FILE *to, struct draft *draft)
{
    const struct pasted_curl *curl = &draft->curl;
    fprintf(to, "request:\n  method: %s\n  path: ", curl->method);
    draft_path(to, curl->path, &draft->found);
    fputc('\n', to);
    write_headers(to, draft);
    if (curl->body) {
        fputs("  body: ", to);
        draft_body(to, curl, &draft->found);
        fputc('\n', to);
    }
}

static bool has_secret(const struct pasted_curl *curl)
{
    for (size_t i = 0; i < curl->header_count; i++)
        if (draft_is_secret(curl->headers[i].name))
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
    FILE *memory = open_memstream(&request, &size);
    if (!memory)
        return error_fail(error, "out of memory");
    write_request(memory, draft);
    fputs("outcome:\n", memory);
    bool apart =
        draft_outcome(memory, &draft->bought, &draft->sold_out, draft->found.fields[DRAFT_KEY]);
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
    struct pool pool = {NULL};
    bool made = pasted_read_curl(from->curl, &pool, &draft.curl, error) &&
                pasted_read_answer(from->bought, &pool, &draft.bought, error) &&
                pasted_read_answer(from->sold_out, &pool, &draft.sold_out, error) &&
                write_file(&draft, path, error);
    json_decref(draft.bought.json);
    json_decref(draft.sold_out.json);
    pool_fini(&pool);
    return made;
}
