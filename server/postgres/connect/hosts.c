#include "postgres/connect/hosts.h"

#include "base/clock.h"
#include "base/random/random.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS_MAX = 64, HOST_PASSWORD_SIZE = 1024, LINE_SIZE = 8192 };

struct hosts {
    const char *file; /* borrowed: environment; that the conninfo is from; or NULL */
    char password[HOST_PASSWORD_SIZE]; /* with the mutex: that the file had later; "": none */
    PQconninfoOption *options; /* owned: every one that libpq knows, with what it is to be */
    char *channel_binding;     /* owned */
    struct resolver *resolver; /* owned */
    pthread_mutex_t mutex;
    bool has_reached; /* with the mutex, and so the next */
    bool left;        /* hosts_leave */
    struct host_address reached;
};

/* Defaults, unless the conninfo says otherwise: a host that is gone without a word is noticed
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

static bool is_random(const struct hosts *hosts)
{
    return strcmp(value_of(hosts->options, "load_balance_hosts"), "random") == 0;
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
        error_hide_quoted(error, conninfo);
    }
    PQfinish(conn);
    return options;
}

/* False: there is none. */
static bool read_line(const char *path, char line[LINE_SIZE])
{
    FILE *file = path ? fopen(path, "re") : NULL;
    bool read = file && fgets(line, LINE_SIZE, file);

    if (file)
        fclose(file);
    if (read)
        line[strcspn(line, "\r\n")] = '\0';
    return read;
}

bool hosts_read_password(struct hosts *hosts)
{
    char line[LINE_SIZE];
    PQconninfoOption *options = read_line(hosts->file, line) ? PQconninfoParse(line, NULL) : NULL;

    if (!options)
        return false;
    const char *password = value_of(options, "password");
    pthread_mutex_lock(&hosts->mutex);
    bool new = strcmp(password, *hosts->password ? hosts->password
                                                 : value_of(hosts->options, "password")) != 0;
    if (new)
        snprintf(hosts->password, sizeof hosts->password, "%s", password);
    pthread_mutex_unlock(&hosts->mutex);
    PQconninfoFree(options);
    return new;
}

struct hosts *hosts_create(const char *conninfo, struct error *error)
{
    struct hosts *hosts = calloc(1, sizeof *hosts);
    struct resolver *resolver = resolver_create();

    if (!hosts || !resolver) {
        resolver_destroy(resolver);
        free(hosts);
        error_set(error, ERROR_INTERNAL, "out of memory");
        return NULL;
    }
    pthread_mutex_init(&hosts->mutex, NULL);
    hosts->resolver = resolver;
    char line[LINE_SIZE];
    const char *file = getenv("SECKILL_DATABASE_FILE");
    if (read_line(file, line) && strcmp(line, conninfo) == 0)
        hosts->file = file;
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
    resolver_destroy(hosts->resolver);
    pthread_mutex_destroy(&hosts->mutex);
    free(hosts);
}

static bool is_same(const struct host_address *a, const struct host_address *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->address, b->address) == 0 &&
           strcmp(a->port, b->port) == 0;
}

void hosts_reached(struct hosts *hosts, const struct host_address *address)
{
    pthread_mutex_lock(&hosts->mutex);
    hosts->reached = *address;
    hosts->has_reached = true;
    hosts->left = false;
    pthread_mutex_unlock(&hosts->mutex);
}

void hosts_leave(struct hosts *hosts)
{
    pthread_mutex_lock(&hosts->mutex);
    hosts->left = true;
    pthread_mutex_unlock(&hosts->mutex);
}

