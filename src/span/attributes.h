/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes as JSON, both ways.
 *
 * Numbers keep their type: a real number has a point or an exponent, and an integer has none. What
 * JSON has no value for is a string for readers; or, where attributes are read again, an object
 * with one key that begins with NUL, which no key of a span does:
 *
 *   {"\u0000bytes":"aGk="}    bytes in base64
 *   {"\u0000real":"nan"}      a real number that is not finite: nan, inf, -inf
 */
#ifndef SPAN_ATTRIBUTES_H
#define SPAN_ATTRIBUTES_H

#include <stdbool.h>

#include "base/json.h"
#include "base/pool.h"
#include "span/span.h"

#define ATTRIBUTES_DEPTH 40 /* of values in values, that are read */

/* Writes one value for readers; inside an array, its key is NULL. */
void attribute_write_json(struct json *j, const struct attribute *a);

/* Writes an object for readers. */
void attributes_write_json(struct json *j, const char *key, const struct attribute *attributes,
			   size_t count);

/* Writes an object that attributes_read() turns into the same attributes. */
void attributes_write_exact(struct json *j, const char *key, const struct attribute *attributes,
			    size_t count);

/*
 * Reads a JSON object into attributes in the pool. 0; -EINVAL if it is no object, or deeper than
 * ATTRIBUTES_DEPTH; -ENOMEM. Leaves the outputs alone on failure.
 */
int attributes_read(const char *text, size_t bytes, struct pool *pool,
		    const struct attribute **attributes, size_t *count);

/* The attribute of that key, NULL if there is none. */
const struct attribute *attributes_find(const struct attribute *attributes, size_t count,
					const char *key);

#endif
