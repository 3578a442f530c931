/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports by SMTP to a real server on loopback (tests/fixtures/report/smtpd.py) that refuses, dies, wants TLS and a login. */
#include "tests/unit/delivery.h"
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char two[] =
	"[{\"address\": \"ann@example.org\", \"name\": \"Ann\", \"header\": \"To\", \"reason\": \"author\", \"allowed\": false},"
	" {\"address\": \"gone@example.org\", \"name\": \"\", \"header\": \"Cc\", \"reason\": \"list\", \"allowed\": false},"
	" {\"address\": \"private@else.example\", \"name\": \"\", \"header\": \"Cc\", \"reason\": \"M\", \"allowed\": true}]";
static const char one[] = "[{\"address\": \"ann@example.org\", \"name\": \"Ann\", \"header\": \"To\", \"reason\": \"author\"}]";
static const char *const allow[] = {"*@example.org", NULL};
static struct report_config cfg = {.robot_name = "kperfbot", .robot_address = "bot@robot.example.org", .allow = allow,
				   .reproduce_dir = "cases"};
static char url[64];

/* Starts the server; its port comes out of it. */
static pid_t serve(const char *mode, bool tls)
{
	_cleanup_free_ char *script = xasprintf("%s/tests/fixtures/report/smtpd.py", top);
	struct buf port = {0};
	struct proc_spec p = {.argv = tls ? ARGV("/usr/bin/python3", script, mode, "log", "cert.pem", "key.pem") :
					    ARGV("/usr/bin/python3", script, mode, "log"), .out_path = "port"};
	pid_t pid = -1;

	unlink("port");
	unlink("log");
	if (proc_start(&p, &pid) < 0)
		ok(false, "%s", err_msg());
	for (int i = 0; i < 400 && !strchr(buf_str(&port), '\n'); i++) {
		usleep(50000);
		buf_clear(&port);
		(void)fs_read("port", 4096, &port);
	}
	snprintf(url, sizeof(url), "smtp://127.0.0.1:%d", atoi(buf_str(&port)));
	if (!atoi(buf_str(&port)))
		printf("Bail out! no SMTP server: %s\n", buf_str(&port));
	cfg.smtp_url = url;
	buf_release(&port);
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static char *state_of(struct store *s, int64_t id)
{
	struct db_report rep = {0};
	struct db_delivery d = {0};
	char *text;

	store_report_by_case(s, id, &rep);
	if (store_delivery_get(s, rep.id, "smtp", &d) < 0)
		d.state = xstrdup("none");
	text = xasprintf("%s: %s", d.state, d.detail ? d.detail : "");
	db_delivery_release(&d);
	db_report_release(&rep);
	return text;
}

static void is_state(struct store *s, int64_t id, const char *want)
{
	_cleanup_free_ char *got = state_of(s, id);

	if (!ok(startswith(got, want), "the row says: %s", want))
		printf("# %s\n", got);
}

static size_t mails(struct buf *log)
{
	size_t n = 0;

	buf_clear(log);
	(void)fs_read("log", 0, log);
	for (const char *p = buf_str(log); (p = strchr(p, '\n')); p++)
		n++;
	return n;
}

static void test_ok(struct store *s, int64_t cmp)
{
	_cleanup_buf_ struct buf log = {0};
	int64_t id = put_report(s, cmp, 1, two);
	pid_t pid = serve("ok", false);
	const char *t;

	is_int(report_deliver(s, id, "smtp", &cfg), 0, "sent");
	is_int(report_deliver(s, id, "smtp", &cfg), 0, "sent already");
	is_int(mails(&log), 1, "the server got it once");
	t = buf_str(&log);
	ok(strstr(t, "\"from\": \"bot@robot.example.org\", \"to\": [\"ann@example.org\"], \"tls\": false") != NULL,
	   "from the robot, to who is allowed and exists");
	ok(strstr(t, "\\nTo: Ann <ann@example.org>\\r\\nCc: gone@example.org\\r\\nX-kperfbot-reason") != NULL, "the header says so");
	ok(strstr(t, "\\nX-kperfbot-would-go-to: private@else.example\\r\\n") != NULL, "who is not allowed is no recipient");
	ok(strstr(t, "\\r\\nFrom here on\\r\\n>From there\\r\\n.\\r\\n..dots\\r\\nline 1 of") != NULL, "dots and From lines come through");
	is_state(s, id, "sent: 250 2.0.0 queued as 42; refused: <gone@example.org>: 550 5.1.1 no such user here");
	is_int(report_again(s, id, "smtp"), -EEXIST, "not sent again by force");
	stop(pid);
}

static void test_refused(struct store *s, int64_t cmp)
{
	static const struct { const char *mode; int result; const char *state; } cases[] = {
		{"nobody", -ECONNREFUSED, "failed: the server refused it: 550 5.1.1"},
		{"refuses-text", -ECONNREFUSED, "failed: the server refused it: 554 5.7.1 looks like spam"},
		{"later-text", -EAGAIN, "waiting: the mail server did not take the report now: 452 4.3.1 no room"},
		{"dies-early", -EAGAIN, "waiting: the mail server did not take the report now: "},
	};
	_cleanup_buf_ struct buf log = {0};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t id = put_report(s, cmp, 10 + (int)i, one);
		pid_t pid = serve(cases[i].mode, false);

		is_int(report_deliver(s, id, "smtp", &cfg), cases[i].result, "%s: %s", cases[i].mode, err_msg());
		is_state(s, id, cases[i].state);
		is_int(mails(&log), 0, "nothing was taken");
		stop(pid);
		pid = serve("ok", false);
		is_int(report_deliver(s, id, "smtp", &cfg), cases[i].result, "not tried again at once");
		is_int(mails(&log), 0, "nor was the server bothered");
		is_int(report_again(s, id, "smtp"), 0, "a person says again");
		is_int(report_deliver(s, id, "smtp", &cfg), 0, "then it is sent");
		is_int(mails(&log), 1, "once");
		stop(pid);
	}
}

