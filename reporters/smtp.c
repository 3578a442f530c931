/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * smtp.c - sends reports by SMTP to those recipients who pass the allow-list now, did not get it yet and whose time has
 * come; To: and Cc: always name all who pass.
 *
 * Rows, one for each recipient: 'sending' with "connecting" first; with "text sent" for those whom the server accepted,
 * just before the final dot, after which only the server knows: a connection that ends there leaves them 'unknown'.
 * Whom the server refuses is 'failed', whom it puts off 'waiting'; where it takes only some recipients at a time, the
 * others follow without a pause. Who got cfg->max_per_day reports within a day waits until that is over. 'sent' is
 * written as soon as the server says so. Delivered: at least one has it, none waits and nobody is 'unknown'.
 */
#include "reporters/reporter.h"
#include "reporters/mail.h"
#include "reporters/recipients.h"
#include "lib/fs.h"
#include <curl/curl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define CONNECT_TIMEOUT_S 30L
#define WHOLE_TIMEOUT_S 300L
#define FAREWELL_TIMEOUT_S 10L
#define MAX_AT_ONCE 100         /* recipients that every server must take: RFC 5321 section 4.5.3.1.8 */

struct smtp_settings { bool on; char *url, *user, *password_file, *ca_file; bool starttls; };
static const struct setting settings[] = {
	SETTING(smtp_settings, on, "smtp", "also send by SMTP"),
	SETTING(smtp_settings, url, "smtp_url", "the mail server, smtp:// or smtps://", .url = true),
	SETTING(smtp_settings, user, "smtp_user", "login there"),
	SETTING(smtp_settings, password_file, "smtp_password_file", "file with the password, mode 0600"),
	SETTING(smtp_settings, ca_file, "smtp_ca_file", "certificates to trust", .otherwise = "the system's"),
	SETTING(smtp_settings, starttls, "smtp_starttls", "refuse to send without STARTTLS"),
	SETTING_END,
};

enum stage { GREETING, MAIL, RCPT, DATA, TEXT, FAREWELL };     /* what the next answer is about */

struct person {
	struct db_delivery d;
	int code; char *words;          /* the last answer to RCPT */
	bool changed;
};
struct people { struct person *v; size_t n, cap; };

struct sending {
	struct store *s;
	const struct smtp_settings *set;
	struct person *to[MAX_AT_ONCE];
	size_t n, asked;                /* asked: how many RCPT so far */
	const char *p;
	size_t left;
	bool ended;                     /* the text's end was asked for */
	enum stage stage;
	int code[FAREWELL + 1];         /* the last answer at each stage, 0: none */
	char answer[256];               /* last line that is neither about one recipient nor the farewell */
};

static void people_release(struct people *l)
{
	for (size_t i = 0; i < l->n; i++) {
		db_delivery_release(&l->v[i].d);
		free(l->v[i].words);
	}
	free(l->v);
}

/* Writes the rows that have changed, all or none. */
static int people_save(struct store *s, struct people *l)
{
	_cleanup_free_ struct db_delivery *d = xcalloc(l->n + 1, sizeof(*d));  /* borrowed */
	size_t n = 0;
	int r;

	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].changed)
			d[n++] = l->v[i].d;
	r = n ? store_deliveries_put(s, d, n) : 0;
	for (size_t i = 0; r >= 0 && i < l->n; i++)
		l->v[i].changed = false;
	return r;
}

static bool accepted(const struct person *p) { return p->code >= 200 && p->code < 300; }

/* Not this recipient, but so many at once: RFC 5321 section 4.5.3.1.10 (552 meant it once), RFC 3463 section 3.6. */
static bool too_many(const struct person *p)
{
	return p->code == 452 || p->code == 552 ||
	       (p->words && (strstr(p->words, " 4.5.3 ") || strstr(p->words, " 5.5.3 ") ||
			     strcasestr(p->words, "too many recipients")));
}

/* The mail with the recipients' part of its header made anew: the allow-list may have changed since it was written. */
static void message(const struct db_report *rep, const struct recipients *people, const struct report_config *cfg,
		    struct buf *out)
{
	const char *end = strstr(rep->text, "\n\n"), *to = strstr(rep->text, "\nTo: ");
	_cleanup_buf_ struct buf b = {0};

