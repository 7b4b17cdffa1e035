/* The edge's readers: queries, header fields, JSON bodies. */
#include "http/reader/reader.h"
#include "lib/t.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct problem problem;

/* Asserts that the last reading failed so. */
static void assert_problem(const char *code, const char *field)
{
    assert_int_equal(problem.status, 400);
    assert_string_equal(problem.code, code);
    assert_string_equal(problem.field, field);
    assert_true(problem.detail[0] != '\0');
}

enum { WAIT_MS, NAME, PARAMS };
static struct param params[PARAMS];

static bool read_query(const char *query)
{
    static char text[512];

    params[WAIT_MS] = (struct param){.name = "wait_ms", .integer = true, .min = 0, .max = 60000};
    params[NAME] = (struct param){.name = "strategy"};
    snprintf(text, sizeof text, "%s", query);
    return reader_query(text, params, PARAMS, &problem);
}

TEST(query_gives_its_parameters)
{
    assert_true(reader_query(NULL, params, 0, &problem));
    assert_true(read_query(""));
    assert_false(params[WAIT_MS].given);
    assert_true(read_query("wait_ms=0&strategy=redis%2Dqueue"));
    assert_true(params[WAIT_MS].given);
    assert_int_equal(params[WAIT_MS].number, 0);
    assert_string_equal(params[NAME].text, "redis-queue");
    assert_true(read_query("strategy=a+b"));
    assert_string_equal(params[NAME].text, "a b");
    assert_true(read_query("strategy"));
    assert_true(params[NAME].given);
    assert_string_equal(params[NAME].text, "");
    assert_true(read_query("%73trategy=x=y"));
    assert_string_equal(params[NAME].text, "x=y");
    assert_true(read_query("wait_ms=60000"));
    assert_int_equal(params[WAIT_MS].number, 60000);
}

TEST(query_refuses_what_it_does_not_know)
{
    assert_false(read_query("nope=1"));
    assert_problem("invalid_field", "nope");
    assert_false(read_query("Strategy=none"));
    assert_problem("invalid_field", "Strategy");
    assert_false(read_query("wait_ms=1&wait_ms=1"));
    assert_problem("invalid_field", "wait_ms");
    /* One whose name is empty is named all the same. */
    assert_false(read_query("wait_ms=1&&strategy=x"));
    assert_problem("invalid_field", "(empty)");
    assert_false(read_query("wait_ms=1&"));
    assert_false(read_query("=1"));
    assert_problem("invalid_field", "(empty)");
    assert_false(read_query("%zz=1"));
    assert_problem("invalid_field", "(empty)");
    assert_false(read_query("a%0d%0ab%22%5c\xff=1"));
    assert_problem("invalid_field", "a??b'??");
}

TEST(query_refuses_numbers_that_are_none)
{
    static const char *const wrong[] = {"",
                                        "-1",
                                        "+1",
                                        "1.0",
                                        "1e2",
                                        "0x10",
                                        "01",
                                        "00",
                                        "60001",
                                        "1 ",
                                        "%201",
                                        "1%",
                                        "1%0",
                                        "1%zz",
                                        "1%00",
                                        "%00",
                                        "%001",
                                        "99999999999999999999999999",
                                        "9223372036854775808",
                                        "\xd9\xa1"};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char query[128];

        snprintf(query, sizeof query, "wait_ms=%s", wrong[i]);
        if (read_query(query))
            fail_msg("%s was read", query);
        assert_problem("invalid_field", "wait_ms");
    }
    assert_false(read_query("strategy=none%00"));
    assert_problem("invalid_field", "strategy");
    assert_false(read_query("strategy%00=none"));
    assert_problem("invalid_field", "strategy");
}

TEST(integer_keeps_to_its_range)
{
    int64_t number = 7;

    assert_true(reader_integer("9223372036854775807", 1, ORDER_ID_MAX, &number));
    assert_true(number == ORDER_ID_MAX);
    assert_false(reader_integer("9223372036854775808", 1, ORDER_ID_MAX, &number));
    assert_false(reader_integer("92233720368547758070", 1, ORDER_ID_MAX, &number));
    assert_false(reader_integer("18446744073709551617", 1, ORDER_ID_MAX, &number));
    assert_false(reader_integer("0", 1, ORDER_ID_MAX, &number));
    assert_true(reader_integer("999999999999999999", 0, INT64_MAX, &number));
    assert_true(reader_integer("1000000000000000000", 0, INT64_MAX, &number));
    assert_false(reader_integer("10000000000000000000", 0, INT64_MAX, &number));
    assert_true(number == 1000000000000000000);
}

