/* SPDX-License-Identifier: Apache-2.0 */
#include "chunk/manifest.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_list.h"
#include "base/crc32c.h"
#include "chunk/file.h"

static const char *const state_names[] = {
	[CHUNK_OPEN] = "open",
	[CHUNK_SEALED] = "sealed",
	[CHUNK_RECOVERED] = "recovered",
};

const char *chunk_state_name(enum chunk_state state)
{
	return state_names[state];
}

void chunk_lost_add(struct chunk_lost *lost, const struct record_lost *record)
{
	lost->uncounted += !record->count;
	switch (record->why) {
	case LOST_buffer:
		lost->buffer += record->count;
		break;
	case LOST_recursion:
		lost->recursion += record->count;
		break;
	case LOST_application:
		lost->application += record->count;
		break;
	default:
		lost->damaged += record->count;
		break;
	}
}

/* ---- names of files ---- */

/* A number has only one valid form. */
static const char *skip_number(const char *at)
{
	size_t n = strspn(at, "0123456789");

	return n >= 1 && n <= 10 && (n == 1 || *at != '0') ? at + n : NULL;
}

bool chunk_file_is_stream(const char *name)
{
	const char *end = NULL;

	if (strlen(name) >= CHUNK_FILE_NAME_BYTES)
		return false;
	if (strncmp(name, "cpu", 3) == 0)
		end = skip_number(name + 3);
	else if (strncmp(name, "app-", 4) == 0)
		end = skip_number(name + 4);
	else if (strncmp(name, "life", 4) == 0 || strncmp(name, "late", 4) == 0)
		end = name + 4;
	return end && (*end == '\0' || strcmp(end, ".zst") == 0);
}

bool chunk_file_is_compressed(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && strcmp(name + len - 4, ".zst") == 0;
}

/* A list that is too long is left out: then no stream counts as missing, either. */
void chunk_cpus_set(struct chunk_info *info, const char *list)
{
	bool plain = cpu_list_is_plain(list);

	if (!plain && strlen(list) >= sizeof(info->cpu_list))
		return;
	info->cpus = cpu_list_count(list);
	if (!plain)
		strcpy(info->cpu_list, list);
}

/* ---- writing ---- */

static void print_manifest(FILE *f, const struct manifest *m)
{
	const struct chunk_info *info = &m->info;

	fprintf(f, "fathom_chunk=%d\nidentity=", RECORD_CONTRACT_VERSION);
	for (int i = 0; i < 16; i++)
		fprintf(f, "%02x", info->identity[i]);
	fprintf(f, "\nhost=%s\nboot=%s\nseq=%" PRIu64, info->host, info->boot_id, info->seq);
	fprintf(f,
		"\nbegin_ns=%" PRIu64 "\nbegun_ns=%" PRIu64 "\ncomplete_ns=%" PRIu64
		"\nend_ns=%" PRIu64,
		info->begin_ns, info->begun_ns, info->complete_ns, info->end_ns);
	if (info->late_ns < info->begin_ns)
		fprintf(f, "\nlate_ns=%" PRIu64, info->late_ns);
	if (info->cpus)
		fprintf(f, "\ncpus=%" PRIu64, info->cpus);
	if (info->cpu_list[0])
		fprintf(f, "\ncpu_list=%s", info->cpu_list);
	if (info->missing[0])
		fprintf(f, "\nmissing=%s", info->missing);
	if (info->filters)
		fprintf(f, "\nfilters=%" PRIu64, info->filters);
	fprintf(f, "\nclock=%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, info->clock.monotonic_ns,
		info->clock.unix_ns, info->clock.boottime_ns, info->clock.error_ns);
	fprintf(f, "\nstate=%s\nevents=%" PRIu64, chunk_state_name(info->state), info->records);
	fprintf(f, "\nlost=%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, info->lost.buffer,
		info->lost.recursion, info->lost.application, info->lost.damaged);
	if (info->lost.uncounted)
		fprintf(f, "\nuncounted=%" PRIu64, info->lost.uncounted);
	fprintf(f, "\nincomplete=%" PRIu64 "\n", info->incomplete);
	for (size_t i = 0; i < m->file_count; i++) {
		const struct manifest_file *file = &m->files[i];

		fprintf(f, "file=%s %" PRIu64 " %08" PRIx32 " %" PRIu64 " %" PRIu64 "\n",
			file->name, file->bytes, file->crc, file->records, file->events);
	}
}

int manifest_write(int dir, const struct manifest *manifest, bool sync, struct error *e)
{
	char *text = NULL, *more;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int err = -ENOMEM;

	if (!f)
		return error_set(e, ENOMEM, "cannot write the manifest");
	print_manifest(f, manifest);
	if (fclose(f) == 0 && (more = realloc(text, len + 32))) {
		text = more;
		len += (size_t)snprintf(text + len, 32, "checksum=%08" PRIx32 "\n",
					crc32c(0, text, len));
		err = file_replace(dir, MANIFEST_NAME, text, len, sync);
	}
	free(text);
	return err ? error_set(e, err, "cannot write the manifest") : 0;
}

