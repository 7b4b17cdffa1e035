#include "api/listing.h"
#include "app.h"
#include "base/failpoint.h"
#include "postgres/pg.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
    struct settings settings;
    enum settings_action action;
    struct error error = {ERROR_NONE, ""};

    if (!settings_load(&settings, &action, argc, argv, getenv, &error)) {
        fprintf(stderr, "seckill-server: %s\n", error.text);
        return 2;
    }
    switch (action) {
    case SETTINGS_HELP:
        settings_print_help(stdout, "seckill-server");
        listing_print_help(stdout);
        return 0;
    case SETTINGS_HELP_MARKDOWN:
        settings_print_markdown(stdout);
        return 0;
    case SETTINGS_STRATEGIES:
        listing_print(stdout);
        return 0;
    case SETTINGS_STRATEGIES_MARKDOWN:
        listing_print_markdown(stdout);
        return 0;
    case SETTINGS_VERSION:
        puts("seckill-server " SECKILL_VERSION);
        return 0;
    case SETTINGS_RUN:
        break;
    }
    if (!app_check(&settings, &error)) {
        fprintf(stderr, "seckill-server: %s\n", error.text);
        return 2;
    }
    if (settings.print_schema) {
        schema_print(stdout, settings.schema);
        return 0;
    }
    if (!failpoint_check(getenv("SECKILL_FAILPOINTS"))) {
        fprintf(stderr, "seckill-server: SECKILL_FAILPOINTS: malformed, or this build has none "
                        "(cmake -DSECKILL_FAILPOINTS=ON)\n");
        return 2;
    }
    return app_run(&settings);
}