enum { PRODUCT_ID, QUANTITY, TITLE, OPENS_AT, MEMBERS };
static struct member members[MEMBERS];
static char title[3 * 4 + 1];

static bool read_bytes(const char *body, size_t length)
{
    members[PRODUCT_ID] = (struct member){
        .name = "product_id", .is_id = true, .required = true, .min = 1, .max = ORDER_ID_MAX};
    members[QUANTITY] =
        (struct member){.name = "quantity", .nullable = true, .min = 1, .max = ORDER_QUANTITY_MAX};
    members[TITLE] = (struct member){
        .name = "title", .type = MEMBER_TEXT, .nullable = true, .text = title, .text_chars = 3};
    members[OPENS_AT] = (struct member){.name = "opens_at", .type = MEMBER_TIME, .nullable = true};
    return reader_object(body, length, members, MEMBERS, &problem);
}

static bool read_body(const char *body)
{
    return read_bytes(body, strlen(body));
}

TEST(json_gives_its_members)
{
    assert_true(read_body(" {\"product_id\": 9223372036854775807, \"quantity\": 1000000,\n"
                          "\"title\": \"\xe7\xa7\x92\xe6\x9d\x80\\u00e9\","
                          "\"opens_at\": \"2026-11-20T08:00:00Z\"} \r\n"));
    assert_true(members[PRODUCT_ID].number == ORDER_ID_MAX);
    assert_int_equal(members[QUANTITY].number, 1000000);
    assert_string_equal(title, "\xe7\xa7\x92\xe6\x9d\x80\xc3\xa9");
    assert_true(members[OPENS_AT].number == INT64_C(1795161600000000));
    assert_true(
        read_body("{\"product_id\": 1, \"quantity\": null, \"title\": null, \"opens_at\": null}"));
    assert_false(members[QUANTITY].given);
    assert_false(members[TITLE].given);
    assert_false(members[OPENS_AT].given);
    assert_true(read_body("{\"product_id\": 9007199254740991.0, \"quantity\": 1e2}"));
    assert_true(members[PRODUCT_ID].number == INT64_C(9007199254740991));
    assert_int_equal(members[QUANTITY].number, 100);
    assert_true(read_body("{\"product_id\": 1, \"title\": \"\"}"));
    assert_true(members[TITLE].given);
    assert_true(read_body(
        "{\"product_id\": 1, \"title\": \"\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\"}"));
}

/* An object of plain whole numbers is read without jansson; with an escape in a name it is not. */
TEST(a_plain_object_is_read_like_any_other)
{
    static const char *const rests[] = {
        "\":1}",
        "\":1,\"quantity\":2}",
        " \":1}",
        "\" : 1 ,\n\t\"quantity\"\r: 2 } ",
        "\":0}",
        "\":01}",
        "\":00}",
        "\":-1}",
        "\":+1}",
        "\":1.5}",
        "\":1e2}",
        "\":1 2}",
        "\":}",
        "\":999999999999999999}",
        "\":9223372036854775807}",
        "\":9223372036854775808}",
        "\":18446744073709551617}",
        "\":\"7\"}",
        "\":null}",
        "\":1,}",
        "\":1;\"quantity\":2}",
        "\":1 \"quantity\":2}",
        "\":1,,\"quantity\":2}",
        "\"1}",
        "\":1",
        "\":1}}",
        "\":1} x",
        "\":1,\"product_id\":1}",
        "\":1,\"product_id\":2}",
        "\":1,\"quantity\":0}",
        "\":1,\"quantity\":1000001}",
        "\":1,\"quantity\":null}",
        "\":1,\"quantity\":2,\"quantity\":2}",
        "\":1,\"title\":2}",
        "\":1,\"title\":\"a\"}",
        "\":1,\"quantit\":2}",
        "\":1,\"quantity \":2}",
        "\":1,\v\"quantity\":2}",
    };

    for (size_t i = 0; i < sizeof rests / sizeof *rests; i++) {
        char text[128];
        struct member plain[MEMBERS];
        snprintf(text, sizeof text, "{\"product_id%s", rests[i]);
        bool good = read_body(text);
        memcpy(plain, members, sizeof plain);
        snprintf(text, sizeof text, "{\"product\\u005fid%s", rests[i]);
        if (read_body(text) != good)
            fail_msg("%s: it is %s in the plain", text, good ? "read" : "refused");
        for (int m = 0; good && m < MEMBERS; m++)
            if (plain[m].given != members[m].given || plain[m].number != members[m].number)
                fail_msg("%s: %s is another in the plain", text, plain[m].name);
    }
}

