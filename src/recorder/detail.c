/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/detail.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/hash.h"
#include "base/host_clock.h"

#define AGAIN_NS 1000000000ull

struct detail detail_of(struct capture *capture, enum capture_detail own, bool bytes)
{
	return (struct detail){
		.capture = capture,
		.own = own,
		.most = CAPTURE_DETAIL_CALLS,
		.most_bytes = DETAIL_BYTES_ALL,
		.bytes_turns = {.window_ns = DETAIL_BYTES_NS, .every_ns = DETAIL_BYTES_EVERY_NS},
		.bytes = bytes};
}

const char *detail_name(enum capture_detail level, enum detail_bytes bytes)
{
	if (level == CAPTURE_DETAIL_CALLS)
		return "calls";
	if (level == CAPTURE_DETAIL_SCOPES)
		return "scopes";
	if (bytes == DETAIL_BYTES_TURNS)
		return "waits,bytes=1s/30s";
	return bytes ? "waits,bytes" : "waits";
}

void detail_windows(struct detail *d, u64 window_ns, u64 every_ns)
{
	d->calls_turns = (struct detail_turns){.window_ns = window_ns, .every_ns = every_ns};
}

/* Draws the window of the time that begins at `turn_ns`. */
static void window_draw(struct detail_turns *w, u64 turn_ns)
{
	u64 random = hash_u64(turn_ns), room_ns = w->every_ns - w->window_ns;

	(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
	w->turn_ns = turn_ns;
	w->from_ns = turn_ns + random % (room_ns + 1);
}

/* A recorder that was stopped begins anew. */
static void windows_follow(struct detail_turns *w, u64 now_ns)
{
	if (!w->window_ns)
		return;
	if (!w->turn_ns || now_ns >= w->turn_ns + 2 * w->every_ns)
		window_draw(w, now_ns);
	else if (now_ns >= w->turn_ns + w->every_ns)
		window_draw(w, w->turn_ns + w->every_ns);
}

static bool window_is_open(const struct detail_turns *w, u64 now_ns)
{
	return w->window_ns && w->turn_ns && now_ns >= w->from_ns &&
	       now_ns < w->from_ns + w->window_ns;
}

static enum capture_detail wanted(const struct detail *d, u64 now_ns)
{
	if (d->asked)
		return d->asked_for;
	if (d->most == CAPTURE_DETAIL_WAITS)
		return CAPTURE_DETAIL_WAITS;
	return window_is_open(&d->calls_turns, now_ns) ? CAPTURE_DETAIL_CALLS : d->own;
}

/* Whether the budget has byte ranges recorded in turns. */
static bool takes_turns(const struct detail *d)
{
	return d->most_bytes == DETAIL_BYTES_TURNS && !(d->asked && !d->asked_scope[0]);
}

static bool bytes_wanted(const struct detail *d, u64 now_ns)
{
	if (d->asked && !d->asked_scope[0])
		return d->asked_calls || d->asked_bytes;
	if (takes_turns(d))
		return window_is_open(&d->bytes_turns, now_ns);
	return d->most_bytes == DETAIL_BYTES_ALL;
}

/* When the window opens, closes, or the next time begins. */
static u64 window_due_ns(const struct detail_turns *w, u64 now_ns)
{
	if (!w->window_ns || !w->turn_ns)
		return UINT64_MAX;
	if (now_ns < w->from_ns)
		return w->from_ns;
	if (now_ns < w->from_ns + w->window_ns)
		return w->from_ns + w->window_ns;
	return w->turn_ns + w->every_ns;
}

static void asked_forget(struct detail *d)
{
	if (d->asked && d->asked_scope[0])
		(void)capture_detail_ask(d->capture, NULL, false, NULL);
	d->asked = false;
	d->asked_scope[0] = '\0';
}

void detail_follow(struct detail *d, u64 now_ns)
{
	struct error e = {0};

	if (d->asked && now_ns >= d->asked_until_ns)
		asked_forget(d);
	windows_follow(&d->calls_turns, now_ns);
	if (takes_turns(d))
		windows_follow(&d->bytes_turns, now_ns);
	else
		d->bytes_turns.turn_ns = 0;
	if (now_ns < d->again_ns)
		return;
	if (!capture_detail_set(d->capture, wanted(d, now_ns), &e) &&
	    !capture_bytes_set(d->capture, bytes_wanted(d, now_ns), takes_turns(d), &e))
		return;
	d->again_ns = now_ns + AGAIN_NS;
	if (strcmp(e.text, d->failed.text) != 0)
		fprintf(stderr, "fathom: %s\n", e.text);
	d->failed = e;
}

/* When the level changes; byte ranges may sooner. */
static u64 level_due_ns(const struct detail *d, u64 now_ns)
{
	return d->asked ? d->asked_until_ns : window_due_ns(&d->calls_turns, now_ns);
}

u64 detail_due_ns(const struct detail *d, u64 now_ns)
{
	u64 level_ns = level_due_ns(d, now_ns), bytes_ns = window_due_ns(&d->bytes_turns, now_ns);

	return bytes_ns < level_ns ? bytes_ns : level_ns;
}

/* Of threads in a scope; the others stay as the recording was begun, or as its budget says. */
static int scope_ask(struct detail *d, const struct detail_request *request, struct error *e)
{
	struct capture_detail_scope scope = {.calls = request->calls};
	int err = detail_scope_read(request->scope, &scope, e);

	if (!err)
		err = capture_detail_ask(d->capture, &scope, d->most == CAPTURE_DETAIL_WAITS, e);
	if (!err && (err = capture_detail_set(d->capture, CAPTURE_DETAIL_SCOPES, e)))
		(void)capture_detail_ask(d->capture, NULL, false, NULL);
	return err;
}

int detail_ask(struct detail *d, const struct detail_request *request, u64 now_ns, struct error *e)
{
	enum capture_detail level = request->calls ? CAPTURE_DETAIL_CALLS : CAPTURE_DETAIL_WAITS;
	int err;

	if (request->scope)
		level = CAPTURE_DETAIL_SCOPES;
	if (request->scope || d->asked_scope[0])
		asked_forget(d);
	err = request->scope ? scope_ask(d, request, e) : capture_detail_set(d->capture, level, e);
	if (!err && !request->scope)
		err = capture_bytes_set(d->capture, request->calls || request->bytes, false, e);
	if (err)
		return err;
	d->asked = true;
	d->asked_for = level;
	snprintf(d->asked_scope, sizeof(d->asked_scope), "%s",
		 request->scope ? request->scope : "");
	d->asked_calls = request->calls;
	d->asked_bytes = request->bytes;
	d->asked_until_ns = request->for_ns < UINT64_MAX - now_ns ? now_ns + request->for_ns
								  : UINT64_MAX;
	return 0;
}

static void state_tell(const struct detail *d, u64 now_ns, char *text, size_t size)
{
	enum capture_detail now = capture_detail(d->capture), level = now;
	enum detail_bytes bytes = takes_turns(d) ? DETAIL_BYTES_TURNS : DETAIL_BYTES_ALL;
	u64 due_ns = d->asked || now != d->own ? level_due_ns(d, now_ns) : UINT64_MAX;

	if (d->asked && d->asked_scope[0])
		level = d->asked_calls ? CAPTURE_DETAIL_CALLS : CAPTURE_DETAIL_WAITS;
	if (!d->bytes || (bytes == DETAIL_BYTES_ALL && capture_filters(d->capture) & FILTER_BYTES))
		bytes = DETAIL_BYTES_NONE;
	snprintf(text, size, "%s %s %" PRIu64 "%s%s\n",
		 d->paused ? "nothing" : detail_name(level, bytes),
		 detail_name(d->own, d->bytes ? DETAIL_BYTES_ALL : DETAIL_BYTES_NONE),
		 due_ns == UINT64_MAX ? 0 : due_ns - now_ns, d->asked_scope[0] ? " " : "",
		 d->asked_scope);
}

static int level_read(const struct detail *d, const char *name, struct detail_request *asked,
		      struct error *e)
{
	asked->calls = strcmp(name, "calls") == 0;
	asked->bytes = strcmp(name, "waits,bytes") == 0;
	if (asked->bytes && !d->bytes)
		return error_say(e, EINVAL,
				 "it began without byte ranges, which cannot be added: ask for "
				 "waits or calls");
	return 0;
}

bool detail_answer(void *detail, const char *request, char *text, size_t size)
{
	struct detail *d = detail;
	struct detail_request asked = {0};
	char name[16], scope[DETAIL_SCOPE_BYTES];
	u64 now_ns = host_clock_now_ns();
	struct error e = {0};
	int err = 0, n;

	_Static_assert(DETAIL_SCOPE_BYTES == 192, "as in the format below");
	if (strncmp(request, "detail", 6) != 0 || (request[6] && request[6] != ' '))
		return false;
	n = sscanf(request, "detail %15s %" SCNu64 " %191[^\n]", name, &asked.for_ns, scope);
	if (n >= 2)
		err = level_read(d, name, &asked, &e);
	else if (request[6])
		err = error_say(&e, EINVAL, "it does not understand this request");
	asked.scope = n == 3 ? scope : NULL;
	asked.for_ns = asked.for_ns ? asked.for_ns : UINT64_MAX;
	if (n >= 2 && !err)
		err = detail_ask(d, &asked, now_ns, &e);
	if (err)
		snprintf(text, size, "error %s\n", e.text);
	else
		state_tell(d, now_ns, text, size);
	return true;
}
