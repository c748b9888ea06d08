/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SONDE_IOC_INFO, the rules that every command's struct obeys, and who may
 * open which node. */
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <linux/capability.h>

#include "nodes.h"

/* A struct of a caller that is newer than the module. */
struct bigger_info {
	struct sonde_info info;
	uint64_t more[8];
};

#define INFO_OF_SIZE(n)	_IOC(_IOC_READ | _IOC_WRITE, SONDE_IOC_MAGIC, 0, (n))

static const char *const nodes[] = { MAIN_NODE, PROBE_NODE };

static void info_describes_the_module(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(nodes); i++) {
		struct sonde_info info = get_info(open_node(nodes[i]));

		check_int(info.size, sizeof(info));
		check_int(info.abi, SONDE_ABI);
		check_int(info.page_size, sysconf(_SC_PAGESIZE));
		check(info.max_pages >= 512);
		check_int(info.colour_bits, 10);
		check(info.counter <= SONDE_COUNTER_CNTVCT);
		check(info.counter != SONDE_COUNTER_NONE || !info.counter_hz);
		check(memchr(info.version, 0, sizeof(info.version)));
	}
}

static void info_tells_the_version_that_modinfo_tells(void)
{
	struct sonde_info info = get_info(open_node(MAIN_NODE));
	char buf[64] = "";
	FILE *f = fopen("/sys/module/sonde/version", "r");

	check(f && fgets(buf, sizeof(buf), f));
	buf[strcspn(buf, "\n")] = '\0';
	check_msg(!strcmp(buf, info.version), "'%s' is not '%s'", info.version,
		  buf);
}

static void each_node_names_the_features_that_it_serves(void)
{
	struct sonde_frames args = { .size = sizeof(args) };
	int fd = open_node(MAIN_NODE);

	check_int(get_info(fd).features, MAIN_FEATURES);
	check_int(do_ioctl(fd, SONDE_IOC_FRAMES, &args), -ENOTTY);
	fd = open_node(PROBE_NODE);
	check_int(get_info(fd).features, PROBE_FEATURES);
	check_int(do_ioctl(fd, SONDE_IOC_FRAMES, &args), -EINVAL);
}

static void refuses_a_short_struct(void)
{
	struct sonde_info info;
	unsigned int size;
	int fd = open_node(MAIN_NODE);

	for (size = 0; size < sizeof(info); size++) {
		memset(&info, 0x5a, sizeof(info));
		info.size = size;
		check_int(do_ioctl(fd, INFO_OF_SIZE(size), &info), -EINVAL);
		check_int(info.abi, 0x5a5a5a5a);
	}
}

static void refuses_a_size_that_differs_from_the_command(void)
{
	static const uint32_t sizes[] = { 0, 1, 79, 81, 144, 0xffffffff };
	struct sonde_info info = { 0 };
	int fd = open_node(MAIN_NODE);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		info.size = sizes[i];
		check_int(do_ioctl(fd, SONDE_IOC_INFO, &info), -EINVAL);
		check_int(info.size, sizes[i]);
		check_int(info.abi, 0);
	}
}

static void takes_a_longer_struct_with_a_zero_tail(void)
{
	struct bigger_info big = { .info.size = sizeof(big) };
	int fd = open_node(MAIN_NODE);
	size_t i;

	check_int(do_ioctl(fd, INFO_OF_SIZE(sizeof(big)), &big), 0);
	check_int(big.info.size, sizeof(big));
	check_int(big.info.abi, SONDE_ABI);
	for (i = 0; i < ARRAY_SIZE(big.more); i++)
		check_int(big.more[i], 0);
}

static void refuses_a_longer_struct_with_something_in_its_tail(void)
{
	int fd = open_node(MAIN_NODE);
	size_t i;

	for (i = offsetof(struct bigger_info, more);
	     i < sizeof(struct bigger_info); i++) {
		struct bigger_info big = { .info.size = sizeof(big) };

		((unsigned char *)&big)[i] = 1;
		check_int(do_ioctl(fd, INFO_OF_SIZE(sizeof(big)), &big), -E2BIG);
		check_int(big.info.abi, 0);
	}
}

static bool is_served(unsigned int node, unsigned int nr)
{
	if (node)
		return nr <= _IOC_NR(SONDE_IOC_PREFETCH);
	return !nr || (nr >= _IOC_NR(SONDE_IOC_EXPORT) &&
		       nr <= _IOC_NR(SONDE_IOC_DSM_CREATE));
}

