/* SPDX-License-Identifier: Apache-2.0 */
#include "store/database.h"

#include <errno.h>
#include <string.h>

#define OUT_OF_MEMORY "out of memory"

/*
 * Nothing but the file is read, and nothing is fetched. Each statement runs in the thread that
 * asks, and several queries run at once all the same. With more threads one waits for another by
 * trying again and again, which takes CPU time from storing. A checkpoint compresses rows that
 * small commits left, and begins again with a group of rows that is not full: so it comes seldom.
 * Until then these rows take almost three times these bytes of memory.
 */
static const char *const settings[][2] = {
	{"threads", "1"},
	{"memory_limit", "512MB"},
	{"checkpoint_threshold", "32MB"},
	{"autoinstall_known_extensions", "false"},
	{"autoload_known_extensions", "false"},
	{"storage_compatibility_version", "latest"},
	{"enable_external_access", "false"}, /* the last one */
};

static int config_make(struct duckdb *api, const char *path, duckdb_config *config, struct error *e)
{
	size_t count = sizeof(settings) / sizeof(*settings);

	if (api->create_config(config))
		return error_say(e, EIO, "DuckDB makes no settings");
	count -= strcmp(path, DATABASE_ALL) == 0;
	for (size_t i = 0; i < count; i++) {
		if (api->set_config(*config, settings[i][0], settings[i][1]))
			return error_say(e, EIO, "DuckDB does not know the setting %s",
					 settings[i][0]);
	}
	return 0;
}

static int file_open(const char *path, struct database *db, struct error *e)
{
	duckdb_config config = NULL;
	char *why = NULL;
	int err = config_make(&db->api, path, &config, e);

	if (!err && db->api.open_ext(path, &db->handle, config, &why)) {
		err = error_say(e, EIO, "cannot open the store %s: %s", path, why ? why : "");
		db->handle = NULL;
	}
	if (why)
		db->api.free(why);
	db->api.destroy_config(&config);
	return err;
}

int database_reopen(const char *path, struct database *db, struct error *e)
{
	if (db->handle)
		db->api.close(&db->handle);
	db->handle = NULL;
	return file_open(path, db, e);
}

int database_open(const char *path, const char *library, struct database *out, struct error *e)
{
	struct database db = {0};
	int err = duckdb_load(&db.api, library, e);

	if (err)
		return err;
	err = file_open(path, &db, e);
	if (err) {
		duckdb_unload(&db.api);
		return err;
	}
	*out = db;
	return 0;
}

void database_close(struct database *db)
{
	if (db->handle)
		db->api.close(&db->handle);
	duckdb_unload(&db->api);
}

int database_connect(struct database *db, duckdb_connection *out, struct error *e)
{
	if (!db->handle)
		return error_say(e, EIO, "the store is closed after a failure");
	if (db->api.connect(db->handle, out))
		return error_say(e, EIO, "DuckDB gives no connection");
	return 0;
}

void statement_add(struct statement *s, const char *sql)
{
	bytes_put(&s->sql, sql, strlen(sql));
}

static void value_bind(struct statement *s, struct bound value)
{
	if (vec_push(&s->values, value))
		s->failed = true;
}

void statement_add_quoted(struct statement *s, const char *text)
{
	statement_add(s, "'");
	for (; *text; text++) {
		const char one[] = {*text, '\0'};

		statement_add(s, *text == '\'' ? "''" : one);
	}
	statement_add(s, "'");
}

void statement_bind_number(struct statement *s, uint64_t number)
{
	value_bind(s, (struct bound){.type = BOUND_NUMBER, .number = number});
}

void statement_bind_id(struct statement *s, struct trace_id id)
{
	value_bind(s, (struct bound){.type = BOUND_ID, .id = id});
}

void statement_bind_text(struct statement *s, const char *text, size_t bytes)
{
	value_bind(s, (struct bound){.type = BOUND_TEXT, .text = text, .bytes = bytes});
}

void statement_free(struct statement *s)
{
	bytes_free(&s->sql);
	vec_free(&s->values);
}

static int chunk_take(struct database *db, duckdb_chunk chunk, const struct row_taker *taker)
{
	duckdb_count rows = db->api.data_chunk_get_size(chunk);
	struct row row = {0};
	int err = 0;

	for (unsigned int i = 0; i < taker->columns; i++)
		row.columns[i] = db->api.vector_get_data(db->api.data_chunk_get_vector(chunk, i));
	for (row.index = 0; row.index < rows && !err; row.index++)
		err = taker->take(taker->arg, &row);
	return err;
}

static int result_take(struct database *db, struct duckdb_result result,
		       const struct row_taker *taker, struct error *e)
{
	duckdb_chunk chunk;
	const char *why;
	int err = 0;

	while (taker && !err && (chunk = db->api.fetch_chunk(result))) {
		err = chunk_take(db, chunk, taker);
		db->api.destroy_data_chunk(&chunk);
	}
	if (err)
		return error_set(e, err, "cannot take what the store found");
	why = db->api.result_error(&result); /* that ended a stream */
	return why ? error_say(e, EIO, "DuckDB: %s", why) : 0;
}