	buf_add(&b, rep->text, (to && end && to < end ? to : end ? end : rep->text) - rep->text);
	if (b.len)
		buf_addc(&b, '\n');
	recipients_header(people, cfg, &b);
	buf_adds(&b, end ? end + 1 : "\n");
	for (const char *s = b.s; *s; s++) {
		if (*s == '\n')
			buf_addc(out, '\r');
		buf_addc(out, *s);
	}
}

/* Writes down, at once, what has become of all who were accepted. */
static int put_accepted(struct sending *x, enum delivery_state state, const char *detail)
{
	struct db_delivery d[MAX_AT_ONCE];      /* borrowed */
	size_t n = 0;

	for (size_t i = 0; i < x->n; i++)
		if (accepted(x->to[i])) {
			delivery_is(&x->to[i]->d, state, "%s", detail);
			d[n++] = x->to[i]->d;
		}
	return store_deliveries_put(x->s, d, n);
}

static size_t on_read(char *to, size_t size, size_t n, void *arg)
{
	struct sending *x = arg;
	size_t k = MIN(size * n, x->left);

	if (!x->left) {
		/* after the final dot only the server knows: if this cannot be written down, the dot is not sent */
		if (!x->ended && put_accepted(x, DELIVERY_SENDING, "text sent") < 0)
			return CURL_READFUNC_ABORT;
		x->ended = true;
		x->stage = TEXT;
		return 0;
	}
	memcpy(to, x->p, k);
	x->p += k;
	x->left -= k;
	return k;
}

/* What is sent in the stage GREETING may be a password. */
static void we_say(struct sending *x, const char *line)
{
	if (startswith(line, "MAIL FROM:"))
		x->stage = MAIL;
	else if (x->stage >= MAIL && startswith(line, "RCPT TO:")) {
		x->stage = RCPT;
		x->asked++;
	} else if (x->stage == RCPT && streq(line, "DATA"))
		x->stage = DATA;
	else if (x->stage >= MAIL && streq(line, "QUIT"))
		x->stage = FAREWELL;
}

static void server_says(struct sending *x, const char *line)
{
	_cleanup_free_ char *safe = NULL;
	int code;

	if (strspn(line, "0123456789") != 3 || line[3] == '-' || startswith(line, "221"))
		return;
	code = atoi((const char[]){line[0], line[1], line[2], 0});
	x->code[x->stage] = code;
	safe = term_safe(line);
	if (x->stage == RCPT && x->asked && x->asked <= x->n) {
		struct person *p = x->to[x->asked - 1];

		free(p->words);
		p->words = TAKE_PTR(safe);
		p->code = code;
	} else if (x->stage != RCPT && x->stage != FAREWELL)
		snprintf(x->answer, sizeof(x->answer), "%s", safe);
	/* the server's farewell may take as long as it likes; what cannot be written now is written at the end */
	if (x->stage == TEXT && code >= 200 && code < 300)
		(void)put_accepted(x, DELIVERY_SENT, x->answer);
}

/* libcurl does not tell which of several recipients was refused, nor at which stage it ended: the conversation does. */
static int on_talk(CURL *c _unused_, curl_infotype type, char *data, size_t n, void *arg)
{
	_cleanup_free_ char *line = NULL;

	if (type != CURLINFO_HEADER_IN && type != CURLINFO_HEADER_OUT)
		return 0;
	line = xstrndup(data, n);
	line[strcspn(line, "\r\n")] = 0;
	if (type == CURLINFO_HEADER_OUT) {
		we_say(arg, line);
		explicit_bzero(line, strlen(line));
	} else
		server_says(arg, line);
	return 0;
}

