/* The ledger's file, a shop's too: what is read is written again as it was, and what is cut off,
 * damaged, or no ledger is refused with its line. */
#include "harness/fixtures/has.h"
#include "lib/t.h"

#include "loadtest/ledger/ledger_read.h"
#include "loadtest/ledger/ledger_write.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD "{\"ledger\":3,\"seed\":7}\n{\"product\":3,\"stock\":5,\"limit\":2,\"epoch\":9}\n"
#define BUY                                                                                        \
    "{\"op\":1,\"do\":\"buy\",\"at_us\":10,\"user\":\"4\",\"product\":3,\"quantity\":1,\"key\":"   \
    "\"k\"}\n"
#define SOLD                                                                                       \
    "{\"op\":1,\"end_us\":30,\"is\":\"ok\",\"status\":201,\"order\":\"o-1\",\"state\":"            \
    "\"confirmed\"}\n"

static struct ledger ledger;
static struct error error;

static bool read_bytes(const char *text, size_t length, enum ledger_whose whose)
{
    char *copy = malloc(length + 1);
    assert_non_null(copy);
    memcpy(copy, text, length);
    FILE *file = fmemopen(copy, length, "r");
    assert_non_null(file);
    ledger_fini(&ledger);
    error.text[0] = '\0';
    bool good = ledger_read(&ledger, file, whose, &error);
    fclose(file);
    free(copy);
    return good;
}

static bool read_text(const char *text)
{
    return read_bytes(text, strlen(text), LEDGER_OF_SERVERS);
}

static bool read_shop(const char *text, size_t length)
{
    return read_bytes(text, length, LEDGER_OF_SHOP);
}

static void is_refused(bool taken, const char *text)
{
    if (taken)
        fail_msg("it took: %s", text);
    assert_null(ledger.shop);
    assert_null(ledger.ops);
    assert_null(ledger.products);
    assert_null(ledger.books.orders);
}

static void refuses(const char *text, const char *why)
{
    is_refused(read_text(text), text);
    t_says(error.text, why);
}

/* As they are written: our own servers', a purchase that is answered, a cancel whose answer names
 * another order and a payment that has none; and a shop's, a purchase that became sold, one that
 * was never asked, a repeat that is refused, and the books. */
static const struct {
    enum ledger_whose whose;
    const char *text;
} written[] = {
    {LEDGER_OF_SERVERS,
     "{\"ledger\":3,\"seed\":42,\"began\":\"\",\"clock\":\"CLOCK_MONOTONIC\"}\n"
     "{\"product\":3,\"stock\":5,\"limit\":2,\"epoch\":9}\n"
     "{\"op\":1,\"do\":\"buy\",\"at_us\":100,\"user\":\"4\",\"product\":3,\"quantity\":2,"
     "\"hold_s\":900,\"key\":\"a \\\"key\\\"\",\"strategy\":\"conditional\"}\n"
     "{\"op\":1,\"end_us\":200,\"is\":\"ok\",\"state\":\"pending\",\"status\":201,"
     "\"order\":\"o-1\",\"fence\":17}\n"
     "{\"op\":2,\"do\":\"cancel\",\"at_us\":150,\"product\":3,\"order\":\"o-1\"}\n"
     "{\"op\":2,\"end_us\":210,\"is\":\"fail\",\"code\":\"not_open\",\"status\":409,"
     "\"order\":\"o-2\"}\n"
     "{\"op\":3,\"do\":\"pay\",\"at_us\":160,\"order\":\"o-1\"}\n"
     "{\"note\":\"killed a server\",\"at_us\":170}\n"
     "{\"done\":true,\"at_us\":9999}\n"},
    {LEDGER_OF_SHOP,
     "{\"ledger\":3,\"seed\":9,\"shop\":\"Laden \\\"7\\\"\",\"target\":\"shop.yaml\","
     "\"connections\":32,\"rate_per_s\":500,\"began\":\"\",\"clock\":\"CLOCK_MONOTONIC\"}\n"
     "{\"product\":7,\"stock\":5,\"limit\":2}\n"
     "{\"op\":1,\"do\":\"buy\",\"due_us\":1000,\"at_us\":1300,\"user\":\"Li \xe6\x9d\x8e\","
     "\"key\":\"k1\"}\n"
     "{\"op\":1,\"end_us\":1400,\"sent_us\":1300,\"is\":\"accepted\",\"became\":\"sold\","
     "\"status\":202,\"order\":\"o-1\"}\n"
     "{\"op\":2,\"do\":\"buy\",\"due_us\":1100,\"at_us\":1150}\n"
     "{\"op\":2,\"asked\":false,\"is\":\"unknown\"}\n"
     "{\"op\":3,\"do\":\"buy\",\"due_us\":1200,\"at_us\":1350,\"user\":\"Li \xe6\x9d\x8e\","
     "\"key\":\"k1\",\"repeat\":true}\n"
     "{\"op\":3,\"end_us\":1400,\"sent_us\":1350,\"is\":\"refused\",\"status\":409}\n"
     "{\"failures\":1,\"first_failure\":\"why\",\"began_us\":1000,\"ended_us\":9000,"
     "\"late_us\":20000}\n"
     "{\"stock_left\":-4}\n"
     "{\"orders\":2}\n"
     "{\"row\":[\"o-1\",\"Li \xe6\x9d\x8e\",1]}\n"
     "{\"row\":[null,\"\",3]}\n"
     "{\"done\":true,\"at_us\":9999}\n"},
};

