/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MAP_FACT_ADDRESS_H
#define MAP_FACT_ADDRESS_H

#include "base/hash.h"
#include "record/record.h"

/* An address and a port of a socket, its own or that of its peer, in its namespace, as a number. */
static inline u64 address_hash(const struct record_socket *s, bool local)
{
	u64 address = local ? hash_pair(s->local_hi, s->local_lo)
			    : hash_pair(s->remote_hi, s->remote_lo);

	return hash_pair(address, hash_pair(s->netns, local ? s->local_port : s->remote_port));
}

#endif
