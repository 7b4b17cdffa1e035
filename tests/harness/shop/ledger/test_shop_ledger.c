/* A shop's ledger: what is cut off, damaged, or of another kind is refused with its line. */
#include "harness/fixtures/has.h"
#include "lib/t.h"

#include "loadtest/ledger/ledger_read.h"

#include <stdlib.h>
#include <string.h>

#define HEAD                                                                                       \
    "{\"ledger\":3,\"shop\":\"ours\",\"connections\":64,\"rate_per_s\":0,\"seed\":1}\n"            \
    "{\"product\":7,\"stock\":2,\"limit\":1}\n"
#define BEGUN "{\"op\":1,\"at_us\":5,\"due_us\":4,\"user\":\"ann\",\"key\":\"k\"}\n"
#define ENDED                                                                                      \
    "{\"op\":1,\"sent_us\":5,\"end_us\":9,\"status\":201,\"is\":\"sold\",\"order\":\"o\"}\n"
#define SENT   "{\"failures\":0,\"began_us\":3,\"ended_us\":9}\n"
#define LEFT   "{\"stock_left\":1}\n"
#define ORDERS "{\"orders\":1}\n"
#define ROW    "{\"row\":[\"o\",\"ann\",1]}\n"
#define DONE   "{\"done\":true,\"at_us\":20}\n"
#define WHOLE  HEAD BEGUN ENDED SENT LEFT ORDERS ROW DONE

static struct ledger record;
static struct error error;

static bool read_bytes(const char *text, size_t length)
{
    char *copy = malloc(length + 1);
    assert_non_null(copy);
    memcpy(copy, text, length);
    FILE *from = fmemopen(copy, length, "r");
    assert_non_null(from);
    ledger_fini(&record);
    error.text[0] = '\0';
    bool good = ledger_read(&record, from, LEDGER_OF_SHOP, &error);
    fclose(from);
    free(copy);
    return good;
}

static void takes(const char *text)
{
    if (!read_bytes(text, strlen(text)))
        fail_msg("%s: %s", error.text, text);
}

static void refuses(const char *text, const char *why)
{
    if (read_bytes(text, strlen(text)))
        fail_msg("it took: %s", text);
    if (strcmp(error.text, why) != 0)
        fail_msg("'%s' is not '%s'", error.text, why);
    assert_null(record.shop);
    assert_null(record.ops);
    assert_null(record.books.orders);
}

/* A step said no: it has an end, and was never sent. */
TEST(what_a_step_ended_is_read)
{
    takes(HEAD BEGUN
          "{\"op\":1,\"asked\":false,\"end_us\":9,\"status\":200,\"is\":\"refused\"}\n" SENT LEFT
              ORDERS ROW DONE);
    const struct ledger_op *one = &record.ops[0];
    HAS(*one, unasked, true, first, SHOP_REFUSED, last, SHOP_REFUSED, status, 200, start_us, 5,
        end_us, 9);
    assert_int_equal(record.load.answered, 1);
    ledger_fini(&record);
}

/* A run may be killed at any byte; what it had written by then has no verdict. */
TEST(every_cut_is_refused)
{
    static const char text[] = WHOLE;
    const char *const cut =
        "it was cut off: the run did not come to its end (no line \"done\"), so "
        "it has no verdict";
    for (size_t used = strlen(HEAD); used < strlen(text) - 1; used++) {
        if (read_bytes(text, used))
            fail_msg("cut at %zu, and taken", used);
        if (strcmp(error.text, cut) != 0)
            fail_msg("cut at %zu: %s", used, error.text);
    }
    takes(text);
    assert_true(read_bytes(text, strlen(text) - 1)); /* its last line has no end, and is whole */
}

TEST(what_is_of_another_kind_is_refused)
{
    refuses("\n", "line 1: no JSON object");
    refuses("[1]\n", "line 1: no JSON object");
    refuses("{\"ledger\":3", "line 1: no JSON object");
    refuses("{\"ledger\":3,\"seed\":7}\n",
            "line 1: a ledger of `record`: seckill-loadtest check judges it");
    refuses("{\"verdict\":\"kept\"}\n", "line 1: no ledger: \"ledger\" is missing");
    refuses(BEGUN, "line 1: no ledger: \"ledger\" is missing");
    refuses("{\"ledger\":\"3\"}\n", "line 1: \"ledger\" is no integer");
    refuses("{\"ledger\":2}\n", "line 1: format 2, which this program does not know: it writes 3");
    refuses("{\"ledger\":4}\n", "line 1: format 4, which this program does not know: it writes 3");
    refuses("{\"ledger\":3,\"shop\":\"ours\",\"connections\":1,\"rate_per_s\":0,\"seed\":1}\n" SENT
                DONE,
            "line 3: the end, and the product is missing");
    assert_false(ledger_read_file(&record, "/nowhere/ledger.jsonl", LEDGER_OF_SHOP, &error));
    assert_string_equal(error.text, "/nowhere/ledger.jsonl: No such file or directory");
    assert_false(ledger_read_file(&record, "/", LEDGER_OF_SHOP, &error));
    assert_string_equal(error.text, "/: Is a directory");
    assert_false(ledger_read_file(&record, "/dev/null", LEDGER_OF_SHOP, &error));
    assert_string_equal(error.text, "/dev/null: it is empty");
}