TEST(an_id_may_be_a_string_of_its_digits)
{
    static const char *const wrong[] = {"\"\"",   "\"01\"", "\" 1\"", "\"1.0\"",
                                        "\"-1\"", "\"0\"",  "\"x\"",  "\"9223372036854775808\""};
    char body[128];

    assert_true(read_body("{\"product_id\": \"9223372036854775807\"}"));
    assert_true(members[PRODUCT_ID].number == ORDER_ID_MAX);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(body, sizeof body, "{\"product_id\": %s}", wrong[i]);
        assert_false(read_body(body));
        assert_problem("invalid_field", "product_id");
    }
    assert_false(read_body("{\"product_id\": 1, \"quantity\": \"1\"}"));
    assert_problem("invalid_field", "quantity");
}

TEST(json_refuses_what_is_not_one_object)
{
    static const char *const wrong[] = {"",
                                        " ",
                                        "[]",
                                        "[{\"product_id\":1}]",
                                        "1",
                                        "\"x\"",
                                        "null",
                                        "true",
                                        "{",
                                        "}",
                                        "{]",
                                        "{\"product_id\"}",
                                        "{\"product_id\":}",
                                        "{\"product_id\":1,}",
                                        "{product_id:1}",
                                        "{'product_id':1}",
                                        "{\"product_id\":1}{}",
                                        "{\"product_id\":1}x",
                                        "{\"product_id\":1} 2",
                                        "{\"product_id\":1,\"product_id\":1}",
                                        "{\"product_id\":NaN}",
                                        "{\"product_id\":Infinity}",
                                        "{\"product_id\":1e999}",
                                        "{\"product_id\":01}",
                                        "{\"product_id\":+1}",
                                        "{\"product_id\":.5}",
                                        "{\"product_id\":0x1}",
                                        "{\"product_id\":9223372036854775808}",
                                        "{\"product_id\":18446744073709551616}",
                                        "\xef\xbb\xbf{\"product_id\":1}",
                                        "{\"product_id\":1,\"title\":\"\xff\"}",
                                        "{\"product_id\":1,\"title\":\"\xc0\x80\"}",
                                        "{\"product_id\":1,\"title\":\"\xed\xa0\x80\"}",
                                        "{\"product_id\":1,\"title\":\"\\ud800\"}",
                                        "{\"product_id\":1,\"title\":\"\\u0000\"}",
                                        "{\"product_id\":1,\"a\\u0000b\":1}",
                                        "{\"product_id\":1,\"title\":\"a\nb\"}",
                                        "{\"product_id\":1 /* */}"};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (read_body(wrong[i]))
            fail_msg("%s was read", wrong[i]);
        assert_problem("invalid_json", "");
    }
    assert_false(read_bytes("{\"product_id\":1}\0", 17));
    assert_problem("invalid_json", "");
    assert_false(read_bytes("{\"product_id\":1,\"title\":\"a\0b\"}", 30));
    assert_problem("invalid_json", "");
}

TEST(json_cut_anywhere_is_refused)
{
    static const char whole[] =
        "{\"product_id\": 12, \"quantity\": 3, \"title\": \"\xe7\xa7\x92\"}";

    assert_true(read_body(whole));
    for (size_t length = 0; length < sizeof whole - 1; length++)
        if (read_bytes(whole, length))
            fail_msg("the first %zu bytes were read", length);
}

TEST(json_survives_depth)
{
    enum { DEPTH = 16 * 1024 };
    char *body = malloc(DEPTH);

    assert_non_null(body);
    memset(body, '[', DEPTH);
    assert_false(read_bytes(body, DEPTH));
    assert_problem("invalid_json", "");
    free(body);
}

