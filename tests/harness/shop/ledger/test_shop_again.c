/*
 * A ledger that is judged again, without a shop: a whole one keeps every claim, one in which
 * something is not as it ought to be breaks those that it ought to break and no other, and one of
 * another sale than the target's is refused.
 */
#include "harness/fixtures/has.h"
#include "lib/t.h"

#include "loadtest/shop/sale/sale.h"
#include "loadtest/shop/sale/told.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];

/* Two units, one a user: ann and bob have bought, ann's key came twice and she asked for another
 * one, cid was told the truth. */
static const char whole[] =
    "{\"ledger\":3,\"shop\":\"ours\",\"connections\":3,\"rate_per_s\":9,\"seed\":5}\n"
    "{\"product\":7,\"stock\":2,\"limit\":1}\n"
    "{\"op\":1,\"due_us\":1,\"user\":\"ann\",\"key\":\"a\"}\n"
    "{\"op\":2,\"due_us\":2,\"user\":\"bob\",\"key\":\"b\"}\n"
    "{\"op\":3,\"due_us\":3,\"user\":\"ann\",\"key\":\"a\",\"repeat\":true}\n"
    "{\"op\":1,\"sent_us\":4,\"end_us\":7,\"status\":201,\"is\":\"sold\",\"order\":\"o-a\"}\n"
    "{\"op\":2,\"sent_us\":4,\"end_us\":7,\"status\":202,\"is\":\"accepted\",\"became\":\"sold\","
    "\"order\":\"o-b\"}\n"
    "{\"op\":3,\"sent_us\":5,\"end_us\":8,\"status\":200,\"is\":\"sold\",\"order\":\"o-a\"}\n"
    "{\"op\":4,\"due_us\":8,\"user\":\"ann\",\"key\":\"d\"}\n"
    "{\"op\":4,\"sent_us\":8,\"end_us\":9,\"status\":409,\"is\":\"refused\"}\n"
    "{\"op\":5,\"due_us\":9,\"user\":\"cid\",\"key\":\"c\"}\n"
    "{\"op\":5,\"sent_us\":9,\"end_us\":12,\"status\":409,\"is\":\"sold_out\"}\n"
    "{\"failures\":2,\"first_failure\":\"why\",\"began_us\":1,\"ended_us\":12}\n"
    "{\"stock_left\":0}\n"
    "{\"orders\":2}\n"
    "{\"row\":[\"o-a\",\"ann\",1]}\n"
    "{\"row\":[\"o-b\",\"bob\",1]}\n"
    "{\"done\":true,\"at_us\":20}\n";

/* One place in the ledger, and what stands there instead; NULL: no more. */
struct edit {
    const char *from, *to;
};

static void put_edited(const struct edit *edits, size_t count)
{
    char text[4096], tail[4096];
    snprintf(text, sizeof text, "%s", whole);
    for (size_t i = 0; i < count && edits[i].from; i++) {
        char *at = strstr(text, edits[i].from);
        if (!at)
            fail_msg("the ledger has no %s", edits[i].from);
        snprintf(tail, sizeof tail, "%s", at + strlen(edits[i].from));
        snprintf(at, sizeof text - (size_t)(at - text), "%s%s", edits[i].to, tail);
    }
    t_write(path, text);
}

static struct target target_of(void)
{
    struct target target = {.path = "shop.yaml",
                            .name = "ours",
                            .product = 7,
                            .stock = 2,
                            .limit = 1,
                            .stock_left = {.sql = "SELECT 1"},
                            .orders = {.sql = "SELECT 1"}};
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++)
        target.claims[i] = true;
    return target;
}

static struct sale sale;
static struct sale_plan plan;
static struct error error;

static bool judge(const struct target *target)
{
    sale_fini(&sale);
    plan = (struct sale_plan){.target = target};
    error.text[0] = '\0';
    return sale_judge_again(path, &plan, &sale, &error);
}

/* `broken` has a bit for each claim that must be. */
static void expect_broken(unsigned broken)
{
    const struct target target = target_of();
    t_done(judge(&target), error);
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++) {
        const struct claim_finding *finding = &sale.judgement.claims[i];
        if ((finding->result == CLAIM_BROKEN) != ((broken >> i & 1) != 0))
            fail_msg("%s: %s %s", claim_name((enum finding_kind)i),
                     claim_result_name(finding->result), finding->text);
    }
    assert_int_equal(sale.judgement.verdict, broken ? SHOP_VERDICT_BROKEN : SHOP_VERDICT_KEPT);
}

TEST(a_whole_one_keeps_every_claim)
{
    t_write(path, whole);
    expect_broken(0);
    /* One was accepted first: when its unit was taken nobody knows. */
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++)
        if (*claim_name((enum finding_kind)i))
            assert_int_equal(sale.judgement.claims[i].result,
                             i == FINDING_NOT_LINEARIZABLE ? CLAIM_NOT_CHECKED : CLAIM_KEPT);
    HAS(sale.ledger, ops_count, 5, books.orders_count, 2, load.failures, 2);
    HAS(plan, connections, 3, rate_per_s, 9, seed, 5);
}

