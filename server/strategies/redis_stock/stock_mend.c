/* One list under one mutex, which is held for no I/O. It outlives no process: what is in it then is
 * found by the reconciler. */
#include "strategies/redis_stock/stock_mend.h"

#include <pthread.h>
#include <string.h>

static struct {
    pthread_mutex_t mutex;
    int count;
    int64_t products[MEND_MAX];
} list = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Holds the mutex. */
static bool is_noted(int64_t product_id)
{
    for (int i = 0; i < list.count; i++)
        if (list.products[i] == product_id)
            return true;
    return false;
}

bool stock_mend_note(int64_t product_id)
{
    bool noted;

    pthread_mutex_lock(&list.mutex);
    noted = is_noted(product_id);
    if (!noted && list.count < MEND_MAX) {
        list.products[list.count++] = product_id;
        noted = true;
    }
    pthread_mutex_unlock(&list.mutex);
    return noted;
}

int stock_mend_take(int64_t products[MEND_MAX])
{
    int count;

    pthread_mutex_lock(&list.mutex);
    count = list.count;
    memcpy(products, list.products, (size_t)count * sizeof *products);
    list.count = 0;
    pthread_mutex_unlock(&list.mutex);
    return count;
}
