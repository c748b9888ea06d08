/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RDMA on the memory of segments, by soft-RoCE on a link of its own: the alias and the
 * twins are registered, the view is not; what an adapter writes is in the page, noted by
 * nobody, and what it reads is what programs wrote. Two segments stand for two nodes.
 */
#include "dsm.h"

#if __has_include(<infiniband/verbs.h>)
#include <infiniband/verbs.h>

#define PAGES	16U
#define LINK	"sonde-test0"
#define IPV4	"::ffff:10.9.9.1"
#define MOST	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

/* A queue pair that is connected to itself. */
struct adapter {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

struct node {
	struct segment s;
	struct ibv_mr *alias, *twins;
};

static int make_link(void)
{
	return system("{ modprobe dummy && modprobe rdma_rxe && ip link add " LINK " type dummy &&"
		      " ip addr add 10.9.9.1/24 dev " LINK " && ip link set " LINK " up &&"
		      " rdma link add rxe0 type rxe netdev " LINK "; } >/dev/null 2>&1");
}

static int end_link(void)
{
	return system("rdma link delete rxe0; ip link delete " LINK "; modprobe -r rdma_rxe dummy");
}

/* The one of RoCE over IPv4, whose address is known. */
static int find_gid(struct adapter *a, union ibv_gid *gid)
{
	struct ibv_port_attr port;
	union ibv_gid want = { .raw = { [10] = 0xff, 0xff, 10, 9, 9, 1 } };
	int i;

	check_int(ibv_query_port(a->context, 1, &port), 0);
	for (i = 0; i < port.gid_tbl_len; i++)
		if (!ibv_query_gid(a->context, 1, i, gid) && !memcmp(gid, &want, sizeof(want)))
			return i;
	check_msg(0, "the adapter has no address " IPV4);
	return -1;
}

static void connect_to_itself(struct adapter *a)
{
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				    .qp_access_flags = MOST };
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = a->qp->qp_num,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh.hop_limit = 1 },
	};
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7,
				   .rnr_retry = 7, .max_rd_atomic = 1 };

	rtr.ah_attr.grh.sgid_index = find_gid(a, &rtr.ah_attr.grh.dgid);
	check_int(ibv_modify_qp(a->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				IBV_QP_ACCESS_FLAGS), 0);
	check_int(ibv_modify_qp(a->qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				IBV_QP_MIN_RNR_TIMER), 0);
	check_int(ibv_modify_qp(a->qp, &rts, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC), 0);
}

static struct adapter open_adapter(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct adapter a;

	check_msg(list && list[0], "there is no adapter");
	a.context = ibv_open_device(list[0]);
	check(a.context);
	ibv_free_device_list(list);
	a.pd = ibv_alloc_pd(a.context);
	a.cq = ibv_create_cq(a.context, 4, NULL, NULL, 0);
	check(a.pd && a.cq);
	attr.send_cq = attr.recv_cq = a.cq;
	a.qp = ibv_create_qp(a.pd, &attr);
	check(a.qp);
	connect_to_itself(&a);
	return a;
}

static void close_adapter(struct adapter *a)
{
	check_int(ibv_destroy_qp(a->qp), 0);
	check_int(ibv_destroy_cq(a->cq), 0);
	check_int(ibv_dealloc_pd(a->pd), 0);
	check_int(ibv_close_device(a->context), 0);
}

static struct node make_node(struct adapter *a)
{
	struct node n = { .s = make_segment(PAGES, PAGES, SMALL_PAGE) };

	n.alias = ibv_reg_mr(a->pd, n.s.alias, PAGES * SMALL_PAGE, MOST);
	check_msg(n.alias, "the alias: %s", strerror(errno));
	n.twins = ibv_reg_mr(a->pd, n.s.twins, PAGES * SMALL_PAGE, MOST);
	check_msg(n.twins, "the twins: %s", strerror(errno));
	return n;
}

static void end_node(struct node *n)
{
	check_int(ibv_dereg_mr(n->alias), 0);
	check_int(ibv_dereg_mr(n->twins), 0);
	end_segment(&n->s);
}

/* A page of one piece of memory to or from a page of another, until it is done. */
static void transfer(struct adapter *a, enum ibv_wr_opcode opcode, struct ibv_mr *mine,
		     uint32_t my_page, struct ibv_mr *other, uint32_t other_page)
{
	struct ibv_sge piece = {
		.addr = (uintptr_t)mine->addr + my_page * SMALL_PAGE, .length = SMALL_PAGE,
		.lkey = mine->lkey,
	};
	struct ibv_send_wr wr = {
		.opcode = opcode, .sg_list = &piece, .num_sge = 1,
		.wr.rdma = { .remote_addr = (uintptr_t)other->addr + other_page * SMALL_PAGE,
			     .rkey = other->rkey },
	}, *bad;
	struct ibv_wc done;
	int n;

	check_int(ibv_post_send(a->qp, &wr, &bad), 0);
	while (!(n = ibv_poll_cq(a->cq, 1, &done)))
		sched_yield();
	check_int(n, 1);
	check_msg(done.status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(done.status));
}

