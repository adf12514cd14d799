/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record_options.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/chunk.h"
#include "recorder/detail_scope.h"

#define AT(field) offsetof(struct record_options, field)

const char record_usage[] =
	"[-o DIR] [-d TIME] [-a] [--follow] [-p PID]... [--no-children] [--cgroup PATH]...\n"
	"       [--rotate LIMITS] [--keep LIMITS] [--event S:N]...\n"
	"       [--detail LEVEL[,SCOPE=LEVEL]...] [--budget SHARE] [--syscalls LIST]\n"
	"       [--spans-only] [--stacks MIN] [--sample [HZ]] [--flight] [--compress]\n"
	"       [--buffer SIZE] [--host NAME] [--on-chunk CMD] [-- CMD ARG...]";

static int option_host(void *field, const char *text, struct error *e);

const struct option record_option_table[] = {
	{"output", 'o', "DIR", "add the chunks to this directory (default: a new fathom.data)",
	 NULL, AT(output), option_text},
	{"duration", 'd', "TIME", "stop after this time; a bare number counts seconds", NULL,
	 AT(duration_ns), option_seconds},
	{"all", 'a', NULL, "with a command: record the whole host while it runs", NULL, AT(all),
	 option_flag},
	{"follow", 0, NULL, "with a command: record until its last descendant ends, too", NULL,
	 AT(follow), option_flag},
	{"pid", 'p', "PID", "these processes, and their children, of now and later", NULL, AT(pids),
	 option_pids},
	{"no-children", 0, NULL, "with -p: without the children that they have already", NULL,
	 AT(no_children), option_flag},
	{"cgroup", 0, "PATH", "the processes of this cgroup", NULL, AT(cgroups), option_texts},
	{"host", 0, "NAME",
	 "call this host so: recordings of different names are of different hosts", NULL, AT(host),
	 option_host},
	{"rotate", 0, "LIMITS", "begin a new chunk after a time, a size, or both: 1s,64M", NULL,
	 AT(rotate), option_limits},
	{"keep", 0, "LIMITS", "delete the oldest chunks beyond an age, a size, or both: 10m,2G",
	 NULL, AT(keep), option_limits},
	{"event", 0, "S:N", "record this kernel tracepoint: sched:*,!sched:sched_switch", NULL,
	 AT(events), option_events},
	{"detail", 0, "LEVEL",
	 "calls, waits (no calls: much cheaper), or waits,bytes\n(default: waits for the whole "
	 "host "
	 "and --flight, else calls);\nwaits,nginx=calls: calls of a program or pid, and what it "
	 "starts,\nof the threads in a cgroup (a path), of service:NAME,\n"
	 "or under a span (spans)",
	 NULL, AT(detail), option_detail},
	{"budget", 0, "SHARE",
	 "hold this share of the CPUs' time, like 3%, by recording less:\nwaits with bytes, then "
	 "waits alone; 3%,hard: then nothing, for 30 s\n(3%,hard,10s: for 10 s), and twice as long "
	 "each time",
	 NULL, AT(budget), option_budget},
	{"syscalls", 0, "LIST",
	 "only these system calls (%desc,!close), or all but these\n(!read,write)", NULL,
	 AT(syscalls), option_syscalls},
	{"spans-only", 0, NULL, "record kernel events only while a thread has an active span", NULL,
	 AT(spans_only), option_flag},
	{"stacks", 0, "MIN",
	 "record kernel and user stacks of waits longer than this;\n5ms,4K: and so much of each "
	 "user stack (default: 512 bytes)",
	 NULL, AT(stacks), option_stacks},
	{"sample", 0, "[HZ]",
	 "record what each CPU runs, with its stacks, so many times a\nsecond (default: 99); "
	 "99,4K: "
	 "and so much of each user stack",
	 NULL, AT(sample), option_sample},
	{"flight", 0, NULL, "keep only the newest records, in memory, for\n'fathom snapshot'", NULL,
	 AT(flight), option_flag},
	{"compress", 0, NULL, "compress sealed chunks", NULL, AT(compress), option_flag},
	{"buffer", 0, "SIZE", "memory for the ring buffers of all CPUs together", NULL,
	 AT(buffer_bytes), option_size},
	{"on-chunk", 0, "CMD", "run a command for each sealed chunk, with its path ($1)", NULL,
	 AT(on_chunk), option_text},
	{0},
};

static int option_host(void *field, const char *text, struct error *e)
{
	size_t length = strlen(text);

	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("-._", text[i]))
			return error_say(e, EINVAL,
					 "is no name of a host: it has letters, digits, '-', '.' "
					 "and '_'");
	if (!length || length >= CHUNK_HOST_BYTES)
		return error_say(e, EINVAL, "is no name of 1 to %d characters",
				 CHUNK_HOST_BYTES - 1);
	*(const char **)field = text;
	return 0;
}

