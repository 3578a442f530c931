/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reporters/deliver.h"
#include "reporters/mail.h"
#include "reporters/recipients.h"
#include "lib/fs.h"
#include <curl/curl.h>
#include <sys/stat.h>

#define CONNECT_TIMEOUT_S 30L
#define WHOLE_TIMEOUT_S 300L

struct sending {
	struct store *s;
	struct db_delivery *d;
	const char *p;
	size_t left;
	bool started, ended;            /* the text's first byte, its end was asked for */
	char rcpt[256];                 /* the recipient that the next answer is about */
	struct buf refused;
	char answer[256];               /* last line from the server but its farewell */
};

/* The mail with the recipients' part of its header made anew: the allow-list may have changed since it was written. */
static void message(const struct db_report *rep, const struct recipients *people, const struct report_config *cfg, struct buf *out)
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

static size_t on_read(char *to, size_t size, size_t n, void *arg)
{
	struct sending *x = arg;
	size_t k = MIN(size * n, x->left);

	x->started = true;
	if (!x->left) {
		/* after the final dot only the server knows. If this cannot be written down, the dot is not sent. */
		if (!x->ended && delivery_set(x->s, x->d, "sending", "text sent") < 0)
			return CURL_READFUNC_ABORT;
		x->ended = true;
		return 0;
	}
	memcpy(to, x->p, k);
	x->p += k;
	x->left -= k;
	return k;
}

/* libcurl does not tell which of several recipients was refused: the conversation does. */
static int on_talk(CURL *c _unused_, curl_infotype type, char *data, size_t n, void *arg)
{
	struct sending *x = arg;
	_cleanup_free_ char *line = NULL, *safe = NULL;

	if (type != CURLINFO_HEADER_IN && type != CURLINFO_HEADER_OUT)
		return 0;
	line = xstrndup(data, n);
	line[strcspn(line, "\r\n")] = 0;
	if (type == CURLINFO_HEADER_OUT) {
		/* never keeps what was said for the login */
		snprintf(x->rcpt, sizeof(x->rcpt), "%s", startswith(line, "RCPT TO:") ? line + strlen("RCPT TO:") : "");
		return 0;
	}
	if (startswith(line, "221"))
		return 0;       /* the farewell says nothing */
	safe = term_safe(line);
	snprintf(x->answer, sizeof(x->answer), "%s", safe);
	if (*x->rcpt && (*line == '4' || *line == '5'))
		buf_addf(&x->refused, "%s%s: %s", x->refused.len ? "; " : "", x->rcpt, x->answer);
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
	n = strcspn(host, ":/");
	return startswith(host, "127.") || startswith(host, "[::1]") || (n == strlen("localhost") && startswith(host, "localhost"));
}

static int set_login(CURL *c, const struct report_config *cfg)
{
	_cleanup_free_ char *password = NULL;
	int r = cfg->smtp_password_file ? read_password(cfg->smtp_password_file, &password) : 0;

	if (r < 0)
		return r;
	curl_easy_setopt(c, CURLOPT_USERNAME, cfg->smtp_user);
	curl_easy_setopt(c, CURLOPT_PASSWORD, password ? password : "");
	if (password)
		explicit_bzero(password, strlen(password));
	return 0;
}

static int set_options(CURL *c, const struct report_config *cfg, struct curl_slist *to, const char *from, struct sending *x)
{
	/* a password never crosses a network in the clear */
	bool tls = cfg->smtp_starttls_required || (cfg->smtp_user && !is_loopback(cfg->smtp_url));

	curl_easy_setopt(c, CURLOPT_URL, cfg->smtp_url);
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
	curl_easy_setopt(c, CURLOPT_USE_SSL, (long)(tls ? CURLUSESSL_ALL : CURLUSESSL_TRY));
	if (cfg->smtp_ca_file)
		curl_easy_setopt(c, CURLOPT_CAINFO, cfg->smtp_ca_file);
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
	return cfg->smtp_user ? set_login(c, cfg) : 0;
}

