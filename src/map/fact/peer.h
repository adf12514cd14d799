/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of the kind `peer`: to or from whom the message of one call went. */
#ifndef MAP_FACT_PEER_H
#define MAP_FACT_PEER_H

#include "map/fact/facts.h"

extern const struct thread_order peer_order;

/* The fact of a record. Its path is kept in `texts`; NULL if there is no memory. */
struct fact_peer peer_of_record(const struct record_peer *r, struct texts *texts);

/* A socket that is connected to that peer, with the same path. */
struct fact_socket peer_socket(const struct fact_peer *peer);

#endif
