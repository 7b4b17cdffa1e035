/* The document of phases that were made by hand, as it would be read of their run's file. */
#ifndef SECKILL_TESTS_HARNESS_BED_DOCUMENT_OF_H
#define SECKILL_TESTS_HARNESS_BED_DOCUMENT_OF_H

#include "loadtest/phase/phase.h"
#include "loadtest/report/document/document.h"

/* The caller frees it. */
struct document document_of(const struct phase_result *runs, size_t count);

#endif