static void write_again(const char *path)
{
    struct json_lines *to = ledger_create(path, &ledger, "shop.yaml", &error);
    assert_non_null(to);
    for (size_t i = 0; i < ledger.ops_count; i++) {
        const struct ledger_op *op = &ledger.ops[i];
        ledger_write_begin(to, op);
        if (op->means || op->end_us != LEDGER_NEVER)
            ledger_write_end(to, op);
    }
    if (ledger.shop) {
        ledger_write_load(to, &ledger.load);
        ledger_write_books(to, &ledger.books);
    } else {
        ledger_write_note(to, 170, "killed a server");
    }
    ledger_write_done(to, 9999);
    assert_true(json_lines_close(to, &error));
}

/* Nothing is lost or changed on the way there and back but when it began. */
TEST(what_is_written_is_read)
{
    static const char begins[] = "\"began\":\"";
    const char *path = t_text("%s/ledger", t_folder());
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        t_done(read_bytes(written[i].text, strlen(written[i].text), written[i].whose), error);
        assert_true(ledger.done && !ledger.cut);
        assert_int_equal(ledger.skipped, 0);
        write_again(path);
        char *text = t_read_all(path);
        char *began = strstr(text, begins);
        assert_non_null(began);
        began += strlen(begins);
        memmove(began, strchr(began, '"'), strlen(strchr(began, '"')) + 1);
        assert_string_equal(text, written[i].text);
        free(text);
    }
}

/* A recorder may die at any byte: what it had written whole counts. */
TEST(every_cut_is_forgiven)
{
    static const char text[] = HEAD BUY SOLD;
    const size_t head = strlen(HEAD), begun = strlen(HEAD BUY);
    for (size_t used = head + 1; used < strlen(text); used++) {
        char part[sizeof text];
        memcpy(part, text, used);
        part[used] = '\0';
        if (!read_text(part))
            fail_msg("cut at %zu: %s", used, error.text);
        bool whole = used == begun || used == begun - 1 || used == strlen(text) - 1;
        HAS(ledger, cut, !whole, ops_count, used >= begun - 1, done, false);
    }
}

TEST(what_is_unknown_is_skipped)
{
    assert_true(read_text(HEAD "{\"weather\":\"fine\"}\n"
                               "{\"op\":1,\"do\":\"lend\",\"at_us\":1}\n{\"op\":1,\"end_us\":2}\n"
                               "{\"op\":2,\"do\":\"read\",\"at_us\":1,\"order\":\"o\",\"x\":[1]}\n"
                               "{\"op\":2,\"end_us\":2,\"is\":\"ok\",\"status\":200}\n"));
    HAS(ledger, skipped, 3, ops_count, 1, ops[0].state, LEDGER_STATE_NONE);
}

/* As editors and other systems leave it: a byte order mark, CRLF, lines without anything. */
TEST(what_an_editor_adds_is_read)
{
    assert_true(read_text("\xef\xbb\xbf" HEAD "\r\n" BUY "\n" SOLD "\r\n\n"));
    assert_int_equal(ledger.ops_count, 1);
    assert_int_equal(ledger_find_product(&ledger, 3)->limit, 2);
    assert_null(ledger_find_product(&ledger, 4));
    assert_false(ledger.cut);
}

