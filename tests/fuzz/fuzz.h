/*
 * A fuzz target: a reader of bytes that somebody else wrote, and what must hold of whatever it
 * says.
 *
 * Each fuzz_*.c has one LLVMFuzzerTestOneInput. In the preset `fuzz` libFuzzer calls it with bytes
 * of its own making; in every other build replay.c calls it with the files of its corpus. An input
 * is broken when a sanitizer says so, or when FUZZ_HOLDS does.
 */
#ifndef SECKILL_TESTS_FUZZ_FUZZ_H
#define SECKILL_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program, in every build, unless it holds. */
#define FUZZ_HOLDS(condition)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fuzz_broken(#condition, __FILE__, __LINE__);                                           \
    } while (0)
__attribute__((noreturn)) void fuzz_broken(const char *what, const char *file, int line);

/* The bytes and a NUL, in memory of just that size, so that AddressSanitizer sees a reader that
 * goes on behind them. Owned by the caller: free. */
char *fuzz_copy(const uint8_t *data, size_t size);

/* One of `count` kinds of input, by its first byte, which is taken away. An empty one is of the
 * first. */
unsigned fuzz_kind(const uint8_t **data, size_t *size, unsigned count);

#endif