/* Takes the rows, or the words of an error, and frees the result. */
static int result_end(struct database *db, duckdb_state state, struct duckdb_result *result,
		      const struct row_taker *taker, struct error *e)
{
	const char *why = state ? db->api.result_error(result) : NULL;
	int err = state ? error_say(e, EIO, "DuckDB: %s", why ? why : "unknown error")
			: result_take(db, *result, taker, e);

	db->api.destroy_result(result);
	return err;
}

static duckdb_state values_bind(struct database *db, duckdb_statement prepared,
				const struct statement *s)
{
	duckdb_state state = 0;

	for (size_t i = 0; i < s->values.count && !state; i++) {
		const struct bound *value = &s->values.data[i];
		struct duckdb_id id = {value->id.low, value->id.high};

		if (value->type == BOUND_NUMBER)
			state = db->api.bind_uint64(prepared, i + 1, value->number);
		else if (value->type == BOUND_ID)
			state = db->api.bind_uhugeint(prepared, i + 1, id);
		else
			state = db->api.bind_varchar_length(prepared, i + 1, value->text,
							    value->bytes);
	}
	return state;
}

int statement_run(struct database *db, duckdb_connection connection, const struct statement *s,
		  const struct row_taker *taker, struct error *e)
{
	struct bytes sql = {0};
	duckdb_statement prepared = NULL;
	struct duckdb_result result = {0};
	int err = 0;

	bytes_put(&sql, s->sql.data, s->sql.count);
	bytes_put_u8(&sql, 0);
	if (s->failed || s->sql.failed || sql.failed) {
		bytes_free(&sql);
		return error_say(e, ENOMEM, OUT_OF_MEMORY);
	}
	if (db->api.prepare(connection, (const char *)sql.data, &prepared)) {
		const char *why = db->api.prepare_error(prepared);

		err = error_say(e, EIO, "DuckDB: %s", why ? why : OUT_OF_MEMORY);
	} else if (values_bind(db, prepared, s)) {
		err = error_say(e, EIO, "DuckDB refuses a value of a statement");
	} else {
		err = result_end(db, db->api.execute_prepared(prepared, &result), &result, taker,
				 e);
	}
	db->api.destroy_prepare(&prepared);
	bytes_free(&sql);
	return err;
}

int sql_run(struct database *db, duckdb_connection connection, const char *sql,
	    const struct row_taker *taker, struct error *e)
{
	struct duckdb_result result = {0};

	return result_end(db, db->api.query(connection, sql, &result), &result, taker, e);
}

static void quoted_put(struct bytes *to, const char *text, size_t bytes)
{
	bytes_put_u8(to, '\'');
	for (size_t i = 0; i < bytes; i++) {
		if (text[i] == '\'')
			bytes_put_u8(to, '\'');
		bytes_put_u8(to, (uint8_t)text[i]);
	}
	bytes_put_u8(to, '\'');
}

static void integer_put(struct bytes *to, unsigned __int128 number, const char *type)
{
	char digits[40];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + (int)(number % 10));
	while (number /= 10);
	bytes_put(to, digits + at, sizeof(digits) - at);
	bytes_put(to, type, strlen(type));
}

static void value_put(struct bytes *to, const struct bound *value)
{
	if (value->type == BOUND_TEXT)
		quoted_put(to, value->text, value->bytes);
	else if (value->type == BOUND_ID)
		integer_put(to, (unsigned __int128)value->id.high << 64 | value->id.low,
			    "::UHUGEINT");
	else
		integer_put(to, value->number, "::UBIGINT");
}

/* SQL with the values in it. 0 or -ENOMEM; free it in any case. */
static int sql_make(const struct statement *s, struct bytes *sql, struct error *e)
{
	size_t next = 0;

	for (size_t i = 0; i < s->sql.count; i++) {
		if (s->sql.data[i] == '?' && next < s->values.count)
			value_put(sql, &s->values.data[next++]);
		else
			bytes_put_u8(sql, s->sql.data[i]);
	}
	bytes_put_u8(sql, 0);
	return s->failed || s->sql.failed || sql->failed ? error_say(e, ENOMEM, OUT_OF_MEMORY) : 0;
}

int statement_ask(struct database *db, duckdb_connection connection, const struct statement *s,
		  const struct row_taker *taker, struct error *e)
{
	struct bytes sql = {0};
	int err = sql_make(s, &sql, e);

	err = err ? err : sql_run(db, connection, (const char *)sql.data, taker, e);
	bytes_free(&sql);
	return err;
}

int statement_stream(struct database *db, duckdb_connection connection, const struct statement *s,
		     const struct row_taker *taker, struct error *e)
{
	struct duckdb_result result = {0};
	duckdb_statement prepared = NULL;
	struct bytes sql = {0};
	int err = sql_make(s, &sql, e);

	if (!err && db->api.prepare(connection, (const char *)sql.data, &prepared)) {
		const char *why = db->api.prepare_error(prepared);

		err = error_say(e, EIO, "DuckDB: %s", why ? why : OUT_OF_MEMORY);
	}
	if (!err)
		err = result_end(db, db->api.execute_prepared_streaming(prepared, &result), &result,
				 taker, e);
	if (prepared)
		db->api.destroy_prepare(&prepared);
	bytes_free(&sql);
	return err;
}
