/* See call.h. */
#include "loadtest/shop/load/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t take_answer(char *piece, size_t size, size_t count, void *context)
{
    struct call *call = context;
    size_t bytes = size * count;
    if (call->length + bytes > CALL_ANSWER_MAX) {
        call->too_long = true;
        return 0;
    }
    if (call->length + bytes > call->room) {
        size_t room = (call->length + bytes) * 2;
        char *more = realloc(call->answer, room);
        if (!more)
            return 0;
        call->answer = more;
        call->room = room;
    }
    memcpy(call->answer + call->length, piece, bytes);
    call->length += bytes;
    return bytes;
}

/* Comes before each sending of a request, also of one that curl repeats: see call.h. */
static int leave_once(void *context, char *to, char *from, int to_port, int from_port)
{
    struct call *call = context;
    (void)to, (void)from, (void)to_port, (void)from_port;
    if (call->left)
        return CURL_PREREQFUNC_ABORT;
    call->left = true;
    return CURL_PREREQFUNC_OK;
}

bool call_init(struct call *call, const struct call_settings *settings, struct error *error)
{
    *call = (struct call){.easy = curl_easy_init()};
    if (!call->easy)
        return error_fail(error, "libcurl: out of memory");
    CURL *easy = call->easy;
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->reason);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)settings->timeout_ms);
    curl_easy_setopt(easy, CURLOPT_COOKIEFILE, "");
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, leave_once);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, call);
    if (*settings->ca_file)
        curl_easy_setopt(easy, CURLOPT_CAINFO, settings->ca_file);
    return true;
}

static void drop_request(struct call *call)
{
    curl_slist_free_all(call->headers);
    free(call->url);
    free(call->body);
    call->headers = NULL;
    call->url = call->body = NULL;
}

void call_fini(struct call *call)
{
    curl_easy_cleanup(call->easy);
    drop_request(call);
    free(call->answer);
    *call = (struct call){0};
}

void call_forget_cookies(struct call *call)
{
    curl_easy_setopt(call->easy, CURLOPT_COOKIELIST, "ALL");
}

/* Without a value: as it stands, which is curl's way to send none of that name. */
static bool add_header(struct call *call, const char *name, const char *value)
{
    char *line = NULL;
    bool empty = value && !*value;
    if (asprintf(&line, "%s%s%s", name, empty ? ";" : value ? ": " : "", value ? value : "") < 0)
        return false;
    struct curl_slist *longer = curl_slist_append(call->headers, line);
    free(line);
    if (longer)
        call->headers = longer;
    return longer != NULL;
}

static bool fill_headers(struct call *call, const struct shop_request *request,
                         const struct fill_field *fields, size_t count)
{
    for (size_t i = 0; i < request->header_count; i++) {
        char *value = fill(request->headers[i].value, fields, count, FILL_HEADER);
        bool added = value && add_header(call, request->headers[i].name, value);
        free(value);
        if (!added)
            return false;
    }
    /* curl would wait for a "100 Continue", and call every body a form. */
    return add_header(call, "Expect:", NULL) &&
           (shop_request_header(request, "Content-Type") ||
            add_header(call, "Content-Type:", NULL)) &&
           (!request->body || !request->chunked ||
            add_header(call, "Transfer-Encoding", "chunked")) &&
           (!request->closes || add_header(call, "Connection", "close"));
}

/* GET and DELETE have no body unless the target gives one; the others say that it is empty. */
static void set_method(const struct call *call, const struct shop_request *request)
{
    CURL *easy = call->easy;
    bool may_have_none =
        strcmp(request->method, "GET") == 0 || strcmp(request->method, "DELETE") == 0;
    if (!call->body && may_have_none)
        curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    else
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call->body ? call->body : "");
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
}

bool call_prepare(struct call *call, const struct shop_request *request,
                  const struct fill_field *fields, size_t count, struct error *error)
{
    drop_request(call);
    call->length = 0;
    call->too_long = call->left = false;
    call->reason[0] = '\0';
    call->url = fill(request->url, fields, count, FILL_URL);
    if (!call->url)
        return error_fail(error, "%.200s: a field has no value here", request->url);
    if (request->body) {
        call->body = fill(request->body, fields, count, request->body_form);
        if (!call->body)
            return error_fail(error, "the body of %.200s: a field has no value here", request->url);
    }
    if (!fill_headers(call, request, fields, count))
        return error_fail(error, "the headers of %.200s: a field has no value here", request->url);
    set_method(call, request);
    curl_easy_setopt(call->easy, CURLOPT_URL, call->url);
    curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
    curl_easy_setopt(call->easy, CURLOPT_FORBID_REUSE, request->closes ? 1L : 0L);
    return true;
}

struct shop_answer call_answer(const struct call *call, CURLcode result)
{
    long status = 0;
    if (result == CURLE_OK)
        curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    return (struct shop_answer){(int)status, call->answer ? call->answer : "", call->length};
}

/* The value of a line of curl's: domain, subdomains, path, secure, expires, name, value. NULL: the
 * cookie has another name. */
static const char *cookie_value(const char *line, const char *name)
{
    size_t length = strlen(name);
    for (int tabs = 0; tabs < 5 && line; tabs++) {
        line = strchr(line, '\t');
        line = line ? line + 1 : NULL;
    }
    return line && strncmp(line, name, length) == 0 && line[length] == '\t' ? line + length + 1
                                                                            : NULL;
}

static char *take_cookie(const struct call *call, const char *name)
{
    struct curl_slist *cookies = NULL;
    char *taken = NULL;
    curl_easy_getinfo(call->easy, CURLINFO_COOKIELIST, &cookies);
    for (const struct curl_slist *one = cookies; one && !taken; one = one->next) {
        const char *value = cookie_value(one->data, name);
        taken = value && *value ? strdup(value) : NULL;
    }
    curl_slist_free_all(cookies);
    return taken;
}

char *call_take(const struct call *call, const struct shop_answer *answer,
                const struct shop_take *take)
{
    struct curl_header *header = NULL;
    if (take->from == SHOP_BODY)
        return meaning_take(answer, take->at);
    if (take->from == SHOP_COOKIE)
        return take_cookie(call, take->at);
    bool found = curl_easy_header(call->easy, take->at, 0, CURLH_HEADER, -1, &header) == CURLHE_OK;
    return found && *header->value ? strdup(header->value) : NULL;
}

void call_explain(const struct call *call, CURLcode result, struct error *error)
{
    const char *reason = *call->reason ? call->reason : curl_easy_strerror(result);
    error->text[0] = '\0';
    if (call->too_long)
        error_fail(error, "an answer of %.200s has more than %d bytes", call->url, CALL_ANSWER_MAX);
    else if (result == CURLE_PEER_FAILED_VERIFICATION)
        error_fail(error,
                   "%.120s: its certificate is refused (%.120s): --ca-file names the CA that "
                   "vouches for it, the URL the host that it is made out to",
                   call->url, reason);
    else if (result == CURLE_SSL_CACERT_BADFILE)
        error_fail(error, "--ca-file cannot be used: %.200s", reason);
    else if (result != CURLE_OK)
        error_fail(error, "%.200s: %s", call->url, curl_easy_strerror(result));
}
