/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The merge law on the way through bytes, over simulated threads: pieces that are written, read
 * and merged in any grouping give the same bytes, and the answers of the whole.
 */
#include "map/answers.h"

#include <stdlib.h>

#include "check.h"
#include "map/file/whole.h"
#include "seeds.h"

static struct bytes written(struct partial *p)
{
	struct bytes bytes = {0};

	CHECK_EQ(partial_write(p, &bytes), 0);
	partial_free(p);
	return bytes;
}

static struct partial *read_back(const struct simulation *s, const struct bytes *bytes)
{
	const struct partial_options options = {
		.spans = true, .hits = true, .from_ns = s->limit_from_ns, .to_ns = s->limit_to_ns};
	struct partial *p;

	CHECK_EQ(partial_read(&p, bytes->data, bytes->count, &options), 0);
	return p;
}

/* Merges the pieces in a random grouping, now and then by way of bytes. */
static struct bytes merged(struct simulation *s, const struct bytes *pieces, int n)
{
	struct partial *p[SIMULATED_PIECES];

	for (int i = 0; i < n; i++)
		p[i] = read_back(s, &pieces[i]);
	while (n > 1) {
		int i = (int)simulation_random(s, (u64)n - 1);

		CHECK_EQ(partial_merge(p[i], p[i + 1]), 0);
		if (simulation_random(s, 2)) {
			struct bytes bytes = written(p[i]);

			p[i] = read_back(s, &bytes);
			bytes_free(&bytes);
		}
		memmove(&p[i + 1], &p[i + 2], (size_t)(n - i - 2) * sizeof(p[0]));
		n--;
	}
	return written(p[0]);
}

static size_t first_difference(const struct bytes *a, const struct bytes *b)
{
	size_t at = 0;

	while (at < a->count && at < b->count && a->data[at] == b->data[at])
		at++;
	return at == a->count && at == b->count ? SIZE_MAX : at;
}

static void check_groupings(struct simulation *s, u64 seed, const struct bytes *pieces, int n,
			    const char *whole)
{
	struct bytes first = merged(s, pieces, n);

	for (int i = 0; i < 4; i++) {
		struct bytes again = merged(s, pieces, n);
		size_t at = first_difference(&first, &again);
		char *text = answers(read_back(s, &again), s);

		CHECK_ANSWERS(whole, text, seed, i);
		if (at != SIZE_MAX)
			CHECK_FAIL("seed %llu: %zu and %zu bytes differ at %zu",
				   (unsigned long long)seed, first.count, again.count, at);
		free(text);
		bytes_free(&again);
	}
	bytes_free(&first);
}

typedef int pieces_fn(struct simulation *s, int cuts, struct partial *pieces[SIMULATED_PIECES]);

static void check_law(struct simulation *s, u64 seed, pieces_fn *map)
{
	char *whole = answers(map_range(s, 0, s->records.count), s);
	struct partial *p[SIMULATED_PIECES];
	struct bytes bytes[SIMULATED_PIECES];

	for (int i = 0; i < 3; i++) {
		int n = map(s, 1 + (int)simulation_random(s, 15), p);

		for (int k = 0; k < n; k++)
			bytes[k] = written(p[k]);
		check_groupings(s, seed, bytes, n, whole);
		for (int k = 0; k < n; k++)
			bytes_free(&bytes[k]);
	}
	free(whole);
}

TEST(any_grouping_gives_the_same_bytes)
{
	for (u64 seed = 1; seed <= seeds_of(40); seed++) {
		struct simulation s;

		simulate(&s, seed, 5, 40);
		check_law(&s, seed, map_pieces);
		simulation_free(&s);
	}
}

TEST(losses_and_filters_are_kept)
{
	for (u64 seed = 1; seed <= seeds_of(40); seed++) {
		struct simulation s;

		simulate_filtered(&s, seed, 5, 40, seed % 5 ? 0 : 1 + (u32)seed % 3);
		simulation_lose(&s, seed % 4 == 3 ? 6 : 1);
		simulation_mute(&s, seed % 5 == 2 ? 1 + (int)seed % 4 : 0);
		check_law(&s, seed, map_pieces);
		simulation_free(&s);
	}
}

TEST(a_range_is_kept)
{
	for (u64 seed = 1; seed <= seeds_of(20); seed++) {
		struct simulation s;

		simulate(&s, seed, 5, 40);
		s.limit_from_ns = s.from_ns + simulation_random(&s, s.to_ns - s.from_ns);
		if (seed % 2)
			s.limit_to_ns = s.limit_from_ns + 1 +
					simulation_random(&s, s.to_ns - s.limit_from_ns);
		check_law(&s, seed, map_pieces);
		simulation_free(&s);
	}
}

TEST(uneven_cuts_are_kept)
{
	for (u64 seed = 1; seed <= seeds_of(40); seed++) {
		struct simulation s;

		simulate(&s, seed, 5, 40);
		simulation_lose(&s, seed % 4 == 3 ? 6 : 0);
		check_law(&s, seed, map_pieces_streams);
		simulation_free(&s);
	}
}

TEST_MAIN()