static const struct {
    const char *text, *why;
} damaged[] = {
    {HEAD "{\"op\":1\n" DONE, "line 3: no JSON object"},
    {HEAD "{\"op\":1,\"op\":1}\n", "line 3: no JSON object"},
    {HEAD "{\"weather\":\"fine\"}\n", "line 3: no line of a ledger"},
    {HEAD HEAD, "line 3: a second ledger begins"},
    {HEAD "{\"done\":false}\n", "line 3: no line of a ledger"},
    {HEAD "{\"op\":-1}\n", "line 3: \"op\" is missing or too small"},
    {HEAD "{\"op\":2,\"due_us\":4}\n", "line 3: op 2 begins where op 1 should"},
    {HEAD BEGUN BEGUN, "line 4: op 1 begins where op 2 should"},
    {HEAD "{\"op\":1}\n", "line 3: \"due_us\" is missing or too small"},
    {HEAD "{\"op\":1,\"due_us\":4,\"user\":7}\n", "line 3: \"user\" is no text"},
    {HEAD "{\"op\":1,\"due_us\":4,\"key\":[]}\n", "line 3: \"key\" is no text"},
    {HEAD "{\"op\":1,\"due_us\":4,\"repeat\":1}\n", "line 3: \"repeat\" is neither true nor false"},
    {HEAD ENDED, "line 3: op 1 ends, and has not begun"},
    {HEAD BEGUN ENDED ENDED, "line 5: op 1 ends twice"},
    {HEAD BEGUN "{\"op\":1,\"is\":\"bought\"}\n",
     "line 4: \"is\" is none of the meanings of an answer"},
    {HEAD BEGUN "{\"op\":1,\"is\":1}\n", "line 4: \"is\" is none of the meanings of an answer"},
    {HEAD BEGUN "{\"op\":1,\"is\":\"sold\"}\n", "line 4: \"sent_us\" is missing or too small"},
    {HEAD BEGUN "{\"op\":1,\"is\":\"sold\",\"sent_us\":3,\"end_us\":9}\n",
     "line 4: \"sent_us\" is missing or too small"},
    {HEAD BEGUN "{\"op\":1,\"is\":\"sold\",\"sent_us\":5,\"end_us\":4}\n",
     "line 4: \"end_us\" is missing or too small"},
    {HEAD BEGUN "{\"op\":1,\"is\":\"sold\",\"sent_us\":5,\"end_us\":9,\"status\":1000}\n",
     "line 4: \"status\" is not from 0 to 999"},
    {HEAD BEGUN "{\"op\":1,\"is\":\"accepted\",\"sent_us\":5,\"end_us\":9,\"became\":\"x\"}\n",
     "line 4: \"became\" is none of the meanings of an answer"},
    {HEAD BEGUN "{\"op\":1,\"is\":\"shed\",\"sent_us\":5,\"end_us\":9,\"became\":\"sold\"}\n",
     "line 4: only what was accepted becomes something else"},
    {HEAD BEGUN "{\"op\":1,\"is\":\"sold\",\"sent_us\":5,\"end_us\":9,\"order\":5}\n",
     "line 4: \"order\" is no text"},
    {HEAD BEGUN "{\"op\":1,\"asked\":false,\"is\":\"sold\"}\n",
     "line 4: op 1 was not asked, and was answered"},
    {HEAD BEGUN "{\"op\":1,\"asked\":false,\"is\":\"unknown\",\"status\":500}\n",
     "line 4: op 1 was not asked, and was answered"},
    {HEAD BEGUN "{\"op\":1,\"asked\":false,\"is\":\"unknown\",\"order\":\"o\"}\n",
     "line 4: op 1 was not asked, and was answered"},
    {HEAD BEGUN "{\"op\":1,\"asked\":false,\"is\":\"refused\",\"end_us\":9,\"sent_us\":5}\n",
     "line 4: op 1 was not asked, and was answered"},
    {HEAD BEGUN "{\"op\":1,\"asked\":false,\"is\":\"refused\",\"end_us\":9,\"order\":\"o\"}\n",
     "line 4: op 1 was not asked, and was answered"},
    {HEAD BEGUN "{\"op\":1,\"asked\":false,\"is\":\"refused\"}\n",
     "line 4: \"end_us\" is missing or too small"},
    {HEAD BEGUN "{\"op\":1,\"asked\":0,\"is\":\"unknown\"}\n",
     "line 4: \"asked\" is neither true nor false"},
    {HEAD SENT SENT, "line 4: the load ends twice"},
    {HEAD SENT BEGUN, "line 4: op 1 stands behind the end of the load"},
    {HEAD "{\"failures\":-1}\n", "line 3: \"failures\" is missing or too small"},
    {HEAD "{\"failures\":1,\"first_failure\":2}\n",
     "line 3: \"first_failure\" is no text of at most 399 bytes"},
    {HEAD "{\"failures\":0,\"began_us\":3,\"ended_us\":2}\n",
     "line 3: \"ended_us\" is missing or too small"},
    {HEAD SENT LEFT LEFT, "line 5: \"stock_left\" stands there twice"},
    {HEAD SENT "{\"stock_left\":\"1\"}\n", "line 4: \"stock_left\" is no integer"},
    {HEAD SENT "{\"stock_left\":1000000000001}\n", "line 4: \"stock_left\" is too large"},
    {HEAD SENT "{\"stock_left\":-1000000000001}\n",
     "line 4: \"stock_left\" is missing or too small"},
    {HEAD SENT ORDERS ORDERS, "line 5: \"orders\" stands there twice"},
    {HEAD SENT ROW, "line 4: \"orders\" is 0, and here is one more"},
    {HEAD SENT ORDERS ROW ROW, "line 6: \"orders\" is 1, and here is one more"},
    {HEAD SENT ORDERS "{\"row\":\"o\"}\n", "line 5: \"row\" is no order's id, user and units"},
    {HEAD SENT ORDERS "{\"row\":[\"o\",\"ann\"]}\n",
     "line 5: \"row\" is no order's id, user and units"},
    {HEAD SENT ORDERS "{\"row\":[1,\"ann\",1]}\n",
     "line 5: \"row\" is no order's id, user and units"},
    {HEAD SENT ORDERS "{\"row\":[\"o\",2,1]}\n",
     "line 5: \"row\" is no order's id, user and units"},
    {HEAD SENT ORDERS "{\"row\":[\"o\",\"ann\",-1]}\n",
     "line 5: \"row\" is no order's id, user and units"},
    {HEAD SENT ORDERS "{\"row\":[\"o\",\"ann\",1000000001]}\n",
     "line 5: \"row\" is no order's id, user and units"},
    {HEAD BEGUN SENT DONE, "line 5: the end, and 1 purchases have none"},
    {HEAD DONE, "line 3: the end, and the load has none"},
    {HEAD SENT ORDERS DONE, "line 5: the end, and there are 0 of 1 orders"},
    {WHOLE DONE, "line 10: it stands behind the end"},
    {WHOLE ROW, "line 10: it stands behind the end"},
};

