package mr

// EntryOf identifies what a lease uses, nil if nothing.
func EntryOf(l Lease) any {
	if l.entry == nil {
		return nil
	}
	return l.entry
}

// RegionEntry identifies what a region uses.
func RegionEntry(r *Region) any { return r.e }
