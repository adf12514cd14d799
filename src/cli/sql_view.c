/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sql_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pool.h"
#include "base/units.h"
#include "base/vec.h"
#include "cli/json_file.h"
#include "cli/terminal.h"

#define WIDTH_MAX 60 /* of a column on a terminal */
#define COPY_TOLD_BYTES ((uint64_t)64 << 20)

struct sql_column {
	const char *name;
	bool is_number, is_truth; /* by its type */
	int width;
};

struct sql_view {
	FILE *file;
	bool is_json, is_table;
	struct json json;
	struct pool pool; /* of names and cells */
	struct pool row;  /* of values of a row */
	VEC(struct sql_column) columns;
	VEC(const char *) cells; /* of a table: row by row; NULL: no value */
};

static const char *text_copy(struct pool *pool, const char *text, size_t bytes)
{
	char *copy = pool_alloc(pool, bytes + 1, 1);

	if (copy)
		memcpy(copy, text, bytes);
	return copy;
}

static bool is_number(const char *type)
{
	static const char *const types[] = {"TINYINT",	"SMALLINT",  "INTEGER",	 "BIGINT",
					    "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
					    "HUGEINT",	"UHUGEINT",  "DOUBLE",	 "FLOAT"};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (strcmp(type, types[i]) == 0)
			return true;
	}
	return strncmp(type, "DECIMAL", strlen("DECIMAL")) == 0;
}

static int columns_take(void *arg, const char *const *names, const char *const *types, size_t count)
{
	struct sql_view *v = arg;

	for (size_t i = 0; i < count; i++) {
		struct sql_column column = {.name = text_copy(&v->pool, names[i], strlen(names[i])),
					    .is_number = is_number(types[i]),
					    .is_truth = strcmp(types[i], "BOOLEAN") == 0,
					    .width = (int)strlen(names[i])};

		if (!column.name || vec_push(&v->columns, column))
			return -ENOMEM;
		if (!v->is_json && !v->is_table)
			fprintf(v->file, "%s%s", i ? "\t" : "", column.name);
	}
	if (v->is_json) {
		json_init_file(&v->json, v->file);
		json_object_begin(&v->json, NULL);
		json_u64(&v->json, "version", 1);
		json_array_begin_lines(&v->json, "rows");
	} else if (!v->is_table) {
		fputc('\n', v->file);
	}
	return 0;
}

/* A number that JSON has as the same text is written as one. */
static void value_write(struct json *j, const struct sql_column *column, const char *text)
{
	char *end;

	errno = 0;
	if (column->is_truth) {
		json_bool(j, column->name, strcmp(text, "true") == 0);
	} else if (column->is_number && text[strspn(text, "-0123456789")] == '\0') {
		long long number = strtoll(text, &end, 10);

		if (!errno)
			json_s64(j, column->name, number);
		else
			json_string(j, column->name, text);
	} else if (column->is_number) {
		json_double(j, column->name, strtod(text, &end));
	} else {
		json_string(j, column->name, text);
	}
}

static int json_row(struct sql_view *v, const struct sql_value *values, size_t count)
{
	json_object_begin(&v->json, NULL);
	for (size_t i = 0; i < count; i++) {
		const struct sql_column *column = &v->columns.data[i];
		const char *text = NULL;

		if (values[i].text) {
			text = text_copy(&v->row, values[i].text, values[i].bytes);
			if (!text)
				return -ENOMEM;
			value_write(&v->json, column, text);
		} else {
			json_null(&v->json, column->name);
		}
	}
	json_object_end(&v->json);
	pool_reset(&v->row);
	return 0;
}

static int table_row(struct sql_view *v, const struct sql_value *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct sql_column *column = &v->columns.data[i];
		const char *text = NULL;

		if (values[i].text) {
			text = text_copy(&v->pool, values[i].text, values[i].bytes);
			if (!text)
				return -ENOMEM;
			if ((int)values[i].bytes > column->width)
				column->width = values[i].bytes > WIDTH_MAX ? WIDTH_MAX
									    : (int)values[i].bytes;
		}
		if (vec_push(&v->cells, text))
			return -ENOMEM;
	}
	return 0;
}

/* What would break the columns becomes a space. */
static int tabs_row(struct sql_view *v, const struct sql_value *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (i)
			fputc('\t', v->file);
		for (size_t b = 0; values[i].text && b < values[i].bytes; b++) {
			char c = values[i].text[b];

			fputc(c == '\t' || c == '\n' || c == '\r' ? ' ' : c, v->file);
		}
	}
	fputc('\n', v->file);
	return 0;
}

static int row_take(void *arg, const struct sql_value *values, size_t count)
{
	struct sql_view *v = arg;

	if (v->is_json)
		return json_row(v, values, count);
	return v->is_table ? table_row(v, values, count) : tabs_row(v, values, count);
}

static void warning_print(void *arg, const char *text)
{
	fprintf(stderr, "fathom sql: a file is left out: %s\n", text);
}

static void copies_print(void *arg, uint64_t bytes, const char *where)
{
	char size[UNITS_TEXT_BYTES];

	if (bytes >= COPY_TOLD_BYTES)
		fprintf(stderr, "fathom sql: copies the newest spans, %s, into %s\n",
			units_format_bytes(bytes, size), where);
}

struct sql_view *sql_view_open(FILE *file, bool is_json)
{
	struct sql_view *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->file = file;
	v->is_json = is_json;
	v->is_table = !is_json && isatty(fileno(file));
	return v;
}

struct sql_taker sql_view_taker(struct sql_view *view)
{
	return (struct sql_taker){columns_take, row_take, warning_print, view, copies_print};
}

static void cell_print(const struct terminal *t, const struct sql_column *column, const char *text)
{
	int bytes = (int)strlen(text);

	if (column->is_number && bytes < column->width)
		terminal_spaces(t, column->width - bytes);
	terminal_cell(t, text, column->is_number && bytes < column->width ? bytes : column->width);
	terminal_spaces(t, 2);
}

static void table_print(const struct sql_view *v)
{
	const struct terminal t = terminal_of(v->file);
	size_t columns = v->columns.count;

	for (size_t i = 0; i < columns; i++)
		cell_print(&t, &v->columns.data[i], v->columns.data[i].name);
	fputc('\n', v->file);
	for (size_t i = 0; i < v->cells.count; i++) {
		cell_print(&t, &v->columns.data[i % columns],
			   v->cells.data[i] ? v->cells.data[i] : "");
		if (i % columns == columns - 1)
			fputc('\n', v->file);
	}
}

int sql_view_end(struct sql_view *view)
{
	int err = 0;

	if (view->is_json) {
		json_array_end(&view->json);
		json_object_end(&view->json);
		err = json_end(&view->json);
	} else if (view->is_table) {
		table_print(view);
	}
	sql_view_drop(view);
	return err;
}

void sql_view_drop(struct sql_view *view)
{
	vec_free(&view->columns);
	vec_free(&view->cells);
	pool_free(&view->pool);
	pool_free(&view->row);
	free(view);
}
