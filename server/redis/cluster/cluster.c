/* What makes a server one that may be a cluster: the way of its sessions then. */
#include "redis/cluster/cluster.h"

bool redis_server_allow_cluster(struct redis_server *server)
{
    static const struct redis_routing routing = {.destroy = redis_cluster_destroy,
                                                 .connect = redis_cluster_connect,
                                                 .close = redis_cluster_close,
                                                 .forget = redis_cluster_forget,
                                                 .run = redis_cluster_run,
                                                 .since_us = redis_cluster_since_us,
                                                 .last = redis_cluster_last,
                                                 .ear = redis_cluster_ear,
                                                 .channel = redis_cluster_channel,
                                                 .probe = redis_cluster_probe};

    if (server->url.is_unix || server->url.primary[0])
        return true;
    server->cluster = redis_cluster_create(server);
    server->routing = &routing;
    return server->cluster;
}
