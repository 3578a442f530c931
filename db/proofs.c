/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What became of the commits of a case: proofs of those that were named, and those that are left or were dropped. */
#include "db/store-internal.h"

WORDS_DEFINE(proof_state, PROOF_STATES, "state of a proof");
WORDS_DEFINE(candidate_state, CANDIDATE_STATES, "state of a candidate");

#define P(member, type, ...) FIELD(struct db_proof, member, #member, type, ##__VA_ARGS__)
static const struct field PROOF_FIELDS[] = {
	P(id, FT_INT, .key = true),
	FIELD(struct db_proof, case_id, "\"case\"", FT_INT),
	FIELD(struct db_proof, commit, "commit_oid", FT_TEXT),
	P(parent, FT_TEXT),
	P(state, FT_WORD, .words = &proof_state_words),
	P(tries, FT_INT),
	P(after_run, FT_INT0),
	P(boots_parent, FT_INT0),
	P(boots_culprit, FT_INT0),
	P(mean_parent, FT_REAL),
	P(mean_culprit, FT_REAL),
	P(sd, FT_REAL),
	P(effect, FT_REAL),
	P(lo, FT_REAL),
	P(hi, FT_REAL),
	P(p, FT_REAL),
	P(align, FT_BOOL),
	P(aligned_after, FT_INT0),
	P(aligned_effect, FT_REAL),
	P(aligned, FT_TEXT),
	P(revert_after, FT_INT0),
	P(revert_commit, FT_TEXT),
	P(revert, FT_TEXT),
};
ENTITY(PROOF, "proof", "proof", db_proof);

static const struct field CANDIDATE_FIELDS[] = {
	FIELD(struct db_candidate, case_id, "\"case\"", FT_INT),
	FIELD(struct db_candidate, commit, "commit_oid", FT_TEXT),
	FIELD(struct db_candidate, state, "state", FT_WORD, .words = &candidate_state_words),
	FIELD(struct db_candidate, reason, "reason", FT_WORD, .words = &dropped_words),
	FIELD(struct db_candidate, posterior, "posterior", FT_REAL),
};
ENTITY(CANDIDATE, "candidate", "candidate", db_candidate);

void db_proof_release(struct db_proof *p) { row_release(&PROOF, p); }
void db_candidate_release(struct db_candidate *c) { row_release(&CANDIDATE, c); }

int store_proof_put(struct store *s, const struct db_proof *p)
{
	int r = store_begin(s);

	if (r < 0)
		return r;
	r = db_exec(s, "DELETE FROM proof WHERE \"case\" = ? AND commit_oid = ?", INT(p->case_id), TEXT(p->commit));
	if (r >= 0)
		r = db_insert(s, &PROOF, p, "", NULL);
	return tx_end(s, MIN(r, 0));
}

int store_proof_get(struct store *s, const struct db_case *c, struct db_proof *ret)
{
	return db_get(s, &PROOF, ret, "WHERE \"case\" = ? AND commit_oid = ?", INT(c->id), TEXT(c->culprit));
}

int store_proofs(struct store *s, int64_t case_id, struct db_proof **ret, size_t *ret_n)
{
	return db_list(s, &PROOF, ret, ret_n, "WHERE \"case\" = ? ORDER BY id", INT(case_id));
}

int store_candidates_put(struct store *s, int64_t case_id, const struct db_candidate *c, size_t n)
{
	int r = store_begin(s);

	if (r < 0)
		return r;
	r = db_exec(s, "DELETE FROM candidate WHERE \"case\" = ?", INT(case_id));
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = db_insert(s, &CANDIDATE, &c[i], "", NULL);
	return tx_end(s, MIN(r, 0));
}

int store_candidates(struct store *s, int64_t case_id, struct db_candidate **ret, size_t *ret_n)
{
	return db_list(s, &CANDIDATE, ret, ret_n, "WHERE \"case\" = ? ORDER BY id", INT(case_id));
}
