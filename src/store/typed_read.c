/* SPDX-License-Identifier: Apache-2.0 */
#include "store/typed_read.h"

#include <errno.h>
#include <string.h>

#include "store/internal.h"

/* The key of a column, which is copied once for each file. */
static const char *key_of(struct typed_reading *r, unsigned int place)
{
	const char *key = r->typed->keys[place];

	if (!r->keys[place])
		r->keys[place] = text_keep(r->pool, (struct stored_text){key, strlen(key)});
	return r->keys[place];
}

/* The attribute in a column. 1; 0: there is none; or -ENOMEM. */
static int column_take(struct typed_reading *r, const struct row *row, unsigned int column,
		       unsigned int place, struct attribute *out)
{
	struct stored_text text;

	if (place >= TYPED_TEXTS) {
		uint64_t number = row_number(row, column);

		*out = (struct attribute){.type = VALUE_INTEGER, .integer = (int64_t)number - 1};
		if (!number)
			return 0;
	} else {
		text = row_stored(row, column);
		if (!text.bytes)
			return 0;
		*out = (struct attribute){.type = VALUE_STRING, .string = text_keep(r->pool, text)};
		if (!out->string)
			return -ENOMEM;
	}
	out->key = key_of(r, place);
	return out->key ? 1 : -ENOMEM;
}

int typed_read(struct typed_reading *r, const struct row *row, unsigned int first,
	       struct received_list *list)
{
	struct attribute typed[TYPED_PLACES], *all;
	size_t count = 0;

	for (unsigned int i = 0; i < r->texts + r->numbers; i++) {
		unsigned int place = i < r->texts ? i : TYPED_TEXTS + i - r->texts;
		int got = column_take(r, row, first + i, place, &typed[count]);

		if (got < 0)
			return got;
		count += (size_t)got;
	}
	if (!count)
		return 0;
	all = pool_alloc(r->pool, count + list->count, sizeof(*all));
	if (!all)
		return -ENOMEM;
	memcpy(all, typed, count * sizeof(*all));
	if (list->count)
		memcpy(all + count, list->data, list->count * sizeof(*all));
	list->data = all;
	list->count += count;
	return 0;
}

void typed_columns_add(struct statement *s, struct typed_reading *r)
{
	r->texts = r->typed ? r->typed->texts : 0;
	r->numbers = r->typed ? r->typed->numbers : 0;
	for (unsigned int i = 0; i < r->texts + r->numbers; i++) {
		statement_add(s, ", ");
		statement_add(s,
			      typed_column((int)(i < r->texts ? i : TYPED_TEXTS + i - r->texts)));
	}
}