static int read_password(const char *path, char **ret)
{
	_cleanup_buf_ struct buf b = {0};
	struct stat st;
	int r;

	if (stat(path, &st) < 0)
		return err_set(-errno, "cannot read the password file '%s': %s", path, strerror(errno));
	if (st.st_mode & 077)
		return err_set(-EPERM, "the password file '%s' can be read by others: chmod 600 it", path);
	r = fs_read(path, 4096, &b);
	if (r < 0)
		return r;
	*ret = xstrndup(buf_str(&b), strcspn(buf_str(&b), "\r\n"));
	explicit_bzero(b.s, b.len);
	return 0;
}

static bool is_loopback(const char *url)
{
	const char *host = strstr(url, "://");
	size_t n;

	host = host ? host + 3 : url;
	if (startswith(host, "[::1]"))
		return !host[5] || strchr(":/", host[5]);
	n = strcspn(host, ":/");
	return (startswith(host, "127.") && strspn(host, "0123456789.") == n) ||
	       (n == strlen("localhost") && startswith(host, "localhost"));
}

/* From here on this process has the password: no core file and no other process of our user gets it. libcurl keeps
 * copies, so that holds to its end. */
static void keep_to_ourselves(void)
{
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	prctl(PR_SET_DUMPABLE, 0);
}

static int set_login(CURL *c, const struct smtp_settings *set)
{
	_cleanup_free_ char *password = NULL;
	int r;

	keep_to_ourselves();
	r = set->password_file ? read_password(set->password_file, &password) : 0;
	if (r < 0)
		return r;
	curl_easy_setopt(c, CURLOPT_USERNAME, set->user);
	curl_easy_setopt(c, CURLOPT_PASSWORD, password ? password : "");
	if (password)
		explicit_bzero(password, strlen(password));
	return 0;
}

static int set_options(CURL *c, const struct smtp_settings *set, struct curl_slist *to, const char *from,
		       struct sending *x)
{
	/* a password never crosses a network in the clear */
	bool tls = set->starttls || (set->user && !is_loopback(set->url));

	curl_easy_setopt(c, CURLOPT_URL, set->url);
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
	curl_easy_setopt(c, CURLOPT_USE_SSL, (long)(tls ? CURLUSESSL_ALL : CURLUSESSL_TRY));
	if (set->ca_file)
		curl_easy_setopt(c, CURLOPT_CAINFO, set->ca_file);
	curl_easy_setopt(c, CURLOPT_MAIL_FROM, from);
	curl_easy_setopt(c, CURLOPT_MAIL_RCPT, to);
	curl_easy_setopt(c, CURLOPT_MAIL_RCPT_ALLLOWFAILS, 1L);
	curl_easy_setopt(c, CURLOPT_UPLOAD, 1L);
	curl_easy_setopt(c, CURLOPT_READFUNCTION, on_read);
	curl_easy_setopt(c, CURLOPT_READDATA, x);
	curl_easy_setopt(c, CURLOPT_VERBOSE, 1L);
	curl_easy_setopt(c, CURLOPT_DEBUGFUNCTION, on_talk);
	curl_easy_setopt(c, CURLOPT_DEBUGDATA, x);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, CONNECT_TIMEOUT_S);
	curl_easy_setopt(c, CURLOPT_TIMEOUT, WHOLE_TIMEOUT_S);
	return set->user ? set_login(c, set) : 0;
}

/* ---- what it means ---- */

static bool is_final(int code) { return code >= 500 && code < 600; }

static void later(struct person *p, const char *what)
{
	_cleanup_free_ char *text = xasprintf("the mail server did not take the report now: %s", what);

	delivery_is_later(&p->d, text);
}

/* The text has gone out: what does the answer to it mean for those who were accepted? */
static void after_text(const struct sending *x, struct person *p, const char *what)
{
	int code = x->code[TEXT];

	if (code >= 200 && code < 300)
		delivery_is(&p->d, DELIVERY_SENT, "%s", x->answer);
	else if (is_final(code))
		delivery_is(&p->d, DELIVERY_FAILED, "the server refused it: %s", x->answer);
	else if (code >= 400)
		later(p, x->answer);
	else
		delivery_is(&p->d, DELIVERY_UNKNOWN, "the connection broke after the text was sent: %s", what);
}

/* A login that fails, a certificate that is not known, a server that is away: people will mend that; the report can
 * wait. */
