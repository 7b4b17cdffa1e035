/* See curl_wire.h. */
#include "loadtest/engine/curl_wire.h"

#include "base/clock.h"

#include <sys/resource.h>

enum { POLL_MAX_MS = 100 };

static bool open_one(void *self, size_t connection, struct error *error)
{
    struct curl_wire *wire = self;
    CURLcode code =
        curl_easy_setopt(wire->handles[connection], CURLOPT_PRIVATE, &wire->handles[connection]);
    return code == CURLE_OK || error_fail(error, "libcurl: %s", curl_easy_strerror(code));
}

/* The handle is prepared by its behaviour. */
static void prepare(void *self, size_t connection, const struct http_request *request)
{
    (void)self, (void)connection, (void)request;
}

/* Curl sends it with the next look at all of them. */
static bool send_one(void *self, size_t connection)
{
    struct curl_wire *wire = self;
    wire->result = CURLE_OUT_OF_MEMORY; /* the one reason for it to fail */
    return curl_multi_add_handle(wire->multi, wire->handles[connection]) == CURLM_OK;
}

static void drop(void *self, size_t connection)
{
    const struct curl_wire *wire = self;
    curl_multi_remove_handle(wire->multi, wire->handles[connection]);
}

static void take_answers(struct curl_wire *wire, struct engine *engine)
{
    int left = 0;
    for (;;) {
        const CURLMsg *message = curl_multi_info_read(wire->multi, &left);
        if (!message)
            return;
        void *handle = NULL;
        long status = 0;
        CURL *easy = message->easy_handle;
        wire->result = message->data.result;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &handle);
        if (wire->result == CURLE_OK)
            curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        curl_multi_remove_handle(wire->multi, easy);
        engine_ended(engine, (size_t)((CURL **)handle - wire->handles),
                     &(struct answer){.status = (int)status});
    }
}

static int patience_ms(const struct engine *engine)
{
    bool exact = false, crowded = false;
    int64_t now_us = clock_mono_us(), most_us = now_us + POLL_MAX_MS * CLOCK_US_PER_MS;
    int64_t until_us = engine_due_us(engine, &exact, &crowded);
    if (until_us > most_us)
        until_us = most_us;
    return until_us > now_us ? (int)((until_us - now_us) / CLOCK_US_PER_MS) : 0;
}

static long count_sleeps(void)
{
    struct rusage usage = {0};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

/* Until something is due or comes. A load that is called late has not been idle for longer. */
static CURLMcode wait(struct curl_wire *wire, const struct engine *engine)
{
    int patience = patience_ms(engine);
    int64_t until_us = clock_mono_us() + patience * CLOCK_US_PER_MS;
    long sleeps = count_sleeps();
    CURLMcode code = curl_multi_poll(wire->multi, NULL, 0, patience, NULL);
    int64_t now_us = clock_mono_us();
    if (count_sleeps() != sleeps)
        wire->idle_us = now_us < until_us ? now_us : until_us;
    return code;
}

static bool turn(void *self, struct engine *engine, struct error *error)
{
    struct curl_wire *wire = self;
    int running = 0;
    CURLMcode code = curl_multi_perform(wire->multi, &running);
    if (code == CURLM_OK) {
        take_answers(wire, engine);
        code = wait(wire, engine);
    }
    return code == CURLM_OK || error_fail(error, "libcurl: %s", curl_multi_strerror(code));
}

const struct wire wire_curl = {open_one, prepare, send_one, turn, drop};

bool curl_wire_init(struct curl_wire *wire, CURL **handles, size_t count, struct error *error)
{
    *wire = (struct curl_wire){.multi = curl_multi_init(), .handles = handles, .count = count};
    if (!wire->multi)
        return error_fail(error, "libcurl: out of memory");
    curl_multi_setopt(wire->multi, CURLMOPT_MAXCONNECTS, (long)count);
    return true;
}

void curl_wire_fini(struct curl_wire *wire)
{
    for (size_t i = 0; wire->multi && i < wire->count; i++)
        curl_multi_remove_handle(wire->multi, wire->handles[i]);
    curl_multi_cleanup(wire->multi);
    *wire = (struct curl_wire){.multi = NULL};
}
