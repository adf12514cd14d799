/* SPDX-License-Identifier: Apache-2.0 */
/* Spans in columns, as fathom's own page gets them: one list for each member of all spans. */
#ifndef SERVE_OWN_COLUMNS_H
#define SERVE_OWN_COLUMNS_H

#include "base/json.h"
#include "serve/gather.h"

/*
 * Writes the members of docs/openapi.json's Columns that tell of spans, which are linked
 * (gather.h), into an object that is begun; the pool gets texts. With `has_path` it writes the
 * critical path of the first subject, too. 0 or -ENOMEM.
 */
int own_columns_write(struct json *j, const struct gathered *g, struct pool *pool, bool has_path);

#endif
