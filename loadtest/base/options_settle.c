/* Defaults and contradictions among the options of commands that load servers (options.h). Each
 * message says what would mend it. */
#include "loadtest/base/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Without a flag. The first is enough for wrk to keep any server busy; with the second a server
 * that is slow for a tenth of a second at 10,000 orders a second makes nobody start late. */
enum { WRK_CONNECTIONS = 64, OPEN_CONNECTIONS = 1024 };

/* Of servers that run already, and of those that are started. */
static bool check_servers(const struct options *options, struct error *error)
{
    const struct option_list *servers = &options->servers;
    if (servers->count > OPTIONS_MAX_INSTANCES)
        return error_fail(error, "--server takes at most %d URLs", OPTIONS_MAX_INSTANCES);
    if (servers->count > 0 && options->work_ms >= 0)
        return error_fail(error,
                          "--work-ms needs servers that the harness starts: not with --server");
    if (servers->count > 0 && *options->server_binary)
        return error_fail(error, "--server-binary makes no sense with --server");
    if (servers->count == 0 && options->reset)
        return error_fail(error,
                          "--reset is for --server: started servers' products are always reset");
    for (size_t i = 0; i < servers->count; i++)
        if (strncmp(servers->items[i], "http://", 7) != 0)
            return error_fail(error, "--server takes http:// URLs, not '%s'", servers->items[i]);
    return true;
}

bool options_settle(struct options *options, struct error *error)
{
    size_t servers = options->servers.count;
    if (options->connections == 0)
        options->connections = options->rate_per_s > 0 ? OPEN_CONNECTIONS : WRK_CONNECTIONS;
    if (!check_servers(options, error))
        return false;
    if (options->instances.count == 0) {
        options->instances.items[0] = servers ? (int)servers : 1;
        options->instances.count = 1;
    }
    for (size_t i = 0; i < options->instances.count; i++)
        if (servers > 0 && (size_t)options->instances.items[i] > servers)
            return error_fail(error, "--instances %d is more than the URLs of --server",
                              options->instances.items[i]);
    return true;
}

void options_buyers_text(const struct options *options, char *out, size_t size)
{
    int used = 0;
    *out = '\0';
    if (options->users > 0)
        used = snprintf(out, size, ", %" PRId64 " users", options->users);
    if (options->limit > 0)
        used += snprintf(out + used, size - (size_t)used, " of at most %" PRId64 " units each",
                         options->limit);
    if (options->keyed)
        snprintf(out + used, size - (size_t)used, ", %.16s sent again", options->keys);
}
