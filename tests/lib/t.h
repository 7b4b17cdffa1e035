/* cmocka wants four standard headers before its own; this keeps that in one place. */
#ifndef SECKILL_TESTS_LIB_T_H
#define SECKILL_TESTS_LIB_T_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* clang-format off */
#include <cmocka.h>
/* clang-format on */

#endif
