package timer

import (
	"encoding/json"
	"os"
)

// metaWriter writes the meta file anew in its place: it stays within the file system's
// first block, so that its last version can be written when the disk is full.
type metaWriter struct{ file *os.File }

func newMetaWriter(path string) (*metaWriter, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &metaWriter{f}, nil
}

func (m *metaWriter) write(meta *Meta) error {
	text, err := json.MarshalIndent(meta, "", "  ")
	if err != nil {
		return err
	}
	if _, err := m.file.WriteAt(append(text, '\n'), 0); err != nil {
		return err
	}
	return m.file.Truncate(int64(len(text) + 1))
}

// meta answers the state of things. With a reason they are at their end.
func (r *Recorder) meta(ended string) *Meta {
	m := &Meta{
		Format: FormatVersion, Rank: r.cfg.Rank, RankSource: r.cfg.RankSource, Host: r.env.Host, PID: r.env.PID,
		Start: r.began, Knobs: r.cfg.Knobs(), Ended: ended,
		CQGaps: r.writer.gaps.state(), NIC: r.sampler.state(),
	}
	if ended != "" {
		m.End = r.clock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m.Ops = r.counts
	for _, ep := range r.endpoints {
		ep.count(&m.Ops, ended != "")
	}
	ops := r.writer.ops.state()
	m.Ops.Recorded = ops.Recorded
	m.Ops.Dropped += ops.Dropped
	m.Ops.Ended = ops.Ended
	m.CQGaps.Dropped += r.gapsLost
	return m
}
