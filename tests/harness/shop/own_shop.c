#include "own_shop.h"

#include "lib/t.h"

void own_shop_write(const char *audit)
{
    own_shop_describe(&(struct own_shop){.audit = audit});
}

void own_shop_describe(const struct own_shop *is)
{
    const char *own = program->count ? program->servers[0].url : "http://127.0.0.1:1";
    FILE *to = fopen(program_path("shop.yaml"), "we");
    assert_non_null(to);
    fprintf(to,
            "name: our shop\n"
            "server: %s\n"
            "database: '%s'\n"
            "product: %d\n"
            "stock: %d\n"
            "users: %s\n"
            "request:\n"
            "  path: /orders?strategy=%s\n"
            "  headers: {Idempotency-Key: '{key}'}\n"
            "  body: '{\"product_id\": {product}, \"user_id\": {user}}'\n"
            "outcome:\n"
            "  - sold: [200, 201]\n"
            "    order: /id\n"
            "  - accepted: 202\n"
            "    order: /id\n"
            "  - sold_out: {status: 409, json: {/code: sold_out}}\n"
            "  - refused: 409\n"
            "  - shed: 503\n",
            is->server ? is->server : own, stack_database(), OWN_SHOP_PRODUCT, OWN_SHOP_STOCK,
            is->users ? is->users : "1..1000", is->strategy ? is->strategy : "conditional");
    if (program->count)
        fprintf(to,
                "reset:\n"
                "  command: |\n"
                "    curl -fsS -X PUT -d '{\"stock\": '$STOCK', \"limit_per_user\": 1}' "
                "%s/products/$PRODUCT\n",
                own);
    if (is->audit && *is->audit)
        fprintf(to, "audit:\n%s", is->audit);
    if (is->more)
        fputs(is->more, to);
    bool closed = fclose(to) == 0;
    assert_true(closed);
}

void own_shop_exits(int status, const char *arguments)
{
    program_exits(status, t_text("shop %s/shop.yaml %s", program->folder, arguments));
}
