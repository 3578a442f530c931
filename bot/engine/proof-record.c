/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/proof-record.h"

int proof_contradicted(struct engine *e, const struct db_case *c, struct strv *ret)
{
	struct db_proof *p = NULL;
	size_t n = 0;
	int r = store_proofs(e->store, c->id, &p, &n);

	for (size_t i = 0; r >= 0 && i < n; i++)
		if (p[i].state == PROOF_CONTRADICTED)
			strv_add(ret, p[i].commit);
	DB_LIST_RELEASE(p, n, db_proof_release);
	return MIN(r, 0);
}

int proof_begin(struct engine *e, const struct db_case *c, const char *parent, int64_t after_run)
{
	_cleanup_proof_ struct db_proof old = {0};
	struct db_proof p = DB_PROOF_INIT;
	int r = store_proof_get(e->store, c, &old);

	if (r < 0 && r != -ENOENT)
		return r;
	p.case_id = c->id;
	p.commit = c->culprit;
	p.parent = (char *)parent;
	p.after_run = after_run;
	p.tries = old.tries + 1;
	return store_proof_put(e->store, &p);
}

static double known(double v) { return isfinite(v) ? v : NAN; }

int proof_keep(struct engine *e, struct db_proof *p, const struct pairs_result *x)
{
	const struct verdict_result *v = &x->v;

	p->state = PROOF_SHOWN;
	p->boots_parent = (int64_t)x->n_a;
	p->boots_culprit = (int64_t)x->n_b;
	p->mean_parent = known(v->mean_a);
	p->mean_culprit = known(v->mean_b);
	p->sd = known(v->sd);
	p->effect = known(v->effect);
	p->lo = known(v->lo);
	p->hi = known(v->hi);
	p->p = known(v->p);
	return store_proof_put(e->store, p);
}

int proof_contradict(struct engine *e, struct db_case *c, struct db_proof *p, double effect)
{
	p->state = PROOF_CONTRADICTED;
	p->effect = known(effect);
	free(c->culprit);
	c->culprit = NULL;
	c->posterior = NAN;
	return store_proof_put(e->store, p);
}
