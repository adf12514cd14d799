/* SPDX-License-Identifier: Apache-2.0 */
/* Partial files: sets of chunks that merge in any order, and bytes that are not trusted. */
#include "map/file/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "check.h"
#include "map/answers.h"
#include "map/checkpoint/checkpoint.h"
#include "seeds.h"

#define PIECES 7

static const struct partial_terms with_spans = {.spans = true};

/* A simulation that is cut into chunks of one length. */
struct recorded {
	struct simulation s;
	u64 cuts_ns[PIECES + 1];
};

static void record(struct recorded *r, u64 seed)
{
	simulate(&r->s, seed, 5, 40);
	for (int i = 0; i <= PIECES; i++)
		r->cuts_ns[i] = r->s.from_ns + (r->s.to_ns - r->s.from_ns) * (u64)i / PIECES;
}

/* What a chunk says, of the pieces [i, i + n). covered_ns: to where those before it cover. */
static struct partial *piece_map(const struct recorded *r, int i, int n, u64 covered_ns,
				 const struct partial_options *options)
{
	struct partial *p = partial_new(options);
	u64 from = r->cuts_ns[i], to = r->cuts_ns[i + n];
	struct simulated_piece piece = {.begin_ns = from};
	struct record_gap gap = {.head = {.kind = RECORD_gap, .time_ns = from},
				 .begin_ns = covered_ns};

	if (covered_ns && covered_ns < from)
		CHECK_EQ(partial_apply(p, &gap.head), 0);
	for (int k = 0; k < SIMULATED_STREAMS; k++) {
		piece.from_ns[k] = piece.losses_from[k] = from;
		piece.to_ns[k] = piece.losses_to[k] = i + n == PIECES ? UINT64_MAX : to;
	}
	map_piece(&r->s, p, &piece);
	partial_cover(p, from, to);
	return p;
}

static struct chunk_info info_of(const struct recorded *r, int i, int n)
{
	struct chunk_info info = {.path = "/nowhere",
				  .host = "host",
				  .boot_id = "boot",
				  .seq = (u64)i,
				  .begin_ns = r->cuts_ns[i],
				  .end_ns = r->cuts_ns[i + n],
				  .begun_ns = r->cuts_ns[i],
				  .complete_ns = r->cuts_ns[i + n],
				  .state = CHUNK_SEALED,
				  .clock = {.monotonic_ns = r->cuts_ns[i], .unix_ns = 7}};

	info.identity[0] = (u8)(i + 1);
	info.identity[1] = (u8)n;
	return info;
}

static struct partial_file *file_of(const struct recorded *r, int i, int n)
{
	struct partial_file *file = partial_file_new(&with_spans);
	struct partial_options options = partial_file_options(file);
	struct chunk_info info = info_of(r, i, n);
	struct chunk_lost lost = {.buffer = (u64)i};

	CHECK_EQ(partial_file_add(file, &info, &lost, piece_map(r, i, n, 0, &options), NULL), 0);
	return file;
}

static struct bytes packed(struct partial_file *file)
{
	struct bytes bytes = {0};

	CHECK_EQ(partial_file_pack(file, &bytes), 0);
	partial_file_free(file);
	return bytes;
}

static struct partial_file *parsed(const struct bytes *bytes)
{
	const struct partial_options options = {.spans = true, .hits = true};
	struct partial_file *file = NULL;

	CHECK_EQ(partial_file_parse(&file, bytes->data, bytes->count, &options), 0);
	return file;
}

static bool is_same(const struct bytes *a, const struct bytes *b)
{
	return a->count == b->count && memcmp(a->data, b->data, a->count) == 0;
}

/* Merges files of one piece each, of those in `with`, in a random order. */
static struct partial_file *merged(struct recorded *r, const bool with[PIECES])
{
	struct partial_file *files[PIECES];
	int n = 0;

