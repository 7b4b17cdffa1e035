#include "shop_bed.h"

#include "lib/t.h"

#include <stdio.h>

const char *shop_bed_path(const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", bed->folder, name);
    return path;
}

void shop_bed_write(const char *audit)
{
    shop_bed_write_at(bed->count ? bed->servers[0].url : "http://127.0.0.1:1", audit);
}

void shop_bed_write_at(const char *server, const char *audit)
{
    FILE *to = fopen(shop_bed_path("shop.yaml"), "we");
    assert_non_null(to);
    fprintf(to,
            "name: our shop\n"
            "server: %s\n"
            "database: '%s'\n"
            "product: %d\n"
            "stock: %d\n"
            "users: 1..1000\n"
            "request:\n"
            "  path: /orders?strategy=conditional\n"
            "  body: '{\"product_id\": {product}, \"user_id\": {user}}'\n"
            "outcome:\n"
            "  - sold: 201\n"
            "    order: /id\n"
            "  - sold_out: {status: 409, json: {/code: sold_out}}\n"
            "  - refused: 409\n"
            "  - shed: 503\n",
            server, bed_database(), SHOP_BED_PRODUCT, SHOP_BED_STOCK);
    if (bed->count)
        fprintf(to,
                "reset:\n"
                "  command: |\n"
                "    curl -fsS -X PUT -d '{\"stock\": '$STOCK'}' %s/products/$PRODUCT\n",
                bed->servers[0].url);
    if (*audit)
        fprintf(to, "audit:\n%s", audit);
    bool closed = fclose(to) == 0;
    assert_true(closed);
}

int shop_bed_run(const char *arguments)
{
    char all[900];
    snprintf(all, sizeof all, "shop %s/shop.yaml --buyers 80 --connections 8 %s", bed->folder,
             arguments);
    return bed_run(bed, all);
}
