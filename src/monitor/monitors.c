/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/monitors.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/thread.h"
#include "monitor/internal.h"

#define END_NS SECOND_NS /* for what is being told */

static int threads_start(struct monitors *m)
{
	int err = thread_start(&m->saver, monitors_saver_run, m);

	m->has_saver = !err;
	err = err ? err : thread_start(&m->evaluator, monitors_evaluator_run, m);
	m->has_evaluator = !err;
	err = err ? err : thread_start(&m->teller, monitors_teller_run, m);
	m->has_teller = !err;
	return err;
}

int monitors_open(const struct monitors_options *options, struct monitors **out, struct error *e)
{
	struct monitors *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return error_set(e, ENOMEM, "cannot begin to monitor");
	m->options = *options;
	m->begun_ns = monitors_now_ns();
	pthread_mutex_init(&m->lock, NULL);
	condition_init(&m->changed);
	err = monitors_load(m, e);
	if (!err && threads_start(m))
		err = error_set(e, EAGAIN, "cannot begin to monitor");
	if (err) {
		monitors_close(m);
		return err;
	}
	*out = m;
	return 0;
}

/* With the lock: what is being told has a second, then it is ended. */
static void telling_await(struct monitors *m)
{
	uint64_t until_ns = clock_now_ns() + END_NS;
	bool is_under_way;

	do {
		is_under_way = false;
		for (size_t i = 0; i < m->kept.tellings.count; i++)
			is_under_way |= m->kept.tellings.data[i].is_begun;
		if (is_under_way)
			monitors_wait(m, until_ns);
	} while (is_under_way && clock_now_ns() < until_ns);
	atomic_store(&m->stop, true);
}

void monitors_close(struct monitors *m)
{
	if (!m)
		return;
	pthread_mutex_lock(&m->lock);
	m->is_ending = true;
	pthread_cond_broadcast(&m->changed);
	telling_await(m);
	pthread_mutex_unlock(&m->lock);
	if (m->has_evaluator)
		pthread_join(m->evaluator, NULL);
	if (m->has_teller)
		pthread_join(m->teller, NULL);
	pthread_mutex_lock(&m->lock);
	if (m->has_teller && m->kept.monitors.count)
		monitors_save(m, true);
	m->saver_ends = true;
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
	if (m->has_saver)
		pthread_join(m->saver, NULL);
	monitors_kept_free(&m->kept);
	vec_free(&m->awaiting);
	pthread_cond_destroy(&m->changed);
	pthread_mutex_destroy(&m->lock);
	free(m);
}