static void refuses_unknown_commands(void)
{
	static const unsigned int dirs[] = { _IOC_NONE, _IOC_READ, _IOC_WRITE };
	struct sonde_info info = { .size = sizeof(info) };
	const unsigned int size = sizeof(info);
	unsigned int i, n;

	for (n = 0; n < ARRAY_SIZE(nodes); n++) {
		int fd = open_node(nodes[n]);

		for (i = 0; i < ARRAY_SIZE(dirs); i++)
			check_int(do_ioctl(fd, _IOC(dirs[i], SONDE_IOC_MAGIC, 0,
						    size), &info), -ENOTTY);
		for (i = 0; i < 256; i++) {
			if (i == SONDE_IOC_MAGIC)
				continue;
			check_int(do_ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, i, 0,
						    size), &info), -ENOTTY);
		}
		for (i = 0; i < 256; i++) {
			if (is_served(n, i))
				continue;
			check_int(do_ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE,
						    SONDE_IOC_MAGIC, i, size),
					   &info), -ENOTTY);
		}
	}
}

static void bad_pointers_are_efault(void)
{
	int fd = open_node(MAIN_NODE);
	struct sonde_info *info;
	char *page = mmap(NULL, 2 * SMALL_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(page != MAP_FAILED);
	check_int(munmap(page + SMALL_PAGE, SMALL_PAGE), 0);
	check_int(do_ioctl(fd, SONDE_IOC_INFO, NULL), -EFAULT);
	check_int(do_ioctl(fd, SONDE_IOC_INFO, page + SMALL_PAGE), -EFAULT);
	check_int(do_ioctl(fd, SONDE_IOC_INFO, page + SMALL_PAGE - 40), -EFAULT);
	check_int(do_ioctl(fd, SONDE_IOC_INFO,
			   (void *)0xffff888000000000UL), -EFAULT);
	check_int(do_ioctl(fd, SONDE_IOC_INFO, (void *)-4096L), -EFAULT);
	check_int(do_ioctl(fd, SONDE_IOC_INFO, (void *)-8L), -EFAULT);

	info = (void *)page;
	info->size = sizeof(*info);
	check_int(mprotect(page, SMALL_PAGE, PROT_READ), 0);
	check_int(do_ioctl(fd, SONDE_IOC_INFO, page), -EFAULT);
	check_int(info->abi, 0);
}

static void drop_capability(int cap)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	check_int(syscall(SYS_capget, &head, data), 0);
	data[cap / 32].effective &= ~(1U << (cap % 32));
	check_int(syscall(SYS_capset, &head, data), 0);
}

static void rights_need_capabilities(void)
{
	check_int(get_info(open_node(PROBE_NODE)).rights, ROOT_RIGHTS);
	check_int(get_info(open_node(MAIN_NODE)).rights, 0);
	drop_capability(CAP_SYS_ADMIN);
	check_int(get_info(open_node(PROBE_NODE)).rights, SONDE_RIGHT_EVENTS);
	drop_capability(CAP_PERFMON);
	check_int(get_info(open_node(PROBE_NODE)).rights, 0);
	check_int(get_info(open_node(MAIN_NODE)).rights, 0);
}

static void rights_are_those_of_the_opener(void)
{
	int root_fd = open_node(PROBE_NODE);
	int user_fd;

	/* Opened without the capability, used with it. */
	check_int(setresgid(-1, probe_group(), -1), 0);
	check_int(setresuid(-1, NOBODY, -1), 0);
	user_fd = open_node(PROBE_NODE);
	check_int(setresuid(-1, 0, -1), 0);
	check_int(get_info(user_fd).rights, 0);
	check_int(get_info(open_node(PROBE_NODE)).rights, ROOT_RIGHTS);
	/* Opened with it, used without. */
	become_nobody(NOBODY);
	check_int(get_info(root_fd).rights, ROOT_RIGHTS);
	check_int(get_info(user_fd).rights, 0);
}

static void root_of_another_user_namespace_sees_no_frames(void)
{
	if (unshare(CLONE_NEWUSER)) {
		check_msg(errno != EPERM || geteuid(), "%s", strerror(errno));
		tap_skip("no user namespaces here: %s", strerror(errno));
	}
	check_int(get_info(open_node(PROBE_NODE)).rights, 0);
}

