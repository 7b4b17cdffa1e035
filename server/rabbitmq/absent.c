/* What stands in the table of backends where the client library was absent. */
#include "backend/backend.h"

const struct backend backend_rabbitmq = {
    .name = "rabbitmq",
    .absent = "librabbitmq was absent when this server was built (--amqp)",
};