/* ---- reading ---- */

enum {
	HAS_VERSION = 1,
	HAS_IDENTITY = 2,
	HAS_HOST = 4,
	HAS_BOOT = 8,
	HAS_SEQ = 16,
	HAS_BEGIN = 32,
	HAS_END = 64,
	HAS_COMPLETE = 128,
	HAS_CLOCK = 256,
	HAS_STATE = 512,
	HAS_EVENTS = 1024,
	HAS_LOST = 2048,
	HAS_INCOMPLETE = 4096,
	HAS_BEGUN = 8192,
	HAS_ALL = 16383,
	HAS_LATE = 16384, /* optional */
	HAS_CPUS = 32768, /* optional, too */
	HAS_UNCOUNTED = 65536,
	HAS_FILTERS = 131072,
};

/* Reads numbers separated by one blank; false if their count differs. */
static bool parse_numbers(const char *text, uint64_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *end;

		if (!isdigit((unsigned char)*text))
			return false;
		errno = 0;
		numbers[i] = strtoull(text, &end, 10);
		if (errno || *end != (i + 1 == count ? '\0' : ' '))
			return false;
		text = end + 1;
	}
	return true;
}

static bool parse_identity(const char *text, uint8_t *identity)
{
	if (strlen(text) != 32 || strspn(text, "0123456789abcdef") != 32)
		return false;
	for (int i = 0; i < 16; i++) {
		char digits[3] = {text[0], text[1], '\0'};

		identity[i] = (uint8_t)strtoul(digits, NULL, 16);
		text += 2;
	}
	return true;
}

static bool parse_text(const char *text, char *to, size_t size)
{
	size_t len = strlen(text);

	if (len >= size)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!isgraph((unsigned char)text[i]))
			return false;
	}
	memcpy(to, text, len + 1);
	return true;
}

static bool parse_state(const char *text, enum chunk_state *state)
{
	for (int i = CHUNK_OPEN; i <= CHUNK_RECOVERED; i++) {
		if (strcmp(text, state_names[i]) == 0) {
			*state = (enum chunk_state)i;
			return true;
		}
	}
	return false;
}

static bool parse_file(const char *text, struct manifest *m)
{
	struct manifest_file file = {0}, *files;
	int end = 0;

	if (sscanf(text, "%31s %" SCNu64 " %" SCNx32 " %" SCNu64 " %" SCNu64 "%n", file.name,
		   &file.bytes, &file.crc, &file.records, &file.events, &end) < 5 ||
	    text[end] ||
	    (!chunk_file_is_stream(file.name) && strcmp(file.name, METADATA_NAME) != 0))
		return false;
	/* the capacity is the next power of two */
	if ((m->file_count & (m->file_count - 1)) == 0) {
		size_t capacity = m->file_count ? 2 * m->file_count : 1;

		files = realloc(m->files, capacity * sizeof(*files));
		if (!files)
			return false;
		m->files = files;
	}
	m->files[m->file_count++] = file;
	return true;
}

/* Reads a key with one number. 1: valid, 0: invalid, -1: another key. */
static int parse_plain(const char *key, const char *value, struct chunk_info *info,
		       unsigned int *has)
{
	const struct {
		const char *key;
		unsigned int bit;
		uint64_t *to;
	} plain[] = {
		{"seq", HAS_SEQ, &info->seq},
		{"begin_ns", HAS_BEGIN, &info->begin_ns},
		{"end_ns", HAS_END, &info->end_ns},
		{"begun_ns", HAS_BEGUN, &info->begun_ns},
		{"complete_ns", HAS_COMPLETE, &info->complete_ns},
		{"late_ns", HAS_LATE, &info->late_ns},
		{"cpus", HAS_CPUS, &info->cpus},
		{"events", HAS_EVENTS, &info->records},
		{"incomplete", HAS_INCOMPLETE, &info->incomplete},
		{"uncounted", HAS_UNCOUNTED, &info->lost.uncounted},
		{"filters", HAS_FILTERS, &info->filters},
	};

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		if (strcmp(key, plain[i].key) == 0) {
			*has |= plain[i].bit;
			return parse_numbers(value, plain[i].to, 1);
		}
	}
	return -1;
}