static void anybody_opens_the_main_node_only(void)
{
	become_nobody(NOBODY);
	check_int(get_info(open_node(MAIN_NODE)).rights, 0);
	check(open(PROBE_NODE, O_RDWR) < 0);
	check_int(errno, EACCES);
	check(open(PROBE_NODE, O_RDONLY) < 0);
	check_int(errno, EACCES);
}

static void the_group_opens_the_probe_node(void)
{
	become_nobody(probe_group());
	check_int(get_info(open_node(PROBE_NODE)).rights, 0);
}

static void the_kernel_gives_the_nodes_their_modes(void)
{
	struct stat st;

	check_int(stat(MAIN_NODE, &st), 0);
	check_int(st.st_mode, S_IFCHR | 0666);
	check_int(stat(PROBE_NODE, &st), 0);
	check_int(st.st_mode, S_IFCHR | 0660);
	check_int(st.st_uid, 0);
}

static void nodes_do_not_read_write_or_seek(void)
{
	char c = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(nodes); i++) {
		int fd = open_node(nodes[i]);

		check(read(fd, &c, 1) < 0 && errno == EINVAL);
		check(write(fd, &c, 1) < 0 && errno == EINVAL);
		check(lseek(fd, 0, SEEK_CUR) < 0 && errno == ESPIPE);
	}
	check(mmap(NULL, SMALL_PAGE, PROT_READ, MAP_SHARED,
		   open_node(PROBE_NODE), 0) == MAP_FAILED && errno == ENODEV);
}

#ifdef __x86_64__
static void no_emulation(int sig)
{
	(void)sig;
	tap_skip("this kernel runs no 32-bit programs");
}

/* ioctl(2) as a 32-bit program calls it: into the kernel's compat_ioctl. */
static int ioctl_32(int fd, unsigned int cmd, uint32_t arg)
{
	int ret;

	asm volatile("int $0x80" : "=a" (ret) :
		     "a" (54), "b" (fd), "c" (cmd), "d" (arg) : "memory");
	return ret;
}

static void serves_32_bit_callers(void)
{
	int fd = open_node(PROBE_NODE);
	char *low = mmap(NULL, SMALL_PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	struct sonde_info *info = (void *)low, direct = get_info(fd);
	struct sonde_frames *args = (void *)(low + 512);
	struct sonde_frame *frame = (void *)(low + 1024);

	check(low != MAP_FAILED);
	signal(SIGSEGV, no_emulation);
	info->size = sizeof(*info);
	check_int(ioctl_32(fd, SONDE_IOC_INFO, (uintptr_t)info), 0);
	check(!memcmp(info, &direct, sizeof(direct)));
	*args = (struct sonde_frames){
		.size = sizeof(*args), .addr = (uintptr_t)low, .npages = 1,
		.entries = (uintptr_t)frame,
	};
	check_int(ioctl_32(fd, SONDE_IOC_FRAMES, (uintptr_t)args), 0);
	check_int(args->done, 1);
	check(frame->flags & SONDE_FRAME_PRESENT);
	check_int(ioctl_32(fd, SONDE_IOC_FRAMES + COMMANDS, (uintptr_t)args), -ENOTTY);
}
#endif

static const struct tap_test tests[] = {
	TAP_TEST(info_describes_the_module),
	TAP_TEST(info_tells_the_version_that_modinfo_tells),
	TAP_TEST(each_node_names_the_features_that_it_serves),
	TAP_TEST(refuses_a_short_struct),
	TAP_TEST(refuses_a_size_that_differs_from_the_command),
	TAP_TEST(takes_a_longer_struct_with_a_zero_tail),
	TAP_TEST(refuses_a_longer_struct_with_something_in_its_tail),
	TAP_TEST(refuses_unknown_commands),
	TAP_TEST(bad_pointers_are_efault),
	TAP_TEST(rights_need_capabilities),
	TAP_TEST(rights_are_those_of_the_opener),
	TAP_TEST(root_of_another_user_namespace_sees_no_frames),
	TAP_TEST(anybody_opens_the_main_node_only),
	TAP_TEST(the_group_opens_the_probe_node),
	TAP_TEST(the_kernel_gives_the_nodes_their_modes),
	TAP_TEST(nodes_do_not_read_write_or_seek),
#ifdef __x86_64__
	TAP_TEST(serves_32_bit_callers),
#endif
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	return tap_main(tests, ARRAY_SIZE(tests));
}
