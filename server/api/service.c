/*
 * The service about itself: strategies, health, readiness, metrics, and the contract. All of it
 * comes from memory. The metrics are read and written down by a thread of their own (TASK_METRICS),
 * for that takes as long as hundreds of replies; the rest waits for nothing.
 */
#include "api/handlers.h"
#include "api/render.h"
#include "http/edge/edge.h"
#include "http/reply.h"

#include "base/failpoint.h"
#include "metrics/metrics.h"
#include "openapi_yaml.h"
#include "postgres/pg.h"
#include "strategy/backends.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { METRICS_MS = 10000 };

static enum MHD_Result answer_strategies(struct request *request)
{
    return reply_text(request, MHD_HTTP_OK, REPLY_JSON, render_strategies(request->http->services));
}

void service_strategies(struct request *request)
{
    if (request_query(request, NULL, 0))
        request->answer = answer_strategies;
}

static enum MHD_Result answer_healthz(struct request *request)
{
    return reply_text(request, MHD_HTTP_OK, REPLY_JSON, strdup("{\"status\": \"ok\"}"));
}

void service_healthz(struct request *request)
{
    if (request_query(request, NULL, 0))
        request->answer = answer_healthz;
}

/* Text of a backend, which may have been cut in the middle of a character. */
static json_t *foreign(const char *text)
{
    json_t *string = json_string(text);

    return string ? string : json_string("?");
}

static void add_backend(void *to, const char *backend, bool up, const char *detail)
{
    json_t *row = json_object();

    json_object_set_new(row, "name", json_string(backend));
    json_object_set_new(row, "up", json_boolean(up));
    json_object_set_new(row, "detail", foreign(detail ? detail : ""));
    json_array_append_new(to, row);
}

static json_t *meaning(const struct store_durability *durability)
{
    bool in_memory = strcmp(durability->synchronous_commit, "remote_write") == 0;

    if (!durability->synchronous_commit[0])
        return json_string("");
    if (!durability->durable)
        return json_string("a crash of PostgreSQL may lose it");
    if (durability->standbys > 0)
        return json_sprintf(
            "it is on the primary's disk, and was seen on that of %lld named standbys",
            (long long)durability->standbys);
    return json_string(
        !durability->standby_names[0] ? "it is on the primary's disk alone: a failover may lose it"
        : in_memory ? "it is on the primary's disk, and in the memory of a standby"
                    : "it is on the primary's disk and a standby's, as PostgreSQL is set now");
}

/* What "durable" covers. */
static json_t *describe(const struct store_durability *durability)
{
    json_t *json = json_object();

    json_object_set_new(json, "meaning", meaning(durability));
    json_object_set_new(json, "standbys", json_integer(durability->standbys));

    json_object_set_new(json, "fsync", json_boolean(durability->fsync));
    json_object_set_new(json, "full_page_writes", json_boolean(durability->full_page_writes));
    json_object_set_new(json, "synchronous_commit", foreign(durability->synchronous_commit));
    json_object_set_new(json, "synchronous_standby_names", foreign(durability->standby_names));
    return json;
}

static enum MHD_Result answer_readyz(struct request *request)
{
    struct http *http = request->http;
    json_t *json = json_object();
    json_t *backends = json_array();
    struct store *store = services_store(http->services);
    struct store_durability durability = store_durability(store);
    bool ready = store_serves(store) && !http->draining;
    char *text;

    backends_report(http->services, add_backend, backends);
    json_object_set_new(json, "ready", json_boolean(ready));
    if (*http->services->settings->cell)
        json_object_set_new(json, "cell", json_string(http->services->settings->cell));
    json_object_set_new(json, "draining", json_boolean(http->draining));
    json_object_set_new(json, "durable", json_boolean(durability.durable));
    json_object_set_new(json, "durability", describe(&durability));
    json_object_set_new(json, "backends", backends);
    text = json_dumps(json, 0);
    json_decref(json);
    return reply_text(request, ready ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE, REPLY_JSON,
                      text);
}

void service_readyz(struct request *request)
{
    if (request_query(request, NULL, 0))
        request->answer = answer_readyz;
}

static enum MHD_Result answer_metrics(struct request *request)
{
    char *text = request->call->text;

    request->call->text = NULL;
    return reply_text(request, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", text);
}

static void rendered(struct request *request)
{
    if (request_call_done(request))
        request->answer = answer_metrics;
}

static enum catalog_result render(struct call *call, struct pg *pg, struct error *error)
{
    size_t length = 0;
    FILE *to = open_memstream(&call->text, &length);

    (void)pg;
    FAILPOINT("metrics.render");
    if (to)
        metrics_render(call->request->http->services->metrics, to);
    if (!to || fclose(to) != 0) {
        error_set(error, ERROR_INTERNAL, "no memory for a page of metrics");
        return CATALOG_FAILED;
    }
    return CATALOG_OK;
}

void service_metrics(struct request *request)
{
    if (!request_query(request, NULL, 0))
        return;
    struct call *call = request_call(request, render, ORDER_NOT_FOUND, METRICS_MS);
    if (!call)
        return;
    call->task.kind = TASK_METRICS;
    edge_show(request->http);
    request_wait_call(request, rendered);
}

static enum MHD_Result answer_openapi(struct request *request)
{
    return reply_text(request, MHD_HTTP_OK, "application/yaml",
                      strndup((const char *)openapi_yaml, openapi_yaml_length));
}

void service_openapi(struct request *request)
{
    if (request_query(request, NULL, 0))
        request->answer = answer_openapi;
}
