/* See zoo_options.h. */
#include "loadtest/commands/zoo/zoo_options.h"

enum { ZOO = COMMAND_ZOO };

#define AT(member) offsetof(struct zoo_options, member)

static const struct option_row rows[] = {
    OPTION_ROW("redis", ZOO, OPTION_SECRET, AT(shared.redis), "", 0, 0, true, "URL",
               "Redis, for the exhibits with a lock there"),
    OPTION_ROW("stock-redis", ZOO, OPTION_SECRET, AT(shared.stock_redis), "", 0, 0, true, "URL",
               "Redis for redis-stock's exhibit (--redis)"),
    OPTION_ROW("redlock", ZOO, OPTION_SECRET, AT(shared.redlock), "", 0, 0, true, "URL,URL,URL",
               "three Redis nodes, for redlock's"),
    OPTION_ROW("memcached", ZOO, OPTION_TEXT, AT(shared.memcached), "", 0, 0, true, "ADDRESS",
               "memcached, for memcached-lock's"),
    OPTION_ROW("format", ZOO, OPTION_CHOICE, AT(format), "table|json", 0, 0, false, "NAME",
               "what is printed: a table, or the live page's data"),
    OPTION_ROW("step", ZOO, OPTION_SWITCH, AT(step), NULL, 0, 0, false, NULL,
               "wait for Enter before each step, where there is a terminal"),
};

const struct option_table option_table_zoo = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .more = &option_table_backends};
