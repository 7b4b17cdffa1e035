/*
 * The target file that is made of a pasted curl and two answers: the reader of target files takes
 * it, it has the request with its fields and what tells the answers apart, and no secret; what
 * cannot be read is answered with what would be right.
 */
#include "harness/fixtures/has.h"
#include "loadtest/shop/draft/draft.h"
#include "loadtest/shop/target.h"
#include "shop_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BOUGHT   "HTTP/1.1 201 CREATED\r\nContent-Type: application/json\r\n\r\n{\"id\": 17}\n"
#define SOLD_OUT "HTTP/1.1 409 CONFLICT\r\n\r\n{\"code\": \"sold_out\"}\n"
#define CURL     "curl http://shop/buy -d '{\"user\": 7}'"

static struct target target;

static int end(void **state)
{
    target_fini(&target);
    return shop_file_teardown(state);
}

static bool make(const char *curl, const char *bought, const char *sold_out, struct error *error)
{
    static const struct draft_sources from = {"http://127.0.0.1:3000", "buy", "yes", "no"};
    t_write("buy", curl);
    t_write("yes", bought);
    t_write("no", sold_out);
    unlink("made");
    return draft_make(&from, "made", error);
}

/* Made, and read. */
static void expect_target(const char *curl, const char *bought, const char *sold_out)
{
    struct error error;
    target_fini(&target);
    if (!make(curl, bought, sold_out, &error) || !target_read("made", &target, &error))
        fail_msg("%s", error.text);
}

static const char *header(const char *name)
{
    for (size_t i = 0; i < target.purchase.header_count; i++)
        if (strcmp(target.purchase.headers[i].name, name) == 0)
            return target.purchase.headers[i].value;
    return NULL;
}

/* As Chromium copies it; each quote, a line that goes on, and what is the browser's own. */
TEST(a_request_has_its_fields)
{
    expect_target(
        "curl 'https://shop.example/api/buy?sku=9&x={y}' \\\n"
        "  -H 'sec-fetch-mode: cors' -H 'user-agent: Mozilla/5.0' \\\n"
        "  -H \"X-Tag: it's\" -H 'Idempotency-Key: 8d1f' \\\n"
        "  --data-raw $'{\"productId\":7,\"user_id\":\"u\\u00e9\",\"note\":\"{y} \\'${z}\"}' \\\n"
        "  --compressed | jq .\n",
        BOUGHT, SOLD_OUT);
    const struct shop_request *buy = &target.purchase;
    HAS(*buy, method, "POST", url, "http://127.0.0.1:3000/api/buy?sku={product}&x={{y}");
    assert_int_equal(target.product, 9);
    assert_string_equal(buy->body,
                        "{\"productId\": 7, \"user_id\": \"{user}\", \"note\": \"{{y} '${{z}\"}");
    assert_string_equal(header("Idempotency-Key"), "{key}");
    assert_string_equal(header("X-Tag"), "it's");
    assert_null(header("user-agent"));
    assert_null(header("sec-fetch-mode"));
    assert_true(target.repeats > 0);
    HAS(target.purchase, rules[0].pointer, "/code", rules[0].equals, "\"sold_out\"",
        rules[1].status_from, 201, rules[1].order, "/id");
}

TEST(a_form_has_its_fields)
{
    expect_target("curl -sXPUT http://shop/buy -d user=7 -d item=3", BOUGHT, SOLD_OUT);
    HAS(target.purchase, method, "PUT", body, "user={user}&item={product}");
    assert_string_equal(header("Content-Type"), "application/x-www-form-urlencoded");
    assert_int_equal(target.product, 3);
}

/* 200 both times: the code says it, not the time that differs as well. */
TEST(a_code_tells_the_answers_apart)
{
    expect_target(
        CURL, "HTTP/2 200\n\n{\"at\": 5, \"code\": 0, \"data\": {\"orderNo\": \"a7\"}}",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n{\"at\": 6, \"code\": 5001}");
    HAS(target.purchase, rules[0].meaning, SHOP_SOLD_OUT, rules[0].equals, "5001", rules[1].meaning,
        SHOP_SOLD, rules[1].pointer, "/code", rules[1].equals, "0", rules[1].order,
        "/data/orderNo");
}

TEST(a_text_tells_the_answers_apart)
{
    expect_target(CURL, "HTTP/1.1 200 OK\r\n\r\nbought!\n", "HTTP/1.1 200 OK\r\n\r\ntoo late\n");
    HAS(target.purchase, rules[0].contains, "too late", rules[1].contains, "bought!");
}

TEST(a_secret_stays_out_of_the_file)
{
    struct error error;
    assert_true(
        make("curl http://shop/buy -X POST -H 'Authorization: Bearer s3cret' -b 'sid=s3cret'",
             BOUGHT, SOLD_OUT, &error));
    char *text = t_read_all("made");
    assert_null(strstr(text, "s3cret"));
    t_says(text, "Authorization: ${SHOP_AUTHORIZATION}");
    t_says(text, "Cookie: ${SHOP_COOKIE}");
    t_says(text, "users.csv");
    free(text);
}

TEST(what_cannot_be_read_is_answered_with_what_would_be_right)
{
    static const struct {
        const char *curl, *bought, *sold_out, *said;
    } mistakes[] = {
        {"wget http://shop/buy", BOUGHT, SOLD_OUT, "buy: no curl command for bash"},
        {"curl ^\"http://shop/buy^\"", BOUGHT, SOLD_OUT, "buy: no curl command for bash"},
        {"curl http://shop/buy \\\n  -d '{\"user\": 7}", BOUGHT, SOLD_OUT,
         "buy:2: the quote that opens here is never closed"},
        {"curl -d x=1", BOUGHT, SOLD_OUT, "buy: curl is given no address"},
        {"curl http://a/b http://c/d", BOUGHT, SOLD_OUT, "buy: two addresses"},
        {"curl http://a/b -d @order.json", BOUGHT, SOLD_OUT, "stands in the file order.json"},
        {"curl http://a/b -F a=b", BOUGHT, SOLD_OUT, "what -F does cannot be said"},
        {"curl http://a/b -H", BOUGHT, SOLD_OUT, "buy: -H has no value"},
        {CURL, "{\"id\": 17}", SOLD_OUT, "yes: no answer with its status"},
        {CURL, BOUGHT, BOUGHT, "yes and no are alike"},
        {CURL, "HTTP/1.1 200 OK\n\n", "HTTP/1.1 200 OK\n\n", "yes and no are alike"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct error error = {.text = ""};
        bool made = make(mistakes[i].curl, mistakes[i].bought, mistakes[i].sold_out, &error);
        if (made || !strstr(error.text, mistakes[i].said))
            fail_msg("'%s': \"%s\", which does not say \"%s\"", mistakes[i].curl,
                     made ? "made" : error.text, mistakes[i].said);
        assert_int_equal(access("made", F_OK), -1);
    }
}

TEST(a_file_that_is_there_is_left_alone)
{
    static const struct draft_sources from = {"http://127.0.0.1:3000", "buy", "yes", "no"};
    struct error error;
    assert_true(make(CURL, BOUGHT, SOLD_OUT, &error));
    assert_false(draft_make(&from, "made", &error));
    assert_string_equal(error.text, "made: File exists");
    assert_int_equal(access("made", F_OK), 0);
}

TEST_GROUP(shop_file_setup, end)
