/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mirror: listing a remote and fetching from it, by the git program. */
#include "kernels/tree-internal.h"
#include "lib/fs.h"
#include "lib/git.h"

#include <fnmatch.h>
#include <ftw.h>
#include <sys/stat.h>

#define LIST_TIMEOUT_S 60.0
#define FETCH_TIMEOUT_S 7200.0
/* Measured: for each object 90 bytes to index, 180 to see that all is there, 350 to pack anew. A kernel has ten
 * million. */
#define FETCH_MEMORY (4ULL << 30)
#define TIDY_MEMORY (8ULL << 30)
#define PACK_MAX (8ULL << 30)           /* twice the kernel's whole history */
#define HEADS_MAX 10000                 /* branches that are watched */
#define MIRROR_MAX (64LL << 30)
#define SMALL_FILE (1LL << 20)          /* what git writes besides packs */

void tree_refs_release(struct tree_refs *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->v[i].branch);
		free(r->v[i].oid);
	}
	free(r->v);
	*r = (struct tree_refs){0};
}

static void refs_add(struct tree_refs *r, const char *branch, const char *oid)
{
	GROW(r->v, r->n, r->cap);
	r->v[r->n++] = (struct tree_ref){xstrdup(branch), xstrdup(oid)};
}

int tree_url_check(const char *url)
{
	static const char *const schemes[] = {"file://", "git://", "http://", "https://", "ssh://", "git+ssh://",
					      "ssh+git://"};
	const char *colon, *slash;
	_cleanup_free_ char *shown = url_shown(url);

	if (!*url || *url == '-')
		return err_set(-EINVAL, "'%s' is no git URL", shown);
	for (const char *s = url; *s; s++)
		if ((unsigned char)*s <= ' ' || *s == 0x7f)
			return err_set(-EINVAL, "'%s': a git URL has no blanks or control characters", shown);
	if (url_has_secret(url))
		return err_set(-EINVAL, "'%s' was given with a user name, password or query: a URL is no place for "
			       "secrets, mails and lists of processes show it. Put the URL with the login as a line of "
			       "its own into a file with mode 0600 (see git-credential-store(1)) and name that: "
			       "'credentials_file:' in trees.yaml, --credentials of 'tree add'", shown);
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (startswith(url, schemes[i]))
			return url[strlen(schemes[i])] == '-' ? err_set(-EINVAL, "'%s' has no valid host", shown) : 0;
	colon = strchr(url, ':');
	slash = strchr(url, '/');
	if (strstr(url, "::") || strstr(url, "://"))
		return err_set(-EINVAL, "'%s': only file, git, http, https and ssh URLs are fetched", shown);
	if (!slash && !colon)
		return err_set(-EINVAL, "'%s' is no git URL; write a path with '/' or a URL with '://'", shown);
	return 0;
}

/* What git said, as one line: without the advice that it adds. */
static char *fetch_words(const char *err)
{
	static const char *const advice[] = {"Please make sure", "and the repository exists", "hint:",
					     "remote: Enumerating",
					     "warning:", "remote: hint:", "remote: warning:"};
	_cleanup_buf_ struct buf b = {0};
	_cleanup_free_ char *copy = xstrdup(err);

	for (char *save = NULL, *l = strtok_r(copy, "\r\n", &save); l; l = strtok_r(NULL, "\r\n", &save)) {
		bool skip = !*l;

		for (size_t i = 0; i < ARRAY_SIZE(advice); i++)
			skip = skip || startswith(l, advice[i]);
		if (skip || b.len > 300)
			continue;
		if (b.len)
			buf_adds(&b, "; ");
		buf_adds(&b, startswith(l, "fatal: ") ? l + 7 : l);
	}
	return term_safe(buf_str(&b));
}

