/* SPDX-License-Identifier: Apache-2.0 */
#include "store/typed.h"

#include <string.h>

#define SEEN_KEYS_MAX 1000     /* of a transaction, that are counted */
#define TEXT_BYTES_MAX 512     /* longer ones are compressed better together with others */
#define KIND_KEY "fathom.kind" /* for which the store looks in texts */

const char *typed_column(int place)
{
#define NAME(column) #column,
	static const char *const names[TYPED_PLACES] = {TYPED_TEXT_COLUMNS(NAME)
								TYPED_NUMBER_COLUMNS(NAME)};
#undef NAME

	return names[place];
}

/* The first place of a type, and how many of them have keys. */
static int places_of(const struct typed *t, bool is_text, unsigned int *count)
{
	*count = atomic_load_explicit(is_text ? &t->texts : &t->numbers, memory_order_acquire);
	return is_text ? 0 : TYPED_TEXTS;
}

int typed_find(const struct typed *t, const char *key, bool is_text)
{
	unsigned int count;
	int first = places_of(t, is_text, &count);

	for (int i = first; i < first + (int)count; i++) {
		if (strcmp(t->keys[i], key) == 0)
			return i;
	}
	return TYPED_NONE;
}

bool typed_text_fits(const char *text, size_t bytes)
{
	bool fits = bytes > 0 && bytes <= TEXT_BYTES_MAX;

	for (size_t i = 0; i < bytes && fits; i++)
		fits = text[i] >= ' ' && text[i] <= '~' && text[i] != '"' && text[i] != '\\';
	return fits;
}

static bool fits(const struct attribute *a)
{
	if (a->type == VALUE_STRING)
		return typed_text_fits(a->string, strlen(a->string));
	return a->type == VALUE_INTEGER && a->integer >= 0 && a->integer < INT64_MAX;
}

int typed_next(const struct typed *t, unsigned int i)
{
	bool is_text = *t->wanted_keys[i] == 's';
	unsigned int count;
	int first = places_of(t, is_text, &count);

	return count < (is_text ? TYPED_TEXTS : TYPED_NUMBERS) ? first + (int)count : TYPED_NONE;
}

void typed_give(struct typed *t, unsigned int i)
{
	int place = typed_next(t, i);

	strcpy(t->keys[place], t->wanted_keys[i] + 1);
	atomic_fetch_add_explicit(place < TYPED_TEXTS ? &t->texts : &t->numbers, 1,
				  memory_order_release);
}

/* Counts a key without a place, which is wanted if it is frequent. */
static void key_learn(struct typed *t, struct typed_learning *l, const char *key, bool is_text)
{
	size_t bytes = strlen(key);
	char typed[TYPED_KEY_BYTES + 1];
	unsigned int count;
	uintptr_t seen;

	places_of(t, is_text, &count);
	if (count == (is_text ? TYPED_TEXTS : TYPED_NUMBERS) || bytes >= TYPED_KEY_BYTES ||
	    strcmp(key, KIND_KEY) == 0 || !typed_text_fits(key, bytes))
		return;
	typed[0] = is_text ? 's' : 'n';
	memcpy(typed + 1, key, bytes);
	seen = (uintptr_t)bytes_map_get(&l->seen, typed, bytes + 1) + 1;
	if (seen > 1 || l->seen.count < SEEN_KEYS_MAX)
		(void)bytes_map_put(&l->seen, typed, bytes + 1,
				    (void *)seen); /* else it has none */
	if (seen != TYPED_SEEN || t->wanted == TYPED_PLACES)
		return;
	memcpy(t->wanted_keys[t->wanted], typed, bytes + 1);
	t->wanted_keys[t->wanted++][bytes + 1] = '\0';
}

int typed_place(struct typed *t, struct typed_learning *l, const struct attribute *a, size_t index)
{
	bool is_text = a->type == VALUE_STRING;
	int8_t *hint = &l->hints[index % sizeof(l->hints)];
	int place = *hint - 1;

	if (!fits(a))
		return TYPED_NONE;
	if (place >= 0 && is_text == (place < TYPED_TEXTS) && strcmp(t->keys[place], a->key) == 0)
		return place;
	place = typed_find(t, a->key, is_text);
	if (place < 0)
		key_learn(t, l, a->key, is_text);
	*hint = (int8_t)(place + 1);
	return place;
}

void typed_learning_free(struct typed_learning *l)
{
	bytes_map_free(&l->seen);
	*l = (struct typed_learning){0};
}

static int key_take(void *arg, const struct row *row)
{
	struct typed *t = arg;
	uint64_t place = row_number(row, 0);
	size_t bytes;
	const char *key = row_text(row, 1, &bytes);
	bool is_text = place < TYPED_TEXTS;

	/* in the order of the places, so that none is left out */
	if (place >= TYPED_PLACES || bytes >= TYPED_KEY_BYTES)
		return 0;
	memcpy(t->keys[place], key, bytes);
	t->keys[place][bytes] = '\0';
	atomic_fetch_add(is_text ? &t->texts : &t->numbers, 1);
	return 0;
}

int typed_load(struct typed *t, struct database *db, duckdb_connection connection, struct error *e)
{
	const struct row_taker taker = {key_take, t, 2};

	memset(t, 0, sizeof(*t));
	return sql_run(db, connection, "SELECT place, key FROM typed ORDER BY place", &taker, e);
}

int typed_store(const struct typed *t, unsigned int i, struct database *db,
		duckdb_connection connection, struct error *e)
{
	const char *key = t->wanted_keys[i] + 1;
	struct statement insert = {0};
	int err;

	statement_add(&insert, "INSERT INTO typed VALUES (?, ?)");
	statement_bind_number(&insert, (uint64_t)typed_next(t, i));
	statement_bind_text(&insert, key, strlen(key));
	err = statement_run(db, connection, &insert, NULL, e);
	statement_free(&insert);
	return err;
}