/* What the outcome of a transfer means. */
static int outcome(struct store *s, struct db_delivery *d, CURLcode cc, long code, const char *error, const struct sending *x)
{
	const char *what = *x->answer && code >= 400 ? x->answer : *error ? error : curl_easy_strerror(cc);
	int r;

	if (cc == CURLE_OK && x->ended)
		return delivery_set(s, d, "sent", "%s%s%s", x->answer, x->refused.len ? "; refused: " : "", buf_str(&x->refused));
	if (code >= 500 && code < 600 && cc != CURLE_LOGIN_DENIED) {
		r = delivery_set(s, d, "failed", "the server refused it: %s", what);
		return r < 0 ? r : err_set(-ECONNREFUSED, "the mail server refused the report: %s", what);
	}
	/* a login that fails, a certificate that is not known: people will mend that, the report can wait */
	if ((code >= 400 && code < 500) || !x->ended)
		return delivery_later(s, d, "the mail server did not take the report now: %s", what);
	r = delivery_set(s, d, "unknown", "the connection broke after the text was sent: %s", what);
	return r < 0 ? r : err_set(-EALREADY, "it is not known whether the report was mailed: the connection broke after the text "
				   "was sent (%s); ask a recipient, then 'report send --smtp --force' sends it again", what);
}

static int transfer(struct store *s, const struct db_report *rep, struct db_delivery *d, const struct report_config *cfg,
		    const struct recipients *people)
{
	_cleanup_buf_ struct buf text = {0};
	_cleanup_free_ char *from = xasprintf("<%s>", cfg->robot_address);
	struct sending x = {.s = s, .d = d};
	struct curl_slist *to = NULL;
	char error[CURL_ERROR_SIZE] = "";
	long code = 0;
	CURL *c = curl_easy_init();
	CURLcode cc;
	int r;

	if (!c)
		return err_set(-ENOMEM, "cannot set up libcurl");
	message(rep, people, cfg, &text);
	x.p = text.s;
	x.left = text.len;
	for (size_t i = 0; i < people->n; i++)
		if (mail_allowed(people->v[i].address, cfg->allow)) {
			_cleanup_free_ char *one = xasprintf("<%s>", people->v[i].address);

			to = curl_slist_append(to, one);
		}
	r = set_options(c, cfg, to, from, &x);
	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, error);
	r = r < 0 ? r : delivery_set(s, d, "sending", "connecting");
	if (r == 0) {
		cc = curl_easy_perform(c);
		curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &code);
		r = outcome(s, d, cc, code, error, &x);
	}
	curl_slist_free_all(to);
	curl_easy_cleanup(c);
	buf_release(&x.refused);
	return r;
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

int smtp_deliver(struct store *s, const struct db_report *rep, struct db_delivery *d, const struct report_config *cfg)
{
	_cleanup_(recipients_release) struct recipients people = {0};
	_cleanup_(db_delivery_release) struct db_delivery now = {0};
	_cleanup_close_ int lock = -1;
	size_t allowed = 0;
	int r = recipients_parse(rep->recipients, &people);

	if (r < 0)
		return r;
	for (size_t i = 0; i < people.n; i++)
		allowed += mail_allowed(people.v[i].address, cfg->allow);
	if (!allowed)
		return err_set(-EUNATCH, "none of the %zu recipients passes the allow-list, so nothing was sent; set 'allow' in the "
			       "mail section", people.n);
	if (!mail_address_ok(cfg->robot_address))
		return err_set(-EINVAL, "the robot needs a mail address to send from; set 'robot_address' in the mail section");
	lock = lock_out_others(cfg);
	if (lock < 0)
		return lock;
	r = store_delivery_get(s, rep->id, "smtp", &now);
	if (r < 0 && r != -ENOENT)
		return r;
	if (r == 0 && streq(now.state, "sent"))
		return 0;
	if (r == 0 && streq(now.state, "sending") && streq(now.detail, "text sent")) {
		r = delivery_set(s, d, "unknown", "the robot was killed after the text was sent");
		return r < 0 ? r : err_set(-EALREADY, "it is not known whether the report was mailed: the robot was killed after the text "
					   "was sent; ask a recipient, then 'report send --smtp --force' sends it again");
	}
	return transfer(s, rep, d, cfg, &people);
}