	for (int i = 0; i < PIECES; i++)
		if (with[i])
			files[n++] = file_of(r, i, 1);
	while (n > 1) {
		int to = (int)simulation_random(&r->s, (u64)n);
		int from = (int)simulation_random(&r->s, (u64)n);

		if (to == from)
			continue;
		CHECK_EQ(partial_file_merge(files[to], files[from], NULL), 0);
		if (simulation_random(&r->s, 2)) {
			struct bytes bytes = packed(files[to]);

			files[to] = parsed(&bytes);
			bytes_free(&bytes);
		}
		files[from] = files[--n];
	}
	return files[0];
}

static const bool all[PIECES] = {true, true, true, true, true, true, true};

TEST(any_order_of_merges_gives_the_same_bytes)
{
	for (u64 seed = 1; seed <= seeds_of(20); seed++) {
		struct recorded r = {0};
		bool with[PIECES];
		struct bytes first;

		record(&r, seed);
		for (int i = 0; i < PIECES; i++)
			with[i] = i == 3 || simulation_random(&r.s, 4);
		first = packed(merged(&r, with));
		for (int i = 0; i < 4; i++) {
			struct bytes again = packed(merged(&r, with));

			CHECK(is_same(&first, &again));
			bytes_free(&again);
		}
		bytes_free(&first);
		simulation_free(&r.s);
	}
}

TEST(neighbours_are_one_run_once_both_are_there)
{
	struct recorded r = {0};
	struct partial_file *file;

	record(&r, 1);
	file = file_of(&r, 0, 1);
	CHECK_EQ(partial_file_merge(file, file_of(&r, 2, 1), NULL), 0);
	CHECK_EQ(file->boots.data[0]->runs.count, 2);
	CHECK_EQ(partial_file_merge(file, file_of(&r, 1, 1), NULL), 0);
	CHECK_EQ(file->boots.data[0]->runs.count, 1);
	CHECK_EQ(partial_file_chunks(file), 3);
	partial_file_free(file);
	simulation_free(&r.s);
}

/* As a recording is read from its chunks, of which some are missing. */
static char *read_in_order(const struct recorded *r, const bool with[PIECES])
{
	const struct partial_options options = {.spans = true, .hits = true};
	struct partial *p = NULL;
	u64 covered_ns = 0;

	for (int i = 0; i < PIECES; i++) {
		struct partial *more = with[i] ? piece_map(r, i, 1, covered_ns, &options) : NULL;

		if (!more)
			continue;
		covered_ns = r->cuts_ns[i + 1];
		if (p)
			CHECK_EQ(partial_merge(p, more), 0);
		else
			p = more;
	}
	return answers(p, &r->s);
}

static char *answers_of(struct partial_file *file, const struct recorded *r)
{
	const struct partial_options options = {.spans = true, .hits = true};
	struct partial_joined joined;

	CHECK_EQ(partial_file_join(file, file->boots.data[0], &options, &joined, NULL), 0);
	partial_file_free(file);
	return answers(joined.partial, &r->s);
}

TEST(a_file_answers_as_its_chunks_do)
{
	for (u64 seed = 1; seed <= seeds_of(40); seed++) {
		struct recorded r = {0};
		bool with[PIECES];
		char *chunks, *file;

		record(&r, seed);
		simulation_lose(&r.s, seed % 3 == 0 ? 3 : 0);
		for (int i = 0; i < PIECES; i++)
			with[i] = seed % 2 || i == 3 || simulation_random(&r.s, 3);
		chunks = read_in_order(&r, with);
		file = answers_of(merged(&r, with), &r);
		CHECK_ANSWERS(chunks, file, seed, 0);
		free(chunks);
		free(file);
		simulation_free(&r.s);
	}
}

/* ---- sets ---- */

static struct recorded of_sets;

static struct partial_file *set_of(const char *pieces)
{
	bool with[PIECES] = {false};

	if (!of_sets.s.to_ns)
		record(&of_sets, 5);
	for (; *pieces; pieces++)
		with[*pieces - '0'] = true;
	return merged(&of_sets, with);
}