static void conclude(const struct sending *x, struct person *p, const char *what)
{
	p->changed = true;
	if (p->code && !accepted(p) && is_final(p->code) && !too_many(p))
		delivery_is(&p->d, DELIVERY_FAILED, "the server refused it: %s", p->words);
	else if (p->code && !accepted(p))
		later(p, p->words);
	else if (accepted(p) && x->ended)
		after_text(x, p, what);
	else if (is_final(x->code[MAIL]) || (accepted(p) && is_final(x->code[DATA])))
		delivery_is(&p->d, DELIVERY_FAILED, "the server refused it: %s", x->answer);
	else
		later(p, x->code[x->stage] >= 400 && x->stage != RCPT ? x->answer : what);
}

/* Whom a server that takes fewer at once has left over is served next; it made progress. 1: there are such. */
static int the_rest(struct sending *x)
{
	bool progress = false;
	int rest = 0;

	for (size_t i = 0; i < x->n; i++)
		progress |= x->to[i]->d.state == DELIVERY_SENT;
	for (size_t i = 0; progress && i < x->n; i++)
		if (!accepted(x->to[i]) && too_many(x->to[i]) && x->to[i]->d.state == DELIVERY_WAITING) {
			x->to[i]->d.attempts--;
			x->to[i]->d.next_try = 0;
			rest = 1;
		}
	return rest;
}

static void tell(struct store *s, int64_t case_id, const struct sending *x)
{
	_cleanup_buf_ struct buf t = {0};
	size_t sent = 0;

	for (size_t i = 0; i < x->n; i++)
		if (x->to[i]->d.state == DELIVERY_SENT)
			buf_addf(&t, "%s%s", sent++ ? ", " : "sent to ", x->to[i]->d.recipient);
	for (size_t i = 0; i < x->n; i++) {
		const struct db_delivery *d = &x->to[i]->d;

		if (d->state != DELIVERY_SENT && !(d->state == DELIVERY_WAITING && d->attempts > 1))
			buf_addf(&t, "%s%s %s: %s", t.len ? "; " : "", d->recipient,
				 delivery_state_word(d->state), d->detail);
	}
	if (t.len)
		store_event(s, case_id, 0, 0, "report by smtp: %s", t.s);
}

/* ---- one mail ---- */

static int perform(struct sending *x, struct people *l, const struct report_config *cfg)
{
	_cleanup_free_ char *from = xasprintf("<%s>", cfg->robot_address);
	struct curl_slist *to = NULL;
	char error[CURL_ERROR_SIZE] = "";
	CURL *c = curl_easy_init();
	CURLcode cc;
	int r;

	if (!c)
		return err_set(-ENOMEM, "cannot set up libcurl");
	for (size_t i = 0; i < x->n; i++) {
		_cleanup_free_ char *one = xasprintf("<%s>", x->to[i]->d.recipient);

		to = curl_slist_append(to, one);
		delivery_is(&x->to[i]->d, DELIVERY_SENDING, "connecting");
		x->to[i]->changed = true;
	}
	r = set_options(c, x->set, to, from, x);
	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, error);
	r = r < 0 ? r : people_save(x->s, l);
	if (r >= 0) {
		cc = curl_easy_perform(c);
		for (size_t i = 0; i < x->n; i++)
			conclude(x, x->to[i], *error ? error : curl_easy_strerror(cc));
		r = the_rest(x);
	}
	curl_slist_free_all(to);
	curl_easy_setopt(c, CURLOPT_SERVER_RESPONSE_TIMEOUT, FAREWELL_TIMEOUT_S);
	curl_easy_cleanup(c);
	return r;
}

/* Who pushes bad commits to and fro could else fill a mailbox. 1: it was put off. */
static int put_off(struct store *s, const struct report_config *cfg, struct person *p)
{
	const usec_t day = 86400 * USEC_PER_SEC;
	usec_t oldest = 0;
	int r = !cfg->max_per_day ? 0 :
		store_deliveries_full(s, p->d.recipient, cfg->max_per_day, now_usec() - day, &oldest);

	if (r < 0 || !oldest)
		return r;
	delivery_is(&p->d, DELIVERY_WAITING,
		    "%zu reports have gone there within a day, as many as 'max_per_day' allows", cfg->max_per_day);
	p->d.next_try = oldest + day;
	p->changed = true;
	return 1;
}