static const char *const syscall_names[SYSCALL_TABLE_SIZE] = {
#define S(nr, name, arguments, fd, classes, kinds) [nr] = #name,
	RECORD_SYSCALLS(S)
#undef S
};

static const unsigned short syscall_classes[SYSCALL_TABLE_SIZE] = {
#define S(nr, name, arguments, fd, classes, kinds) [nr] = (classes),
	RECORD_SYSCALLS(S)
#undef S
};

static unsigned int class_find(const char *name)
{
#define V(class, bit)                                                                              \
	if (strcmp(name, #class) == 0)                                                             \
		return bit;
	SYSCALL_CLASSES(V)
#undef V
	return 0;
}

static int class_set(struct option_syscalls *set, const char *name, u8 to, struct error *e)
{
	unsigned int class = class_find(name);

	if (!class)
		return error_say(
			e, EINVAL,
			"names %%%s, which is not a class; the classes are %%file %%network "
			"%%process %%memory %%ipc "
			"%%desc %%signal",
			name);
	for (size_t nr = 0; nr < SYSCALL_TABLE_SIZE; nr++) {
		if (syscall_classes[nr] & class)
			set->record[nr] = to;
	}
	return 0;
}

static int syscall_set(struct option_syscalls *set, const char *name, u8 to, struct error *e)
{
	const char *names[SYSCALL_TABLE_SIZE];
	const char *closest;
	size_t count = 0;

	for (size_t nr = 0; nr < SYSCALL_TABLE_SIZE; nr++) {
		if (!syscall_names[nr])
			continue;
		if (strcmp(syscall_names[nr], name) == 0) {
			set->record[nr] = to;
			return 0;
		}
		names[count++] = syscall_names[nr];
	}
	closest = name_suggest(name, names, count);
	if (closest)
		return error_say(e, EINVAL,
				 "names %s, which is not a system call; did you mean %s?", name,
				 closest);
	return error_say(e, EINVAL, "names %s, which is not a system call", name);
}

int option_syscalls(void *field, const char *text, struct error *e)
{
	struct option_syscalls *result = field;
	struct option_syscalls set = *result;
	bool without = text[0] == '!'; /* exclude the whole list, as strace does */

	if (!set.given)
		memset(set.record, without, sizeof(set.record));
	set.given = true;
	for (;;) {
		size_t len = strcspn(text, ",");
		bool negates = text[0] == '!', take = without || negates;
		char name[64];
		int err;

		if (len <= negates || len - negates >= sizeof(name))
			return error_say(e, EINVAL, "has an empty part");
		memcpy(name, text + negates, len - negates);
		name[len - negates] = '\0';
		err = name[0] == '%' ? class_set(&set, name + 1, !take, e)
				     : syscall_set(&set, name, !take, e);
		if (err)
			return err;
		if (!text[len])
			break;
		text += len + 1;
	}
	if (!memchr(set.record, 1, sizeof(set.record)))
		return error_say(e, EINVAL, "leaves no system call to record");
	*result = set;
	return 0;
}

int option_budget(void *field, const char *text, struct error *e)
{
	char *end;
	double percent = strtod(text, &end);
	const char *hard = end == text ? NULL : strstr(end, "%,hard");
	const char *pause = hard == end ? hard + strlen("%,hard") : NULL;
	struct option_budget budget = {.hard = pause};

	if (end == text || (strcmp(end, "%") != 0 && !(pause && (!*pause || *pause == ','))) ||
	    !(percent >= 0.01 && percent <= 100))
		return error_say(
			e, EINVAL,
			"is no share of the CPUs like 3%% or 3%%,hard, from 0.01%% to 100%%");
	budget.ppm = (uint64_t)(percent * 10000 + 0.5);
	if (pause && *pause && option_duration(&budget.pause_ns, pause + 1, e))
		return -EINVAL;
	*(struct option_budget *)field = budget;
	return 0;
}

#define DETAIL_LEVELS                                                                              \
	"is none of calls, waits and waits,bytes, with calls=TIME/TIME or SCOPE=LEVEL behind it"

/* Reads "1s/30s": calls for a second in each half minute. */
static int detail_window(struct option_detail *detail, const char *text, struct error *e)
{
	const char *slash = strchr(text, '/');
	char window[32];
	int err;

	if (!slash || (size_t)(slash - text) >= sizeof(window))
		return error_say(e, EINVAL, "has no two times in calls=TIME/TIME, like 1s/30s");
	memcpy(window, text, (size_t)(slash - text));
	window[slash - text] = '\0';
	err = option_duration(&detail->calls_ns, window, e);
	err = err ? err : option_duration(&detail->every_ns, slash + 1, e);
	if (!err && detail->calls_ns >= detail->every_ns)
		return error_say(e, EINVAL,
				 "records calls for longer than the time in which it "
				 "does so once");
	return err;
}

/* Reads "nginx=calls". */
static int detail_scope(struct option_detail *detail, char *word, char *level, struct error *e)
{
	struct capture_detail_scope scope = {.calls = strcmp(level + 1, "calls") == 0};
	int err;

	*level = '\0';
	if (!scope.calls && strcmp(level + 1, "waits") != 0)
		return error_say(e, EINVAL, "gives %s a level that is neither calls nor waits",
				 word);
	if (detail->scope_count == CAPTURE_SCOPES_MAX)
		return error_say(e, EINVAL, "has more than %d scopes", CAPTURE_SCOPES_MAX);
	err = detail_scope_read(word, &scope, e);
	if (!err)
		detail->scopes[detail->scope_count++] = scope;
	return err;
}

static int detail_word(struct option_detail *detail, char *word, struct error *e)
{
	char *level = strrchr(word, '=');

	if (detail->waits && strcmp(word, "bytes") == 0 && !detail->bytes)
		detail->bytes = true;
	else if (detail->waits && strncmp(word, "calls=", 6) == 0 && !detail->calls_ns)
		return detail_window(detail, word + 6, e);
	else if (level && strncmp(word, "calls=", 6) != 0)
		return detail_scope(detail, word, level, e);
	else
		return error_say(e, EINVAL, DETAIL_LEVELS);
	return 0;
}

int option_detail(void *field, const char *text, struct error *e)
{
	struct option_detail *result = field;
	struct option_detail detail = {.given = true, .words = strdup(text)};
	char *rest = detail.words, *word = rest ? strsep(&rest, ",") : NULL;
	int err = 0;

	if (!word)
		return error_set(e, ENOMEM, "cannot read the level of detail");
	detail.waits = strcmp(word, "waits") == 0;
	if (!detail.waits && strcmp(word, "calls") != 0)
		err = error_say(e, EINVAL, DETAIL_LEVELS);
	while (!err && (word = strsep(&rest, ",")))
		err = detail_word(&detail, word, e);
	if (err) {
		free(detail.words);
		return err;
	}
	free(result->words);
	*result = detail;
	return 0;
}

#define STACK_BYTES_MAX (STACK_WORDS_MAX * 8)
#define STACK_BYTES_STEP 64

/* How much of each user stack is recorded. */
static int stack_size(uint64_t *bytes, const char *text, struct error *e)
{
	uint64_t size = 0;
	int err = option_size(&size, text, e);

	if (err)
		return err;
	if (size > STACK_BYTES_MAX)
		return error_say(e, EINVAL, "asks for more of a stack than %dK",
				 STACK_BYTES_MAX / 1024);
	*bytes = (size + STACK_BYTES_STEP - 1) / STACK_BYTES_STEP * STACK_BYTES_STEP;
	return 0;
}

int option_stacks(void *field, const char *text, struct error *e)
{
	struct option_stacks stacks = {0};
	const char *comma = strchr(text, ',');
	char min[32];
	int err;

	if (comma && (size_t)(comma - text) >= sizeof(min))
		return error_say(e, EINVAL, "is too long");
	snprintf(min, sizeof(min), "%.*s", comma ? (int)(comma - text) : 31, text);
	err = option_duration(&stacks.min_ns, comma ? min : text, e);
	if (!err && comma)
		err = stack_size(&stacks.bytes, comma + 1, e);
	if (!err)
		*(struct option_stacks *)field = stacks;
	return err;
}

#define SAMPLE_HZ 99 /* no multiple of what programs do in a second */
#define SAMPLE_HZ_MAX 10000

int option_sample(void *field, const char *text, struct error *e)
{
	struct option_sample sample = {.hz = SAMPLE_HZ};
	size_t digits = text ? strspn(text, "0123456789") : 0;
	int err = 0;

	if (text && digits && (!text[digits] || text[digits] == ',')) {
		sample.hz = strtoull(text, NULL, 10);
		text += digits + (text[digits] == ',');
		if (!*text && text[-1] != ',')
			text = NULL;
	}
	if (!sample.hz || sample.hz > SAMPLE_HZ_MAX)
		return error_say(e, EINVAL, "is not a number of samples a second from 1 to %d",
				 SAMPLE_HZ_MAX);
	if (text)
		err = stack_size(&sample.bytes, text, e);
	if (!err)
		*(struct option_sample *)field = sample;
	return err;
}

int option_events(void *field, const char *text, struct error *e)
{
	struct option_list *list = field;
	size_t before = list->count;
	int err = option_names(field, text, e);

	for (size_t i = before; i < list->count && text[0] == '!' && !err; i++) {
		char *negated;

		if (list->data[i][0] == '!')
			continue;
		if (asprintf(&negated, "!%s", list->data[i]) < 0)
			return error_set(e, ENOMEM, "cannot read the list");
		free(list->data[i]);
		list->data[i] = negated;
	}
	return err;
}

static int events_check(const struct option_list *events, struct error *e)
{
	size_t wanted = 0;

	for (size_t i = 0; i < events->count; i++) {
		const char *name = events->data[i] + (events->data[i][0] == '!');
		const char *colon = strchr(name, ':');

		if (!colon || colon == name || !colon[1] || strchr(colon + 1, ':'))
			return error_say(
				e, EINVAL,
				"--event '%s' is not SUBSYSTEM:NAME, like block:block_rq_issue",
				events->data[i]);
		wanted += name == events->data[i];
	}
	if (events->count && !wanted)
		return error_say(e, EINVAL,
				 "--event '%s' only excludes events: name some to record, too",
				 events->data[0]);
	return 0;
}

/* Only calls can be chosen by --syscalls, so this option alone means that they are wanted. */
static void detail_choose(struct record_options *o, const struct operands *operands)
{
	bool waits = o->flight || record_options_host(o, operands);

	if (o->detail.given)
		return;
	o->detail.raised = waits && o->syscalls.given;
	o->detail.waits = waits && !o->syscalls.given;
}

/* Whether calls are recorded at some time, or of some threads. */
static bool detail_has_calls(const struct option_detail *detail)
{
	bool calls = !detail->waits || detail->calls_ns;

	for (size_t i = 0; i < detail->scope_count; i++)
		calls |= detail->scopes[i].calls;
	return calls;
}

int record_options_check(void *options, const struct operands *operands, struct error *e)
{
	struct record_options *o = options;

	if (operands->count > 0)
		return error_say(e, EINVAL,
				 "unexpected argument '%s'; a command to run comes after --",
				 operands->items[0]);
	if (operands->command && !operands->command[0])
		return error_say(e, EINVAL, "a command is missing after --");
	if (o->all && (o->pids.count || o->cgroups.count))
		return error_say(e, EINVAL, "-a records the whole host: leave out -p and --cgroup");
	if (o->follow && !operands->command)
		return error_say(e, EINVAL, "--follow needs a command, after --");
	if (o->no_children && !o->pids.count)
		return error_say(e, EINVAL, "--no-children needs -p");
	if (o->detail.waits && o->syscalls.given && !detail_has_calls(&o->detail))
		return error_say(e, EINVAL,
				 "--detail waits records no calls: leave out --syscalls, or use "
				 "--detail calls");
	if (o->flight && (o->rotate.time_ns || o->rotate.bytes))
		return error_say(
			e, EINVAL,
			"--flight writes chunks only for 'fathom snapshot': leave out --rotate");
	if (o->flight && o->budget.hard)
		return error_say(
			e, EINVAL,
			"--flight is always ready for 'fathom snapshot', so it cannot pause: "
			"leave out ,hard");
	detail_choose(o, operands);
	return events_check(&o->events, e);
}

void record_options_release(void *options)
{
	struct record_options *o = options;

	vec_free(&o->pids);
	free(o->detail.words);
	option_list_free(&o->cgroups);
	option_list_free(&o->events);
}

#define KEPT_PARTS 10 /* only whole chunks are deleted: a chunk is this part of the limit */
#define PART_NS_LEAST 1000000000ull
#define PART_BYTES_LEAST (1ull << 20)

static uint64_t part_of(uint64_t kept, uint64_t least)
{
	if (!kept)
		return 0;
	return kept / KEPT_PARTS > least ? kept / KEPT_PARTS : least;
}

struct limits record_options_rotate(const struct record_options *o)
{
	if (o->rotate.time_ns || o->rotate.bytes || o->flight)
		return o->rotate;
	return (struct limits){.time_ns = part_of(o->keep.time_ns, PART_NS_LEAST),
			       .bytes = part_of(o->keep.bytes, PART_BYTES_LEAST)};
}

bool record_options_host(const struct record_options *options, const struct operands *operands)
{
	if (options->all)
		return true;
	return !operands->command && !options->pids.count && !options->cgroups.count;
}
