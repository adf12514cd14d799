/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts chunks into boots, and boots into hosts.
 *
 * The chunks of a boot bear its id. Boots are of one host if their chunks bear the same name of the
 * host and no two chunks of different boots overlap in Unix time. So two
 * hosts of one name that were recorded at the same time stay apart. A boot whose chunks lost the
 * host name never becomes another host: it counts as a boot of the latest host.
 */
#ifndef CHUNK_BOOTS_H
#define CHUNK_BOOTS_H

#include "base/vec.h"
#include "chunk/chunk.h"

struct boot {
	const struct chunk_info *latest; /* the latest of its chunks; borrowed */
	uint32_t host;			 /* its number */
};

struct boots {
	uint32_t *of;	       /* the boot of each chunk, as number in the list; owned */
	VEC(struct boot) list; /* the boot of the latest chunk first */
	uint32_t hosts;	       /* how many; host 0 has the latest chunk */
};

/*
 * Sorts at least one chunk by Unix time, and finds the boots and hosts. A chunk without a boot id
 * gets those of its neighbour, if the relation of its clocks is the same. `chunks` must outlive
 * *boots. 0 or -ENOMEM; free with boots_free() in any case.
 */
int boots_find(struct boots *boots, struct chunk_info *chunks, size_t count);
void boots_free(struct boots *boots);

/* The latest boot of a host, as number in the list. */
uint32_t boots_latest(const struct boots *boots, uint32_t host);

#endif
