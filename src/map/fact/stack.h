/* SPDX-License-Identifier: Apache-2.0 */
/* Call stacks of waits. */
#ifndef MAP_FACT_STACK_H
#define MAP_FACT_STACK_H

/* For qsort(), of struct fact_stack: by process, then time. */
int stack_moment_compare(const void *a, const void *b);

#endif
