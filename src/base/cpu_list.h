/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of CPUs as the kernel writes them: ranges in ascending order, "0-3,5". Numbers are below
 * CPU_LIST_END. A text that is not such a list is treated as a list without CPUs.
 */
#ifndef BASE_CPU_LIST_H
#define BASE_CPU_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPU_LIST_END 65535u
#define CPU_LIST_BYTES 4096

/* The number of CPUs in the list. */
uint32_t cpu_list_count(const char *list);

bool cpu_list_has(const char *list, uint32_t cpu);

/* Whether the list is 0 .. count - 1. */
bool cpu_list_is_plain(const char *list);

/* The lowest CPU in the list that is not below `from`; CPU_LIST_END if there is none. */
uint32_t cpu_list_next(const char *list, uint32_t from);

/* Writes the list of CPUs that are online. 0, or a negative errno with `list` unchanged. */
int cpu_list_online(char list[CPU_LIST_BYTES]);

#endif