static void check_merge(const char *left, const char *right, const char *both)
{
	struct partial_file *file = set_of(left);
	struct bytes is, should = packed(set_of(both));

	CHECK_EQ(partial_file_merge(file, set_of(right), NULL), 0);
	is = packed(file);
	CHECK(is_same(&is, &should));
	bytes_free(&is);
	bytes_free(&should);
}

TEST(a_set_within_another_adds_nothing)
{
	check_merge("0123", "12", "0123");
	check_merge("12", "0123", "0123");
	check_merge("024", "024", "024");
	check_merge("0246", "26", "0246");
}

TEST(disjoint_sets_join)
{
	check_merge("024", "135", "012345");
	check_merge("6", "0", "06");
}

TEST(sets_that_overlap_are_refused_with_the_chunk_that_they_share)
{
	struct partial_file *file = set_of("012");
	struct error e = {0};

	CHECK_EQ(partial_file_merge(file, set_of("234"), &e), -EEXIST);
	CHECK(strstr(e.text, "-000002")); /* the end of its name */
	CHECK(!strchr(e.text, '\n'));
	partial_file_free(file);
}

TEST(chunks_of_one_time_are_refused)
{
	struct partial_file *file = set_of("012");
	struct error e = {0};

	CHECK_EQ(partial_file_merge(file, file_of(&of_sets, 2, 2), &e), -EEXIST);
	CHECK(strstr(e.text, "overlap in time"));
	partial_file_free(file);
}

TEST(files_that_were_mapped_otherwise_are_refused)
{
	static const struct partial_terms others[] = {{0}, {.spans = true, .from_ns = 5}};

	for (int i = 0; i < 2; i++) {
		struct partial_file *file = set_of("0");
		struct error e = {0};

		CHECK_EQ(partial_file_merge(file, partial_file_new(&others[i]), &e), -EINVAL);
		CHECK(strstr(e.text, i ? "--from" : "--spans"));
		partial_file_free(file);
	}
}

TEST(boots_stay_apart)
{
	struct partial_file *file = set_of("01"), *other = set_of("23");
	struct bytes bytes;

	strcpy(other->boots.data[0]->boot_id, "another boot");
	CHECK_EQ(partial_file_merge(file, other, NULL), 0);
	CHECK_EQ(file->boots.count, 2);
	CHECK_STR(file->boots.data[0]->boot_id, "another boot");
	bytes = packed(file);
	file = parsed(&bytes);
	CHECK_EQ(file->boots.count, 2);
	CHECK_EQ(partial_file_chunks(file), 4);
	partial_file_free(file);
	bytes_free(&bytes);
}

/* ---- chunks that cannot be read ---- */

TEST(an_unread_chunk_is_listed_and_joins_nothing)
{
	struct partial_file *file = set_of("0"), *unread = partial_file_new(&with_spans);
	struct chunk_info info = info_of(&of_sets, 1, 1);
	struct chunk_lost lost = {.damaged = 9};
	struct bytes bytes;

	CHECK_EQ(partial_file_add(unread, &info, &lost, NULL, NULL), 0);
	CHECK_EQ(partial_file_merge(file, unread, NULL), 0);
	CHECK_EQ(partial_file_merge(file, set_of("2"), NULL), 0);
	CHECK_EQ(file->boots.data[0]->runs.count, 3);
	bytes = packed(file);
	file = parsed(&bytes);
	CHECK(file->boots.data[0]->runs.data[1]->chunks.data[0].unread);
	CHECK_EQ(file->boots.data[0]->runs.data[1]->chunks.data[0].lost.damaged, 9);
	partial_file_free(file);
	bytes_free(&bytes);
}