static void test_busy(struct store *s, int64_t cmp)
{
	_cleanup_buf_ struct buf log = {0};
	int64_t id = put_report(s, cmp, 20, one);
	struct db_report rep = {0};
	struct db_delivery d = {0};
	pid_t pid = serve("busy-once", false);

	is_int(report_deliver(s, id, "smtp", &cfg), -EAGAIN, "refused for now: %s", err_msg());
	store_report_by_case(s, id, &rep);
	store_delivery_get(s, rep.id, "smtp", &d);
	ok(d.attempts == 1 && d.next_try > now_usec() + 12 * USEC_PER_SEC && d.next_try < now_usec() + 16 * USEC_PER_SEC,
	   "the next attempt is in a minute");
	d.next_try = 1;
	store_delivery_put(s, &d);
	is_int(report_deliver(s, id, "smtp", &cfg), 0, "accepted the second time");
	is_int(mails(&log), 1, "one mail");
	stop(pid);
	is_int(report_deliver(s, id, "smtp", &cfg), 0, "nothing more to do, with no server at all");
	db_delivery_release(&d);
	db_report_release(&rep);
	id = put_report(s, cmp, 21, one);
	is_int(report_deliver(s, id, "smtp", &cfg), -EAGAIN, "no server: %s", err_msg());
}

static void test_unknown(struct store *s, int64_t cmp)
{
	_cleanup_buf_ struct buf log = {0};
	int64_t id = put_report(s, cmp, 30, one), killed = put_report(s, cmp, 31, one);
	struct db_report rep = {0};
	struct db_delivery d = {.way = (char *)"smtp"};
	pid_t pid = serve("dies-late", false);

	is_int(report_deliver(s, id, "smtp", &cfg), -EALREADY, "%s", err_msg());
	is_int(mails(&log), 1, "the server had it all");
	is_state(s, id, "unknown: the connection broke after the text was sent");
	stop(pid);
	pid = serve("ok", false);
	is_int(report_deliver(s, id, "smtp", &cfg), -EALREADY, "it is not sent again by itself");
	is_int(mails(&log), 0, "no second copy");
	/* what a killed robot leaves behind */
	store_report_by_case(s, killed, &rep);
	d.report = rep.id;
	is_int(delivery_set(s, &d, "sending", "text sent"), 0, "the robot is killed after the text");
	is_int(report_deliver(s, killed, "smtp", &cfg), -EALREADY, "the next one does not send it again");
	is_int(mails(&log), 0, "no second copy");
	is_int(delivery_set(s, &d, "sending", "connecting"), 0, "the robot is killed before the text");
	is_int(report_deliver(s, killed, "smtp", &cfg), 0, "then it is sent");
	is_int(mails(&log), 1, "once");
	stop(pid);
	free(d.state);
	free(d.detail);
	db_report_release(&rep);
}