static bool copy_reached(struct hosts *hosts, struct host_address *out, bool *left)
{
    pthread_mutex_lock(&hosts->mutex);
    bool has = hosts->has_reached;
    *left = hosts->left;
    if (has)
        *out = hosts->reached;
    pthread_mutex_unlock(&hosts->mutex);
    return has;
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

bool hosts_is_name(const struct host_address *host)
{
    return !*host->address && *host->name && *host->name != '/' && *host->name != '@';
}

static void swap(struct host_address *a, struct host_address *b)
{
    struct host_address kept = *a;

    *a = *b;
    *b = kept;
}

static void shuffle(const struct hosts *hosts, struct host_address *list, int count)
{
    for (int i = count - 1; is_random(hosts) && i > 0; i--)
        swap(&list[i], &list[random_below((uint64_t)i + 1)]);
}

static void remove_at(struct host_walk *walk, int i)
{
    walk->count--;
    memmove(&walk->list[i], &walk->list[i + 1], (size_t)(walk->count - i) * sizeof *walk->list);
}

/* Makes room before entry i, if there is any. */
static bool insert_at(struct host_walk *walk, int i, const struct host_address *address)
{
    if (walk->count == HOST_ADDRESSES_MAX)
        return false;
    memmove(&walk->list[i + 1], &walk->list[i], (size_t)(walk->count - i) * sizeof *walk->list);
    walk->list[i] = *address;
    walk->count++;
    return true;
}

/* To the front, or the end if it was left. One that is behind a name stands there beside the name,
 * which may stand for others by now. */
static void put_reached_first(struct host_walk *walk)
{
    struct host_address reached;
    bool left;

    if (!copy_reached(walk->hosts, &reached, &left) || (is_random(walk->hosts) && !left))
        return;
    for (int i = 0; i < walk->count; i++)
        if (is_same(&walk->list[i], &reached)) {
            remove_at(walk, i);
            break;
        }
    insert_at(walk, left ? walk->count : 0, &reached);
}

void hosts_walk(struct hosts *hosts, struct host_walk *walk)
{
    const char *names = value_of(hosts->options, "host");
    const char *addresses = value_of(hosts->options, "hostaddr");
    const char *ports = value_of(hosts->options, "port");
    int count = count_pieces(*addresses ? addresses : names);

    *walk = (struct host_walk){.hosts = hosts};
    for (int i = 0; i < count && walk->count < HOST_ADDRESSES_MAX; i++) {
        struct host_address *host = &walk->list[walk->count++];
        piece(names, i, host->name, sizeof host->name);
        piece(addresses, i, host->address, sizeof host->address);
        piece(ports, i, host->port, sizeof host->port);
        if (hosts_is_name(host))
            resolver_is_numeric(host->name, host->address);
    }
    shuffle(hosts, walk->list, walk->count);
    put_reached_first(walk);
    walk->several = walk->count > 1;
}

static bool has_its_turn(const struct host_walk *walk, const struct host_address *address)
{
    for (int i = 0; i < walk->count; i++)
        if (is_same(&walk->list[i], address))
            return true;
    return false;
}

bool hosts_resolve(struct host_walk *walk, int i, int64_t until_us, const atomic_bool *stopped,
                   struct error *error)
{
    struct host_address host = walk->list[i];
    struct host_address behind[RESOLVER_ADDRESSES_MAX];
    struct resolved found;

    remove_at(walk, i);
    if (!resolver_ask(walk->hosts->resolver, host.name, until_us, stopped, &found, error))
        return false;
    walk->several |= found.count > 1;
    for (int n = 0; n < found.count; n++) {
        behind[n] = host;
        snprintf(behind[n].address, sizeof behind[n].address, "%s", found.addresses[n]);
    }
    shuffle(walk->hosts, behind, found.count);
    for (int n = 0, at = i; n < found.count; n++)
        if (!has_its_turn(walk, &behind[n]))
            at += insert_at(walk, at, &behind[n]);
    return true;
}

bool hosts_other(struct hosts *hosts, const struct host_address *here, int turn, int64_t until_us,
                 struct host_address *out)
{
    struct host_walk walk;
    struct error error;

    hosts_walk(hosts, &walk);
    int i = turn % walk.count;
    if (walk.count == 1 ||
        (hosts_is_name(&walk.list[i]) && !hosts_resolve(&walk, i, until_us, NULL, &error)))
        return false;
    if (i >= walk.count || is_same(&walk.list[i], here))
        return false;
    *out = walk.list[i];
    return true;
}

/* A session that cannot write is of no use while there is one that can. */
const char *hosts_wanted(const struct host_walk *walk)
{
    const char *asked = value_of(walk->hosts->options, "target_session_attrs");

    if (strcmp(asked, "prefer-standby") == 0)
        return walk->several ? "standby" : "any";
    if (walk->several && (!*asked || strcmp(asked, "any") == 0))
        return "read-write";
    return *asked ? asked : "any";
}

const char *hosts_accepted(const struct host_walk *walk)
{
    const char *asked = value_of(walk->hosts->options, "target_session_attrs");
    bool any = !*asked || strcmp(asked, "any") == 0 || strcmp(asked, "prefer-standby") == 0;

    return any && walk->several ? "any" : NULL;
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

static void copy_password(struct hosts *hosts, char password[HOST_PASSWORD_SIZE])
{
    pthread_mutex_lock(&hosts->mutex);
    memcpy(password, hosts->password, sizeof hosts->password);
    pthread_mutex_unlock(&hosts->mutex);
}

PGconn *hosts_connect(struct hosts *hosts, const struct host_address *address,
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
    char password[HOST_PASSWORD_SIZE];
    int count = 6;

    copy_password(hosts, password);
    for (const PQconninfoOption *option = hosts->options; option->keyword && count < PARAMETERS_MAX;
         option++)
        if (option->val && *option->val && !is_ours(option->keyword)) {
            bool newer = *password && strcmp(option->keyword, "password") == 0;
            keys[count] = option->keyword;
            values[count++] = newer ? password : option->val;
        }
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults && count < PARAMETERS_MAX; i++)
        if (!*value_of(hosts->options, defaults[i].key)) {
            keys[count] = defaults[i].key;
            values[count++] = defaults[i].value;
        }
    return PQconnectStartParams(keys, values, 0);
}
