/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * calls - what is counted; included once for each size of counts, so without guard
 */

/* ---- sends --------------------------------------------------------------- */

#ifndef SEND
#define SEND(name) \
	CALL(NAME(MPI_##name), \
	     (const void *buf, COUNT count, MPI_Datatype type, int dest, int tag, MPI_Comm comm), \
	     (buf, count, type, dest, tag, comm), \
	     record_send(count, type, dest, comm, flows))
#define ISEND(name) \
	CALL(NAME(MPI_##name), \
	     (const void *buf, COUNT count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, \
	      MPI_Request *request), \
	     (buf, count, type, dest, tag, comm, request), \
	     record_send(count, type, dest, comm, flows))
#define SEND_INIT(name) \
	PERSISTENT(NAME(MPI_##name), \
		   (const void *buf, COUNT count, MPI_Datatype type, int dest, int tag, \
		    MPI_Comm comm, MPI_Request *request), \
		   (buf, count, type, dest, tag, comm, request), \
		   record_send(count, type, dest, comm, flows))

/* Of each collective there are three: that waits, that does not, and, in MPI 4,
 * that is started again and again. */
#if MPI_VERSION >= 4
#define COLLECTIVE_INIT(name, params, args, count) \
	PERSISTENT(NAME(MPI_##name##_init), \
		   (BARE params, MPI_Info info, MPI_Request *request), \
		   (BARE args, info, request), count)
#else
#define COLLECTIVE_INIT(name, params, args, count)
#endif
#define COLLECTIVE(name, iname, params, args, count) \
	CALL(NAME(MPI_##name), params, args, count) \
	CALL(NAME(MPI_I##iname), (BARE params, MPI_Request *request), (BARE args, request), count) \
	COLLECTIVE_INIT(name, params, args, count)
#endif

SEND(Send)
SEND(Ssend)
SEND(Bsend)
SEND(Rsend)
ISEND(Isend)
ISEND(Issend)
ISEND(Ibsend)
ISEND(Irsend)
SEND_INIT(Send_init)
SEND_INIT(Ssend_init)
SEND_INIT(Bsend_init)
SEND_INIT(Rsend_init)

CALL(NAME(MPI_Sendrecv),
     (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, int dest, int sendtag,
      void *recvbuf, COUNT recvcount, MPI_Datatype recvtype, int source, int recvtag,
      MPI_Comm comm, MPI_Status *status),
     (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag,
      comm, status),
     record_send(sendcount, sendtype, dest, comm, flows))
CALL(NAME(MPI_Sendrecv_replace),
     (void *buf, COUNT count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag,
      MPI_Comm comm, MPI_Status *status),
     (buf, count, type, dest, sendtag, source, recvtag, comm, status),
     record_send(count, type, dest, comm, flows))
#if MPI_VERSION >= 4
CALL(NAME(MPI_Isendrecv),
     (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, int dest, int sendtag,
      void *recvbuf, COUNT recvcount, MPI_Datatype recvtype, int source, int recvtag,
      MPI_Comm comm, MPI_Request *request),
     (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag,
      comm, request),
     record_send(sendcount, sendtype, dest, comm, flows))
CALL(NAME(MPI_Isendrecv_replace),
     (void *buf, COUNT count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag,
      MPI_Comm comm, MPI_Request *request),
     (buf, count, type, dest, sendtag, source, recvtag, comm, request),
     record_send(count, type, dest, comm, flows))
#endif

/* ---- collectives --------------------------------------------------------- */

COLLECTIVE(Bcast, bcast, (void *buf, COUNT count, MPI_Datatype type, int root, MPI_Comm comm),
	   (buf, count, type, root, comm), record_from_root(count, type, root, comm, flows))
COLLECTIVE(Gather, gather,
	   (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
	    COUNT recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm),
	   (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm),
	   record_to_root(sendcount, sendtype, root, comm, flows))
COLLECTIVE(Gatherv, gatherv,
	   (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
	    const COUNT recvcounts[], const DISPL displs[], MPI_Datatype recvtype, int root,
	    MPI_Comm comm),
	   (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm),
	   record_to_root(sendcount, sendtype, root, comm, flows))
COLLECTIVE(Scatter, scatter,
	   (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
	    COUNT recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm),
	   (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm),
	   record_from_root(sendcount, sendtype, root, comm, flows))
COLLECTIVE(Scatterv, scatterv,
	   (const void *sendbuf, const COUNT sendcounts[], const DISPL displs[],
	    MPI_Datatype sendtype, void *recvbuf, COUNT recvcount, MPI_Datatype recvtype,
	    int root, MPI_Comm comm),
	   (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm),
	   record_each_from_root(MANY(sendcounts), sendtype, root, comm, flows))
/* Of those below the receiving side is looked at where it has to say the same: in
 * place the sending one says nothing. */
COLLECTIVE(Allgather, allgather,
	   (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
	    COUNT recvcount, MPI_Datatype recvtype, MPI_Comm comm),
	   (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm),
	   record_to_all(recvcount, recvtype, comm, flows))
COLLECTIVE(Allgatherv, allgatherv,
	   (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
	    const COUNT recvcounts[], const DISPL displs[], MPI_Datatype recvtype, MPI_Comm comm),
	   (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm),
	   record_own_to_all(MANY(recvcounts), recvtype, comm, flows))
COLLECTIVE(Alltoall, alltoall,
	   (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
	    COUNT recvcount, MPI_Datatype recvtype, MPI_Comm comm),
	   (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm),
	   record_to_all(recvcount, recvtype, comm, flows))
COLLECTIVE(Alltoallv, alltoallv,
	   (const void *sendbuf, const COUNT sendcounts[], const DISPL sdispls[],
	    MPI_Datatype sendtype, void *recvbuf, const COUNT recvcounts[],
	    const DISPL rdispls[], MPI_Datatype recvtype, MPI_Comm comm),
	   (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm),
	   sendbuf == MPI_IN_PLACE ?
		record_each_to_all(MANY(recvcounts), recvtype, comm, flows) :
		record_each_to_all(MANY(sendcounts), sendtype, comm, flows))
COLLECTIVE(Alltoallw, alltoallw,
	   (const void *sendbuf, const COUNT sendcounts[], const DISPL sdispls[],
	    const MPI_Datatype sendtypes[], void *recvbuf, const COUNT recvcounts[],
	    const DISPL rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm),
	   (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm),
	   sendbuf == MPI_IN_PLACE ?
		record_each_typed(MANY(recvcounts), recvtypes, comm, flows) :
		record_each_typed(MANY(sendcounts), sendtypes, comm, flows))
COLLECTIVE(Reduce, reduce,
	   (const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype type, MPI_Op op,
	    int root, MPI_Comm comm),
	   (sendbuf, recvbuf, count, type, op, root, comm),
	   record_to_root(count, type, root, comm, flows))
COLLECTIVE(Allreduce, allreduce,
	   (const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype type, MPI_Op op,
	    MPI_Comm comm),
	   (sendbuf, recvbuf, count, type, op, comm), record_allreduce(count, type, comm, flows))
COLLECTIVE(Reduce_scatter, reduce_scatter,
	   (const void *sendbuf, void *recvbuf, const COUNT recvcounts[], MPI_Datatype type,
	    MPI_Op op, MPI_Comm comm),
	   (sendbuf, recvbuf, recvcounts, type, op, comm),
	   record_each_to_all(MANY(recvcounts), type, comm, flows))
COLLECTIVE(Reduce_scatter_block, reduce_scatter_block,
	   (const void *sendbuf, void *recvbuf, COUNT recvcount, MPI_Datatype type, MPI_Op op,
	    MPI_Comm comm),
	   (sendbuf, recvbuf, recvcount, type, op, comm),
	   record_to_all(recvcount, type, comm, flows))
COLLECTIVE(Scan, scan,
	   (const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype type, MPI_Op op,
	    MPI_Comm comm),
	   (sendbuf, recvbuf, count, type, op, comm), record_scan(count, type, comm, flows))
COLLECTIVE(Exscan, exscan,
	   (const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype type, MPI_Op op,
	    MPI_Comm comm),
	   (sendbuf, recvbuf, count, type, op, comm), record_scan(count, type, comm, flows))

/* ---- neighbours ---------------------------------------------------------- */

COLLECTIVE(Neighbor_allgather, neighbor_allgather,
	   (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
	    COUNT recvcount, MPI_Datatype recvtype, MPI_Comm comm),
	   (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm),
	   record_neighbours(sendcount, sendtype, comm, flows))
COLLECTIVE(Neighbor_allgatherv, neighbor_allgatherv,
	   (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
	    const COUNT recvcounts[], const DISPL displs[], MPI_Datatype recvtype, MPI_Comm comm),
	   (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm),
	   record_neighbours(sendcount, sendtype, comm, flows))
COLLECTIVE(Neighbor_alltoall, neighbor_alltoall,
	   (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
	    COUNT recvcount, MPI_Datatype recvtype, MPI_Comm comm),
	   (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm),
	   record_neighbours(sendcount, sendtype, comm, flows))
COLLECTIVE(Neighbor_alltoallv, neighbor_alltoallv,
	   (const void *sendbuf, const COUNT sendcounts[], const DISPL sdispls[],
	    MPI_Datatype sendtype, void *recvbuf, const COUNT recvcounts[],
	    const DISPL rdispls[], MPI_Datatype recvtype, MPI_Comm comm),
	   (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm),
	   record_each_neighbour(MANY(sendcounts), sendtype, NULL, comm, flows))
COLLECTIVE(Neighbor_alltoallw, neighbor_alltoallw,
	   (const void *sendbuf, const COUNT sendcounts[], const MPI_Aint sdispls[],
	    const MPI_Datatype sendtypes[], void *recvbuf, const COUNT recvcounts[],
	    const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm),
	   (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm),
	   record_each_neighbour(MANY(sendcounts), MPI_DATATYPE_NULL, sendtypes, comm, flows))
