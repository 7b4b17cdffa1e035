/* See visit.h. */
#include "loadtest/shop/load/visit.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- fields --- */

static size_t find_field(const struct visit_fields *fields, const char *name)
{
    size_t at = 0;
    while (at < fields->count && strcmp(fields->items[at].name, name) != 0)
        at++;
    return at;
}

void visit_fields_set(struct visit_fields *fields, const char *name, const char *value)
{
    size_t at = find_field(fields, name);
    fields->items[at] = (struct fill_field){name, pool_text(&fields->pool, "%s", value)};
    fields->count += at == fields->count;
}

const char *visit_fields_get(const struct visit_fields *fields, const char *name)
{
    size_t at = find_field(fields, name);
    return at < fields->count ? fields->items[at].value : "";
}

void visit_fields_copy(struct visit_fields *to, const struct visit_fields *from)
{
    for (size_t i = 0; i < from->count; i++)
        visit_fields_set(to, from->items[i].name, from->items[i].value);
}

void visit_fields_drop(struct visit_fields *fields)
{
    pool_fini(&fields->pool);
    curl_slist_free_all(fields->cookies);
    *fields = (struct visit_fields){.count = 0};
}

/* --- a request --- */

static size_t take_answer(char *piece, size_t size, size_t count, void *context)
{
    struct visit *visit = context;
    size_t bytes = size * count;
    if (visit->length + bytes > VISIT_ANSWER_MAX) {
        visit->too_long = true;
        return 0;
    }
    if (visit->length + bytes > visit->room) {
        visit->room = (visit->length + bytes) * 2;
        visit->answer = memory_need(realloc(visit->answer, visit->room));
    }
    memcpy(visit->answer + visit->length, piece, bytes);
    visit->length += bytes;
    return bytes;
}

/* Comes before each sending of a request, also of one that curl repeats: see visit.h. */
static int leave_once(void *context, char *to, char *from, int to_port, int from_port)
{
    struct visit *visit = context;
    (void)to, (void)from, (void)to_port, (void)from_port;
    if (visit->left)
        return CURL_PREREQFUNC_ABORT;
    visit->left = true;
    return CURL_PREREQFUNC_OK;
}

bool visit_init(struct visit *visit, const struct target *target, int64_t timeout_ms,
                const char *ca_file, struct error *error)
{
    CURL *easy = curl_easy_init();
    *visit = (struct visit){.target = target, .easy = easy};
    if (!easy)
        return error_fail(error, "libcurl: out of memory");
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, visit->reason);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    curl_easy_setopt(easy, CURLOPT_COOKIEFILE, "");
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, visit);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, leave_once);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, visit);
    if (*ca_file)
        curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file);
    return true;
}

static void drop_request(struct visit *visit)
{
    curl_slist_free_all(visit->headers);
    free(visit->url);
    free(visit->body);
    visit->headers = NULL;
    visit->url = visit->body = NULL;
}

void visit_fini(struct visit *visit)
{
    curl_easy_cleanup(visit->easy);
    drop_request(visit);
    free(visit->answer);
    visit_fields_drop(&visit->fields);
    *visit = (struct visit){.easy = NULL};
}

/* Without a value: as it stands, which is curl's way to send none of that name. */
static void add_header(struct visit *visit, const char *name, const char *value)
{
    char *line = NULL;
    bool empty = value && !*value;
    if (asprintf(&line, "%s%s%s", name, empty ? ";" : value ? ": " : "", value ? value : "") < 0)
        memory_need(NULL);
    visit->headers = memory_need(curl_slist_append(visit->headers, line));
    free(line);
}

static char *fill_in(const struct visit *visit, const char *text, enum fill_form form)
{
    return fill(text, visit->fields.items, visit->fields.count, form);
}

static bool fill_headers(struct visit *visit, const struct shop_request *request)
{
    for (size_t i = 0; i < request->header_count; i++) {
        char *value = fill_in(visit, request->headers[i].value, FILL_HEADER);
        if (!value)
            return false;
        add_header(visit, request->headers[i].name, value);
        free(value);
    }
    /* curl would wait for a "100 Continue", and call every body a form. */
    add_header(visit, "Expect:", NULL);
    if (!shop_request_header(request, "Content-Type"))
        add_header(visit, request->body ? "Content-Type" : "Content-Type:",
                   request->body ? "application/json" : NULL);
    if (request->body && request->chunked)
        add_header(visit, "Transfer-Encoding", "chunked");
    if (request->closes)
        add_header(visit, "Connection", "close");
    return true;
}