TEST(json_names_the_member_to_blame)
{
    static const struct {
        const char *body;
        const char *field;
    } wrong[] = {
        {"{}", "product_id"},
        {"{\"quantity\":1}", "product_id"},
        {"{\"product_id\":null}", "product_id"},
        {"{\"product_id\":-1.0}", "product_id"},
        {"{\"product_id\":9007199254740992.0}", "product_id"},
        {"{\"product_id\":1e300}", "product_id"},
        {"{\"product_id\":1.5}", "product_id"},
        {"{\"product_id\":true}", "product_id"},
        {"{\"product_id\":[1]}", "product_id"},
        {"{\"product_id\":{}}", "product_id"},
        {"{\"product_id\":0}", "product_id"},
        {"{\"product_id\":-0}", "product_id"},
        {"{\"product_id\":-1}", "product_id"},
        {"{\"product_id\":1,\"quantity\":0}", "quantity"},
        {"{\"product_id\":1,\"quantity\":1000001}", "quantity"},
        {"{\"product_id\":1,\"price\":1}", "price"},
        {"{\"product_id\":1,\"PRODUCT_ID\":1}", "PRODUCT_ID"},
        {"{\"product_id\":1,\"\":1}", "(empty)"},
        {"{\"product_id\":1,\"a\\r\\n\\\"\\\\\\u79d2\":1}", "a??\'????"},
        {"{\"product_id\":1,\"title\":1}", "title"},
        {"{\"product_id\":1,\"title\":\"abcd\"}", "title"},
        {"{\"product_id\":1,\"opens_at\":1}", "opens_at"},
        {"{\"product_id\":1,\"opens_at\":\"tomorrow\"}", "opens_at"},
        {"{\"product_id\":1,\"opens_at\":\"2026-02-30T00:00:00Z\"}", "opens_at"},
        {"{\"product_id\":1,\"opens_at\":\"2026-11-20 08:00:00\"}", "opens_at"},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (read_body(wrong[i].body))
            fail_msg("%s was read", wrong[i].body);
        assert_problem("invalid_field", wrong[i].field);
    }
}

static struct headers headers;

static void add_header(const char *name, const char *value)
{
    reader_header(&headers, name, strlen(name), value, strlen(value));
}

static void one_header(const char *name, const char *value)
{
    headers = (struct headers){0};
    add_header(name, value);
}

TEST(key_follows_its_rules)
{
    char key[ORDER_KEY_MAX + 1];
    char longest[ORDER_KEY_MAX + 2];

    headers = (struct headers){0};
    assert_true(reader_key(&headers, key, &problem));
    assert_string_equal(key, "");
    one_header("idempotency-KEY", "!~a");
    assert_true(reader_key(&headers, key, &problem));
    assert_string_equal(key, "!~a");

    memset(longest, 'k', sizeof longest);
    longest[ORDER_KEY_MAX] = '\0';
    one_header("Idempotency-Key", longest);
    assert_true(reader_key(&headers, key, &problem));
    assert_string_equal(key, longest);
    longest[ORDER_KEY_MAX] = 'k';
    headers = (struct headers){0};
    reader_header(&headers, "Idempotency-Key", 15, longest, sizeof longest);
    assert_false(reader_key(&headers, key, &problem));
    assert_problem("invalid_header", "Idempotency-Key");
    assert_string_equal(key, "");
}

/* RFC 8941: what stands in quotes is the key, with a backslash before a quote or a backslash. */
TEST(a_quoted_key_is_the_bare_one)
{
    static const char *const same[][2] = {
        {"\"a\"", "a"},
        {"\"8e03978e-40d5\"", "8e03978e-40d5"},
        {"\"a\\\"b\\\\c\"", "a\"b\\c"},
        {"a\"b", "a\"b"},
        {"a\\b", "a\\b"},
    };
    char key[ORDER_KEY_MAX + 1];

    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        one_header("Idempotency-Key", same[i][0]);
        assert_true(reader_key(&headers, key, &problem));
        assert_string_equal(key, same[i][1]);
    }
}

TEST(key_breaks_its_rules)
{
    static const char *const wrong[] = {
        "",    "a b",    "a\tb",       "\x7f",    "\xc3\xa9", "a\x01",   "\"",       "\"\"",
        "\"a", "\"a\"b", "\"a\"; p=1", "\"a\\\"", "\"a\\b\"", "\"a b\"", "\"a\x7f\""};
    char key[ORDER_KEY_MAX + 1];

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        one_header("Idempotency-Key", wrong[i]);
        assert_false(reader_key(&headers, key, &problem));
        assert_problem("invalid_header", "Idempotency-Key");
    }
    headers = (struct headers){0};
    reader_header(&headers, "Idempotency-Key", 15, "a\0b", 3);
    assert_false(reader_key(&headers, key, &problem));
    one_header("Idempotency-Key", "a");
    add_header("Idempotency-Key", "a");
    assert_false(reader_key(&headers, key, &problem));
    assert_problem("invalid_header", "Idempotency-Key");
}