TEST(one_who_could_read_a_chunk_knows_more)
{
	struct partial_file *unread = partial_file_new(&with_spans);
	struct chunk_info info = info_of(&of_sets, 1, 1);
	struct chunk_lost lost = {0};
	struct bytes is, should = packed(set_of("1"));

	CHECK_EQ(partial_file_add(unread, &info, &lost, NULL, NULL), 0);
	CHECK_EQ(partial_file_merge(unread, set_of("1"), NULL), 0);
	is = packed(unread);
	CHECK(is_same(&is, &should));
	bytes_free(&is);
	bytes_free(&should);
}

TEST(a_chunk_without_a_time_is_refused)
{
	struct partial_file *file = partial_file_new(&with_spans);
	struct partial_options options = partial_file_options(file);
	struct chunk_info info = {.path = "the/chunk"};
	struct chunk_lost lost = {0};
	struct error e = {0};

	CHECK_EQ(partial_file_add(file, &info, &lost, partial_new(&options), &e), -EINVAL);
	CHECK(strstr(e.text, "the/chunk"));
	partial_file_free(file);
}

/* ---- checkpoints ---- */

/* The state at the begin of piece `at`. */
static struct recording_checkpoint checkpoint_at(const struct recorded *r, int at)
{
	const struct partial_options state = {.state_only = true};
	struct recording_checkpoint checkpoint = {.boot_id = "boot", .end_ns = r->cuts_ns[at]};
	struct partial *p = piece_map(r, 0, at, 0, &state);
	struct bytes bytes = {0};

	CHECK_EQ(checkpoint_write(p, &bytes), 0);
	partial_free(p);
	checkpoint.data = bytes.data;
	checkpoint.bytes = bytes.count;
	return checkpoint;
}

static struct partial_file *file_behind(struct recorded *r, int at)
{
	struct recording_checkpoint checkpoint = checkpoint_at(r, at);
	bool with[PIECES];
	struct partial_file *file;

	for (int i = 0; i < PIECES; i++)
		with[i] = i >= at;
	file = merged(r, with);
	CHECK_EQ(partial_file_add_checkpoint(file, &checkpoint), 0);
	recording_checkpoint_free(&checkpoint);
	return file;
}

TEST(an_answer_begins_with_a_checkpoint)
{
	for (u64 seed = 1; seed <= seeds_of(20); seed++) {
		struct recorded r = {0};
		struct partial_options options = {.spans = true, .hits = true};
		struct partial_joined joined;
		struct recording_checkpoint checkpoint;
		struct partial_file *file;
		struct partial *p;
		char *direct, *by_file;

		record(&r, seed);
		options.from_ns = r.cuts_ns[3];
		checkpoint = checkpoint_at(&r, 3);
		CHECK_EQ(checkpoint_read(&p, checkpoint.data, checkpoint.bytes, &options), 0);
		recording_checkpoint_free(&checkpoint);
		CHECK_EQ(partial_merge(p, piece_map(&r, 3, PIECES - 3, 0, &options)), 0);
		direct = answers(p, &r.s);
		file = file_behind(&r, 3);
		CHECK_EQ(partial_file_join(file, file->boots.data[0], &options, &joined, NULL), 0);
		by_file = answers(joined.partial, &r.s);
		partial_file_free(file);
		CHECK_ANSWERS(direct, by_file, seed, 0);
		free(direct);
		free(by_file);
		simulation_free(&r.s);
	}
}

TEST(a_checkpoint_is_dropped_where_chunks_of_its_time_are)
{
	struct recorded r = {0};
	struct partial_file *file;
	bool before[PIECES] = {true, true, true};
	char *with, *without;

	record(&r, 3);
	file = file_behind(&r, 3);
	CHECK_EQ(partial_file_merge(file, merged(&r, before), NULL), 0);
	CHECK_EQ(file->boots.data[0]->runs.count, 1);
	CHECK_EQ(file->boots.data[0]->checkpoints.count, 1); /* for as long as files merge */
	with = answers_of(file, &r);
	without = answers_of(merged(&r, all), &r);
	CHECK_STR(with, without);
	free(with);
	free(without);
	simulation_free(&r.s);
}

