// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opening the module where it is not, may not be used, or is another: what is
 * returned, and the sentence that goes with it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sonde/device.h>

#include "fake_module.h"
#include "tap.h"

#define NOBODY 65534

static void assert_sentence(int err, const char *part)
{
	char text[1024];

	ck_assert_ptr_eq(sonde_device_explain(SONDE_NODE_PROBE, err, text, sizeof(text)), text);
	ck_assert_msg(strstr(text, part) != NULL, "\"%s\" lacks \"%s\"", text, part);
	ck_assert_ptr_eq(strstr(text, node), text);
	ck_assert_ptr_null(strchr(text, '\n'));
}

static int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* Failure must leave the result alone and nothing open. */
static void assert_fails(int expected)
{
	struct sonde_device *dev = NULL;
	int before = count_descriptors();

	ck_assert_int_eq(sonde_device_open(&dev, SONDE_NODE_PROBE), expected);
	ck_assert_ptr_null(dev);
	ck_assert_int_eq(count_descriptors(), before);
}

static void make_node(mode_t mode, gid_t group)
{
	int fd = open(node, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fchown(fd, (uid_t)-1, group), 0);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

/* Root may open anything: be somebody else. */
static void leave_root(void)
{
	if (geteuid() == 0) {
		ck_assert_int_eq(setgroups(0, NULL), 0);
		ck_assert_int_eq(setegid(NOBODY), 0);
		ck_assert_int_eq(seteuid(NOBODY), 0);
	}
}

static void return_to_root(void)
{
	if (getuid() == 0) {
		ck_assert_int_eq(seteuid(0), 0);
		ck_assert_int_eq(setegid(0), 0);
	}
}

START_TEST(without_the_module_names_the_module_to_load)
{
	assert_fails(-ENODEV);
	assert_sentence(-ENODEV, "the module is not loaded; load it with `modprobe sonde`");
}
END_TEST

START_TEST(a_file_in_the_node_s_place_is_no_module)
{
	make_node(0600, getegid());
	assert_fails(-ENODEV);
	assert_sentence(-ENODEV, "not a device; remove it");
}
END_TEST

START_TEST(a_folder_in_the_node_s_place_is_no_module)
{
	ck_assert_int_eq(mkdir(node, 0700), 0);
	assert_fails(-ENODEV);
	assert_sentence(-ENODEV, "not a device; remove it");
	rmdir(node);
}
END_TEST

START_TEST(another_driver_s_node_speaks_another_ABI)
{
	ck_assert_int_eq(symlink("/dev/null", node), 0);
	assert_fails(-EPROTO);
	assert_sentence(-EPROTO, "install the same version of both");
}
END_TEST

/* Root can give the file any group, others have but their own. */
static gid_t some_group(void)
{
	return geteuid() == 0 ? 1 : getegid();
}

START_TEST(refused_by_mode_names_the_group_that_owns_the_node)
{
	gid_t group = some_group();
	const struct group *entry = getgrgid(group);
	char join[128];

	ck_assert_ptr_nonnull(entry);
	snprintf(join, sizeof(join), "join group `%s` (usermod -aG %s USER", entry->gr_name,
		 entry->gr_name);
	make_node(0060, group);
	leave_root();
	assert_fails(-EACCES);
	assert_sentence(-EACCES, group ? join : "run as root");
	assert_sentence(-EACCES, "run as root");
	return_to_root();
}
END_TEST

START_TEST(refused_by_mode_gives_the_number_of_a_group_without_a_name)
{
	make_node(0660, 54321);
	leave_root();
	assert_fails(-EACCES);
	assert_sentence(-EACCES, "group 54321, which has no name here");
	return_to_root();
}
END_TEST

START_TEST(a_node_for_its_owner_alone_sends_nobody_to_a_group)
{
	make_node(geteuid() == 0 ? 0600 : 0, getegid());
	leave_root();
	assert_fails(-EACCES);
	assert_sentence(-EACCES, "only its owner may open it: run as root");
	return_to_root();
}
END_TEST

START_TEST(refused_though_permitted_points_to_the_container)
{
	make_node(0666, getegid());
	assert_sentence(-EACCES, "in a container give it the device");
}
END_TEST

START_TEST(other_errors_are_explained_in_the_system_s_words)
{
	assert_sentence(-EMFILE, strerror(EMFILE));
}
END_TEST

START_TEST(a_sentence_is_cut_to_its_buffer)
{
	char text[8];

	sonde_device_explain(SONDE_NODE_PROBE, -ENODEV, text, sizeof(text));
	ck_assert_uint_eq(strlen(text), sizeof(text) - 1);
}
END_TEST

START_TEST(gives_what_the_module_says)
{
	struct sonde_device *dev = NULL;

	load_fake_module();
	ck_assert_int_eq(sonde_device_open(&dev, SONDE_NODE_PROBE), 0);
	ck_assert_uint_eq(sonde_device_features(dev), SONDE_FEAT_FRAMES);
	ck_assert_uint_eq(sonde_device_rights(dev), SONDE_RIGHT_FRAMES);
	ck_assert_str_eq(sonde_device_version(dev), "1.2.3");
	ck_assert_int_eq(fcntl(sonde_device_fd(dev), F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(fcntl(sonde_device_fd(dev), F_GETFL) & O_ACCMODE, O_RDWR);
	sonde_device_close(dev);
}
END_TEST

START_TEST(closing_gives_the_descriptor_back)
{
	struct sonde_device *dev = NULL;
	int before = count_descriptors();

	load_fake_module();
	ck_assert_int_eq(sonde_device_open(&dev, SONDE_NODE_PROBE), 0);
	ck_assert_int_eq(count_descriptors(), before + 1);
	sonde_device_close(dev);
	ck_assert_int_eq(count_descriptors(), before);
	sonde_device_close(NULL);
}
END_TEST

START_TEST(the_two_nodes_have_their_own_names)
{
	struct sonde_device *dev = NULL;
	char main_node[288];

	load_fake_module();
	ck_assert_int_eq(sonde_device_open(&dev, SONDE_NODE_MAIN), -ENODEV);
	snprintf(main_node, sizeof(main_node), "%s/sonde", dev_dir);
	ck_assert_int_eq(rename(node, main_node), 0);
	ck_assert_int_eq(sonde_device_open(&dev, SONDE_NODE_MAIN), 0);
	sonde_device_close(dev);
	unlink(main_node);
}
END_TEST

START_TEST(refuses_a_module_of_another_ABI)
{
	load_fake_module();
	fake_info.abi = SONDE_ABI + 1;
	assert_fails(-EPROTO);
	fake_info.abi = SONDE_ABI;
	fake_info.page_size *= 4;
	assert_fails(-EPROTO);
	fake_info.page_size /= 4;
	fake_info.max_pages = 0;
	assert_fails(-EPROTO);
	fake_info.max_pages = 1;
	fake_info.colour_bits = 33;
	assert_fails(-EPROTO);
}
END_TEST

START_TEST(a_module_that_does_not_know_the_question_is_of_another_ABI)
{
	static const int errors[] = { ENOTTY, EINVAL, E2BIG };

	load_fake_module();
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		fake_errno = errors[i];
		assert_fails(-EPROTO);
	}
	fake_errno = EIO;
	assert_fails(-EIO);
}
END_TEST

START_TEST(features_of_a_newer_module_do_not_disturb)
{
	struct sonde_device *dev = NULL;

	load_fake_module();
	fake_info.features = ~UINT64_C(0);
	fake_info.rights = ~UINT64_C(0);
	ck_assert_int_eq(sonde_device_open(&dev, SONDE_NODE_PROBE), 0);
	ck_assert_uint_eq(sonde_device_features(dev), ~UINT64_C(0));
	sonde_device_close(dev);
}
END_TEST

START_TEST(a_version_without_end_is_ended)
{
	struct sonde_device *dev = NULL;

	load_fake_module();
	memset(fake_info.version, 'v', sizeof(fake_info.version));
	ck_assert_int_eq(sonde_device_open(&dev, SONDE_NODE_PROBE), 0);
	ck_assert_uint_eq(strlen(sonde_device_version(dev)), sizeof(fake_info.version) - 1);
	sonde_device_close(dev);
}
END_TEST

START_TEST(refuses_a_node_that_it_does_not_know)
{
	struct sonde_device *dev = NULL;
	char text[128];

	ck_assert_int_eq(sonde_device_open(&dev, (enum sonde_node)7), -EINVAL);
	ck_assert_ptr_null(dev);
	sonde_device_explain((enum sonde_node)7, -EINVAL, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, "no such node"));
}
END_TEST

START_TEST(refuses_a_folder_name_that_is_too_long)
{
	struct sonde_device *dev = NULL;
	char name[PATH_MAX + 1];

	memset(name, 'd', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	setenv("SONDE_DEV_DIR", name, 1);
	ck_assert_int_eq(sonde_device_open(&dev, SONDE_NODE_PROBE), -ENAMETOOLONG);
	setenv("SONDE_DEV_DIR", dev_dir, 1);
}
END_TEST

START_TEST(looks_into_dev_if_no_folder_is_named)
{
	char text[512];

	setenv("SONDE_DEV_DIR", "", 1);
	sonde_device_explain(SONDE_NODE_MAIN, -EIO, text, sizeof(text));
	ck_assert_ptr_eq(strstr(text, "/dev/sonde: "), text);
	unsetenv("SONDE_DEV_DIR");
	sonde_device_explain(SONDE_NODE_PROBE, -EIO, text, sizeof(text));
	ck_assert_ptr_eq(strstr(text, "/dev/sonde-probe: "), text);
	setenv("SONDE_DEV_DIR", dev_dir, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("device");
	TCase *tc = add_case(suite, "absent");

	tcase_add_test(tc, without_the_module_names_the_module_to_load);
	tcase_add_test(tc, a_file_in_the_node_s_place_is_no_module);
	tcase_add_test(tc, a_folder_in_the_node_s_place_is_no_module);
	tcase_add_test(tc, another_driver_s_node_speaks_another_ABI);
	if (getgrgid(some_group()))
		tcase_add_test(tc, refused_by_mode_names_the_group_that_owns_the_node);
	else
		tap_left_out("the name of a group: this user's has none");
	if (geteuid() == 0)
		tcase_add_test(tc, refused_by_mode_gives_the_number_of_a_group_without_a_name);
	else
		tap_left_out("the number of a group: only root can give a file any group");
	tcase_add_test(tc, a_node_for_its_owner_alone_sends_nobody_to_a_group);
	tcase_add_test(tc, refused_though_permitted_points_to_the_container);
	tcase_add_test(tc, other_errors_are_explained_in_the_system_s_words);
	tcase_add_test(tc, a_sentence_is_cut_to_its_buffer);
	tcase_add_test(tc, refuses_a_node_that_it_does_not_know);
	tcase_add_test(tc, refuses_a_folder_name_that_is_too_long);
	tcase_add_test(tc, looks_into_dev_if_no_folder_is_named);
	tc = add_case(suite, "present");
	tcase_add_test(tc, gives_what_the_module_says);
	tcase_add_test(tc, closing_gives_the_descriptor_back);
	tcase_add_test(tc, the_two_nodes_have_their_own_names);
	tcase_add_test(tc, refuses_a_module_of_another_ABI);
	tcase_add_test(tc, a_module_that_does_not_know_the_question_is_of_another_ABI);
	tcase_add_test(tc, features_of_a_newer_module_do_not_disturb);
	tcase_add_test(tc, a_version_without_end_is_ended);
	return tap_run(suite);
}
