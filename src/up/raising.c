/* SPDX-License-Identifier: Apache-2.0 */
#include "up/raising.h"

#include <unistd.h>

#include "base/clock.h"
#include "up/chooser.h"

#define LOOK_NS 1000000000u
#define ABOVE 2 /* times its budget: a second of that ends it */

static u64 spent_ns(const struct recorder *r)
{
	struct costs_sum sum;

	recorder_costs(r, &sum);
	return sum.processes_ns + sum.programs_ns;
}

/* Whether the last second cost far too much. */
static bool is_above(struct raising *x, const struct recorder *r, u64 now_ns)
{
	u64 elapsed_ns = now_ns - x->looked_ns, spent, share_ppm;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (!x->budget_ppm || elapsed_ns < LOOK_NS)
		return false;
	spent = spent_ns(r);
	share_ppm = spent > x->spent_ns ? (spent - x->spent_ns) * 1000 /
						  (elapsed_ns / 1000 * (u64)(cpus > 0 ? cpus : 1))
					: 0;
	x->spent_ns = spent;
	x->looked_ns = now_ns;
	return share_ppm > (u64)ABOVE * x->budget_ppm;
}

static void raise_begin(struct raising *x, struct recorder *r, pid_t pid, u64 now_ns)
{
	struct board_capture *board = &x->board->capture;
	struct error e = {0};

	if (now_ns < x->next_ns || recorder_raise(r, pid, CHOOSER_RAISE_NS, &e)) {
		atomic_fetch_add(&board->raises_refused, 1);
		return;
	}
	x->until_ns = now_ns + CHOOSER_RAISE_NS;
	x->next_ns = now_ns + 10 * CHOOSER_RAISE_NS;
	x->looked_ns = now_ns;
	x->spent_ns = spent_ns(r);
	atomic_fetch_add(&board->raises, 1);
	atomic_store(&board->raised_pid, pid);
}

static void raise_end(struct raising *x)
{
	x->until_ns = 0;
	atomic_store(&x->board->capture.raised_pid, 0);
}

void raising_follow(struct raising *x, struct recorder *r)
{
	uint64_t asked = atomic_load(&x->board->map.raise);
	u64 now_ns = clock_now_ns();

	if ((u32)(asked >> 32) != x->seen) {
		x->seen = (u32)(asked >> 32);
		if ((pid_t)(u32)asked > 0)
			raise_begin(x, r, (pid_t)(u32)asked, now_ns);
	}
	if (!x->until_ns)
		return;
	if (now_ns < x->until_ns && is_above(x, r, now_ns)) {
		recorder_raise_end(r);
		atomic_fetch_add(&x->board->capture.raises_ended, 1);
		raise_end(x);
	} else if (now_ns >= x->until_ns) {
		raise_end(x);
	}
}
