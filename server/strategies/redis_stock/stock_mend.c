#include "strategies/redis_stock/stock_mend.h"

#include <string.h>

void stock_mend_init(struct stock_mend *list)
{
    pthread_mutex_init(&list->mutex, NULL);
    list->count = 0;
    atomic_init(&list->round, false);
}

void stock_mend_fini(struct stock_mend *list)
{
    pthread_mutex_destroy(&list->mutex);
}

/* A product that is in the list is not added again. */
void stock_mend_put_back(struct stock_mend *list, int64_t product_id)
{
    int i = 0;

    pthread_mutex_lock(&list->mutex);
    while (i < list->count && list->products[i] != product_id)
        i++;
    if (i == list->count && i < MEND_MAX)
        list->products[list->count++] = product_id;
    pthread_mutex_unlock(&list->mutex);
}

void stock_mend_ask(struct stock_mend *list, int64_t product_id)
{
    stock_mend_put_back(list, product_id);
    atomic_store(&list->round, true);
}

int stock_mend_take(struct stock_mend *list, int64_t products[MEND_MAX])
{
    pthread_mutex_lock(&list->mutex);
    int count = list->count;
    memcpy(products, list->products, (size_t)count * sizeof *products);
    list->count = 0;
    pthread_mutex_unlock(&list->mutex);
    return count;
}
