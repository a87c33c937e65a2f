CREATE INDEX operations_by_time ON operations (start_ns);
CREATE INDEX operations_by_link ON operations (rank, link, op);
CREATE INDEX operations_by_duration ON operations (duration_ns);
CREATE INDEX counters_by_time ON counters (rank, device, counter, time_ns);
CREATE INDEX cq_gaps_by_time ON cq_gaps (rank, start_ns);
