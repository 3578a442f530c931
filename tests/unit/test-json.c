/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/fs.h"
#include "lib/json.h"
#include "tests/tap.h"

static const char text[] = "{\"text\":\"a b\",\"null\":null,\"int\":9007199254740993,\"real\":2.75,\"yes\":true,"
			   "\"no\":false,\"list\":[\"a\",1,null,\"b\"],\"object\":{\"in\":\"side\"},\"big\":1e400}";

static void test_values(struct json_object *o)
{
	_cleanup_strv_ struct strv l = {0};

	is_str(json_get_text(o, "text"), "a b", "a text");
	ok(!json_get_text(o, "null") && !json_get_text(o, "int") && !json_get_text(o, "list"), "what is no text");
	ok(!json_get_text(o, "none") && !json_get_text(NULL, "text"), "what is not there");
	ok(json_get_int64(o, "int", 0) == 9007199254740993, "a whole number keeps all digits");
	is_int(json_get_int64(o, "real", 0), 2, "another is cut");
	is_int(json_get_int64(o, "text", -7), -7, "what is no number");
	is_int(json_get_int64(o, "big", -7), -7, "what is not finite");
	is_int(json_get_int64(NULL, "int", 5), 5, "nor is it there");
	ok(json_get_double(o, "real", NAN) == 2.75, "a number");
	ok(isnan(json_get_double(o, "big", NAN)), "what is not finite");
	ok(isnan(json_get_double(o, "yes", NAN)), "a bool is no number");
	is_str(json_get_text(json_get(o, "object"), "in"), "side", "an object inside");
	json_get_list(o, "list", &l);
	json_get_list(o, "text", &l);
	ok(l.n == 2 && streq(l.v[0], "a") && streq(l.v[1], "b"), "the texts of a list");
	is_int(json_n(json_get(o, "list")), 4, "its length");
	ok(json_n(o) == 0 && json_n(NULL) == 0 && !json_at(json_get(o, "list"), 4), "what is no list has none");
}

int main(void)
{
	_cleanup_json_ struct json_object *o = json_object_of(text), *file = NULL;
	char path[] = "/tmp/kpb-test-json-XXXXXX";
	int fd = mkstemp(path);

	ok(o, "an object");
	ok(!json_object_of(NULL) && !json_object_of("") && !json_object_of("[1]") && !json_object_of("{"),
	   "and what is none");
	test_values(o);
	ok(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "a file");
	file = json_object_of_file(path, 1000);
	is_str(json_get_text(file, "text"), "a b", "is read");
	ok(!json_object_of_file(path, 10), "but no larger one than allowed");
	unlink(path);
	close(fd);
	ok(!json_object_of_file(path, 1000), "nor one that is not there");
	return tap_done();
}
