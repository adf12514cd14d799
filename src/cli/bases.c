/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "map/base.h"

/* A directory, or a copy of it, that is given twice has one base. */
static bool is_known(const struct bases *bases, size_t at)
{
	const struct recording_base *b = &bases->read[at];

	for (size_t i = 0; i < at; i++) {
		const struct recording_base *other = &bases->read[i];

		if (other->data && other->bytes == b->bytes &&
		    memcmp(other->data, b->data, b->bytes) == 0)
			return true;
	}
	return false;
}

int bases_open(struct bases *bases, const struct recording_base *given)
{
	bases->given = given;
	if (given)
		return 0;
	bases->read = calloc(bases->count + 1, sizeof(*bases->read));
	if (!bases->read)
		return -ENOMEM;
	for (size_t i = 0; i < bases->count; i++) {
		struct error e = {0};
		int err = recording_base_read(bases->dirs[i], NULL, &bases->read[i], &e);

		if (err == -ENOMEM)
			return err;
		if (!err && is_known(bases, i))
			recording_base_free(&bases->read[i]);
		if (err && err != -ENOENT && err != -ENOTDIR && !bases->quiet)
			fprintf(stderr, "fathom: %s\n", e.text);
	}
	return 0;
}

void bases_close(struct bases *bases)
{
	for (size_t i = 0; bases->read && i < bases->count; i++)
		recording_base_free(&bases->read[i]);
	free(bases->read);
	bases->read = NULL;
}

static bool lies_in(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	while (len > 1 && dir[len - 1] == '/')
		len--;
	return strncmp(path, dir, len) == 0 && path[len] == '/';
}

/* Whether this chunk is the first of what lies in a directory, of several. */
static bool begins_in(const struct recording_info *info, size_t at, const char *dir)
{
	for (size_t i = 0; i < at; i++)
		if (lies_in(info->chunks[i].path, dir))
			return false;
	return lies_in(info->chunks[at].path, dir);
}

/*
 * Whether a base can stand before the chunk `at`, and which is the first from there on that it
 * does not stand for; it stands for none that lies elsewhere.
 */
static bool base_fits(const struct recording_base *base, const char *dir,
		      const struct recording_info *info, size_t at, size_t *next)
{
	size_t n = at;

	while (n < info->chunk_count && info->chunks[n].end_ns <= base->end_ns &&
	       lies_in(info->chunks[n].path, dir))
		n++;
	if (n == info->chunk_count || info->chunks[n].begin_ns < base->end_ns)
		return false;
	*next = n;
	return true;
}

static void tell_unusable(const struct bases *bases, const char *dir, int err)
{
	if (!bases->quiet)
		fprintf(stderr,
			"fathom: the base of %s %s: names that only deleted chunks had are not "
			"known\n",
			dir, err == -EPROTO ? "is of another version of fathom" : "is damaged");
}

/*
 * *out is NULL if it cannot be used, which is told: then names of before are not known. 0 or
 * -ENOMEM.
 */
static int base_take(const struct bases *bases, const struct recording_base *base, const char *dir,
		     struct partial_options options, struct partial **out)
{
	int err;

	*out = NULL;
	if (options.from_ns < base->end_ns)
		options.from_ns = base->end_ns;
	err = base_read(out, base->data, base->bytes, &options);
	if (err && err != -ENOMEM)
		tell_unusable(bases, dir, err);
	return err == -ENOMEM ? err : 0;
}

/* That of a directory; one that cannot be used is there no more. */
static int base_take_of(struct bases *bases, size_t i, const struct partial_options *options,
			struct partial **out)
{
	int err = base_take(bases, &bases->read[i], bases->dirs[i], *options, out);

	if (!err && !*out)
		recording_base_free(&bases->read[i]);
	return err;
}

static void tell_left_out(const struct bases *bases, const char *dir)
{
	if (!bases->quiet)
		fprintf(stderr,
			"fathom: the base of %s is left out, since chunks lie in its time: names "
			"that only deleted chunks had are not known\n",
			dir);
}

static bool is_of(const struct recording_base *base, const struct recording_info *info)
{
	return base->data && strcmp(base->boot_id, info->boot_id) == 0;
}

/* That of a caller, which leaves at least one chunk to be mapped. */
static int begin_with_given(struct bases *bases, const struct recording_info *info,
			    const struct partial_options *options, struct partial **out,
			    size_t *first)
{
	int err = base_take(bases, bases->given, "the recorder", *options, out);

	if (err || !*out)
		return err;
	while (*first + 1 < info->chunk_count &&
	       info->chunks[*first].end_ns <= bases->given->end_ns)
		++*first;
	return 0;
}

int bases_begin(struct bases *bases, const struct recording_info *info,
		const struct partial_options *options, struct partial **out, size_t *first)
{
	struct partial *p = NULL;
	size_t next = 0;
	int err = bases->given ? begin_with_given(bases, info, options, &p, &next) : 0;

	for (bases->begun = 0; bases->read && bases->begun < bases->count; bases->begun++) {
		const struct recording_base *base = &bases->read[bases->begun];
		const char *dir = bases->dirs[bases->begun];

		if (!is_of(base, info) || !base_fits(base, dir, info, 0, &next))
			continue;
		err = base_take_of(bases, bases->begun, options, &p);
		if (err)
			return err;
		if (p)
			break;
		next = 0;
	}
	if (err)
		return err;
	if (!p)
		p = partial_new(options);
	if (!p)
		return -ENOMEM;
	*out = p;
	*first = next;
	return 0;
}

/* Takes `base`, which is freed by all means. */
static int base_join(struct partial *into, struct partial *base, u64 covered_ns, u64 at_ns)
{
	int err = base_follow(base, covered_ns, at_ns);

	if (err) {
		partial_free(base);
		return err;
	}
	return partial_merge(into, base);
}

int bases_insert(struct bases *bases, struct recording *recording, size_t at, struct partial *into,
		 u64 *covered_ns)
{
	const struct recording_info *info = recording_info(recording);

	for (size_t i = 0; bases->read && i < bases->count; i++) {
		const struct recording_base *base = &bases->read[i];
		struct partial *p = NULL;
		size_t next = at;
		bool fits;
		int err;

		if (i == bases->begun || !is_of(base, info) || !begins_in(info, at, bases->dirs[i]))
			continue;
		fits = base_fits(base, bases->dirs[i], info, at, &next);
		err = base_take_of(bases, i, &into->options, &p);
		if (err)
			return err;
		if (!p)
			continue;
		if (!fits || p->from_ns < *covered_ns) {
			partial_free(p);
			tell_left_out(bases, bases->dirs[i]);
			continue;
		}
		err = base_join(into, p, *covered_ns, base->end_ns);
		if (err)
			return err;
		*covered_ns = base->end_ns;
		return recording_pass_over(recording, at, next - at);
	}
	return 0;
}
