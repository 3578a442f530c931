/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/work-internal.h"
#include "bot/work.h"
#include "lib/log.h"

#define RETRY_S 30
#define BACKOFF_MAX_S 3600

void work_say(struct work *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->result, sizeof(w->result), fmt, ap);
	va_end(ap);
}

int work_load_tree(struct work *w, struct db_tree *t, struct tree_config *tc)
{
	int r = store_tree_get(w->c->store, w->p.tree, t);

	if (r >= 0)
		r = tree_config_from_db(t, tc);
	return r;
}

usec_t work_backoff(const struct work *w)
{
	double s = RETRY_S * pow(2, MIN(w->task.attempts, 7));

	return (usec_t)(MIN(s, BACKOFF_MAX_S) * USEC_PER_SEC);
}

int work_task(struct ctx *c, int64_t task_id, volatile const int *cancel)
{
	static int (*const of_kind[])(struct work *, usec_t *) = {
		[TASK_BUILD] = work_build, [TASK_RUN] = work_run, [TASK_PROFILE] = work_profile,
		[TASK_REPORT] = work_report, [TASK_SEND] = work_send};
	struct work w = {.c = c, .cancel = cancel};
	usec_t retry = 0;
	int r = store_task_by_id(c->store, task_id, &w.task), done;

	if (r < 0)
		return r;
	done = task_payload_read(w.task.kind, w.task.payload, &w.p);
	if (done >= 0)
		done = of_kind[w.task.kind](&w, &retry);
	if (!w.result[0])
		work_say(&w, "%s", done < 0 ? err_msg() : "done");
	if (!cancel || !*cancel) { /* else the daemon takes it back */
		r = store_task_end(c->store, task_id, done >= 0, retry, w.result);
		if (done < 0)
			log_warn("%s", w.result);
		else
			log_info("%s", w.result);
	}
	task_payload_release(&w.p);
	db_task_release(&w.task);
	return MIN(r, 0);
}