int tree_credentials_check(const char *path)
{
	struct stat st;

	if (*path != '/')
		return err_set(-EINVAL, "the credentials file '%s' must be named by its whole path", path);
	if (stat(path, &st) < 0)
		return err_set(errno == EACCES ? -EACCES : -EINVAL, "cannot read the credentials file '%s': %s", path,
			       strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(-EINVAL, "the credentials file '%s' is no file", path);
	return st.st_mode & 077 ?
	       err_set(-EINVAL, "the credentials file '%s' can be read by others: chmod 600 it", path) : 0;
}

/* Whether git may be given both; credentials: NULL for none. */
static int remote_check(const char *url, const char *credentials)
{
	int r = tree_url_check(url);

	return r < 0 || !credentials ? r : tree_credentials_check(credentials);
}

/* Only "get": git tells a helper to erase what a server refused once. */
static void add_helper(struct strv *argv, const char *credentials)
{
	_cleanup_buf_ struct buf b = {0};

	if (!credentials)
		return;
	buf_adds(&b, "credential.helper=!f() { if [ \"$1\" = get ]; then git credential-store --file ");
	buf_add_shell(&b, credentials);
	buf_adds(&b, " get; fi; }; f");
	strv_addv(argv, ARGV("-c", b.s));
}

static uint64_t keep_free;

void tree_keep_free(uint64_t bytes) { keep_free = bytes; }

/* Bytes of its packs; *ret_half (may be NULL): of the largest file that a git which failed left unfinished. */
static int64_t mirror_size(const char *git_dir, int64_t *ret_half)
{
	_cleanup_free_ char *dir = xasprintf("%s/objects/pack", git_dir);
	_cleanup_strv_ struct strv names = {0};
	int64_t sum = 0, half = 0;

	(void)fs_list(dir, &names);
	for (size_t i = 0; i < names.n; i++) {
		_cleanup_free_ char *path = xasprintf("%s/%s", dir, names.v[i]);
		int64_t size = MAX(fs_size(path), 0);

		sum += size;
		if (startswith(names.v[i], "tmp_"))
			half = MAX(half, size);
	}
	if (ret_half)
		*ret_half = half;
	return sum;
}

/* What one tree may have of the disk that all share. */
static int64_t quota(const char *git_dir)
{
	int64_t all = fs_total_bytes(git_dir);

	return all > 0 ? MIN(all / 4, MIRROR_MAX) : MIRROR_MAX;
}

/* How large a pack may come: as much again is for its index, and keep_free is not touched. Negative where it cannot be
 * told. */
static int64_t room_left(const char *git_dir)
{
	int64_t left = fs_free_bytes(git_dir);

	return left < 0 ? left : MAX(left - (int64_t)keep_free, 0) / 2;
}

/* A remote may send what it likes, and must leave room for the others. */
static uint64_t pack_max(const char *git_dir)
{
	int64_t room = room_left(git_dir), own = quota(git_dir) - mirror_size(git_dir, NULL);

	if (room >= 0)
		own = MIN(own, room);
	return MIN((uint64_t)MAX(own, SMALL_FILE), PACK_MAX);
}

static int check_size(const char *git_dir)
{
	int64_t size = mirror_size(git_dir, NULL), most = quota(git_dir), room = room_left(git_dir);

	if (size + SMALL_FILE > most)
		return err_set(-EFBIG, "its mirror '%s' holds %" PRId64 " MiB, and one tree may have %" PRId64 " MiB "
			       "(a quarter of the disk, at most %lld GiB)", git_dir, size >> 20, most >> 20,
			       MIRROR_MAX >> 30);
	if (room >= 0 && room < SMALL_FILE)
		return err_set(-ENOSPC, "no room for '%s': %" PRIu64 " MiB of the disk are to stay free (min_free_mb)",
			       git_dir, keep_free >> 20);
	return 0;
}

/* Where the account keeps its configuration of git: proxies, certificates and safe.directory may be needed. */
static char *git_config_of_account(void)
{
	const char *given = getenv("GIT_CONFIG_GLOBAL"), *home = getenv("HOME");
	_cleanup_free_ char *path = home && *home ? xasprintf("%s/.gitconfig", home) : NULL;

	if (given)
		return xstrdup(given);
	if (path && !fs_exists(path)) {
		free(path);
		path = xasprintf("%s/.config/git/config", home);
	}
	return path && fs_exists(path) ? TAKE_PTR(path) : xstrdup("/dev/null");
}

/* Runs git with an environment in which it neither asks, nor reads credentials but those of the file (or NULL), nor
 * uses odd transports, nor goes where a server sends it. No HOME: libcurl would give what ~/.netrc has for all hosts to
 * each of them; headers and cookies that the account's configuration has for all hosts do not go out either. trace: for
 * what a server says. In a mirror (git_dir) it may write what there is room for. */
static int git_run(const struct git_spec *g, const char *credentials, bool trace, struct proc_result *ret)
{
	static const char *const keep[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
					   "no_proxy",
					   "NO_PROXY", "SSH_AUTH_SOCK", "GIT_SSL_CAINFO", "SSL_CERT_FILE",
					   "SSL_CERT_DIR"};
	_cleanup_strv_ struct strv argv = {0}, env = {0};
	_cleanup_free_ char *config = git_config_of_account();
	struct git_spec s = *g;

	strv_addv(&argv, ARGV("-c", "credential.helper=", "-c", "core.askPass=", "-c", "fetch.unpackLimit=1",
			      "-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=60",
			      "-c", "http.followRedirects=false", "-c", "http.extraHeader=", "-c", "http.cookieFile=",
			      "-c", "http.saveCookies=false", "-c", "http.emptyAuth=false",
			      "-c", "http.delegation=none"));
	add_helper(&argv, credentials);
	strv_addv(&argv, g->args);
	strv_addv(&env, ARGV("GIT_TERMINAL_PROMPT=0", "LC_ALL=C", "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh",
			     "GIT_ASKPASS=false", "SSH_ASKPASS=false", "GIT_PROTOCOL_FROM_USER=0",
			     "GIT_SSH_COMMAND=ssh -oBatchMode=yes -oConnectTimeout=20 -oForwardAgent=no "
			     "-oForwardX11=no -oClearAllForwardings=yes -oPermitLocalCommand=no -oTunnel=no",
			     "HOME=/nonexistent"));
	strv_addf(&env, "GIT_CONFIG_GLOBAL=%s", config);
	if (trace)
		strv_addv(&env, ARGV("GIT_TRACE_CURL=1", "GIT_TRACE_CURL_NO_DATA=1"));
	for (size_t i = 0; i < ARRAY_SIZE(keep); i++)
		if (getenv(keep[i]))
			strv_addf(&env, "%s=%s", keep[i], getenv(keep[i]));
	s.args = (const char *const *)argv.v;
	s.env_add = (const char *const *)env.v;
	s.cwd = "/";
	s.user_config = true;
	if (s.git_dir)
		s.file_size = pack_max(s.git_dir);
	return git_exec(&s, ret);
}

/* Lists the branches of a remote. */
static int git_list(const char *url, const char *credentials, bool trace, double timeout_s, struct proc_result *ret)
{
	return git_run(&(struct git_spec){.args = ARGV("ls-remote", "--heads", "--", url),
					  .timeout_s = timeout_s > 0 ? timeout_s : LIST_TIMEOUT_S},
		       credentials, trace, ret);
}

/* Where the server sends those who ask it for url, without a login; NULL where it does not say. */
static char *redirected_to(const char *url)
{
	static const char field[] = "Recv header: location: ", service[] = "/info/refs";
	_cleanup_(proc_result_release) struct proc_result r = {0};
	const char *at;
	char *to, *end;

	if (git_list(url, NULL, true, 0, &r) < 0)
		return NULL;
	at = strcasestr(buf_str(&r.err), field);
	if (!at)
		return NULL;
	at += strlen(field);
	to = xstrndup(at, strcspn(at, "\r\n"));
	end = strstr(to, service);
	if (end)
		*end = 0;
	return to;
}

/* A server could send us to services that only we can reach, and call what it finds there its own tree. */
static int err_redirect(const char *url)
{
	_cleanup_free_ char *shown = url_shown(url), *to = redirected_to(url);
	_cleanup_buf_ struct buf where = {0};

	if (to) {
		_cleanup_free_ char *clean = url_shown(to);

		buf_adds(&where, "to '");
		buf_add_shown(&where, clean);
		buf_adds(&where, "'");
	} else {
		buf_adds(&where, "elsewhere");
	}
	return err_set(-EREMCHG, "the server of '%s' redirects %s. Redirects are not followed: if that is where the "
		       "tree is now, write it as the tree's 'url'", shown, buf_str(&where));
}

static int fetch_failed(const struct proc_result *r, const char *what, const char *url)
{
	int e = git_status(r);
	_cleanup_free_ char *words = fetch_words(buf_str(&r->err)), *shown = url_shown(url);
	bool login = strstr(words, "could not read Username") || strstr(words, "could not read Password") ||
		     strstr(words, "Authentication failed");

	if (strstr(words, "The requested URL returned error: 30"))
		return err_redirect(url);
	return err_set(e, "cannot %s '%s': %s%s", what, shown,
		       *words ? words : e == -EFBIG ? "it is larger than git may take" : "git gave no reason",
		       login ? "; the server wants a login: 'credentials_file:' of the tree "
			       "('tree add --credentials FILE') gives one" : "");
}

static bool oid_valid(const char *s, size_t n)
{
	return (n == 40 || n == 64) && strspn(s, "0123456789abcdef") >= n;
}

static bool branch_wanted(const char *branch, const char *const *globs)
{
	if (!globs || !*globs)
		return true;
	for (; *globs; globs++)
		if (!fnmatch(*globs, branch, 0))
			return true;
	return false;
}

int tree_remote_heads(const char *url, const char *credentials, const char *const *globs, double timeout_s,
		      struct tree_refs *ret)
{
	static const char prefix[] = "refs/heads/";
	_cleanup_(proc_result_release) struct proc_result r = {0};
	_cleanup_(tree_refs_release) struct tree_refs refs = {0};
	_cleanup_free_ char *shown = url_shown(url);
	int e = remote_check(url, credentials);

	if (e < 0)
		return e;
	e = git_list(url, credentials, false, timeout_s, &r);
	if (e < 0)
		return err_prefix(e, "cannot list '%s'", shown);
	if (r.status)
		return fetch_failed(&r, "list", url);
	if (r.truncated)
		return err_set(-E2BIG, "'%s' has too many branches to list", shown);
	for (char *save = NULL, *l = r.out.s ? strtok_r(r.out.s, "\n", &save) : NULL; l;
	     l = strtok_r(NULL, "\n", &save)) {
		char *tab = strchr(l, '\t');

		if (!tab || !oid_valid(l, tab - l) || !startswith(tab + 1, prefix) || !tree_ref_valid(tab + 1))
			continue;
		*tab = 0;
		if (!branch_wanted(tab + 1 + strlen(prefix), globs))
			continue;
		if (refs.n >= HEADS_MAX)
			return err_set(-E2BIG, "'%s' has more than %d branches; watch some of them by 'branches'",
				       shown, HEADS_MAX);
		refs_add(&refs, tab + 1 + strlen(prefix), l);
	}
	*ret = refs;
	refs = (struct tree_refs){0};
	return 0;
}

static int drop_leftover(const char *path, const struct stat *st, int type, struct FTW *f)
{
	const char *name = path + f->base;

	if (type == FTW_F && (endswith(name, ".lock") || startswith(name, "tmp_") ||
			      (!st->st_size && strstr(path, "/refs/"))))
		unlink(path);
	return 0;
}

/* What a killed git leaves: lock files, half packs, empty refs after a power cut. We hold the mirror's own lock. */
void mirror_sweep(const char *git_dir) { nftw(git_dir, drop_leftover, 32, FTW_PHYS); }

static int mirror_init(const char *git_dir)
{
	_cleanup_(proc_result_release) struct proc_result r = {0};
	_cleanup_free_ char *head = xasprintf("%s/HEAD", git_dir), *objects = xasprintf("%s/objects", git_dir),
			    *refs = xasprintf("%s/refs", git_dir);
	int e;

	if (fs_size(head) > 0 && fs_is_dir(objects) && fs_is_dir(refs))
		return 0;
	if (fs_size(head) == 0)
		unlink(head);
	e = git_run(&(struct git_spec){.args = ARGV("init", "-q", "--bare", "--", git_dir),
				       .timeout_s = LIST_TIMEOUT_S}, NULL, false, &r);
	if (e < 0)
		return e;
	return r.status ? fetch_failed(&r, "make the mirror", git_dir) : 0;
}

/* Tags of commits that are here, for people who name revisions by them. A mirror without is as good for all else, so
 * trouble (a tag "a" where "a/b" is wanted, say) is none. */
static void fetch_tags(const char *url, const char *credentials, const char *git_dir, const char *specs)
{
	_cleanup_(proc_result_release) struct proc_result r = {0};

	(void)git_run(&(struct git_spec){.args = ARGV("fetch", "-q", "--update-shallow", "--no-write-fetch-head",
						      "--no-recurse-submodules", "--stdin", "--", url),
					 .git_dir = git_dir, .input = specs, .memory = FETCH_MEMORY,
					 .timeout_s = LIST_TIMEOUT_S}, credentials, false, &r);
	(void)mirror_drop_hex_tags(git_dir);
}

/* Whether a git that failed left a file as large as it may be (nearly: room changes): git itself only speaks of broken
 * packs then. */
static bool was_cut(const char *git_dir, uint64_t max)
{
	int64_t half;

	(void)mirror_size(git_dir, &half);
	return (uint64_t)half >= max - max / 16;
}

/* How much of the history: all that the remote has, above (and, where that is said, below) what is here. */
enum depth { AS_IT_IS, WHOLE, ANEW };

/* One run of git. Without an end is what --unshallow means, and is taken by a mirror that is not shallow, too. */
static int fetch_once(const char *url, const char *credentials, const char *git_dir, const char *specs,
		      enum depth depth, double timeout_s, struct proc_result *ret)
{
	static const char deepen[] = "--depth=2147483647";
	const char *args[12] = {"fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules",
				"--update-shallow"};
	size_t n = 6;

	if (depth != AS_IT_IS)
		args[n++] = deepen;
	if (depth == ANEW)
		args[n++] = "--refetch";
	args[n++] = "--stdin";
	args[n++] = "--";
	args[n++] = url;
	return git_run(&(struct git_spec){.args = args, .git_dir = git_dir, .input = specs, .memory = FETCH_MEMORY,
					  .timeout_s = timeout_s > 0 ? timeout_s : FETCH_TIMEOUT_S},
		       credentials, false, ret);
}

static int fetch_heads(const char *url, const char *credentials, const char *git_dir, const struct tree_refs *heads,
		       enum depth depth, double timeout_s)
{
	_cleanup_(proc_result_release) struct proc_result r = {0};
	_cleanup_free_ char *shown = url_shown(url);
	_cleanup_buf_ struct buf specs = {0};
	uint64_t max = pack_max(git_dir);
	int e = mirror_depth_begin(git_dir), kept;

	if (e < 0)
		return e;
	for (size_t i = 0; i < heads->n; i++)
		buf_addf(&specs, "+refs/heads/%s:refs/heads/%s\n", heads->v[i].branch, heads->v[i].branch);
	if (depth == AS_IT_IS && mirror_is_shallow(git_dir))
		depth = WHOLE;
	e = fetch_once(url, credentials, git_dir, specs.s, depth, timeout_s, &r);
	if (e == 0 && r.status && depth == WHOLE && !was_cut(git_dir, max)) { /* not every server can deepen */
		proc_result_release(&r);
		r = (struct proc_result){0};
		e = fetch_once(url, credentials, git_dir, specs.s, AS_IT_IS, timeout_s, &r);
	}
	kept = mirror_depth_end(git_dir);
	if (e < 0)
		return err_prefix(e, "cannot fetch '%s'", shown);
	if (r.status) {
		bool cut = was_cut(git_dir, max);

		mirror_sweep(git_dir);
		if (!cut)
			return fetch_failed(&r, "fetch", url);
		return err_set(-EFBIG, "cannot fetch '%s': what comes is larger than the %" PRIu64 " MiB that it may "
			       "be; one tree may have %" PRId64 " MiB of the disk in all, and %" PRIu64 " MiB are to "
			       "stay free", shown, max >> 20, quota(git_dir) >> 20, keep_free >> 20);
	}
	if (kept == 0)
		fetch_tags(url, credentials, git_dir, specs.s);
	return kept;
}

/* Now and then many small packs become one; a failure costs speed only. */
static void mirror_tidy(const char *git_dir)
{
	_cleanup_(proc_result_release) struct proc_result r = {0};

	/* the old packs and the new one would not fit beside each other */
	if ((uint64_t)mirror_size(git_dir, NULL) > pack_max(git_dir))
		return;
	(void)git_run(&(struct git_spec){.args = ARGV("-c", "gc.auto=6700", "-c", "gc.autoPackLimit=60",
						      "-c", "gc.autoDetach=false", "-c", "gc.writeCommitGraph=true",
						      "gc", "--auto", "-q"),
					 .git_dir = git_dir, .memory = TIDY_MEMORY, .timeout_s = FETCH_TIMEOUT_S},
		      NULL, false, &r);
}

/* The mirror's lock and a mirror to fetch into. Returns the lock's fd. */
static int fetch_begin(const char *url, const char *credentials, const char *git_dir, const struct tree_refs *heads)
{
	_cleanup_free_ char *lock_path = xasprintf("%s.lock", git_dir);
	_cleanup_close_ int lock = -1;
	int e = remote_check(url, credentials), fd;

	if (e < 0 || (e = fs_mkdir_parent(git_dir)) < 0)
		return e;
	for (size_t i = 0; i < heads->n; i++) {
		_cleanup_free_ char *ref = xasprintf("refs/heads/%s", heads->v[i].branch);

		if (!tree_ref_valid(ref) || !oid_valid(heads->v[i].oid, strlen(heads->v[i].oid)))
			return err_set(-EINVAL, "'%s' is no branch name that git takes", heads->v[i].branch);
	}
	lock = fs_lock(lock_path, true);
	if (lock < 0)
		return lock;
	mirror_sweep(git_dir);
	e = mirror_init(git_dir);
	if (e < 0)
		return e;
	fd = lock;
	lock = -1;
	return fd;
}

static int fetch_locked(const char *url, const char *credentials, const char *git_dir, const struct tree_refs *heads,
			enum depth depth, double timeout_s)
{
	/* first what is there already, in case that we died before it was noted, and before it is overwritten */
	int e = mirror_note_seen(git_dir);

	if (e < 0 || !heads->n)
		return e;
	e = check_size(git_dir);
	if (e == 0)
		e = mirror_make_room(git_dir, heads);
	if (e == 0)
		e = fetch_heads(url, credentials, git_dir, heads, depth, timeout_s);
	if (e == 0)
		e = mirror_note_seen(git_dir);
	if (e == 0)
		e = mirror_note_heads(git_dir, heads);
	if (e == 0)
		mirror_tidy(git_dir);
	return e;
}

int tree_fetch(const char *url, const char *credentials, const char *git_dir, const struct tree_refs *heads,
	       double timeout_s)
{
	_cleanup_close_ int lock = fetch_begin(url, credentials, git_dir, heads);

	return lock < 0 ? lock : fetch_locked(url, credentials, git_dir, heads, AS_IT_IS, timeout_s);
}

int tree_repair(const char *url, const char *credentials, const char *git_dir, const struct tree_refs *heads,
		double timeout_s)
{
	_cleanup_close_ int lock = fetch_begin(url, credentials, git_dir, heads);
	int e = lock < 0 ? lock : mirror_whole(git_dir);

	if (e)
		return MIN(e, 0);
	e = fetch_locked(url, credentials, git_dir, heads, ANEW, timeout_s);
	if (e == 0)
		e = mirror_whole(git_dir);
	return e ? e : err_set(-EIO, "objects are missing in '%s', and the remote does not have them", git_dir);
}