/* GET and DELETE have no body unless the target gives one; the others say that it is empty. */
static void set_method(const struct visit *visit, const struct shop_request *request)
{
    CURL *easy = visit->easy;
    bool may_have_none =
        strcmp(request->method, "GET") == 0 || strcmp(request->method, "DELETE") == 0;
    if (!visit->body && may_have_none)
        curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    else
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, visit->body ? visit->body : "");
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
}

/* False: a text names a field that has no value here. */
static bool make_request(struct visit *visit, const struct shop_request *request)
{
    drop_request(visit);
    visit->length = 0;
    visit->too_long = visit->left = false;
    visit->reason[0] = '\0';
    visit->url = fill_in(visit, request->url, FILL_URL);
    if (!visit->url)
        return error_fail(&visit->error, "%.200s: a field has no value here", request->url);
    if (request->body) {
        visit->body = fill_in(visit, request->body, request->body_form);
        if (!visit->body)
            return error_fail(&visit->error, "the body of %.200s: a field has no value here",
                              request->url);
    }
    if (!fill_headers(visit, request))
        return error_fail(&visit->error, "the headers of %.200s: a field has no value here",
                          request->url);
    set_method(visit, request);
    curl_easy_setopt(visit->easy, CURLOPT_URL, visit->url);
    curl_easy_setopt(visit->easy, CURLOPT_HTTPHEADER, visit->headers);
    curl_easy_setopt(visit->easy, CURLOPT_FORBID_REUSE, request->closes ? 1L : 0L);
    return true;
}

static void prepare(struct visit *visit, const struct shop_request *request, enum visit_state state)
{
    visit->ready = make_request(visit, request);
    visit->state = visit->ready ? state : VISIT_IDLE;
}

static void prepare_purchase(struct visit *visit, struct ledger_op *purchase)
{
    prepare(visit, &visit->target->purchase, VISIT_BUYING);
    purchase->unasked = !visit->ready;
    if (visit->ready)
        purchase->start_us = clock_mono_us();
}

void visit_begin(struct visit *visit, struct ledger_op *purchase)
{
    visit->error.text[0] = '\0';
    curl_easy_setopt(visit->easy, CURLOPT_COOKIELIST, "ALL"); /* forgets those of another user */
    for (const struct curl_slist *at = visit->fields.cookies; at; at = at->next)
        curl_easy_setopt(visit->easy, CURLOPT_COOKIELIST, at->data);
    visit->step = 0;
    /* A repeat has what the steps of the first have taken. */
    if (purchase->repeat || visit->target->step_count == 0)
        prepare_purchase(visit, purchase);
    else
        prepare(visit, &visit->target->steps[0], VISIT_STEP);
}

void visit_ask(struct visit *visit)
{
    visit->error.text[0] = '\0';
    prepare(visit, &visit->target->poll, VISIT_ASKING);
}

/* --- an answer --- */

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

static char *take_cookie(const struct visit *visit, const char *name)
{
    struct curl_slist *cookies = NULL;
    char *taken = NULL;
    curl_easy_getinfo(visit->easy, CURLINFO_COOKIELIST, &cookies);
    for (const struct curl_slist *one = cookies; one && !taken; one = one->next) {
        const char *value = cookie_value(one->data, name);
        taken = value && *value ? memory_copy(value) : NULL;
    }
    curl_slist_free_all(cookies);
    return taken;
}

/* What a step takes from its answer, owned by the caller; NULL: nothing is there, or an empty text.
 * A cookie may be from an answer before. */
static char *take_from(const struct visit *visit, const struct shop_answer *answer,
                       const struct shop_take *take)
{
    struct curl_header *header = NULL;
    if (take->from == SHOP_BODY)
        return meaning_take(answer, take->at);
    if (take->from == SHOP_COOKIE)
        return take_cookie(visit, take->at);
    bool found = curl_easy_header(visit->easy, take->at, 0, CURLH_HEADER, -1, &header) == CURLHE_OK;
    return found && *header->value ? memory_copy(header->value) : NULL;
}