/* To those whose time has come. 1: there are more. */
static int transaction(struct store *s, const struct db_report *rep, const struct report_config *cfg,
		       const struct smtp_settings *set, const struct recipients *all, struct people *l)
{
	_cleanup_buf_ struct buf text = {0};
	struct sending x = {.s = s, .set = set};
	size_t due = 0;
	int r, saved;

	for (size_t i = 0; i < l->n; i++) {
		struct person *p = &l->v[i];

		if (p->d.state != DELIVERY_WAITING || delivery_waits(&p->d))
			continue;
		r = put_off(s, cfg, p);
		if (r < 0)
			return r;
		if (r > 0)
			store_event(s, rep->case_id, 0, 0, "report by smtp: %s waits: %s", p->d.recipient, p->d.detail);
		if (r == 0 && due++ < MAX_AT_ONCE) {
			free(p->words);
			p->words = NULL;
			p->code = 0;
			x.to[x.n++] = p;
		}
	}
	if (!x.n)
		return people_save(s, l);
	message(rep, all, cfg, &text);
	x.p = text.s;
	x.left = text.len;
	r = perform(&x, l, cfg);
	if (r < 0)
		return r;
	saved = people_save(s, l);
	tell(s, rep->case_id, &x);
	return saved < 0 ? saved : r || due > x.n;
}

/* ---- all of them ---- */

static bool may_get(const struct recipients *all, const struct report_config *cfg, const char *address)
{
	for (size_t i = 0; i < all->n; i++)
		if (!strcasecmp(all->v[i].address, address))
			return mail_allowed(all->v[i].address, cfg->allow);
	return false;
}

/* What an earlier process, or another allow-list, left behind. */
static void take_over(struct person *p, bool allowed)
{
	bool open = p->d.state == DELIVERY_SENDING || p->d.state == DELIVERY_WAITING;

	p->changed = true;
	if (p->d.state == DELIVERY_SENDING && streq(p->d.detail, "text sent"))
		delivery_is(&p->d, DELIVERY_UNKNOWN, "the robot was killed after the text was sent");
	else if (open && !allowed)
		delivery_is(&p->d, DELIVERY_FAILED, "the allow-list does not let it through any more");
	else if (p->d.state == DELIVERY_SENDING)
		delivery_is(&p->d, DELIVERY_WAITING, "the robot was killed before the text was sent");
	else
		p->changed = false;
}

static bool has_row(const struct people *l, const char *address)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcasecmp(l->v[i].d.recipient, address))
			return true;
	return false;
}

/* A row for each who passes the allow-list now, and those of earlier attempts. */
static int load(struct store *s, const struct db_report *rep, const struct report_config *cfg,
		const struct recipients *all, struct people *ret)
{
	struct db_delivery *d = NULL;
	size_t n = 0;
	int r = store_deliveries(s, rep->id, "smtp", &d, &n);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		GROW(ret->v, ret->n, ret->cap);
		ret->v[ret->n] = (struct person){.d = d[i]};
		take_over(&ret->v[ret->n++], may_get(all, cfg, d[i].recipient));
	}
	free(d);
	for (size_t i = 0; i < all->n; i++) {
		const char *address = all->v[i].address;

		if (!mail_allowed(address, cfg->allow) || has_row(ret, address))
			continue;
		GROW(ret->v, ret->n, ret->cap);
		ret->v[ret->n++] = (struct person){.d = {.report = rep->id, .way = xstrdup("smtp"),
							.recipient = xstrdup(address)}};
	}
	return people_save(s, ret);
}

static const struct db_delivery *first_in(const struct people *l, enum delivery_state state)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].d.state == state)
			return &l->v[i].d;
	return NULL;
}

