package timer

// Op is a row of ops_rank<N>.csv: one operation, from the call to its completion.
type Op struct {
	// Start and End are Unix nanoseconds.
	Start, End int64
	// Op is the call's name, as tsend or inject_write (intercept.Op.String).
	Op string
	// Bytes is the length of what was sent, read or written.
	Bytes int64
	// Link is the Link.ID of the path that it took.
	Link int
	// Tag is 0 for what has none.
	Tag uint64
	// Status is 0, or the error number that the operation completed with (package
	// fierr).
	Status int
}

// Link is a row of links_rank<N>.csv: a directed path from a NIC here to one of a peer.
type Link struct {
	// ID is the row's number, from 0; it counts for the files of this rank.
	ID int
	// Endpoint is the Endpoint.ID of the sending side.
	Endpoint uint64
	// Rail is the rail's place in its link.
	Rail     int
	Provider string
	// LocalNIC and RemoteNIC are device names, or what names the ends best.
	LocalNIC, RemoteNIC string
	// LocalAddr is this endpoint's address, RemoteAddr the peer's, which stands in
	// the peer's endpoints_rank<M>.csv.
	LocalAddr, RemoteAddr string
}

// Endpoint is a row of endpoints_rank<N>.csv: an endpoint of this rank, whether it
// sends or not. It tells whose Link.RemoteAddr an address is.
type Endpoint struct {
	// ID is the endpoint's number in its process.
	ID      uint64
	Address string
	// Link is the name of what it was opened on, as "shm+tcp:eth0".
	Link string
}

// NICSample is a row of nic_rank<N>.csv: a counter's value at one time. Between two
// rows of a counter its value lies on the straight line between them.
type NICSample struct {
	// Time is Unix nanoseconds.
	Time    int64
	Device  string
	Counter string
	// Value is cumulative, as the driver shows it.
	Value uint64
}

// CQGap is a row of cqgaps_rank<N>.csv: a time in which nobody read an endpoint's
// completion queue.
type CQGap struct {
	// Start and End are Unix nanoseconds.
	Start, End int64
	// Endpoint is the Endpoint.ID.
	Endpoint uint64
}

// The columns, in the order that the recorder writes them.
var (
	opColumns       = []string{"start_ns", "end_ns", "op", "bytes", "link", "tag", "status"}
	linkColumns     = []string{"link", "endpoint", "rail", "provider", "local_nic", "remote_nic", "local_addr", "remote_addr"}
	endpointColumns = []string{"endpoint", "address", "link_name"}
	nicColumns      = []string{"time_ns", "device", "counter", "value"}
	cqGapColumns    = []string{"start_ns", "end_ns", "endpoint"}
)

// OpenOps reads an ops_rank<N>.csv.
func OpenOps(path string) (*Reader[Op], error) {
	return open(path, opColumns, func(r *row, op *Op) {
		*op = Op{
			Start: r.int(0), End: r.int(1), Op: r.name(2), Bytes: r.int(3),
			Link: int(r.int(4)), Tag: r.hex(5), Status: int(r.int(6)),
		}
		r.span(op.Start, op.End)
	})
}

// OpenLinks reads a links_rank<N>.csv.
func OpenLinks(path string) (*Reader[Link], error) {
	return open(path, linkColumns, func(r *row, l *Link) {
		*l = Link{
			ID: int(r.int(0)), Endpoint: r.uint(1), Rail: int(r.int(2)), Provider: r.name(3),
			LocalNIC: r.name(4), RemoteNIC: r.name(5), LocalAddr: r.name(6), RemoteAddr: r.name(7),
		}
	})
}

// OpenEndpoints reads an endpoints_rank<N>.csv.
func OpenEndpoints(path string) (*Reader[Endpoint], error) {
	return open(path, endpointColumns, func(r *row, e *Endpoint) {
		*e = Endpoint{ID: r.uint(0), Address: r.name(1), Link: r.name(2)}
	})
}

// OpenNIC reads a nic_rank<N>.csv.
func OpenNIC(path string) (*Reader[NICSample], error) {
	return open(path, nicColumns, func(r *row, s *NICSample) {
		*s = NICSample{Time: r.int(0), Device: r.name(1), Counter: r.name(2), Value: r.uint(3)}
	})
}

// OpenCQGaps reads a cqgaps_rank<N>.csv.
func OpenCQGaps(path string) (*Reader[CQGap], error) {
	return open(path, cqGapColumns, func(r *row, g *CQGap) {
		*g = CQGap{Start: r.int(0), End: r.int(1), Endpoint: r.uint(2)}
		r.span(g.Start, g.End)
	})
}
