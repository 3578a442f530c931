/* SPDX-License-Identifier: GPL-2.0-or-later */
/* First line: changed paths, blank between them; second: changed text; the rest: a MAINTAINERS file. Whatever comes out
 * is an address that may stand in a header, once. */
#include "reporters/mail.h"
#include "reporters/maintainers.h"
#include "tests/fuzz/parser.h"
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = xstrndup((const char *)data, size);
	_cleanup_strv_ struct strv paths = {0};
	_cleanup_(maintainers_release) struct maintainers m = {0};
	char *changed = strchr(text, '\n'), *rest, *save = NULL;

	if (changed)
		*changed++ = 0;
	rest = changed ? strchr(changed, '\n') : NULL;
	if (!rest)
		return 0;
	*rest++ = 0;
	for (char *p = strtok_r(text, " ", &save); p && paths.n < 20; p = strtok_r(NULL, " ", &save))
		strv_add(&paths, p);
	FUZZ_CHECK(maintainers_match(rest, strlen(rest), &paths, changed, &m) == 0);
	for (size_t i = 0; i < m.n; i++) {
		FUZZ_CHECK(mail_address_ok(m.v[i].address) && m.v[i].section && m.v[i].name);
		for (size_t j = 0; j < i; j++)
			FUZZ_CHECK(strcasecmp(m.v[i].address, m.v[j].address) && m.v[j].depth >= m.v[i].depth);
	}
	return 0;
}