static int standing(const struct people *l, int64_t case_id)
{
	const struct db_delivery *d;
	size_t sent = 0;

	for (size_t i = 0; i < l->n; i++)
		sent += l->v[i].d.state == DELIVERY_SENT;
	if ((d = first_in(l, DELIVERY_WAITING)))
		return err_set(-EAGAIN, "%zu of %zu recipients have the report, the others are tried again later: %s: "
			       "%s", sent, l->n, d->recipient, d->detail ? d->detail : "");
	if ((d = first_in(l, DELIVERY_UNKNOWN)))
		return err_set(-EALREADY, "it is not known whether %s got the report (%s), %zu of %zu recipients have "
			       "it; ask, then 'kperfbot report send %" PRId64 " --smtp --force' sends it again",
			       d->recipient, d->detail ? d->detail : "", sent, l->n, case_id);
	d = first_in(l, DELIVERY_FAILED);
	return sent || !d ? 0 : err_set(-ECONNREFUSED, "no recipient has the report: %s: %s", d->recipient,
					d->detail ? d->detail : "");
}

/* Only one process sends; who finds 'sending' while it has the lock looks at what a dead one left. */
static int lock_out_others(const struct report_config *cfg)
{
	_cleanup_free_ char *path = cfg->reproduce_dir ? xasprintf("%s/smtp.lock", cfg->reproduce_dir) : NULL;
	int fd;

	if (!path)
		return err_set(-EINVAL, "sending needs a folder for its lock");
	fd = fs_mkdir_p(cfg->reproduce_dir);
	fd = fd < 0 ? fd : fs_lock(path, false);
	return fd == -EWOULDBLOCK ? err_set(-EAGAIN, "another process is sending mail now") : fd;
}

static int deliver(struct store *s, const struct db_report *rep, const struct report_config *cfg, const void *own)
{
	_cleanup_(recipients_release) struct recipients all = {0};
	_cleanup_(people_release) struct people l = {0};
	_cleanup_close_ int lock = -1;
	size_t allowed = 0;
	int r = recipients_parse(rep->recipients, &all);

	if (r < 0)
		return r;
	for (size_t i = 0; i < all.n; i++)
		allowed += mail_allowed(all.v[i].address, cfg->allow);
	if (!allowed)
		return err_set(-EUNATCH, "none of the %zu recipients passes the allow-list, so nothing was sent; set "
			       "'allow' in the mail section", all.n);
	if (!mail_address_ok(cfg->robot_address))
		return err_set(-EINVAL,
			       "the robot needs a mail address to send from; set 'robot_address' in the mail section");
	lock = lock_out_others(cfg);
	if (lock < 0)
		return lock;
	r = load(s, rep, cfg, &all, &l);
	while (r == 0 && (r = transaction(s, rep, cfg, own, &all, &l)) > 0)
		r = 0;
	return r < 0 ? r : standing(&l, rep->case_id);
}

static bool enabled(const void *own)
{
	const struct smtp_settings *set = own;

	return set->on && set->url;
}

static int check(const void *own, const char **ret_key)
{
	const struct smtp_settings *set = own;
	_cleanup_free_ char *shown = url_shown(set->url);

	*ret_key = set->url ? "smtp_url" : "smtp";
	if (set->on && !set->url)
		return err_set(-EINVAL, "mail: 'smtp: true' needs an 'smtp_url' such as smtp://mail.example.org:587");
	if (set->url && url_has_secret(set->url))
		return err_set(-EINVAL, "'smtp_url' is no place for a user name or password: 'smtp_user' and "
			       "'smtp_password_file' (mode 0600) are");
	if (set->url && !startswith(set->url, "smtp://") && !startswith(set->url, "smtps://"))
		return err_set(-EINVAL, "'smtp_url' must begin with smtp:// or smtps://, not '%s'", shown);
	return 0;
}

const struct report_ops report_smtp = {
	.name = "smtp",
	.help = "send: by SMTP, not into the mbox",
	.title = "SMTP",
	.where = "smtp",
	.reach = REPORT_PEOPLE,
	.files = (const char *const[]){"smtp.lock", NULL},
	.settings = settings,
	.size = sizeof(struct smtp_settings),
	.section = "mail",
	.check = check,
	.enabled = enabled,
	.deliver = deliver,
};