/* The answer's order is kept where it is not the one that was asked about. */
TEST(another_order_than_asked_is_kept)
{
    assert_true(read_text(HEAD "{\"op\":1,\"do\":\"read\",\"at_us\":1,\"order\":\"a\"}\n"
                               "{\"op\":1,\"end_us\":2,\"is\":\"ok\",\"order\":\"b\"}\n"
                               "{\"op\":2,\"do\":\"pay\",\"at_us\":1,\"order\":\"a\"}\n"
                               "{\"op\":2,\"end_us\":2,\"is\":\"ok\",\"order\":\"a\"}\n"));
    HAS(ledger.ops[0], order, "a", named, "b");
    assert_null(ledger.ops[1].named);
}

TEST(what_is_no_ledger_is_refused)
{
    refuses("\n", "line 1");
    refuses("{\"ledger\":3", "line 1"); /* cut in its first line: nothing says what it is */
    refuses("{\"ledger\":2}\n", "format 2");
    refuses("{\"shop_ledger\":2}\n", "of a version before 0.1.0");
    refuses(HEAD "{\"op\":1,\"do\":\"read\",\"at_us\":1,\"user\":4,\"order\":\"o\"}\n", "\"user\"");
    refuses("{\"runs\":[]}\n", "\"ledger\"");
    refuses("{\"ledger\":3,\"shop\":\"ours\"}\n",
            "line 1: a shop's ledger: seckill-loadtest shop TARGET.yaml --judge judges it");
    refuses(HEAD "nonsense\n" BUY, "line 3");
    refuses(HEAD "[1]\n", "line 3");
    refuses(HEAD BUY BUY, "op 1");
    refuses(HEAD BUY SOLD SOLD, "twice");
    refuses(HEAD BUY "{\"op\":1,\"end_us\":9,\"is\":\"ok\"}\n", "end_us");
    refuses(HEAD BUY "{\"op\":1,\"end_us\":90,\"is\":\"maybe\"}\n", "\"is\"");
    refuses(HEAD BUY "{\"op\":1,\"end_us\":90,\"is\":\"ok\",\"state\":\"Confirmed\"}\n",
            "\"state\"");
    refuses(HEAD BUY "{\"op\":1,\"end_us\":1.5,\"is\":\"ok\"}\n", "integer");
    refuses(HEAD BUY "{\"op\":1,\"op\":1}\n", "line 4");
    refuses(HEAD "{\"op\":1,\"do\":\"buy\",\"at_us\":1,\"product\":3}\n", "quantity");
    refuses(HEAD "{\"op\":1,\"do\":\"cancel\",\"at_us\":1}\n", "order");
    refuses(HEAD "{\"op\":1,\"do\":\"buy\",\"at_us\":1,\"product\":3,\"quantity\":1000000001}\n",
            "quantity");
    refuses(HEAD "{\"product\":4,\"stock\":9007199254740992}\n", "stock");
    refuses(HEAD "{\"op\":1,\"do\":\"buy\",\"at_us\":1,\"product\":3,\"quantity\":1}\n"
                 "{\"op\":1,\"end_us\":90,\"is\":\"ok\",\"status\":201}\n",
            "a key or an order");
    refuses(HEAD "{\"op\":1,\"do\":\"buy\",\"product\":3,\"quantity\":1}\n", "at_us");
    refuses(HEAD HEAD, "line 3");
    refuses(HEAD "{\"product\":4,\"stock\":1,\"limit\":-1}\n", "limit");
    refuses(HEAD "{\"product\":4,\"stock\":1,\"epoch\":-1}\n", "epoch");
    refuses(HEAD BUY "{\"op\":1,\"end_us\":90,\"is\":\"ok\",\"status\":4294967497}\n", "status");
    refuses(HEAD "{\"op\":1,\"do\":\"pay\",\"at_us\":1}\n", "a pay needs an order");
    refuses(HEAD "{\"op\":1,\"do\":\"buy\",\"at_us\":1,\"product\":3,\"quantity\":1,"
                 "\"hold_s\":86401}\n",
            "hold_s");
    refuses(HEAD "{\"product\":3,\"stock\":5}\n", "twice");
    refuses(HEAD "{\"op\":1,\"do\":\"read\",\"at_us\":1,\"order\":"
                 "\"0123456789012345678901234567890123456\"}\n",
            "36 bytes");
}

