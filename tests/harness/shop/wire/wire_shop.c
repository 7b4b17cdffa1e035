/* See wire_shop.h. */
#include "harness/shop/wire/wire_shop.h"

#include "lib/t.h"

#include <stdlib.h>
#include <string.h>

struct wire_shop wire;

int wire_shop_begin(void **state)
{
    (void)state;
    wire = (struct wire_shop){.timeout_ms = t_patience_us() / 1000,
                              .folder = "/tmp/seckill-shop.XXXXXX",
                              .sold = {.meaning = SHOP_SOLD, .status_from = 200, .status_to = 200}};
    assert_non_null(mkdtemp(wire.folder));
    wire.target = (struct target){
        .path = "a listener",
        .name = "a listener",
        .stock = 1,
        .user_from = 7,
        .user_to = 9,
        .purchase = {.method = "POST", .url = wire.url, .rules = &wire.sold, .rule_count = 1}};
    return 0;
}

int wire_shop_end(void **state)
{
    (void)state;
    sale_fini(&wire.sale);
    t_remove_folder(wire.folder);
    return 0;
}

size_t wire_shop_buy(enum listener_way way, const char *answer, int64_t buyers)
{
    struct error error = {.text = ""};
    struct listener *listener = listener_start(way, answer);
    int port = listener_port(listener);
    snprintf(wire.url, sizeof wire.url, "http://127.0.0.1:%d/buy", port);
    snprintf(wire.login, sizeof wire.login, "http://127.0.0.1:%d/login", port);
    const struct sale_plan plan = {.target = &wire.target,
                                   .folder = wire.folder,
                                   .call = {wire.timeout_ms, ""},
                                   .connections = 1,
                                   .buyers = buyers,
                                   .seed = 1};
    sale_fini(&wire.sale);
    bool held = sale_hold(&plan, &wire.sale, &error);
    size_t count = listener_stop(listener, wire.heard, sizeof wire.heard);
    t_done(held, error);
    return count;
}

size_t wire_shop_ledger(const char *const *texts)
{
    char line[4096];
    size_t count = 0;
    FILE *file = t_open(t_text("%s/ledger.jsonl", wire.folder));
    while (fgets(line, sizeof line, file)) {
        size_t i = 0;
        while (texts[i] && strstr(line, texts[i]))
            i++;
        count += !texts[i];
    }
    fclose(file);
    return count;
}
