/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions of a search about attributes, which are in columns or in texts. */
#ifndef STORE_SEARCH_TAGS_H
#define STORE_SEARCH_TAGS_H

#include "base/pool.h"
#include "store/database.h"
#include "store/typed.h"

/*
 * Each adds a condition without parentheses, whose values are in the pool; `typed` are the keys of
 * the file. 0 or -ENOMEM.
 */

/* An attribute of the span or of its resource. */
int tag_condition(struct statement *s, const struct typed *typed, const struct attribute *tag,
		  struct pool *pool);

/* A key of an attribute, or the name of an event. */
int mark_condition(struct statement *s, const struct typed *typed, const char *mark,
		   struct pool *pool);

/* The attribute peer.service, in any case. */
int remote_condition(struct statement *s, const struct typed *typed, const char *remote,
		     struct pool *pool);

#endif