/* Why it has no answer; of a certificate that is refused also what would help. */
static void explain(struct visit *visit, CURLcode result)
{
    struct error *error = &visit->error;
    const char *reason = *visit->reason ? visit->reason : curl_easy_strerror(result);
    error->text[0] = '\0';
    if (visit->too_long)
        error_fail(error, "an answer of %.200s has more than %d bytes", visit->url,
                   VISIT_ANSWER_MAX);
    else if (result == CURLE_PEER_FAILED_VERIFICATION)
        error_fail(error,
                   "%.120s: its certificate is refused (%.120s): --ca-file names the CA that "
                   "vouches for it, the URL the host that it is made out to",
                   visit->url, reason);
    else if (result == CURLE_SSL_CACERT_BADFILE)
        error_fail(error, "--ca-file cannot be used: %.200s", reason);
    else if (result != CURLE_OK)
        error_fail(error, "%.200s: %s", visit->url, curl_easy_strerror(result));
}

/* A step that says no has answered for the purchase, which is then never sent. */
static bool says_no(const struct shop_request *step, struct ledger_op *purchase,
                    const struct shop_answer *answer)
{
    char *order = NULL; /* a no has none */
    enum shop_meaning meaning = meaning_of(step, answer, &order);
    if (meaning == SHOP_UNKNOWN)
        return false;
    ledger_op_means(purchase, meaning);
    purchase->status = answer->status;
    purchase->end_us = clock_mono_us();
    return true;
}

static void end_step(struct visit *visit, struct ledger_op *purchase,
                     const struct shop_answer *answer)
{
    const struct target *target = visit->target;
    const struct shop_request *step = &target->steps[visit->step++];
    if (says_no(step, purchase, answer))
        return;
    bool wanted = step->expect ? answer->status == step->expect
                               : answer->status >= 200 && answer->status < 300;
    if (!wanted) {
        error_fail(&visit->error, "step %zu (%.200s) was answered with status %d", visit->step,
                   step->url, answer->status);
        return;
    }
    for (size_t i = 0; i < step->take_count; i++) {
        char *value = take_from(visit, answer, &step->takes[i]);
        if (value)
            visit_fields_set(&visit->fields, step->takes[i].name, value);
        free(value);
        if (!value) {
            error_fail(&visit->error, "step %zu (%.200s): its answer has nothing at %s",
                       visit->step, step->url, step->takes[i].at);
            return;
        }
    }
    if (visit->step < target->step_count)
        prepare(visit, &target->steps[visit->step], VISIT_STEP);
    else
        prepare_purchase(visit, purchase);
}

static void rest(struct visit *visit)
{
    visit->state = VISIT_RESTING;
    visit->rest_until_us = clock_mono_us() + visit->target->poll.every_us;
}

static void end_purchase(struct visit *visit, struct ledger_op *purchase,
                         const struct shop_answer *answer)
{
    const struct target *target = visit->target;
    purchase->end_us = clock_mono_us();
    purchase->status = answer->status;
    ledger_op_means(purchase, meaning_of(&target->purchase, answer, &purchase->order));
    if (purchase->order)
        visit_fields_set(&visit->fields, "order", purchase->order);
    if (purchase->first != SHOP_ACCEPTED || !target->poll.method)
        return;
    visit->give_up_us = clock_mono_us() + target->poll.within_us;
    rest(visit);
}

/* An answer that says nothing yet is asked for again, until its time is over. */
static void end_question(struct visit *visit, struct ledger_op *purchase,
                         const struct shop_answer *answer)
{
    char *order = NULL;
    enum shop_meaning meaning = meaning_of(&visit->target->poll, answer, &order);
    if (order && !purchase->order)
        purchase->order = order;
    else
        free(order);
    if (meaning != SHOP_UNKNOWN && meaning != SHOP_ACCEPTED && meaning != SHOP_SHED)
        purchase->last = meaning;
    else if (clock_mono_us() < visit->give_up_us)
        rest(visit);
}

/* The status is 0 of what did not come whole. */
void visit_answered(struct visit *visit, struct ledger_op *purchase, CURLcode result)
{
    enum visit_state state = visit->state;
    long status = 0;

    if (result == CURLE_OK)
        curl_easy_getinfo(visit->easy, CURLINFO_RESPONSE_CODE, &status);
    const struct shop_answer answer = {(int)status, visit->answer ? visit->answer : "",
                                       visit->length};
    explain(visit, result);
    visit->state = VISIT_IDLE; /* unless something is to come */
    if (state == VISIT_BUYING)
        end_purchase(visit, purchase, &answer);
    else if (state != VISIT_STEP)
        end_question(visit, purchase, &answer);
    else if (result == CURLE_OK)
        end_step(visit, purchase, &answer);
}
