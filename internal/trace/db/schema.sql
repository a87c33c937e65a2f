-- Times are Unix nanoseconds, sizes are bytes. docs/trace.md explains the tables.
CREATE TABLE ranks (
    rank     INTEGER PRIMARY KEY,
    host     TEXT NOT NULL,
    pid      INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    end_ns   INTEGER NOT NULL,
    ended    TEXT NOT NULL,
    dropped  INTEGER NOT NULL
);
CREATE TABLE endpoints (
    rank      INTEGER NOT NULL,
    endpoint  INTEGER NOT NULL,
    address   TEXT NOT NULL,
    link_name TEXT NOT NULL
);
CREATE TABLE links (
    rank        INTEGER NOT NULL,
    link        INTEGER NOT NULL,
    endpoint    INTEGER NOT NULL,
    rail        TEXT NOT NULL,
    provider    TEXT NOT NULL,
    local_nic   TEXT NOT NULL,
    remote_nic  TEXT NOT NULL,
    local_addr  TEXT NOT NULL,
    remote_addr TEXT NOT NULL,
    peer        INTEGER, -- NULL if no rank has this remote_addr
    PRIMARY KEY (rank, link)
) WITHOUT ROWID;
CREATE TABLE operations (
    rank        INTEGER NOT NULL,
    start_ns    INTEGER NOT NULL,
    duration_ns INTEGER NOT NULL,
    op          TEXT NOT NULL,
    bytes       INTEGER NOT NULL,
    link        INTEGER NOT NULL,
    tag         INTEGER NOT NULL, -- 64 bits, negative from 2^63 on
    status      INTEGER NOT NULL
);
CREATE TABLE counters (
    rank    INTEGER NOT NULL,
    device  TEXT NOT NULL,
    counter TEXT NOT NULL,
    time_ns INTEGER NOT NULL,
    value   INTEGER NOT NULL -- 64 bits, negative from 2^63 on
);
CREATE TABLE cq_gaps (
    rank     INTEGER NOT NULL,
    endpoint INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    end_ns   INTEGER NOT NULL
);
CREATE VIEW ops AS
    SELECT o.rank, l.peer, l.rail, l.provider, l.local_nic, l.remote_nic, o.op, o.bytes,
           o.start_ns, o.start_ns + o.duration_ns AS end_ns, o.duration_ns, o.tag, o.status
    FROM operations o JOIN links l ON l.rank = o.rank AND l.link = o.link;
CREATE VIEW counter_deltas AS
    SELECT rank, device, counter, time_ns, value - prev AS delta, time_ns - prev_ns AS span_ns
    FROM (
        SELECT *, lag(value) OVER w AS prev, lag(time_ns) OVER w AS prev_ns
        FROM counters WINDOW w AS (PARTITION BY rank, device, counter ORDER BY time_ns)
    ) WHERE prev IS NOT NULL AND value >= prev;
