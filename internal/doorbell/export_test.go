package doorbell

// Asleep says that the receiver has armed the bell.
func (r *Ringer) Asleep() bool { return r.state.Load()&asleep != 0 }

// Closed says that the ringer has given up.
func (r *Ringer) Closed() bool { return r.page == nil && r.pipe < 0 && r.state == &awake }
