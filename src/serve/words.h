/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_WORDS_H
#define SERVE_WORDS_H

#include "serve/senders.h"
#include "span/received.h"

/*
 * Tells of the sender of a connection what the resources of its spans say: the names of services,
 * and the language of the SDK.
 */
void words_learn(struct senders *senders, uint16_t connection, const struct received_batch *batch);

#endif
