/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an interrupted delivery left in an mbox. The first line is the row's detail ("offset 12", "blanking 12 30"), the
 * rest the file, where a byte 1 and the next stand for so many tens of bytes of our mail. Afterwards our mail is there,
 * and what is somebody else's has not moved.
 */
#include "tests/fuzz/check.h"
#include "tests/unit/delivery.h"

static struct store *store;
static struct db_report rep;
static struct buf mail;

static int put(struct db_delivery *d, const char *path)
{
	const struct report_ops *mbox = reporter_find("mbox");

	give("mbox", "mbox", path);
	return mbox->put(store, &rep, d, &(struct report_config){.settings = &settings},
			 report_settings_of(&settings, mbox));
}

/* What our mail looks like in an mbox of its own. */
static void make_mail(void)
{
	_cleanup_free_ char *path = xasprintf("%s/fresh", fuzz_folder());
	struct db_delivery d = {.report = rep.id, .way = xstrdup("mbox")};

	FUZZ_CHECK(put(&d, path) == 0);
	FUZZ_CHECK(fs_read(path, 0, &mail) == 0);
	db_delivery_release(&d);
}

static void make_store(void)
{
	_cleanup_free_ char *path = xasprintf("%s/db", fuzz_folder());

	FUZZ_CHECK(store_open(path, false, &store) == 0);
	FUZZ_CHECK(store_report_by_case(store, put_report(store, put_comparison(store), 1, "[]"), &rep) == 0);
	make_mail();
}

static void expand(const uint8_t *p, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		size_t most = p[i] == 1 && i + 1 < n ? (size_t)p[i + 1] * 60 : 0;

		buf_add(out, most ? mail.s : (const char *)p + i, most ? MIN(mail.len, most) : 1);
		i += most > 0;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nl = memchr(data, '\n', size);
	_cleanup_free_ char *path = xasprintf("%s/box", fuzz_folder()),
			    *detail = nl ? xstrndup((const char *)data, nl - data) : NULL;
	_cleanup_buf_ struct buf before = {0}, after = {0};
	struct db_delivery d = {0};
	long long offset = -1;
	int r;

	(void)enter;
	(void)leave;
	if (!store)
		make_store();
	if (!nl)
		return 0;
	expand(nl + 1, data + size - nl - 1, &before);
	fuzz_put("box", buf_str(&before), before.len);
	d = (struct db_delivery){.report = rep.id, .way = xstrdup("mbox"), .state = DELIVERY_SENDING,
				 .detail = xstrdup(detail)};
	FUZZ_CHECK(store_delivery_put(store, &d) >= 0);
	r = put(&d, path);
	FUZZ_CHECK(r == 0 && fs_read(path, 0, &after) == 0);
	FUZZ_CHECK(memmem(after.s, after.len, mail.s, mail.len));
	/* what lies before our place is not ours */
	if (sscanf(detail, "offset %lld", &offset) == 1 && offset >= 0 && (size_t)offset < before.len)
		FUZZ_CHECK(after.len >= (size_t)offset && !memcmp(after.s, before.s, offset));
	else if (startswith(detail, "blanking"))
		FUZZ_CHECK(after.len >= before.len);
	else
		FUZZ_CHECK(after.len >= before.len && !memcmp(after.s, buf_str(&before), before.len));
	db_delivery_release(&d);
	return 0;
}