TEST(a_line_that_is_too_long_is_refused)
{
    static char text[40000];
    snprintf(text, sizeof text, "%s{\"note\":1%20000s}\n", HEAD, "");
    refuses(text, "line 3");
}

TEST(a_file_that_cannot_be_made_or_read)
{
    assert_false(ledger_read_file(&ledger, "/nowhere/ledger", LEDGER_OF_SERVERS, &error));
    t_says(error.text, "/nowhere/ledger");
    assert_null(ledger_create("/nowhere/ledger", &(struct ledger){.seed = 1}, NULL, &error));
    struct json_lines *full = ledger_create("/dev/full", &(struct ledger){.seed = 1}, NULL, &error);
    assert_non_null(full);
    assert_false(json_lines_flush(full, &error));
    t_says(error.text, "/dev/full");
    assert_false(json_lines_close(full, &error));
}

/* --- a shop's: what is cut off, damaged, or of another kind is refused with its line --- */

#define SHOP                                                                                       \
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
#define WHOLE  SHOP BEGUN ENDED SENT LEFT ORDERS ROW DONE

static void takes(const char *text)
{
    if (!read_shop(text, strlen(text)))
        fail_msg("%s: %s", error.text, text);
}

static void refuses_shop(const char *text, const char *why)
{
    is_refused(read_shop(text, strlen(text)), text);
    assert_string_equal(error.text, why);
}

/* A step said no: it has an end, and was never sent. */
TEST(what_a_step_ended_is_read)
{
    takes(SHOP BEGUN
          "{\"op\":1,\"asked\":false,\"end_us\":9,\"status\":200,\"is\":\"refused\"}\n" SENT LEFT
              ORDERS ROW DONE);
    const struct ledger_op *one = &ledger.ops[0];
    HAS(*one, unasked, true, first, SHOP_REFUSED, last, SHOP_REFUSED, status, 200, start_us, 5,
        end_us, 9);
    assert_int_equal(ledger.load.answered, 1);
}

/* A run may be killed at any byte; what it had written by then has no verdict. */
TEST(every_cut_is_refused)
{
    static const char text[] = WHOLE;
    const char *const cut =
        "it was cut off: the run did not come to its end (no line \"done\"), so "
        "it has no verdict";
    for (size_t used = strlen(SHOP); used < strlen(text) - 1; used++) {
        if (read_shop(text, used))
            fail_msg("cut at %zu, and taken", used);
        if (strcmp(error.text, cut) != 0)
            fail_msg("cut at %zu: %s", used, error.text);
    }
    takes(text);
    assert_true(read_shop(text, strlen(text) - 1)); /* its last line has no end, and is whole */
}

TEST(what_is_of_another_kind_is_refused)
{
    refuses_shop("\n", "line 1: no JSON object");
    refuses_shop("[1]\n", "line 1: no JSON object");
    refuses_shop("{\"ledger\":3", "line 1: no JSON object");
    refuses_shop("{\"ledger\":3,\"seed\":7}\n",
                 "line 1: a ledger of `record`: seckill-loadtest check judges it");
    refuses_shop("{\"verdict\":\"kept\"}\n", "line 1: no ledger: \"ledger\" is missing");
    refuses_shop(BEGUN, "line 1: no ledger: \"ledger\" is missing");
    refuses_shop("{\"ledger\":\"3\"}\n", "line 1: \"ledger\" is no integer");
    refuses_shop("{\"ledger\":2}\n",
                 "line 1: format 2, which this program does not know: it writes 3");
    refuses_shop("{\"ledger\":4}\n",
                 "line 1: format 4, which this program does not know: it writes 3");
    refuses_shop(
        "{\"ledger\":3,\"shop\":\"ours\",\"connections\":1,\"rate_per_s\":0,\"seed\":1}\n" SENT
            DONE,
        "line 3: the end, and the product is missing");
    assert_false(ledger_read_file(&ledger, "/nowhere/ledger.jsonl", LEDGER_OF_SHOP, &error));
    assert_string_equal(error.text, "/nowhere/ledger.jsonl: No such file or directory");
    assert_false(ledger_read_file(&ledger, "/", LEDGER_OF_SHOP, &error));
    assert_string_equal(error.text, "/: Is a directory");
    assert_false(ledger_read_file(&ledger, "/dev/null", LEDGER_OF_SHOP, &error));
    assert_string_equal(error.text, "/dev/null: it is empty");
}