TEST(framing_is_never_in_doubt)
{
    static const struct {
        const char *first[2];
        const char *second[2];
        const char *blamed;
    } wrong[] = {
        {{"Content-Length", "5"}, {"Transfer-Encoding", "chunked"}, "Content-Length"},
        {{"Content-Length", "5"}, {"content-length", "5"}, "Content-Length"},
        {{"Content-Length", "5"}, {"Content-Length", "6"}, "Content-Length"},
        {{"Content-Length", "+5"}, {"A", "b"}, "Content-Length"},
        {{"Content-Length", "5, 5"}, {"A", "b"}, "Content-Length"},
        {{"Content-Length", ""}, {"A", "b"}, "Content-Length"},
        {{"Content-Length", "9999999999999999999"}, {"A", "b"}, "Content-Length"},
        {{"Host", "a"}, {"host", "a"}, "Host"},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        one_header(wrong[i].first[0], wrong[i].first[1]);
        add_header(wrong[i].second[0], wrong[i].second[1]);
        assert_false(reader_framing(&headers, &problem));
        assert_problem("invalid_header", wrong[i].blamed);
    }
    one_header("Content-Length", "16385");
    add_header("Host", "x");
    assert_true(reader_framing(&headers, &problem));
    assert_int_equal(headers.content_length, 16385);
}

TEST(a_transfer_coding_is_no_length)
{
    static const char *const values[] = {"chunked", "Chunked", "gzip, chunked", ""};

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        one_header("transfer-encoding", values[i]);
        assert_false(reader_framing(&headers, &problem));
        assert_int_equal(problem.status, 411);
        assert_string_equal(problem.code, "length_required");
    }
}

TEST(an_absolute_form_names_the_host_and_the_path)
{
    static const struct {
        const char *target, *path, *host;
    } cases[] = {
        {"/orders?a=http://x/", "/orders?a=http://x/", "field"},
        {"http://shop:80/orders?a=1", "/orders?a=1", "shop:80"},
        {"HTTPS://shop/", "/", "shop"},
        {"http://shop", "/", "shop"},
        {"http://shop?a=/1", "/?a=/1", "shop"},
        {"http:///orders", "/orders", ""},
        {"http://", "/", ""},
        {"ftp://shop/orders", "ftp://shop/orders", "field"},
        {"*", "*", "field"},
    };
    char target[64];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(target, sizeof target, "%s", cases[i].target);
        one_header("Host", "field");
        assert_string_equal(reader_origin_form(target, &headers), cases[i].path);
        assert_int_equal(headers.host_length, strlen(cases[i].host));
        assert_memory_equal(headers.host, cases[i].host, headers.host_length);
    }
}

TEST(a_malformed_field_is_refused)
{
    static const char *const names[] = {
        "", "a b", "a\tb", "a:", "a\x01", "a\x7f", "\xc3\xa9", "a,b"};
    static const char *const values[] = {"\x01", "a\rb", "a\nb", "\x1f", "a\x7f"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        one_header(names[i], "x");
        add_header("Host", "x");
        assert_false(reader_framing(&headers, &problem));
        assert_problem("invalid_header", "");
    }
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        one_header("A", values[i]);
        add_header("Host", "x");
        assert_false(reader_framing(&headers, &problem));
    }
    headers = (struct headers){0};
    reader_header(&headers, "A", 1, "a\0b", 3);
    assert_false(reader_framing(&headers, &problem));
    one_header("a-!#$%&'*+.^_`|~09AZaz", "a\tb \xc3\xa9");
    assert_true(reader_framing(&headers, &problem));
}

TEST(white_space_after_a_value_is_not_part_of_it)
{
    char key[ORDER_KEY_MAX + 1];

    one_header("Idempotency-Key", "k \t");
    assert_true(reader_key(&headers, key, &problem));
    assert_string_equal(key, "k");
    one_header("Content-Length", "5 ");
    assert_true(reader_framing(&headers, &problem));
    assert_int_equal(headers.content_length, 5);
}

TEST(a_line_has_no_control_characters)
{
    static const char *const targets[] = {"/a\x01", "/a b", "/a\tb", "/\x7f", "/a\r"};

    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        assert_false(reader_line("GET", targets[i], &problem));
        assert_problem("invalid_header", "");
    }
    assert_false(reader_line("GE\x01T", "/", &problem));
    assert_false(reader_line("", "/", &problem));
    assert_true(reader_line("GET", "/a?b=\xc3\xa9&c=%00", &problem));
}
