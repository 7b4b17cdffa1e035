/* The subjects of the conformance suite, each in test_<name>.c. */
#ifndef SECKILL_TESTS_INTEGRATION_CONFORMANCE_CONFORMANCE_H
#define SECKILL_TESTS_INTEGRATION_CONFORMANCE_CONFORMANCE_H

/* Runs the subject's tests of the chosen strategies (cases_is_chosen). The number of those that
 * failed, or T_NONE_CHOSEN. */
int conformance_registry(void);
int conformance_sale(void);
int conformance_keys(void);
int conformance_repeats(void);
int conformance_returns(void);
int conformance_epochs(void);
int conformance_held(void);
int conformance_holds(void);
int conformance_races(void);
int conformance_waits(void);
int conformance_mixing(void);
int conformance_costs(void);
int conformance_withheld(void);

#endif
