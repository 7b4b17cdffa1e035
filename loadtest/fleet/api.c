/* See api.h. */
#include "loadtest/fleet/api.h"

#include "loadtest/base/headers.h"
#include "loadtest/base/pool.h"
#include "loadtest/base/process.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_LIMIT_MS = 60000, ANSWER_MAX_BYTES = 16 * 1024 * 1024 };

struct api {
    CURL *curl;                 /* owned */
    struct curl_slist *headers; /* owned */
    char *answer;               /* owned; a text */
    size_t length;
};

static size_t take(char *data, size_t size, size_t count, void *context)
{
    struct api *api = context;
    size_t length = size * count;
    if (api->length + length > ANSWER_MAX_BYTES)
        return 0;
    api->answer = memory_need(realloc(api->answer, api->length + length + 1));
    memcpy(api->answer + api->length, data, length);
    api->length += length;
    api->answer[api->length] = '\0';
    return length;
}

static int give_up(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)context, (void)a, (void)b, (void)c, (void)d;
    return process_interrupted();
}

/* Owned by the caller. */
static struct curl_slist *list_of(const char *lines)
{
    struct curl_slist *list =
        memory_need(curl_slist_append(NULL, "Content-Type: application/json"));
    for (const char *line = lines; *line; line = strchr(line, '\n') + 1) {
        char one[HEADERS_SIZE];
        snprintf(one, sizeof one, "%.*s", (int)strcspn(line, "\r\n"), line);
        list = memory_need(curl_slist_append(list, one));
    }
    return list;
}

struct api *api_create(const char *admin_token)
{
    char token[HEADERS_SIZE] = "";
    struct api *api = memory_take(sizeof *api);
    if (*admin_token)
        snprintf(token, sizeof token, "Authorization: Bearer %.2000s\n", admin_token);
    *api = (struct api){
        .curl = memory_need(curl_easy_init()), .headers = list_of(token), .answer = memory_take(1)};
    curl_easy_setopt(api->curl, CURLOPT_HTTPHEADER, api->headers);
    curl_easy_setopt(api->curl, CURLOPT_PROXY,
                     ""); /* http_proxy is not for the server under test */
    curl_easy_setopt(api->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(api->curl, CURLOPT_TIMEOUT_MS, (long)CALL_LIMIT_MS);
    curl_easy_setopt(api->curl, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(api->curl, CURLOPT_WRITEDATA, api);
    curl_easy_setopt(api->curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(api->curl, CURLOPT_XFERINFOFUNCTION, give_up);
    return api;
}

void api_destroy(struct api *api)
{
    if (!api)
        return;
    curl_easy_cleanup(api->curl);
    curl_slist_free_all(api->headers);
    free(api->answer);
    free(api);
}

/* One call. The answer's text stands in api->answer until the next one. `body` NULL: a GET. */
static bool send_call(struct api *api, const char *server, const char *path, const char *method,
                      const char *body, long *status, struct error *error)
{
    char url[600];
    snprintf(url, sizeof url, "%.*s%s", (int)strcspn(server + 7, "/") + 7, server, path);
    api->length = 0;
    *api->answer = '\0';
    curl_easy_setopt(api->curl, CURLOPT_URL, url);
    if (body) {
        curl_easy_setopt(api->curl, CURLOPT_POSTFIELDS, body);
        curl_easy_setopt(api->curl, CURLOPT_CUSTOMREQUEST, method);
    } else {
        curl_easy_setopt(api->curl, CURLOPT_CUSTOMREQUEST, NULL);
        curl_easy_setopt(api->curl, CURLOPT_HTTPGET, 1L);
    }
    CURLcode result = curl_easy_perform(api->curl);
    if (process_interrupted())
        return error_fail(error, "interrupted");
    if (result != CURLE_OK)
        return error_fail(error, "%s %s: %s", method, url, curl_easy_strerror(result));
    curl_easy_getinfo(api->curl, CURLINFO_RESPONSE_CODE, status);
    return true;
}

/* A GET, or with a body a PUT, that must be answered 2xx; `document` (may be NULL) gets its JSON,
 * owned by the caller. */
static bool call_json(struct api *api, const char *server, const char *path, const char *body,
                      json_t **document, struct error *error)
{
    long status = 0;
    if (!send_call(api, server, path, body ? "PUT" : "GET", body, &status, error))
        return false;
    if (status / 100 != 2)
        return error_fail(error, "%s %s%s: %ld %.200s", body ? "PUT" : "GET", server, path, status,
                          api->answer);
    if (!document)
        return true;
    json_error_t fault;
    *document = json_loadb(api->answer, api->length, 0, &fault);
    return *document || error_fail(error, "GET %s%s: no JSON: %s", server, path, fault.text);
}

/* As one text, each with a blank before and behind it. */
static void read_words(const json_t *list, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, " ");
    for (size_t i = 0; i < json_array_size(list) && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s ",
                                 json_string_value(json_array_get(list, i)));
}

bool api_needs(const struct api_strategy *strategy, const char *backend)
{
    char word[40];
    snprintf(word, sizeof word, " %s ", backend);
    return strstr(strategy->needs, word) != NULL;
}

static void read_strategy(const json_t *from, struct api_strategy *to)
{
    *to = (struct api_strategy){0};
    const char *name = json_string_value(json_object_get(from, "name"));
    const char *reason = json_string_value(json_object_get(from, "unavailable_reason"));
    const json_t *promise = json_object_get(from, "guarantees");
    snprintf(to->name, sizeof to->name, "%s", name ? name : "");
    snprintf(to->unavailable_reason, sizeof to->unavailable_reason, "%s", reason ? reason : "");
    to->available = json_is_true(json_object_get(from, "available"));
    to->usual = json_is_true(json_object_get(from, "usual"));
    read_words(json_object_get(from, "needs"), to->needs, sizeof to->needs);
    to->has_bodies = json_array_size(json_object_get(from, "bodies")) > 0;
    to->promise = (struct promise){
        .one_instance = json_is_true(json_object_get(promise, "one_instance")),
        .many_instances = json_is_true(json_object_get(promise, "many_instances")),
        .paused_holder = json_is_true(json_object_get(promise, "paused_holder")),
        .redis_failover = json_is_true(json_object_get(promise, "redis_failover")),
    };
}

int api_strategies(struct api *api, const char *server, struct api_strategy *out, size_t size,
                   struct error *error)
{
    json_t *document = NULL;
    if (!call_json(api, server, "/strategies", NULL, &document, error))
        return -1;
    size_t count = json_array_size(document);
    if (count == 0 || count > size) {
        error_fail(error, "GET %s/strategies lists %zu strategies", server, count);
        json_decref(document);
        return -1;
    }
    for (size_t i = 0; i < count; i++)
        read_strategy(json_array_get(document, i), &out[i]);
    json_decref(document);
    return (int)count;
}

static bool integer(const json_t *object, const char *name, int64_t *out, struct error *error)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_integer(value))
        return error_fail(error, "the answer has no integer '%s'", name);
    *out = json_integer_value(value);
    return true;
}

