/* The callbacks that libmicrohttpd calls for each request; `cls` is the edge. */
#ifndef SECKILL_HTTP_LIFECYCLE_H
#define SECKILL_HTTP_LIFECYCLE_H

#include <microhttpd.h>

struct connection;

void *lifecycle_on_target(void *cls, const char *target, struct MHD_Connection *mhd);
enum MHD_Result lifecycle_on_access(void *cls, struct MHD_Connection *mhd, const char *url,
                                    const char *method, const char *version,
                                    const char *upload_data, size_t *upload_data_size,
                                    void **request);
void lifecycle_on_completed(void *cls, struct MHD_Connection *mhd, void **request,
                            enum MHD_RequestTerminationCode code);

/* connection.c's hook: the connection closes, and its request was not reported completed. */
void lifecycle_on_close(struct connection *connection);

#endif
