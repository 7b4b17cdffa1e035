/* See way.h. */
#include "loadtest/faults/way.h"

#include "loadtest/judge/connect.h"

#include <stdio.h>
#include <string.h>

/* Where a session that stands is connected to. */
static bool find_postgres(const char *conninfo, char *target, size_t size, struct error *error)
{
    PGconn *session = connect_open(conninfo, "seckill-loadtest", error);
    if (!session)
        return false;
    const char *host = PQhost(session);
    if (host && *host == '/')
        snprintf(target, size, "%s/.s.PGSQL.%s", host, PQport(session));
    else
        snprintf(target, size, "%s:%s", PQhostaddr(session), PQport(session));
    PQfinish(session);
    return true;
}

void way_close(struct way *way)
{
    relay_stop(way->relay);
    way->relay = NULL;
}

bool way_delay(struct way *way, int64_t round_trip_us, struct error *error)
{
    const struct relay_toxic there = {
        .type = RELAY_LATENCY, .stream = RELAY_UPSTREAM, .amount = round_trip_us / 2};
    const struct relay_toxic back = {
        .type = RELAY_LATENCY, .stream = RELAY_DOWNSTREAM, .amount = round_trip_us / 2};
    return relay_set(way->relay, &there, error) && relay_set(way->relay, &back, error);
}

/* From now on it is `address` that leads there. */
static bool take_way(struct way *way, const char **address, int64_t round_trip_us,
                     struct error *error)
{
    *address = way->address;
    return round_trip_us == 0 || way_delay(way, round_trip_us, error);
}

bool way_before_postgres(struct way *way, const char **conninfo, int64_t round_trip_us,
                         struct error *error)
{
    char target[300];
    if (strstr(*conninfo, "://"))
        return error_fail(error, "the faults need --database as keywords and values, not as a URI");
    if (!find_postgres(*conninfo, target, sizeof target, error))
        return false;
    way->relay = relay_start(RELAY_POSTGRES, NULL, target, error);
    if (!way->relay)
        return false;
    const char *address = relay_address(way->relay);
    const char *port = strrchr(address, ':');
    /* Of a keyword that stands twice libpq takes the last. */
    int length = snprintf(way->address, sizeof way->address,
                          "%s host=%.*s port=%s sslmode=disable gssencmode=disable", *conninfo,
                          (int)(port - address), address, port + 1);
    if (length >= (int)sizeof way->address)
        return error_fail(error, "--database is too long to be given a relay");
    return take_way(way, conninfo, round_trip_us, error);
}

bool way_before_redis(struct way *way, const char **url, int64_t round_trip_us, struct error *error)
{
    static const char path[] = "unix://", tcp[] = "redis://";
    char target[300];
    bool is_path = strncmp(*url, path, strlen(path)) == 0;
    if (!is_path && strncmp(*url, tcp, strlen(tcp)) != 0)
        return error_fail(error, "a relay needs a Redis of unix:// or redis://");
    const char *begin = *url + strlen(is_path ? path : tcp);
    const char *user_end = is_path ? NULL : strrchr(begin, '@');
    const char *host = user_end ? user_end + 1 : begin;
    size_t length = is_path ? strlen(host) : strcspn(host, "/");
    snprintf(target, sizeof target, "%.*s", (int)length, host);
    way->relay = relay_start(RELAY_REDIS, NULL, target, error);
    if (!way->relay)
        return false;
    snprintf(way->address, sizeof way->address, "%s%.*s%s%s", tcp, (int)(host - begin), begin,
             relay_address(way->relay), is_path ? "" : host + length);
    return take_way(way, url, round_trip_us, error);
}
