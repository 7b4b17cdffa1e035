#include "postgres/hosts.h"

#include "base/clock.h"
#include "base/random.h"

#include <netdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS_MAX = 64 };

struct hosts {
    PQconninfoOption *options; /* owned: every one that libpq knows, with what it is to be */
    char *channel_binding;     /* owned */
    _Atomic uint64_t reached;  /* fingerprint of the address that was reached last */
};

/* What is set unless the conninfo says otherwise: a host that is gone without a word is noticed
 * within half a minute on an idle session, and within ten seconds where something was sent. */
static const struct {
    const char *key, *value;
} defaults[] = {
    {"keepalives_idle", "10"},
    {"keepalives_interval", "5"},
    {"keepalives_count", "3"},
    {"tcp_user_timeout", "10000"},
};

static const char *value_of(const PQconninfoOption *options, const char *key)
{
    for (; options->keyword; options++)
        if (strcmp(options->keyword, key) == 0)
            return options->val ? options->val : "";
    return "";
}

/* Has libpq read the conninfo, the service file and the environment, and connect to nothing:
 * `spoilt` gets a value that it refuses before it does. */
static PQconninfoOption *read_options(const char *conninfo, const char *spoilt, struct error *error)
{
    const char *const keys[] = {"dbname", spoilt, NULL};
    const char *const values[] = {conninfo, "?", NULL};
    PGconn *conn = PQconnectStartParams(keys, values, 1);
    PQconninfoOption *options = NULL;

    if (conn && strstr(PQerrorMessage(conn), spoilt))
        options = PQconninfo(conn);
    if (!options) {
        error_set(error, ERROR_INVALID, "--database: %s",
                  conn ? PQerrorMessage(conn) : "out of memory");
        error->text[strcspn(error->text, "\n")] = '\0';
    }
    PQfinish(conn);
    return options;
}

struct hosts *hosts_create(const char *conninfo, struct error *error)
{
    struct hosts *hosts = calloc(1, sizeof *hosts);

    if (!hosts) {
        error_set(error, ERROR_INTERNAL, "out of memory");
        return NULL;
    }
    hosts->options = read_options(conninfo, "channel_binding", error);
    PQconninfoOption *rest = hosts->options ? read_options(conninfo, "sslmode", error) : NULL;
    if (rest)
        hosts->channel_binding = strdup(value_of(rest, "channel_binding"));
    PQconninfoFree(rest);
    if (hosts->options && hosts->channel_binding)
        return hosts;
    hosts_destroy(hosts);
    return NULL;
}

void hosts_destroy(struct hosts *hosts)
{
    if (!hosts)
        return;
    PQconninfoFree(hosts->options);
    free(hosts->channel_binding);
    free(hosts);
}

static uint64_t fingerprint(const struct host_address *address)
{
    const char *const texts[] = {address->name, address->address, address->port};
    uint64_t hash = 14695981039346656037U; /* FNV-1a */

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (const char *c = texts[i]; *c; c++)
            hash = (hash ^ (unsigned char)*c) * 1099511628211U;
        hash = (hash ^ 0xff) * 1099511628211U;
    }
    return hash;
}

void hosts_reached(struct hosts *hosts, const struct host_address *address)
{
    atomic_store_explicit(&hosts->reached, fingerprint(address), memory_order_relaxed);
}

/* The i-th piece of a list with commas; of a list of one, that one. False: there is none. */
static bool piece(const char *list, int i, char *out, size_t size)
{
    bool single = !strchr(list, ',');

    for (; i > 0 && !single; i--) {
        list = strchr(list, ',');
        if (!list)
            return false;
        list++;
    }
    snprintf(out, size, "%.*s", (int)strcspn(list, ","), list);
    return true;
}

static int count_pieces(const char *list)
{
    int count = 1;

    for (; *list; list++)
        count += *list == ',';
    return count;
}

/* Appends the addresses behind the host's name. */
static int resolve(const struct host_address *host, struct host_address *list, int count,
                   struct error *error)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int failed = getaddrinfo(host->name, NULL, &hints, &found);

    if (failed)
        error_set(error, ERROR_UNAVAILABLE, "could not translate host name \"%s\" to address: %s",
                  host->name, gai_strerror(failed));
    for (const struct addrinfo *at = found; !failed && at && count < HOST_ADDRESSES_MAX;
         at = at->ai_next) {
        list[count] = *host;
        if (getnameinfo(at->ai_addr, at->ai_addrlen, list[count].address,
                        sizeof list[count].address, NULL, 0, NI_NUMERICHOST) == 0)
            count++;
    }
    if (!failed)
        freeaddrinfo(found);
    return count;
}

