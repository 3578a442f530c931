/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/words.h"
#include "lib/buf.h"

const char *words_text(const struct words *w, int v) { return v >= 0 && v < w->n ? w->word[v] : "?"; }

int words_find(const struct words *w, const char *word, int *ret)
{
	_cleanup_buf_ struct buf all = {0};

	for (int i = 0; word && i < w->n; i++)
		if (streq(w->word[i], word)) {
			*ret = i;
			return 0;
		}
	for (int i = 0; i < w->n; i++)
		buf_addf(&all, "%s%s", i ? ", " : "", *w->word[i] ? w->word[i] : "''");
	return err_set(-EINVAL, "'%s' is no %s; there are: %s", word ? word : "", w->what, buf_str(&all));
}