static const struct {
    const char *text, *why;
} damaged[] = {
    {SHOP "{\"op\":1\n" DONE, "line 3: no JSON object"},
    {SHOP "{\"op\":1,\"op\":1}\n", "line 3: no JSON object"},
    {SHOP "{\"weather\":\"fine\"}\n", "line 3: no line of a ledger"},
    {SHOP SHOP, "line 3: a second ledger begins"},
    {SHOP "{\"done\":false}\n", "line 3: no line of a ledger"},
    {SHOP "{\"op\":-1}\n", "line 3: \"op\" is missing or too small"},
    {SHOP "{\"op\":2,\"due_us\":4}\n", "line 3: op 2 begins where op 1 should"},
    {SHOP BEGUN BEGUN, "line 4: op 1 begins where op 2 should"},
    {SHOP "{\"op\":1}\n", "line 3: \"due_us\" is missing or too small"},
    {SHOP "{\"op\":1,\"due_us\":4,\"user\":7}\n", "line 3: \"user\" is no text"},
    {SHOP "{\"op\":1,\"due_us\":4,\"key\":[]}\n", "line 3: \"key\" is no text"},
    {SHOP "{\"op\":1,\"due_us\":4,\"repeat\":1}\n", "line 3: \"repeat\" is neither true nor false"},
    {SHOP ENDED, "line 3: op 1 ends, and has not begun"},
    {SHOP BEGUN ENDED ENDED, "line 5: op 1 ends twice"},
    {SHOP BEGUN "{\"op\":1,\"is\":\"bought\"}\n",
     "line 4: \"is\" is none of the meanings of an answer"},
    {SHOP BEGUN "{\"op\":1,\"is\":1}\n", "line 4: \"is\" is none of the meanings of an answer"},
    {SHOP BEGUN "{\"op\":1,\"is\":\"sold\"}\n", "line 4: \"sent_us\" is missing or too small"},
    {SHOP BEGUN "{\"op\":1,\"is\":\"sold\",\"sent_us\":3,\"end_us\":9}\n",
     "line 4: \"sent_us\" is missing or too small"},
    {SHOP BEGUN "{\"op\":1,\"is\":\"sold\",\"sent_us\":5,\"end_us\":4}\n",
     "line 4: \"end_us\" is missing or too small"},
    {SHOP BEGUN "{\"op\":1,\"is\":\"sold\",\"sent_us\":5,\"end_us\":9,\"status\":1000}\n",
     "line 4: \"status\" is not from 0 to 999"},
    {SHOP BEGUN "{\"op\":1,\"is\":\"accepted\",\"sent_us\":5,\"end_us\":9,\"became\":\"x\"}\n",
     "line 4: \"became\" is none of the meanings of an answer"},
    {SHOP BEGUN "{\"op\":1,\"is\":\"shed\",\"sent_us\":5,\"end_us\":9,\"became\":\"sold\"}\n",
     "line 4: only what was accepted becomes something else"},
    {SHOP BEGUN "{\"op\":1,\"is\":\"sold\",\"sent_us\":5,\"end_us\":9,\"order\":5}\n",
     "line 4: \"order\" is no text"},
    {SHOP BEGUN "{\"op\":1,\"asked\":false,\"is\":\"sold\"}\n",
     "line 4: op 1 was not asked, and was answered"},
    {SHOP BEGUN "{\"op\":1,\"asked\":false,\"is\":\"unknown\",\"status\":500}\n",
     "line 4: op 1 was not asked, and was answered"},
    {SHOP BEGUN "{\"op\":1,\"asked\":false,\"is\":\"unknown\",\"order\":\"o\"}\n",
     "line 4: op 1 was not asked, and was answered"},
    {SHOP BEGUN "{\"op\":1,\"asked\":false,\"is\":\"refused\",\"end_us\":9,\"sent_us\":5}\n",
     "line 4: op 1 was not asked, and was answered"},
    {SHOP BEGUN "{\"op\":1,\"asked\":false,\"is\":\"refused\",\"end_us\":9,\"order\":\"o\"}\n",
     "line 4: op 1 was not asked, and was answered"},
    {SHOP BEGUN "{\"op\":1,\"asked\":false,\"is\":\"refused\"}\n",
     "line 4: \"end_us\" is missing or too small"},
    {SHOP BEGUN "{\"op\":1,\"asked\":0,\"is\":\"unknown\"}\n",
     "line 4: \"asked\" is neither true nor false"},
    {SHOP SENT SENT, "line 4: the load ends twice"},
    {SHOP SENT BEGUN, "line 4: op 1 stands behind the end of the load"},
    {SHOP "{\"failures\":-1}\n", "line 3: \"failures\" is missing or too small"},
    {SHOP "{\"failures\":1,\"first_failure\":2}\n",
     "line 3: \"first_failure\" is no text of at most 399 bytes"},
    {SHOP "{\"failures\":0,\"began_us\":3,\"ended_us\":2}\n",
     "line 3: \"ended_us\" is missing or too small"},
    {SHOP SENT LEFT LEFT, "line 5: \"stock_left\" stands there twice"},
    {SHOP SENT "{\"stock_left\":\"1\"}\n", "line 4: \"stock_left\" is no integer"},
    {SHOP SENT "{\"stock_left\":1000000000001}\n", "line 4: \"stock_left\" is too large"},
    {SHOP SENT "{\"stock_left\":-1000000000001}\n",
     "line 4: \"stock_left\" is missing or too small"},
    {SHOP SENT ORDERS ORDERS, "line 5: \"orders\" stands there twice"},
    {SHOP SENT ROW, "line 4: \"orders\" is 0, and here is one more"},
    {SHOP SENT ORDERS ROW ROW, "line 6: \"orders\" is 1, and here is one more"},
    {SHOP SENT ORDERS "{\"row\":\"o\"}\n", "line 5: \"row\" is no order's id, user and units"},
    {SHOP SENT ORDERS "{\"row\":[\"o\",\"ann\"]}\n",
     "line 5: \"row\" is no order's id, user and units"},
    {SHOP SENT ORDERS "{\"row\":[1,\"ann\",1]}\n",
     "line 5: \"row\" is no order's id, user and units"},
    {SHOP SENT ORDERS "{\"row\":[\"o\",2,1]}\n",
     "line 5: \"row\" is no order's id, user and units"},
    {SHOP SENT ORDERS "{\"row\":[\"o\",\"ann\",-1]}\n",
     "line 5: \"row\" is no order's id, user and units"},
    {SHOP SENT ORDERS "{\"row\":[\"o\",\"ann\",1000000001]}\n",
     "line 5: \"row\" is no order's id, user and units"},
    {SHOP BEGUN SENT DONE, "line 5: the end, and 1 purchases have none"},
    {SHOP DONE, "line 3: the end, and the load has none"},
    {SHOP SENT ORDERS DONE, "line 5: the end, and there are 0 of 1 orders"},
    {WHOLE DONE, "line 10: it stands behind the end"},
    {WHOLE ROW, "line 10: it stands behind the end"},
};