static bool put_product(struct api *api, const char *server, const struct api_sale *sale,
                        int64_t id, struct error *error)
{
    char path[64], body[300], opens[80] = "", limit[48] = "";
    if (sale->opens_at)
        snprintf(opens, sizeof opens, ",\"opens_at\":\"%s\"", sale->opens_at);
    if (sale->limit)
        snprintf(limit, sizeof limit, ",\"limit_per_user\":%" PRId64, sale->limit);
    snprintf(path, sizeof path, "/products/%" PRId64, id);
    snprintf(body, sizeof body, "{\"stock\":%" PRId64 ",\"name\":\"%.60s\"%s%s}", sale->stock,
             sale->name ? sale->name : "load test", opens, limit);
    json_t *document = NULL;
    int64_t epoch;
    bool good = call_json(api, server, path, body, &document, error) &&
                integer(document, "epoch", sale->epoch ? sale->epoch : &epoch, error);
    json_decref(document);
    return good;
}

/* In one call, which takes a stock and nothing else. */
static bool put_run(struct api *api, const char *server, const struct api_sale *sale,
                    struct error *error)
{
    char body[160];
    snprintf(body, sizeof body,
             "{\"first_id\":%" PRId64 ",\"count\":%" PRId64 ",\"stock\":%" PRId64 "}", sale->first,
             sale->count, sale->stock);
    return call_json(api, server, "/products", body, NULL, error);
}

bool api_put_products(struct api *api, const char *server, const struct api_sale *sale,
                      struct error *error)
{
    if (sale->count > 1 && !sale->limit && !sale->name && !sale->opens_at)
        return put_run(api, server, sale, error);
    for (int64_t i = 0; i < sale->count; i++) {
        if (!put_product(api, server, sale, sale->first + i, error))
            return false;
    }
    return true;
}

bool api_epoch(struct api *api, const char *server, int64_t product, int64_t *epoch,
               struct error *error)
{
    char path[64];
    json_t *document = NULL;
    snprintf(path, sizeof path, "/products/%" PRId64, product);
    if (!call_json(api, server, path, NULL, &document, error))
        return false;
    bool good =
        integer(document, "epoch", epoch, error) || error_prefix(error, "GET %s%s", server, path);
    json_decref(document);
    return good;
}