static void test_nobody(struct store *s, int64_t cmp)
{
	struct report_config none = cfg;
	int64_t id = put_report(s, cmp, 40, two);

	none.allow = NULL;
	none.smtp_url = "smtp://127.0.0.1:1";
	is_int(report_deliver(s, id, "smtp", &none), -EUNATCH, "%s", err_msg());
	is_state(s, id, "none");
	none.smtp_url = NULL;
	is_int(report_deliver(s, id, "smtp", &none), -ENOTSUP, "%s", err_msg());
}

static void test_tls(struct store *s, int64_t cmp)
{
	static const char certs[] =
		"openssl req -x509 -newkey rsa:2048 -nodes -keyout ca-key.pem -out ca.pem -days 2 -subj /CN=test-ca 2>/dev/null\n"
		"openssl req -newkey rsa:2048 -nodes -keyout key.pem -out req.pem -subj /CN=127.0.0.1 2>/dev/null\n"
		"echo subjectAltName=IP:127.0.0.1 >ext\n"
		"openssl x509 -req -in req.pem -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days 2 -extfile ext -out cert.pem 2>/dev/null\n";
	_cleanup_buf_ struct buf log = {0};
	struct report_config c;
	int64_t id = put_report(s, cmp, 50, one);
	pid_t pid;

	is_int(proc_ok(ARGV("sh", "-ec", certs), NULL, NULL), 0, "certificates");
	pid = serve("ok", true);
	c = cfg;
	c.smtp_starttls_required = true;
	c.smtp_user = "bot";
	c.smtp_password_file = "password";
	fs_write_atomic("password", "wrong\n", 6);
	chmod("password", 0644);
	is_int(report_deliver(s, id, "smtp", &c), -EPERM, "%s", err_msg());
	chmod("password", 0600);
	is_int(report_deliver(s, id, "smtp", &c), -EAGAIN, "a certificate of nobody known: %s", err_msg());
	c.smtp_ca_file = "ca.pem";
	report_again(s, id, "smtp");
	is_int(report_deliver(s, id, "smtp", &c), -EAGAIN, "a wrong password: %s", err_msg());
	is_int(mails(&log), 0, "nothing was taken");
	fs_write_atomic("password", "sesame open\n", 12);
	chmod("password", 0600);
	report_again(s, id, "smtp");
	is_int(report_deliver(s, id, "smtp", &c), 0, "TLS and a login");
	is_int(mails(&log), 1, "one mail");
	ok(strstr(buf_str(&log), "\"tls\": true, \"login\": true") != NULL, "encrypted, logged in");
	stop(pid);
	pid = serve("ok", false);
	id = put_report(s, cmp, 51, one);
	is_int(report_deliver(s, id, "smtp", &c), -EAGAIN, "a server without TLS where TLS is asked for: %s", err_msg());
	is_int(mails(&log), 0, "gets nothing");
	stop(pid);
}

int main(void)
{
	struct store *s = NULL;
	int64_t cmp;

	enter();
	is_int(store_open("db", false, &s), 0, "a database");
	cmp = put_comparison(s);
	test_ok(s, cmp);
	test_refused(s, cmp);
	test_busy(s, cmp);
	test_unknown(s, cmp);
	test_nobody(s, cmp);
	test_tls(s, cmp);
	store_close(s);
	leave();
	return tap_done();
}