TEST(a_damaged_line_is_named)
{
    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++)
        refuses_shop(damaged[i].text, damaged[i].why);
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
        char text[] = SHOP SENT DONE;
        char *at = strstr(text, cases[i].field);
        assert_non_null(at);
        *at = 'X';
        refuses_shop(text, cases[i].why);
    }
    takes(SHOP SENT DONE);
}

/* What nobody has asked for has no books; that is not the same as books without an order. */
TEST(books_are_told_from_none)
{
    takes(SHOP SENT DONE);
    assert_false(ledger.books.has_left || ledger.books.has_orders);
    takes(SHOP SENT LEFT DONE);
    assert_true(ledger.books.has_left && !ledger.books.has_orders);
    takes(SHOP SENT "{\"orders\":0}\n" DONE);
    assert_true(ledger.books.has_orders && ledger.books.orders_count == 0);
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
        fputs(SHOP SENT ORDERS, to);
        fputs(begins, to);
        for (size_t i = strlen(begins) + strlen(ends); i < MOST + more; i++)
            fputc('o', to);
        fprintf(to, "%s" DONE, ends);
        assert_int_equal(fclose(to), 0);
        if (more == 0)
            takes(text);
        else
            refuses_shop(text, "line 5: longer than 8388608 bytes");
        free(text);
    }
}

AFTER_ALL()
{
    ledger_fini(&ledger);
}
