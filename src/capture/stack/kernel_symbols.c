/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/stack/kernel_symbols.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/vec.h"

#define FUNCTION_MAX (1u << 20) /* bytes; a function that seems longer is cut */
#if defined(__aarch64__)
#define TEXT_LINKED 0xffff800080000000u
#else
#define TEXT_LINKED 0xffffffff81000000u
#endif
#define KERNEL_MODULE "[kernel]"

/* A symbol. Those that are no functions are rows, too, since they end the function before them. */
struct row {
	uint64_t address;
	uint32_t name;	 /* offset in texts; 0: no function */
	uint32_t module; /* likewise; 0: the kernel itself */
};

struct kernel_symbols {
	VEC(struct row) rows; /* sorted by address, one row for each */
	struct bytes texts;   /* NUL after each */
	uint64_t slide;	      /* running minus linked address */
	uint32_t last_module; /* the symbols of a module are adjacent in the file */
};

static int text_add(struct kernel_symbols *s, const char *text, uint32_t *at)
{
	*at = (uint32_t)s->texts.count;
	bytes_put(&s->texts, text, strlen(text) + 1);
	return s->texts.failed ? -ENOMEM : 0;
}

static int module_add(struct kernel_symbols *s, const char *module, uint32_t *at)
{
	if (s->last_module && !strcmp((const char *)s->texts.data + s->last_module, module)) {
		*at = s->last_module;
		return 0;
	}
	if (text_add(s, module, at))
		return -ENOMEM;
	s->last_module = *at;
	return 0;
}

/* Parses "ffffffff81000000 T name", and a tab and "[module]" for a symbol of a module. */
static int row_add(struct kernel_symbols *s, char *line)
{
	struct row row = {0};
	char *at, *name, *module;
	bool function;
	int err = 0;

	row.address = strtoull(line, &at, 16);
	if (at == line || at[0] != ' ' || !at[1] || at[2] != ' ' || !row.address)
		return 0;
	function = strchr("tTwW", at[1]);
	name = at + 3;
	module = name + strcspn(name, "\t \n");
	if (*module)
		*module++ = '\0';
	module += strspn(module, "\t ");
	module[strcspn(module, "\n")] = '\0';
	if (!strcmp(name, "_text"))
		s->slide = row.address - TEXT_LINKED;
	/* marks of a section's end are no functions */
	if (!strcmp(name, "_etext") || !strcmp(name, "_einittext"))
		function = false;
	if (function)
		err = text_add(s, name, &row.name);
	if (!err && function && *module)
		err = module_add(s, module, &row.module);
	return err ? err : vec_push(&s->rows, row);
}

/* Compares by address; at the same address functions come first, then the order of the file. */
static int row_compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (!x->name != !y->name)
		return x->name ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static void rows_settle(struct kernel_symbols *s)
{
	size_t n = 0;

	qsort(s->rows.data, s->rows.count, sizeof(struct row), row_compare);
	for (size_t i = 0; i < s->rows.count; i++)
		if (!n || s->rows.data[n - 1].address != s->rows.data[i].address)
			s->rows.data[n++] = s->rows.data[i];
	s->rows.count = n;
}

struct kernel_symbols *kernel_symbols_read(const char *path)
{
	struct kernel_symbols *s = calloc(1, sizeof(*s));
	FILE *file = fopen(path, "re");
	char line[1024];
	int err = 0;

	if (!s || !file) {
		if (file)
			fclose(file);
		free(s);
		return NULL;
	}
	bytes_put_u8(&s->texts, 0); /* offset 0 stands for no text */
	while (!err && fgets(line, sizeof(line), file))
		err = row_add(s, line);
	if (!err && !s->rows.count)
		err = -ENODATA;
	fclose(file);
	if (err) {
		kernel_symbols_free(s);
		errno = -err;
		return NULL;
	}
	rows_settle(s);
	return s;
}

void kernel_symbols_free(struct kernel_symbols *s)
{
	if (!s)
		return;
	vec_free(&s->rows);
	bytes_free(&s->texts);
	free(s);
}

uint64_t kernel_symbols_linked(const struct kernel_symbols *s, uint64_t address)
{
	return s ? address - s->slide : address;
}

uint32_t kernel_symbols_count(const struct kernel_symbols *s)
{
	return (uint32_t)s->rows.count;
}

int kernel_symbols_find(const struct kernel_symbols *s, uint64_t address,
			struct kernel_function *function)
{
	size_t low = 0, high = s->rows.count;
	const struct row *row;
	uint64_t end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->rows.data[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return -ENOENT;
	row = &s->rows.data[low - 1];
	end = low < s->rows.count ? s->rows.data[low].address : row->address + FUNCTION_MAX;
	if (!row->name || address >= end || address - row->address >= FUNCTION_MAX)
		return -ENOENT;
	*function = (struct kernel_function){
		.begin = row->address - s->slide,
		.end = end - s->slide,
		.name = (const char *)s->texts.data + row->name,
		.module = row->module ? (const char *)s->texts.data + row->module : KERNEL_MODULE,
		.number = (uint32_t)(low - 1),
	};
	return 0;
}