/* An answer that no line of the outcome matches is told with its status, not as unknown alone. */
TEST(unmatched_statuses_are_told)
{
    const struct target target = target_of();
    const struct edit edit = {"\"status\":409,\"is\":\"sold_out\"",
                              "\"status\":418,\"is\":\"unknown\""};
    struct sale_answers answers[SHOP_MEANINGS];
    char *text = NULL;
    size_t size = 0;
    put_edited(&edit, 1);
    assert_true(judge(&target));
    sale_count(&sale, answers);
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);
    told_print(to, &(struct told){.plan = &plan, .sale = &sale, .answers = answers});
    fclose(to);
    t_says(text, "\n1 answers of status 418: no line of outcome matches them\n");
    free(text);
}

#define BIT(claim) (1U << (claim))

TEST(what_is_not_as_it_ought_to_be_is_broken)
{
    static const struct {
        struct edit edits[3];
        unsigned broken;
    } cases[] = {
        {{{"\"bob\",1]", "\"bob\",2]"}},
         BIT(FINDING_OVERSOLD) | BIT(FINDING_LIMIT) | BIT(FINDING_CONSERVATION)},
        {{{"{\"orders\":2}", "{\"orders\":3}"},
          {"{\"done\"", "{\"row\":[\"o-d\",\"cid\",0]}\n{\"done\""}},
         BIT(FINDING_REFUSED)},
        {{{"\"order\":\"o-b\"", "\"order\":\"o-x\""}}, BIT(FINDING_ABSENT)},
        {{{"\"accepted\",\"became\":\"sold\",\"order\":\"o-b\"", "\"refused\""}},
         BIT(FINDING_REFUSED)},
        {{{"\"stock_left\":0", "\"stock_left\":1"}},
         BIT(FINDING_UNDERSOLD) | BIT(FINDING_CONSERVATION)},
        {{{"\"stock_left\":0", "\"stock_left\":1"}, {"\"sold_out\"", "\"refused\""}},
         BIT(FINDING_CONSERVATION)},
        {{{"\"stock_left\":0", "\"stock_left\":-1"}},
         BIT(FINDING_OVERSOLD) | BIT(FINDING_CONSERVATION)},
        {{{"\"status\":200,\"is\":\"sold\",\"order\":\"o-a\"",
           "\"status\":200,\"is\":\"sold\",\"order\":\"o-b\""}},
         BIT(FINDING_DUPLICATE) | BIT(FINDING_ABSENT)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        print_message("edit %zu\n", i);
        put_edited(cases[i].edits, 3);
        expect_broken(cases[i].broken);
    }
}

static void is_refused(const struct target *target, const char *why)
{
    char text[600];
    snprintf(text, sizeof text,
             "%s is of another sale than shop.yaml: %s; a ledger is judged with the target file "
             "that it was made with",
             path, why);
    assert_false(judge(target));
    assert_string_equal(error.text, text);
    assert_null(sale.ledger.ops);
    assert_null(sale.ledger.books.orders);
}

/* Also where the file asks for more than it did: that is no reason to say "not checked". */
TEST(a_ledger_of_another_sale_is_refused)
{
    static const struct {
        struct edit edits[3];
        const char *why;
    } cases[] = {
        {{{"\"ours\"", "\"theirs\""}}, "its shop is called theirs, and there it is ours (name)"},
        {{{"\"product\":7", "\"product\":8"}}, "its product is 8, and there it is 7"},
        {{{"\"stock\":2", "\"stock\":3"}}, "its stock is 3, and there it is 2"},
        {{{"\"limit\":1", "\"limit\":0"}}, "its limit is 0, and there it is 1"},
        {{{"{\"stock_left\":0}\n", ""}}, "it has no audit.stock, which is asked for there"},
        {{{"{\"orders\":2}\n", ""},
          {"{\"row\":[\"o-a\",\"ann\",1]}\n", ""},
          {"{\"row\":[\"o-b\",\"bob\",1]}\n", ""}},
         "it has no audit.orders, which is asked for there"},
    };
    struct target target = target_of();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_edited(cases[i].edits, 3);
        is_refused(&target, cases[i].why);
    }
    t_write(path, whole);
    target.stock_left.sql = NULL;
    is_refused(&target, "it has audit.stock, which is not asked for there");
    target = target_of();
    target.orders.sql = NULL;
    is_refused(&target, "it has audit.orders, which is not asked for there");
}

BEFORE_ALL()
{
    snprintf(path, sizeof path, "%s/ledger.jsonl", t_folder());
}

AFTER_ALL()
{
    sale_fini(&sale);
}