TEST(a_damaged_line_is_named)
{
    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++)
        refuses(damaged[i].text, damaged[i].why);
}

TEST(a_head_without_its_figures_is_refused)
{
    static const struct {
        const char *field, *why;
    } cases[] = {
        {"connections", "line 1: \"connections\" is missing or too small"},
        {"rate_per_s", "line 1: \"rate_per_s\" is missing or too small"},
        {"seed", "line 1: \"seed\" is missing or too small"},
        {"product", "line 2: no line of a ledger"},
        {"stock", "line 2: \"stock\" is missing or too small"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[] = HEAD SENT DONE;
        char *at = strstr(text, cases[i].field);
        assert_non_null(at);
        *at = 'X';
        refuses(text, cases[i].why);
    }
    takes(HEAD SENT DONE);
}

/* What nobody has asked for has no books; that is not the same as books without an order. */
TEST(books_are_told_from_none)
{
    takes(HEAD SENT DONE);
    assert_false(record.books.has_left || record.books.has_orders);
    takes(HEAD SENT LEFT DONE);
    assert_true(record.books.has_left && !record.books.has_orders);
    takes(HEAD SENT "{\"orders\":0}\n" DONE);
    assert_true(record.books.has_orders && record.books.orders_count == 0);
}

TEST(a_line_may_have_8_mib)
{
    enum { MOST = 8 << 20 };
    static const char begins[] = "{\"row\":[\"", ends[] = "\",\"ann\",1]}\n";
    char *text = NULL;
    size_t size = 0;
    for (size_t more = 0; more < 2; more++) {
        FILE *to = open_memstream(&text, &size);
        assert_non_null(to);
        fputs(HEAD SENT ORDERS, to);
        fputs(begins, to);
        for (size_t i = strlen(begins) + strlen(ends); i < MOST + more; i++)
            fputc('o', to);
        fprintf(to, "%s" DONE, ends);
        assert_int_equal(fclose(to), 0);
        if (more == 0)
            takes(text);
        else
            refuses(text, "line 5: longer than 8388608 bytes");
        free(text);
    }
}

AFTER_ALL()
{
    ledger_fini(&record);
}
