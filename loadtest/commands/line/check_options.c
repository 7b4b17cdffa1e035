/* See check_options.h. */
#include "loadtest/commands/line/check_options.h"

#include "loadtest/commands/line/audit_options.h"

enum { CHECK = COMMAND_CHECK };

#define AT(member) offsetof(struct check_options, member)

static const struct option_row rows[] = {
    OPTION_ROW("redis", CHECK, OPTION_SECRET, AT(redis), "", 0, 0, true, "URL",
               "the locks' Redis: locks without a lease are residue (not looked at)"),
    OPTION_ROW("stock-redis", CHECK, OPTION_SECRET, AT(stock_redis), "", 0, 0, true, "URL",
               "redis-stock's: its stock is the database's when all is quiet (--redis)"),
    OPTION_ROW("system-name", CHECK, OPTION_TEXT, AT(system_name), "seckill", 0, 0, true, "NAME",
               "the servers' prefix of keys in Redis"),
    OPTION_ROW("show", CHECK, OPTION_COUNT, AT(show), "3", 0, 1000000, false, "N",
               "of each kind of violation, print so many cases with their operations"),
    OPTION_ROW("exact", CHECK, OPTION_COUNT, AT(exact), "200", 0, 512, false, "N",
               "products with at most N operations are searched exactly; 0: none"),
};

const struct option_table option_table_check = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .more = &option_table_audit};
