/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects the attributes of a span and the texts that it points to. One builder makes one span
 * after the other; a span is valid until the next one is begun.
 */
#ifndef ANSWER_SPAN_BUILDER_H
#define ANSWER_SPAN_BUILDER_H

#include "base/map.h"
#include "base/vec.h"
#include "map/partial.h"
#include "span/span.h"
#include "symbol/symbolizer.h"

struct span_builder {
	const struct partial *p;
	const struct tree *tree;
	const char *host;
	struct symbolizer *symbolizer; /* made when the first stack is shown; owned */
	struct span span;
	VEC(struct attribute *) attributes; /* owned: the array of each event */
	struct event *events;		    /* owned */
	VEC(char *) texts;		    /* owned */
	VEC(struct attribute) current;	    /* attributes of the span or event that is made now */
	struct map formats;		    /* event id -> struct event_format, owned */
	bool failed;			    /* the memory ran out */
};

/* Forgets the span, so that the next one can be made. */
void builder_reset(struct span_builder *b);

/* Frees all that a builder owns. */
void builder_free(struct span_builder *b);

/*
 * A text that lives as long as the span: formatted, or a copy. "" if the memory ran out, with
 * `failed` set.
 */
__attribute__((format(printf, 2, 3))) const char *builder_text(struct span_builder *b,
							       const char *format, ...);
const char *builder_copy(struct span_builder *b, const char *of);

/* Adds an attribute to the span or event. Key and value must live as long as the span. */
void builder_string(struct span_builder *b, const char *key, const char *value);
void builder_integer(struct span_builder *b, const char *key, s64 value);
void builder_boolean(struct span_builder *b, const char *key, bool value);
void builder_real(struct span_builder *b, const char *key, double value);

/* True if the span or event has an attribute of that key already. */
bool builder_has(const struct span_builder *b, const char *key);

/* Adds an attribute that an application gave. A key that is given again replaces the value. */
void builder_given(struct span_builder *b, const struct span_attribute *a);

/*
 * Ends an event: moves the attributes collected so far into an array of their own, which lives as
 * long as the span. NULL if there are none, or if the memory ran out.
 */
const struct attribute *builder_take(struct span_builder *b, size_t *count);

#endif