static void swap(struct host_address *a, struct host_address *b)
{
    struct host_address kept = *a;

    *a = *b;
    *b = kept;
}

static void put_in_order(struct hosts *hosts, struct host_address *list, int count)
{
    uint64_t reached = atomic_load_explicit(&hosts->reached, memory_order_relaxed);

    if (strcmp(value_of(hosts->options, "load_balance_hosts"), "random") == 0) {
        for (int i = count - 1; i > 0; i--)
            swap(&list[i], &list[random_below((uint64_t)i + 1)]);
        return;
    }
    int first = 0;
    while (first < count && fingerprint(&list[first]) != reached)
        first++;
    for (int i = first; first < count && i > 0; i--)
        swap(&list[i], &list[i - 1]);
}

int hosts_list(struct hosts *hosts, struct host_address list[HOST_ADDRESSES_MAX],
               struct error *error)
{
    const char *names = value_of(hosts->options, "host");
    const char *addresses = value_of(hosts->options, "hostaddr");
    const char *ports = value_of(hosts->options, "port");
    int hosts_count = count_pieces(*addresses ? addresses : names);
    int count = 0;

    for (int i = 0; i < hosts_count && count < HOST_ADDRESSES_MAX; i++) {
        struct host_address host = {"", "", ""};
        piece(names, i, host.name, sizeof host.name);
        piece(addresses, i, host.address, sizeof host.address);
        piece(ports, i, host.port, sizeof host.port);
        if (*host.address || !*host.name || *host.name == '/' || *host.name == '@')
            list[count++] = host;
        else
            count = resolve(&host, list, count, error);
    }
    put_in_order(hosts, list, count);
    return count;
}

/* A session that cannot write is of no use while there is one that can. */
const char *hosts_wanted(const struct hosts *hosts, int addresses)
{
    const char *asked = value_of(hosts->options, "target_session_attrs");

    if (strcmp(asked, "prefer-standby") == 0)
        return addresses > 1 ? "standby" : "any";
    if (addresses > 1 && (!*asked || strcmp(asked, "any") == 0))
        return "read-write";
    return *asked ? asked : "any";
}

const char *hosts_accepted(const struct hosts *hosts, int addresses)
{
    const char *asked = value_of(hosts->options, "target_session_attrs");
    bool any = !*asked || strcmp(asked, "any") == 0 || strcmp(asked, "prefer-standby") == 0;

    return any && addresses > 1 ? "any" : NULL;
}

int64_t hosts_timeout_us(const struct hosts *hosts)
{
    long seconds = strtol(value_of(hosts->options, "connect_timeout"), NULL, 10);

    return seconds > 0 ? seconds * CLOCK_US_PER_S : INT64_MAX;
}

static bool is_ours(const char *key)
{
    static const char *const keys[] = {"host",
                                       "hostaddr",
                                       "port",
                                       "target_session_attrs",
                                       "load_balance_hosts",
                                       "connect_timeout",
                                       "fallback_application_name",
                                       "channel_binding"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

PGconn *hosts_connect(const struct hosts *hosts, const struct host_address *address,
                      const char *attributes, const char *application)
{
    const char *keys[PARAMETERS_MAX + 1] = {"host",
                                            "hostaddr",
                                            "port",
                                            "target_session_attrs",
                                            "channel_binding",
                                            "fallback_application_name"};
    const char *values[PARAMETERS_MAX + 1] = {address->name, address->address,       address->port,
                                              attributes,    hosts->channel_binding, application};
    int count = 6;

    for (const PQconninfoOption *option = hosts->options; option->keyword && count < PARAMETERS_MAX;
         option++)
        if (option->val && *option->val && !is_ours(option->keyword)) {
            keys[count] = option->keyword;
            values[count++] = option->val;
        }
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults && count < PARAMETERS_MAX; i++)
        if (!*value_of(hosts->options, defaults[i].key)) {
            keys[count] = defaults[i].key;
            values[count++] = defaults[i].value;
        }
    return PQconnectStartParams(keys, values, 0);
}
