/* SPDX-License-Identifier: Apache-2.0 */
/* A set of ids, which are 48 bits of a hash and a mark of 16 bits; with the number of a service. */
#ifndef STORE_KNOWN_IDS_H
#define STORE_KNOWN_IDS_H

#include <stddef.h>
#include <stdint.h>

#define KNOWN_MARK_BITS 16
#define KNOWN_MARK_MASK UINT64_C(0xffff)

/* Start with all zero. */
struct known_ids {
	uint64_t *data; /* 0: free */
	uint16_t *services;
	size_t count, capacity;
};

/* The place + 1 of the first id that has the bits of `mask` in common; 0: there is none. */
size_t known_ids_find(const struct known_ids *set, uint64_t id, uint64_t mask);

/* Adds an id, which is not 0. 0 or -ENOMEM. */
int known_ids_add(struct known_ids *set, uint64_t id, uint16_t service);

/* Frees everything, and leaves the set empty. */
void known_ids_free(struct known_ids *set);

#endif