TEST(a_checkpoint_that_is_there_twice_is_one)
{
	struct recorded r = {0};
	struct bytes once, twice;
	struct partial_file *file;

	record(&r, 4);
	once = packed(file_behind(&r, 3));
	file = file_behind(&r, 3);
	CHECK_EQ(partial_file_merge(file, file_behind(&r, 3), NULL), 0);
	twice = packed(file);
	CHECK(is_same(&once, &twice));
	bytes_free(&once);
	bytes_free(&twice);
	simulation_free(&r.s);
}

TEST(a_checkpoint_that_is_damaged_is_told_and_left_out)
{
	struct recorded r = {0};
	struct partial_file *file;
	struct partial_options options = {.spans = true, .hits = true};
	struct partial_joined joined;
	struct error e = {0};

	record(&r, 4);
	file = file_behind(&r, 3);
	((char *)file->boots.data[0]->checkpoints.data[0].data)[0] ^= 1;
	CHECK_EQ(partial_file_join(file, file->boots.data[0], &options, &joined, &e), 0);
	CHECK(strstr(e.text, "checkpoint is damaged"));
	partial_free(joined.partial);
	partial_file_free(file);
	simulation_free(&r.s);
}

/* ---- distrust ---- */

static int parse(const struct bytes *bytes, size_t count)
{
	const struct partial_options options = {.spans = true, .hits = true};
	struct partial_file *file = NULL;
	int err = partial_file_parse(&file, bytes->data, count, &options);

	partial_file_free(file);
	return err;
}

static void sum_again(struct bytes *bytes)
{
	u32 crc = crc32c(0, bytes->data + 12, bytes->count - 12);

	memcpy(bytes->data + 8, &crc, sizeof(crc));
}

TEST(damage_in_any_byte_is_refused)
{
	struct bytes bytes = packed(set_of("02"));

	for (size_t i = 0; i < bytes.count; i += 1 + bytes.count / 997) {
		bytes.data[i] ^= 0x10;
		CHECK_EQ(parse(&bytes, bytes.count), -EBADMSG);
		bytes.data[i] ^= 0x10;
	}
	CHECK_EQ(parse(&bytes, bytes.count), 0);
	bytes_free(&bytes);
}

TEST(a_file_that_was_cut_off_is_refused)
{
	struct bytes bytes = packed(set_of("0"));

	for (size_t i = 0; i < bytes.count; i += 1 + i / 8)
		CHECK_EQ(parse(&bytes, i), -EBADMSG);
	bytes_free(&bytes);
}

/* Whoever writes the damage may sum it up, too: what is read then is a valid partial. */
TEST(hostile_bytes_are_refused_or_answered)
{
	struct bytes whole = packed(set_of("02"));
	size_t answered = 0;

	for (unsigned long i = 0; i < seeds_of(4000); i++) {
		const struct partial_options options = {.spans = true, .hits = true};
		struct bytes bytes = {0};
		struct partial_file *file = NULL;
		struct partial_joined joined;

		bytes_put(&bytes, whole.data, whole.count);
		bytes.data[20 + simulation_random(&of_sets.s, whole.count - 20)] =
			(u8)simulation_random(&of_sets.s, 256);
		sum_again(&bytes);
		if (partial_file_parse(&file, bytes.data, bytes.count, &options) == 0 &&
		    partial_file_join(file, file->boots.data[0], &options, &joined, NULL) == 0) {
			answered += partial_finish(joined.partial) == 0;
			partial_free(joined.partial);
		}
		partial_file_free(file);
		bytes_free(&bytes);
	}
	CHECK(answered > 100);
	bytes_free(&whole);
}

TEST(another_version_is_told_apart_from_damage)
{
	for (int at = 12; at < 20; at += 4) {
		struct bytes bytes = packed(set_of("0"));

		bytes.data[at]++;
		sum_again(&bytes);
		CHECK_EQ(parse(&bytes, bytes.count), -EPROTO);
		bytes_free(&bytes);
	}
}

