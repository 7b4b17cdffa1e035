/* The one table of what is served, and by which handler. */
#include "api/routes.h"

#include "api/handlers.h"

/* The hot path first. */
const struct route api_routes[] = {
    {"/orders", ROUTE_POST, false, orders_post},
    {"/orders", ROUTE_GET, false, orders_list},
    {"/orders/feed", ROUTE_GET, false, orders_feed},
    {"/orders/{order}", ROUTE_GET, false, orders_get},
    {"/orders/{order}/cancel", ROUTE_POST, false, orders_cancel},
    {"/orders/{order}/pay", ROUTE_POST, false, orders_pay},
    {"/products", ROUTE_GET, false, products_list},
    {"/products", ROUTE_PUT, true, products_put_run},
    {"/products/{product}", ROUTE_GET, false, products_get},
    {"/products/{product}", ROUTE_PUT, true, products_put},
    {"/products/{product}", ROUTE_PATCH, true, products_patch},
    {"/products/{product}/restock", ROUTE_POST, true, products_restock},
    {"/products/{product}/audit", ROUTE_GET, true, products_audit},
    {"/strategies", ROUTE_GET, false, service_strategies},
    {"/healthz", ROUTE_GET, false, service_healthz},
    {"/readyz", ROUTE_GET, false, service_readyz},
    {"/metrics", ROUTE_GET, false, service_metrics},
    {"/", ROUTE_GET, false, service_page},
    {"/events", ROUTE_GET, false, events_get},
    {"/openapi.yaml", ROUTE_GET, false, service_openapi},
    {"/zoo", ROUTE_GET, false, service_zoo},
    {NULL, ROUTE_GET, false, NULL},
};