/* Its entries are special: pages of it are nobody's to hold. */
static void the_view_cannot_be_registered(void)
{
	struct adapter a = open_adapter();
	struct node n = make_node(&a);

	page_at(&n.s, 1)[0] = 1;
	check(!ibv_reg_mr(a.pd, n.s.view, PAGES * SMALL_PAGE, MOST));
	check_int(errno, EFAULT);
	end_node(&n);
	close_adapter(&a);
}

/* As a page comes from its home: nobody sees it before it is there. */
static void a_page_is_written_while_a_thread_waits_for_it(void)
{
	struct adapter a = open_adapter();
	struct node from = make_node(&a), to = make_node(&a);
	struct sonde_dsm_written w;
	struct touch t;

	memset(page_at(&from.s, 3), 7, SMALL_PAGE);
	protect(&to.s, 5, SONDE_DSM_NONE);
	begin_touch(&t, page_at(&to.s, 5) + 100, false, 0);
	check_int(await_event(&to.s).page, 5);
	transfer(&a, IBV_WR_RDMA_WRITE, from.alias, 3, to.alias, 5);
	check(!t.done);
	protect(&to.s, 5, SONDE_DSM_READ);
	check_int(end_touch(&t), 7);
	/* It is not what a program wrote: neither noted nor twinned. */
	check_int(told(&to.s, "written"), 0);
	check_int(told(&to.s, "twins-free"), PAGES);
	/* The first write of one has what was transferred as its twin. */
	page_at(&to.s, 5)[0] = 8;
	check_int(collect(&to.s, &w, 1), 1);
	check_int(w.page, 5);
	check_int(to.s.twins[w.twin * SMALL_PAGE], 7);
	check_int(to.s.alias[5 * SMALL_PAGE], 8);
	end_node(&from);
	end_node(&to);
	close_adapter(&a);
}

/* What is merged into a written page goes to page and twin: then the change is ours alone. */
static void page_and_twin_of_a_written_page_are_read_and_written(void)
{
	struct adapter a = open_adapter();
	struct node n = make_node(&a), other = make_node(&a);
	struct sonde_dsm_written w;
	uint32_t i, differ = 0;

	memset(n.s.alias + 3 * SMALL_PAGE, 1, SMALL_PAGE);
	page_at(&n.s, 3)[10] = 9;
	check_int(collect(&n.s, &w, 1), 1);
	transfer(&a, IBV_WR_RDMA_READ, other.alias, 0, n.alias, 3);
	transfer(&a, IBV_WR_RDMA_READ, other.alias, 1, n.twins, w.twin);
	for (i = 0; i < SMALL_PAGE; i++)
		differ += other.s.alias[i] != other.s.alias[SMALL_PAGE + i];
	check_int(differ, 1);
	check_int(other.s.alias[10], 9);
	check_int(other.s.alias[SMALL_PAGE + 10], 1);
	/* Another's word, put into both. */
	other.s.alias[20] = other.s.alias[SMALL_PAGE + 20] = 5;
	transfer(&a, IBV_WR_RDMA_WRITE, other.alias, 0, n.alias, 3);
	transfer(&a, IBV_WR_RDMA_WRITE, other.alias, 1, n.twins, w.twin);
	check_int(page_at(&n.s, 3)[20], 5);
	check_int(n.s.twins[w.twin * SMALL_PAGE + 20], 5);
	check_int(told(&n.s, "written"), 0);
	untwin(&n.s, 3);
	check_int(told(&n.s, "twins-free"), PAGES);
	end_node(&n);
	end_node(&other);
	close_adapter(&a);
}

/* Pages that an adapter holds are there until it lets go of them. */
static void a_segment_may_go_before_its_registration(void)
{
	struct adapter a = open_adapter();
	struct node n = make_node(&a), other = make_node(&a);

	memset(n.s.alias, 6, SMALL_PAGE);
	end_segment(&n.s);
	transfer(&a, IBV_WR_RDMA_READ, other.alias, 2, n.alias, 0);
	check_int(page_at(&other.s, 2)[SMALL_PAGE - 1], 6);
	check_int(ibv_dereg_mr(n.alias), 0);
	check_int(ibv_dereg_mr(n.twins), 0);
	end_node(&other);
	close_adapter(&a);
	await_no_segments();
}

static const struct tap_test tests[] = {
	TAP_TEST(the_view_cannot_be_registered),
	TAP_TEST(a_page_is_written_while_a_thread_waits_for_it),
	TAP_TEST(page_and_twin_of_a_written_page_are_read_and_written),
	TAP_TEST(a_segment_may_go_before_its_registration),
};

int main(void)
{
	int ret;

	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	if (make_link())
		return tap_skip_all("this kernel has no rdma_rxe, or `rdma` and `ip` are missing");
	ret = tap_main(tests, ARRAY_SIZE(tests));
	if (end_link())
		ret = EXIT_FAILURE;
	return ret;
}
#else
int main(void)
{
	return tap_skip_all("it was built without libibverbs-dev");
}
#endif