/* Page by page, each of which says where the next one begins; 0: it is the last. */
bool api_reserved(struct api *api, const char *server, int64_t first, int64_t last, int64_t *units,
                  bool *known, struct error *error)
{
    int64_t next = first - 1;
    *units = 0;
    *known = true;
    do {
        char path[96];
        json_t *page = NULL;
        snprintf(path, sizeof path, "/products?limit=1000&after=%" PRId64, next);
        if (!call_json(api, server, path, NULL, &page, error))
            return false;
        const json_t *products = json_object_get(page, "products");
        bool good = json_is_array(products);
        next = json_integer_value(json_object_get(page, "next"));
        for (size_t i = 0; i < json_array_size(products); i++) {
            const json_t *product = json_array_get(products, i);
            const json_t *reserved = json_object_get(product, "reserved");
            if (json_integer_value(json_object_get(product, "id")) > last)
                break;
            *known = *known && json_is_integer(reserved);
            *units += json_integer_value(reserved);
        }
        json_decref(page);
        if (!good)
            return error_fail(error, "GET %s%s: no products in it", server, path);
    } while (next != 0 && next < last);
    return true;
}

bool api_audit(struct api *api, const char *server, int64_t product, struct books *out,
               bool *consistent, struct error *error)
{
    char path[64];
    json_t *document = NULL;
    *out = (struct books){0};
    snprintf(path, sizeof path, "/products/%" PRId64 "/audit", product);
    if (!call_json(api, server, path, NULL, &document, error))
        return false;
    bool good = integer(document, "sold", &out->sold, error) &&
                integer(document, "oversold", &out->oversold, error) &&
                integer(document, "lost_updates", &out->lost_updates, error) &&
                integer(document, "duplicate_orders", &out->duplicate_orders, error) &&
                integer(document, "limit_violations", &out->limit_violations, error) &&
                integer(document, "queued", &out->queued, error) &&
                integer(document, "held", &out->held, error) &&
                integer(document, "lost", &out->lost, error);
    const json_t *names = json_object_get(document, "strategies");
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        books_add_strategies(out, name ? name : "?");
    }
    *consistent = json_is_true(json_object_get(document, "consistent"));
    json_decref(document);
    return good || error_prefix(error, "GET %s%s", server, path);
}

static bool get_metrics(struct api *api, const char *server, struct error *error)
{
    long status = 0;
    return send_call(api, server, "/metrics", "GET", NULL, &status, error) &&
           (status == 200 || error_fail(error, "GET %s/metrics: %ld", server, status));
}

bool api_scrape(struct api *api, const char *server, const char *strategy, const char *kind,
                struct scrape *out, struct error *error)
{
    if (!get_metrics(api, server, error))
        return false;
    return scrape_parse(api->answer, strategy, kind, out, error) ||
           error_prefix(error, "%s", server);
}

bool api_counter(struct api *api, const char *server, const char *name, const char *strategy,
                 int64_t *out, struct error *error)
{
    char start[160];
    if (!get_metrics(api, server, error))
        return false;
    snprintf(start, sizeof start, "\n%s{strategy=\"%s\"} ", name, strategy);
    const char *line = strstr(api->answer, start);
    *out = line ? strtoll(line + strlen(start), NULL, 10) : 0;
    return true;
}

bool api_post(struct api *api, const char *server, const char *path, const char *body,
              struct api_answer *out, struct error *error)
{
    if (!send_call(api, server, path, "POST", body, &out->status, error))
        return false;
    answer_fields(&(struct answer){.body = api->answer, .body_length = api->length}, &out->says);
    return true;
}

bool api_buy(struct api *api, const char *server, const struct api_order *order,
             struct api_answer *out, struct error *error)
{
    struct curl_slist *headers = list_of(order->lines);
    curl_easy_setopt(api->curl, CURLOPT_HTTPHEADER, headers);
    bool answered = api_post(api, server, order->path, order->body, out, error);
    curl_easy_setopt(api->curl, CURLOPT_HTTPHEADER, api->headers);
    curl_slist_free_all(headers);
    return answered;
}

/* The answer of one that is not ready has PostgreSQL's detail, which says why. */
bool api_ready(struct api *api, const char *server, bool *durable, char unsafe[API_UNSAFE_MAX],
               struct error *error)
{
    json_t *document = NULL;
    json_t *backend;
    size_t i;
    bool ready = call_json(api, server, "/readyz", NULL, &document, error);
    if (!ready)
        document = json_loadb(api->answer, api->length, 0, NULL);
    *durable = ready && json_is_true(json_object_get(document, "durable"));
    *unsafe = '\0';
    json_array_foreach(json_object_get(document, "backends"), i, backend)
    {
        const char *name = json_string_value(json_object_get(backend, "name"));
        const char *detail = json_string_value(json_object_get(backend, "detail"));
        if (ready && detail && strstr(detail, "evicted"))
            snprintf(unsafe, API_UNSAFE_MAX, "%s is %s", name, detail);
        if (!ready && name && strcmp(name, "postgresql") == 0 && detail && *detail)
            error_fail(error, "%s is not ready: PostgreSQL: %s", server, detail);
    }
    json_decref(document);
    return ready;
}