/* ---- by path ---- */

static char path[64];

static void path_make(void)
{
	strcpy(path, "/tmp/fathom-partial-XXXXXX");
	close(mkstemp(path));
}

TEST(a_file_is_replaced_and_read)
{
	const struct partial_options options = {.spans = true, .hits = true};
	struct partial_file *file = set_of("01");
	struct bytes is, should = packed(set_of("01"));
	struct error e = {0};

	path_make();
	CHECK_EQ(partial_file_write(file, path, &e), 0);
	partial_file_free(file);
	CHECK_EQ(partial_file_read(&file, path, &options, &e), 0);
	is = packed(file);
	CHECK(is_same(&is, &should));
	unlink(path);
	bytes_free(&is);
	bytes_free(&should);
}

TEST(what_is_no_partial_says_so)
{
	const struct partial_options options = {0};
	struct partial_file *file;
	struct error e = {0};

	path_make();
	CHECK_EQ(partial_file_read(&file, path, &options, &e), -EBADMSG);
	CHECK(strstr(e.text, path) && strstr(e.text, "is no partial file"));
	unlink(path);
}

TEST(a_link_is_read_but_not_replaced)
{
	const struct partial_options options = {0};
	struct partial_file *file = set_of("0");
	struct error e = {0};
	char link[64];

	path_make();
	snprintf(link, sizeof(link), "%s.link", path);
	CHECK_EQ(symlink(path, link), 0);
	CHECK_EQ(partial_file_write(file, link, &e), -EINVAL);
	CHECK(strstr(e.text, "it is a symbolic link") != NULL);
	CHECK_EQ(partial_file_write(file, path, NULL), 0);
	partial_file_free(file);
	CHECK_EQ(partial_file_read(&file, link, &options, NULL), 0);
	partial_file_free(file);
	unlink(link);
	unlink(path);
}

TEST(what_is_no_file_is_not_replaced)
{
	static const struct {
		const char *path;
		int err;
	} cases[] = {{"/dev/null", -EINVAL},
		     {"/tmp", -EISDIR},
		     {"new/", -EISDIR},
		     {"", -ENOENT},
		     {"/nowhere/new", -ENOENT}};
	struct partial_target target;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQ(partial_target_open(&target, cases[i].path, NULL), cases[i].err);
}

TEST(what_is_no_file_is_not_read)
{
	const struct partial_options options = {0};
	struct partial_file *file;
	struct error e = {0};

	CHECK_EQ(partial_file_read(&file, "/dev/null", &options, &e), -EINVAL);
	CHECK(strstr(e.text, "it is a device") != NULL);
}

/* All names of the directory but two: `.` and `..`. */
static int names_count(const char *dir)
{
	struct dirent **names;
	int count = scandir(dir, &names, NULL, NULL);

	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
	return count - 2;
}

static void check_target(bool nameless)
{
	struct partial_file *file = set_of("0");
	struct partial_target target;
	char dir[] = "/tmp/fathom-target-XXXXXX", name[64];

	CHECK(mkdtemp(dir) != NULL);
	snprintf(name, sizeof(name), "%s/new", dir);
	CHECK_EQ(partial_target_open(&target, name, NULL), 0);
	if (!nameless && target.fd >= 0) {
		close(target.fd);
		target.fd = -EOPNOTSUPP;
	}
	CHECK_EQ(names_count(dir), 0);
	CHECK_EQ(partial_target_write(&target, file, NULL), 0);
	partial_target_close(&target);
	CHECK_EQ(names_count(dir), 1);
	CHECK_EQ(access(name, R_OK), 0);
	partial_file_free(file);
	unlink(name);
	rmdir(dir);
}

TEST(a_target_has_no_name_until_it_is_written)
{
	check_target(true);
	check_target(false);
}

TEST_MAIN()
