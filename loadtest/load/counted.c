/* See counted.h. One thread, libcurl's multi interface; a slot is a call under way. */
#include "loadtest/load/counted.h"

#include "loadtest/base/process.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer than any order may take: 60 s of waiting, then its work. */
enum { CALL_LIMIT_MS = 70000, TICK_MS = 200 };

struct slot {
    CURL *curl;                /* owned */
    struct counted_call *call; /* borrowed; NULL: nothing under way */
    int64_t sent_us;
    char body[160];
};

struct volley {
    const struct counted_load *load; /* borrowed */
    CURLM *multi;                    /* owned */
    struct curl_slist *headers;      /* owned */
    struct slot *slots;              /* owned */
    size_t slots_count;
    size_t next; /* the call that is sent next */
    size_t done;
};

static size_t discard(char *data, size_t size, size_t count, void *context)
{
    (void)data, (void)context;
    return size * count;
}

static bool set_up(struct volley *volley, struct error *error)
{
    const struct counted_load *load = volley->load;
    volley->slots_count = load->counted->count < (size_t)load->connections
                              ? load->counted->count
                              : (size_t)load->connections;
    volley->multi = curl_multi_init();
    volley->slots = calloc(volley->slots_count, sizeof *volley->slots);
    volley->headers = curl_slist_append(NULL, "Content-Type: application/json");
    if (*load->token) {
        char line[1024];
        snprintf(line, sizeof line, "Authorization: Bearer %s", load->token);
        volley->headers = curl_slist_append(volley->headers, line);
    }
    if (!volley->multi || !volley->slots || !volley->headers)
        return error_fail(error, "curl does not start");
    curl_multi_setopt(volley->multi, CURLMOPT_MAXCONNECTS, (long)volley->slots_count);
    for (size_t i = 0; i < volley->slots_count; i++) {
        CURL *curl = curl_easy_init();
        if (!curl)
            return error_fail(error, "curl does not start");
        volley->slots[i].curl = curl;
        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, volley->headers);
        curl_easy_setopt(curl, CURLOPT_PROXY, ""); /* http_proxy is not for the server under test */
        curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)CALL_LIMIT_MS);
        curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, discard);
        curl_easy_setopt(curl, CURLOPT_PRIVATE, &volley->slots[i]);
    }
    return true;
}

static void tear_down(struct volley *volley)
{
    for (size_t i = 0; volley->slots && i < volley->slots_count; i++) {
        if (volley->slots[i].call)
            curl_multi_remove_handle(volley->multi, volley->slots[i].curl);
        curl_easy_cleanup(volley->slots[i].curl);
    }
    curl_multi_cleanup(volley->multi);
    curl_slist_free_all(volley->headers);
    free(volley->slots);
}

/* Sends the next call through the slot, if there is one left. */
static void send_next(struct volley *volley, struct slot *slot)
{
    const struct counted_load *load = volley->load;
    slot->call = NULL;
    if (volley->next == load->counted->count)
        return;
    const char *target = load->targets[volley->next % load->targets_count];
    slot->call = &load->counted->calls[volley->next++];
    char url[700];
    snprintf(url, sizeof url, "%.*s%s&wait_ms=%d", (int)strcspn(target + 7, "/") + 7, target,
             load->path, slot->call->wait_ms);
    if (load->restock)
        snprintf(slot->body, sizeof slot->body, "{\"quantity\":%d}", slot->call->quantity);
    else
        snprintf(slot->body, sizeof slot->body,
                 "{\"product_id\":%" PRId64 ",\"user_id\":%" PRId64 ",\"quantity\":%d}",
                 slot->call->product, slot->call->user, slot->call->quantity);
    curl_easy_setopt(slot->curl, CURLOPT_URL, url);
    curl_easy_setopt(slot->curl, CURLOPT_POSTFIELDS, slot->body);
    slot->sent_us = clock_mono_us();
    curl_multi_add_handle(volley->multi, slot->curl);
}

/* Takes the answers that are there, and sends a call for each. */
static bool take_answers(struct volley *volley, struct error *error)
{
    int left = 0;
    for (CURLMsg *message; (message = curl_multi_info_read(volley->multi, &left));) {
        CURLcode result = message->data.result;
        CURL *curl = message->easy_handle;
        char *private = NULL;
        long status = 0;
        curl_easy_getinfo(curl, CURLINFO_PRIVATE, &private);
        struct slot *slot = (struct slot *)(void *)private;
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        slot->call->status = (int)status;
        slot->call->took_us = clock_mono_us() - slot->sent_us;
        curl_multi_remove_handle(volley->multi, curl);
        slot->call = NULL;
        if (result != CURLE_OK)
            return error_fail(error, "a call got no answer: %s", curl_easy_strerror(result));
        volley->done++;
        send_next(volley, slot);
    }
    return true;
}

static bool send_all(struct volley *volley, struct error *error)
{
    const struct counted_load *load = volley->load;
    int64_t ticked_ms = clock_mono_ms();
    for (size_t i = 0; i < volley->slots_count; i++)
        send_next(volley, &volley->slots[i]);
    while (volley->done < load->counted->count) {
        int running = 0;
        CURLMcode code = curl_multi_perform(volley->multi, &running);
        if (code == CURLM_OK && !take_answers(volley, error))
            return false;
        if (code == CURLM_OK && volley->done < load->counted->count)
            code = curl_multi_poll(volley->multi, NULL, 0, TICK_MS, NULL);
        if (code != CURLM_OK)
            return error_fail(error, "curl: %s", curl_multi_strerror(code));
        if (process_interrupted())
            return error_fail(error, "interrupted");
        if (load->tick && clock_mono_ms() - ticked_ms >= TICK_MS) {
            ticked_ms = clock_mono_ms();
            load->tick(load->context);
        }
    }
    return true;
}

static int ascending(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* The same figures as wrk's. */
static bool sum_up(const struct counted *counted, struct wrk_result *result, struct error *error)
{
    int64_t *took = calloc(counted->count, sizeof *took);
    if (!took)
        return error_fail(error, "out of memory");
    for (size_t i = 0; i < counted->count; i++) {
        took[i] = counted->calls[i].took_us;
        result->not_2xx += counted->calls[i].status >= 400;
    }
    qsort(took, counted->count, sizeof *took, ascending);
    result->requests = (int64_t)counted->count;
    result->p50_us = took[(counted->count - 1) * 50 / 100];
    result->p90_us = took[(counted->count - 1) * 90 / 100];
    result->p99_us = took[(counted->count - 1) * 99 / 100];
    result->max_us = took[counted->count - 1];
    free(took);
    return true;
}

bool counted_run(const struct counted_load *load, struct wrk_result *result, struct error *error)
{
    struct volley volley = {.load = load};
    *result = (struct wrk_result){0};
    int64_t begun_us = clock_mono_us();
    bool sent = set_up(&volley, error) && send_all(&volley, error);
    result->duration_us = clock_mono_us() - begun_us;
    tear_down(&volley);
    return sent && sum_up(load->counted, result, error);
}