/* Parses one line, and adds its key to *has. */
static bool parse_line(const char *key, const char *value, struct manifest *m, unsigned int *has)
{
	struct chunk_info *info = &m->info;
	int right = parse_plain(key, value, info, has);
	uint64_t numbers[4];

	if (right >= 0)
		return right;
	if (strcmp(key, "fathom_chunk") == 0) {
		*has |= HAS_VERSION;
		return parse_numbers(value, numbers, 1);
	}
	if (strcmp(key, "identity") == 0) {
		*has |= HAS_IDENTITY;
		return parse_identity(value, info->identity);
	}
	if (strcmp(key, "host") == 0) {
		*has |= HAS_HOST;
		return parse_text(value, info->host, sizeof(info->host));
	}
	if (strcmp(key, "boot") == 0) {
		*has |= HAS_BOOT;
		return parse_text(value, info->boot_id, sizeof(info->boot_id));
	}
	if (strcmp(key, "state") == 0) {
		*has |= HAS_STATE;
		return parse_state(value, &info->state);
	}
	if (strcmp(key, "cpu_list") == 0)
		return parse_text(value, info->cpu_list, sizeof(info->cpu_list)) &&
		       cpu_list_count(info->cpu_list);
	if (strcmp(key, "missing") == 0)
		return parse_text(value, info->missing, sizeof(info->missing));
	if (strcmp(key, "clock") == 0) {
		*has |= HAS_CLOCK;
		if (!parse_numbers(value, numbers, 4))
			return false;
		info->clock = (struct chunk_clock){numbers[0], numbers[1], numbers[2], numbers[3]};
	} else if (strcmp(key, "lost") == 0) {
		*has |= HAS_LOST;
		if (!parse_numbers(value, numbers, 4))
			return false;
		info->lost.buffer = numbers[0];
		info->lost.recursion = numbers[1];
		info->lost.application = numbers[2];
		info->lost.damaged = numbers[3];
	} else if (strcmp(key, "file") == 0) {
		return parse_file(value, m);
	}
	return true;
}

/* Removes the last line if it is the valid checksum of the text before it. */
static bool check_checksum(char *text, size_t len)
{
	static const char key[] = "checksum=";
	const size_t line = sizeof(key) - 1 + 8 + 1;
	char digits[9], should[9];

	if (len < line || strlen(text) != len ||
	    memcmp(text + len - line, key, sizeof(key) - 1) != 0 || text[len - 1] != '\n')
		return false;
	memcpy(digits, text + len - 9, 8);
	digits[8] = '\0';
	text[len - line] = '\0';
	snprintf(should, sizeof(should), "%08" PRIx32, crc32c(0, text, len - line));
	return strcmp(digits, should) == 0;
}

/* The version of the contract in the text; 0 if there is none. */
static unsigned long version_of(const char *text)
{
	static const char key[] = "fathom_chunk=";

	return strncmp(text, key, sizeof(key) - 1) ? 0 : strtoul(text + sizeof(key) - 1, NULL, 10);
}

static bool times_possible(const struct chunk_info *info)
{
	return info->begin_ns <= info->end_ns && info->end_ns < RECORD_TIME_END_NS &&
	       info->begun_ns < RECORD_TIME_END_NS && info->complete_ns < RECORD_TIME_END_NS &&
	       info->late_ns < RECORD_TIME_END_NS;
}

/* Names have no other dot: a file and its compressed form are the same stream. */
static int compare_files(const void *a, const void *b)
{
	const struct manifest_file *x = a, *y = b;
	size_t nx = strcspn(x->name, "."), ny = strcspn(y->name, ".");

	return nx != ny ? (nx > ny) - (nx < ny) : memcmp(x->name, y->name, nx);
}

/* A file that is listed twice would count twice. */
static bool is_listed_twice(struct manifest *m)
{
	if (m->file_count)
		qsort(m->files, m->file_count, sizeof(*m->files), compare_files);
	for (size_t i = 1; i < m->file_count; i++)
		if (compare_files(&m->files[i - 1], &m->files[i]) == 0)
			return true;
	return false;
}

static int parse_manifest(char *text, struct manifest *m)
{
	unsigned int has = 0;
	char *save = NULL;

	if (version_of(text) != RECORD_CONTRACT_VERSION)
		return version_of(text) ? -EPROTO : -EBADMSG;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *equals = strchr(line, '=');

		if (!equals)
			return -EBADMSG;
		*equals = '\0';
		if (!parse_line(line, equals + 1, m, &has))
			return -EBADMSG;
	}
	if ((has & HAS_ALL) != HAS_ALL || !times_possible(&m->info) || is_listed_twice(m))
		return -EBADMSG;
	if (!(has & HAS_LATE))
		m->info.late_ns = m->info.begin_ns;
	for (size_t i = 0; i < m->file_count; i++)
		m->info.bytes += m->files[i].bytes;
	return 0;
}

int manifest_read(int dir, struct manifest *manifest, struct error *e)
{
	struct manifest m = {0};
	void *text;
	size_t len;
	int err = file_read_all(dir, MANIFEST_NAME, MANIFEST_MAX_BYTES, &text, &len);

	if (err)
		return error_set(e, err, "cannot read the manifest");
	err = check_checksum(text, len) ? parse_manifest(text, &m) : -EBADMSG;
	if (err == -EPROTO)
		error_say(
			e, err,
			"it uses version %lu of the record contract, and this fathom reads version "
			"%d: use the one that recorded it",
			version_of(text), RECORD_CONTRACT_VERSION);
	else if (err)
		error_say(e, err, "the manifest is damaged");
	free(text);
	if (err) {
		manifest_free(&m);
		return err;
	}
	*manifest = m;
	return 0;
}

void manifest_free(struct manifest *manifest)
{
	free(manifest->files);
	manifest->files = NULL;
	manifest->file_count = 0;
}
