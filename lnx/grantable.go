package lnx

import "golnx/providers/ofi"

// Grantable answers for each rail of the link, in order, the capabilities that it could
// be opened with: those that it has, and each other one of Options.Caps that its provider
// offers by itself. libfabric is asked for them (fi_getinfo(3)), past all hooks.
func (l *Link) Grantable() ([]Caps, error) {
	all := make([]Caps, len(l.Rails))
	for i, r := range l.Rails {
		all[i] = r.Caps
	}
	for _, more := range []Caps{CapRMA, CapRMA | CapAtomic, CapRMA | CapRMAEvent} {
		f := finder{known: map[string][]*ofi.Info{}, caps: more, direct: l.set.Direct}
		for i, r := range l.Rails {
			traits, err := f.provider(r.Provider)
			if err != nil {
				return nil, err
			}
			infos, err := f.discover(traits)
			if err != nil {
				return nil, err
			}
			for _, info := range infos {
				if info.Domain == r.Domain && info.Fabric == r.Fabric && info.Caps&more == more {
					all[i] |= more
				}
			}
		}
	}
	return all, nil
}
