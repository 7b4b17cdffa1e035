/*
 * Where ${NAME} stands in a text, and so how its value is written there to stay one value: a
 * password may have blanks, quotes, '@' and '/'. What a text begins with is a piece of it, not a
 * value in it, and stands as it is: a whole URL, connection string or body from the environment.
 *
 * Pure; any thread.
 */
#ifndef SECKILL_LOADTEST_SHOP_STANDING_H
#define SECKILL_LOADTEST_SHOP_STANDING_H

#include "loadtest/shop/fill.h"

/* `at`: where "${" stands in `text`, which is looked at as it stands in the file. */
typedef enum fill_form standing(const char *text, const char *at);

standing standing_text;     /* as it is, everywhere */
standing standing_database; /* a conninfo, or a URL */
standing standing_path;     /* a path, or a URL */
standing standing_json;     /* in a string, or as it is */
standing standing_form;
standing standing_sql; /* in a literal, or as it is */

#endif
