/* SPDX-License-Identifier: Apache-2.0 */
/* A store in a directory of its own, and spans for it. */
#ifndef TESTS_UNIT_STORE_SPANS_H
#define TESTS_UNIT_STORE_SPANS_H

#include <dirent.h>
#include <errno.h>

#include "store/store.h"
#include "store/typed.h"
#include "tests/unit/check.h"

/* Takes out of a file what version 6 brought, and adds what a later one left out. */
#define COLUMN_DROP(column) "ALTER TABLE spans DROP COLUMN IF EXISTS " #column ";"
#define PART_ADD(part, value, what)                                                                \
	"ALTER TABLE spans ADD COLUMN IF NOT EXISTS " #part "_ns UBIGINT DEFAULT 0;"
#define WITHOUT_VERSION_6                                                                          \
	"DROP TABLE newer; DROP TABLE typed;" TYPED_TEXT_COLUMNS(COLUMN_DROP)                      \
		TYPED_NUMBER_COLUMNS(COLUMN_DROP) SPLIT_PARTS(PART_ADD)

static char dir_name[64];
static struct pool pool;

static inline const char *store_path(void)
{
	static char path[120];

	snprintf(path, sizeof(path), "%s/spans-000001.duckdb", dir_name);
	return path;
}

/* What each store is opened with. */
static struct store_options store_options = {.dir = dir_name};

static inline struct store *reopen(void)
{
	struct error e = {0};
	struct store *s = NULL;
	int err = store_open(&store_options, &s, &e);

	if (err == -ELIBACC)
		SKIP("%.200s", e.text);
	if (err)
		CHECK_FAIL("%s", e.text);
	return s;
}

/* Removes all files of the directory. */
static inline void dir_clear(void)
{
	DIR *dir = opendir(dir_name);
	struct dirent *entry;

	CHECK(dir != NULL);
	while ((entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
}

static inline struct store *open_empty(void)
{
	if (!dir_name[0]) {
		snprintf(dir_name, sizeof(dir_name), "/tmp/fathom-store-XXXXXX");
		CHECK(mkdtemp(dir_name));
	}
	dir_clear();
	return reopen();
}

static inline void drop(struct store *s)
{
	store_close(s);
	dir_clear();
	rmdir(dir_name);
	dir_name[0] = '\0';
}

static inline void append(struct store *s, const struct received_span *spans, size_t count)
{
	const struct received_batch batch = {(struct received_span *)spans, count, count};
	struct error e = {0};

	if (store_append(s, &batch, &e))
		CHECK_FAIL("%s", e.text);
}

static inline void commit(struct store *s, uint64_t position)
{
	struct error e = {0};

	if (store_commit(s, position, &e))
		CHECK_FAIL("%s", e.text);
}

static inline struct received_batch find(struct store *s, struct trace_id id)
{
	struct received_batch batch = {0};
	const struct store_ids ids = {&id, 1, 1};
	struct error e = {0};

	if (store_find(s, &ids, &pool, &batch, &e))
		CHECK_FAIL("%s", e.text);
	return batch;
}

static inline size_t found(struct store *s, uint64_t trace)
{
	struct received_batch batch = find(s, (struct trace_id){1, trace});
	size_t count = batch.count;

	vec_free(&batch);
	return count;
}

static const struct received_resource shop = {.service = "shop"};
static const struct received_scope scope = {.name = "", .version = ""};

/* A span of 10 ms in trace (1, trace). */
static inline struct received_span make(uint64_t trace, uint64_t id, const char *name)
{
	return (struct received_span){.trace = {1, trace},
				      .span_id = id,
				      .begin_ns = 1000000000 * trace,
				      .end_ns = 1000000000 * trace + 10000000,
				      .name = name,
				      .trace_state = "",
				      .status_text = "",
				      .kind = RECEIVED_SERVER,
				      .resource = &shop,
				      .scope = &scope};
}

#endif
