#include "strategies/redis_stock/stock_mend.h"

#include <string.h>

void stock_mend_init(struct stock_mend *list)
{
    pthread_mutex_init(&list->mutex, NULL);
    list->unload.count = list->load.count = 0;
    atomic_init(&list->round, false);
}

void stock_mend_fini(struct stock_mend *list)
{
    pthread_mutex_destroy(&list->mutex);
}

/* Where the product stands; the list's count: it is not in it. */
static int find(const struct stock_mend_list *list, int64_t product_id)
{
    int i = 0;

    while (i < list->count && list->products[i] != product_id)
        i++;
    return i;
}

/* A product that is in the list is not added again. */
static void add(struct stock_mend *list, struct stock_mend_list *to, int64_t product_id)
{
    pthread_mutex_lock(&list->mutex);
    if (find(to, product_id) == to->count && to->count < MEND_MAX)
        to->products[to->count++] = product_id;
    pthread_mutex_unlock(&list->mutex);
}

void stock_mend_put_back(struct stock_mend *list, int64_t product_id)
{
    add(list, &list->unload, product_id);
}

void stock_mend_ask(struct stock_mend *list, int64_t product_id)
{
    stock_mend_put_back(list, product_id);
    atomic_store(&list->round, true);
}

int stock_mend_take(struct stock_mend *list, int64_t products[MEND_MAX])
{
    pthread_mutex_lock(&list->mutex);
    int count = list->unload.count;
    memcpy(products, list->unload.products, (size_t)count * sizeof *products);
    list->unload.count = 0;
    pthread_mutex_unlock(&list->mutex);
    return count;
}

void stock_mend_ask_load(struct stock_mend *list, int64_t product_id)
{
    add(list, &list->load, product_id);
}

bool stock_mend_will_load(struct stock_mend *list, int64_t product_id)
{
    pthread_mutex_lock(&list->mutex);
    bool will = find(&list->load, product_id) < list->load.count;
    pthread_mutex_unlock(&list->mutex);
    return will;
}

bool stock_mend_next_load(struct stock_mend *list, int64_t *product_id)
{
    pthread_mutex_lock(&list->mutex);
    bool any = list->load.count > 0;
    if (any)
        *product_id = list->load.products[0];
    pthread_mutex_unlock(&list->mutex);
    return any;
}

void stock_mend_loaded(struct stock_mend *list, int64_t product_id)
{
    pthread_mutex_lock(&list->mutex);
    int i = find(&list->load, product_id);
    if (i < list->load.count) {
        list->load.count--;
        memmove(&list->load.products[i], &list->load.products[i + 1],
                (size_t)(list->load.count - i) * sizeof *list->load.products);
    }
    pthread_mutex_unlock(&list->mutex);
}
