// SPDX-License-Identifier: GPL-2.0-or-later
/* The report's tables of communication, of a machine that was made up. */
#include <errno.h>
#include <string.h>
#include <jansson.h>
#include <sonde/profile.h>
#include "../../lib/profile.h"
#include "../../tools/page.h"
#include "tap.h"

#define RECORDING "tests/recordings/profile-two-buses.json"

static struct sonde_profile *profile;
static char *text;

static void set_up(void)
{
	ck_assert_int_eq(sonde_profile_load(&profile, RECORDING), 0);
}

static void tear_down(void)
{
	sonde_profile_free(profile);
	free(text);
}

static const char *write_section(int is_there)
{
	size_t len;
	FILE *out = open_memstream(&text, &len);

	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(page_write_communication(out, profile), is_there);
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

static int count(const char *where, const char *what)
{
	int n = 0;

	while ((where = strstr(where, what))) {
		where++;
		n++;
	}
	return n;
}

START_TEST(each_layer_has_a_row_with_its_pairs_groups_and_parameters)
{
	const char *page = write_section(1);

	ck_assert_int_eq(count(page, "<h3>"), 2);
	ck_assert_int_eq(count(page, "<table>"), 2);
	ck_assert_int_eq(count(page, "<tr><th scope=\"row\">"), 6);
	ck_assert_int_eq(count(page, "</tr>\n"), 6);
	ck_assert_int_eq(count(page, "<td>0,4 | 1,5 | 2,6 | 3,7</td>"), 2);
	ck_assert_int_eq(count(page, "<td>0-7</td>"), 2);
	ck_assert_ptr_nonnull(strstr(page, "CPUs that reach"));
	ck_assert_ptr_nonnull(strstr(page, "a message through shared memory, 32 KiB, by shm</h3>"));
	ck_assert_ptr_nonnull(strstr(page, "L 16.0 ns, o<sub>s</sub> 32.0 ns, o<sub>r</sub> 32.0 ns"));
	ck_assert_ptr_nonnull(strstr(page, "G 0.02 ns/B"));
	ck_assert_ptr_nonnull(strstr(page, "2 pairs: 0.60"));
}
END_TEST

START_TEST(ranks_of_a_job_are_named_as_ranks)
{
	json_t *section = json_object_get(profile->root, "communication"), *place;
	size_t i;

	json_array_foreach(json_object_get(section, "places"), i, place) {
		json_object_set_new(place, "cpu", json_null());
		json_object_set_new(place, "rank", json_integer((json_int_t)(10 + i)));
	}
	ck_assert_ptr_nonnull(strstr(write_section(1), "ranks that reach"));
	ck_assert_int_eq(count(text, "<td>10,14 | 11,15 | 12,16 | 13,17</td>"), 2);
}
END_TEST

START_TEST(what_a_name_holds_is_text)
{
	json_t *section = json_object_get(profile->root, "communication");

	json_object_set_new(json_array_get(json_object_get(section, "methods"), 1), "via",
			    json_string("<script>&"));
	json_object_set_new(section, "notes", json_pack("[s]", "a <b>"));
	ck_assert_ptr_null(strstr(write_section(1), "<script>"));
	ck_assert_ptr_nonnull(strstr(text, "&lt;script&gt;&amp;"));
	ck_assert_ptr_nonnull(strstr(text, "a &lt;b&gt;"));
}
END_TEST

START_TEST(without_communication_there_is_no_section)
{
	json_object_del(profile->root, "communication");
	ck_assert_str_eq(write_section(0), "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("page_communication");
	TCase *c = tcase_create("communication");

	tcase_add_checked_fixture(c, set_up, tear_down);
	tcase_add_test(c, each_layer_has_a_row_with_its_pairs_groups_and_parameters);
	tcase_add_test(c, ranks_of_a_job_are_named_as_ranks);
	tcase_add_test(c, what_a_name_holds_is_text);
	tcase_add_test(c, without_communication_there_is_no_section);
	suite_add_tcase(suite, c);
	return tap_run(suite);
}
