/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/flame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/flame_script.h"
#include "base/hash.h"
#include "base/units.h"

#define WIDTH 1200.0
#define ROW 17
#define TOP 58 /* of the rows: the heading is above */
#define BOTTOM 26
#define NARROWEST 0.12	 /* narrower boxes are left out */
#define LETTER 7.0	 /* width of a letter */
#define DEPTH_SHOWN 1024 /* rows */

/* ---- the tree ---- */

struct node {
	const char *name; /* borrowed */
	enum profile_kind kind;
	u64 ns, times;
	size_t depth;
	VEC(struct node *) below; /* owned; the functions that it called, by name */
};

static void node_free(struct node *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->below.count; i++)
		node_free(n->below.data[i]);
	vec_free(&n->below);
	free(n);
}

static int node_compare(const struct node *n, const char *name, enum profile_kind kind)
{
	int order = strcmp(n->name, name);

	return order ? order : (int)n->kind - (int)kind;
}

/* The node of that function below another; a new one if there is none. NULL: no memory. */
static struct node *node_below(struct node *n, const char *name, enum profile_kind kind)
{
	size_t low = 0, high = n->below.count;
	struct node *fresh;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = node_compare(n->below.data[middle], name, kind);

		if (!order)
			return n->below.data[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	fresh = calloc(1, sizeof(*fresh));
	if (!fresh || vec_push(&n->below, fresh)) {
		free(fresh);
		return NULL;
	}
	fresh->name = name;
	fresh->kind = kind;
	fresh->depth = n->depth + 1;
	memmove(&n->below.data[low + 1], &n->below.data[low],
		(n->below.count - 1 - low) * sizeof(*n->below.data));
	n->below.data[low] = fresh;
	return fresh;
}

static int tree_add(struct node *root, const struct profile *profile,
		    const struct profile_stack *stack)
{
	struct node *n = root;

	n->ns += stack->ns;
	n->times += stack->times;
	n = node_below(n, stack->process, PROFILE_UNNAMED);
	for (size_t i = 0; n; i++) {
		const struct profile_function *f;

		n->ns += stack->ns;
		n->times += stack->times;
		if (i == stack->count || n->depth == DEPTH_SHOWN)
			return 0;
		f = &profile->functions.data[stack->functions[i]];
		n = node_below(n, f->name, f->kind);
	}
	return -ENOMEM;
}

/* ---- the picture ---- */

struct picture {
	struct bytes *out;
	double ns_width; /* of a nanosecond */
	u64 all_ns;
	size_t rows;
};

__attribute__((format(printf, 2, 3))) static void put(struct bytes *out, const char *format, ...)
{
	char text[1024];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	bytes_put(out, text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

/* The length of the character of UTF-8 at the begin of a text; 0: there is none. */
static size_t character(const unsigned char *text)
{
	size_t n = *text < 0x80 ? 1 : *text < 0xc2 ? 0 : *text < 0xe0 ? 2 : *text < 0xf0 ? 3 : 4;

	if (*text > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	/* what is too long, the halves of pairs, and what no document may have */
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
	    (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f) ||
	    (text[0] == 0xef && text[1] == 0xbf && text[2] > 0xbd))
		return 0;
	return n;
}

/* A text as XML has it, at most so many characters of it. */
static void put_text(struct bytes *out, const char *text, size_t most)
{
	const unsigned char *at = (const unsigned char *)text;

	for (size_t n; *at && most; at += n ? n : 1, most--) {
		n = character(at);
		if (*at == '<')
			bytes_put(out, "&lt;", 4);
		else if (*at == '>')
			bytes_put(out, "&gt;", 4);
		else if (*at == '&')
			bytes_put(out, "&amp;", 5);
		else if (*at == '"')
			bytes_put(out, "&quot;", 6);
		else if (!n || *at < ' ' || *at == 127)
			bytes_put_u8(out, '?');
		else
			bytes_put(out, at, n);
	}
}

/* A color by kind, in a shade by name, so that a function looks alike everywhere. */
static void put_color(struct bytes *out, const struct node *n)
{
	static const struct {
		int red, green, blue, reds, greens, blues; /* and how much each varies */
	} colors[] = {
		[PROFILE_USER] = {215, 90, 50, 40, 110, 20},
		[PROFILE_KERNEL] = {225, 150, 60, 30, 50, 30},
		[PROFILE_JIT] = {90, 175, 80, 50, 40, 50},
		[PROFILE_UNNAMED] = {190, 190, 180, 20, 20, 20},
		[PROFILE_CAUSE] = {95, 140, 200, 40, 40, 30},
		[PROFILE_MORE] = {225, 225, 225, 1, 1, 1},
	};
	u64 shade = hash_bytes(n->name, strlen(n->name));

	put(out, "rgb(%d,%d,%d)", colors[n->kind].red + (int)(shade % (u64)colors[n->kind].reds),
	    colors[n->kind].green + (int)((shade >> 16) % (u64)colors[n->kind].greens),
	    colors[n->kind].blue + (int)((shade >> 32) % (u64)colors[n->kind].blues));
}

static void put_name(struct bytes *out, const struct node *n)
{
	put_text(out, n->name, SIZE_MAX);
	if (n->kind == PROFILE_KERNEL)
		put(out, " [kernel]");
	if (n->kind == PROFILE_JIT)
		put(out, " [jit]");
}

static void box_write(const struct picture *p, const struct node *n, u64 from_ns)
{
	double x = (double)from_ns * p->ns_width, width = (double)n->ns * p->ns_width;
	int y = TOP + (int)(p->rows - n->depth) * ROW;
	size_t letters = width > 3 * LETTER ? (size_t)((width - 6) / LETTER) : 0;
	char time[UNITS_TEXT_BYTES];

	put(p->out, "<g class=\"f\"><title>");
	put_name(p->out, n);
	put(p->out, ": %s, %.2f%%, %" PRIu64 "x</title>", units_format_ns((s64)n->ns, time),
	    100.0 * (double)n->ns / (double)p->all_ns, n->times);
	put(p->out, "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" rx=\"1\" fill=\"", x, y,
	    width, ROW - 1);
	put_color(p->out, n);
	put(p->out, "\"/><text x=\"%.2f\" y=\"%d\">", x + 3, y + 12);
	put_text(p->out, n->name, letters);
	put(p->out, "</text></g>\n");
}

static void node_write(const struct picture *p, const struct node *n, u64 from_ns)
{
	if ((double)n->ns * p->ns_width < NARROWEST)
		return;
	box_write(p, n, from_ns);
	for (size_t i = 0; i < n->below.count; i++) {
		node_write(p, n->below.data[i], from_ns);
		from_ns += n->below.data[i]->ns;
	}
}

/* How many rows it takes. */
static size_t rows_of(const struct picture *p, const struct node *n)
{
	size_t rows = n->depth;

	for (size_t i = 0; i < n->below.count; i++) {
		size_t below = (double)n->below.data[i]->ns * p->ns_width < NARROWEST
				       ? 0
				       : rows_of(p, n->below.data[i]);

		rows = below > rows ? below : rows;
	}
	return rows;
}

static void head_write(const struct picture *p, const char *title)
{
	int height = TOP + (int)(p->rows + 1) * ROW + BOTTOM;

	put(p->out,
	    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
	    "viewBox=\"0 0 %d %d\">\n",
	    (int)WIDTH, height, (int)WIDTH, height);
	bytes_put(p->out, flame_style, strlen(flame_style));
	put(p->out,
	    "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n<text class=\"title\" "
	    "x=\"600\" y=\"24\">",
	    (int)WIDTH, height);
	put_text(p->out, title, SIZE_MAX);
	put(p->out,
	    "</text>\n<text class=\"button\" id=\"unzoom\" x=\"10\" y=\"24\">whole</text>\n"
	    "<text class=\"button\" id=\"search\" x=\"1190\" y=\"24\" "
	    "text-anchor=\"end\">search</text>\n"
	    "<text id=\"details\" x=\"10\" y=\"%d\"></text>\n"
	    "<text id=\"matched\" x=\"1190\" y=\"%d\" text-anchor=\"end\"></text>\n<g "
	    "id=\"boxes\">\n",
	    height - 8, height - 8);
}

static void tree_write(struct picture *p, const struct node *root, const char *title)
{
	p->all_ns = root->ns ? root->ns : 1;
	p->ns_width = WIDTH / (double)p->all_ns;
	p->rows = rows_of(p, root);
	head_write(p, title);
	node_write(p, root, 0);
	put(p->out, "</g>\n<script><![CDATA[\n");
	bytes_put(p->out, flame_script, strlen(flame_script));
	put(p->out, "]]></script>\n</svg>\n");
}

int flame_write(const struct profile *profile, const char *title, struct bytes *out)
{
	struct node *root = calloc(1, sizeof(*root));
	struct picture p = {.out = out};
	int err = root ? 0 : -ENOMEM;

	for (size_t i = 0; i < profile->stacks.count && !err; i++)
		err = tree_add(root, profile, &profile->stacks.data[i]);
	if (!err) {
		root->name = "all";
		root->kind = PROFILE_UNNAMED;
		tree_write(&p, root, title);
		err = out->failed ? -ENOMEM : 0;
	}
	node_free(root);
	return err;
}
