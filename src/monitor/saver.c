/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the file of monitors without their lock, and says so to those who wait for it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "monitor/internal.h"

#define ANSWER_NS (2 * SECOND_NS) /* so long somebody waits for the first value */

void monitors_save(struct monitors *m, bool sync)
{
	m->to_save++;
	m->must_sync |= sync;
	pthread_cond_broadcast(&m->changed);
}

void monitors_save_await(struct monitors *m)
{
	uint64_t change = m->to_save;

	while (m->has_saver && m->saved < change)
		pthread_cond_wait(&m->changed, &m->lock);
}

static void outcome_keep(struct monitors *m, int err)
{
	char text[192];

	if (!err) {
		*m->save_failed = '\0';
		return;
	}
	if (!*m->save_failed && m->options.warn) {
		snprintf(text, sizeof(text), "cannot write " MONITORS_FILE ": %s",
			 strerrordesc_np(-err));
		m->options.warn(text);
	}
	snprintf(m->save_failed, sizeof(m->save_failed), "%s", strerrordesc_np(-err));
}

/* With the lock, which it leaves while it writes. */
static void save(struct monitors *m)
{
	uint64_t change = m->to_save;
	bool sync = m->must_sync;
	struct bytes data = {0};
	int err = monitors_kept_write(&m->kept, &data);

	m->must_sync = false;
	pthread_mutex_unlock(&m->lock);
	err = err ? err : monitors_file_write(m, &data, sync);
	bytes_free(&data);
	pthread_mutex_lock(&m->lock);
	m->saved = change;
	outcome_keep(m, err);
	pthread_cond_broadcast(&m->changed);
}

/* ---- those who wait ---- */

static bool is_ready(const struct monitors *m, const struct awaiting *a)
{
	const struct monitor *monitor = monitor_find(&m->kept, a->name);

	return m->is_released || clock_now_ns() >= a->until_ns ||
	       (m->saved >= a->change && (!monitor || monitor->status.last.at_ns));
}

/* Returns when the next one has waited for long enough. */
static uint64_t awaiting_serve(struct monitors *m)
{
	uint64_t next_ns = clock_now_ns() + MINUTE_NS;
	size_t left = 0;

	for (size_t i = 0; i < m->awaiting.count; i++) {
		struct awaiting a = m->awaiting.data[i];

		if (is_ready(m, &a)) {
			a.ready(a.arg);
			continue;
		}
		next_ns = a.until_ns < next_ns ? a.until_ns : next_ns;
		m->awaiting.data[left++] = a;
	}
	m->awaiting.count = left;
	return next_ns;
}

int monitors_await(struct monitors *m, const char *name, void (*ready)(void *arg), void *arg)
{
	struct awaiting a = {.until_ns = clock_now_ns() + ANSWER_NS, .ready = ready, .arg = arg};
	int err;

	snprintf(a.name, sizeof(a.name), "%s", name);
	pthread_mutex_lock(&m->lock);
	a.change = m->to_save;
	err = m->is_released ? -ECANCELED : vec_push(&m->awaiting, a);
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
	return err;
}

void monitors_release(struct monitors *m)
{
	if (!m)
		return;
	pthread_mutex_lock(&m->lock);
	m->is_released = true;
	awaiting_serve(m);
	pthread_mutex_unlock(&m->lock);
}

void *monitors_saver_run(void *arg)
{
	struct monitors *m = arg;
	uint64_t next_ns;

	pthread_mutex_lock(&m->lock);
	for (;;) {
		next_ns = awaiting_serve(m);
		if (m->saved < m->to_save)
			save(m);
		else if (m->saver_ends)
			break;
		else
			monitors_wait(m, next_ns);
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}
