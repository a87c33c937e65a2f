package intercept

import "sync"

var registered struct {
	sync.Mutex
	hooks []*Hooks
}

// Register adds a consumer to all endpoints that are opened from now on, in this
// process, and to all calls of lnx.Links. It comes before those of Options.Hooks. The
// caller must not change h any more. The answer takes it off the list again; endpoints
// that are open keep it.
func Register(h *Hooks) (unregister func()) {
	registered.Lock()
	defer registered.Unlock()
	registered.hooks = append(registered.hooks[:len(registered.hooks):len(registered.hooks)], h)
	return func() {
		registered.Lock()
		defer registered.Unlock()
		var rest []*Hooks
		for _, x := range registered.hooks {
			if x != h {
				rest = append(rest, x)
			}
		}
		registered.hooks = rest
	}
}

// Registered answers the consumers registered for the whole process. The caller must
// not change the slice.
func Registered() []*Hooks {
	registered.Lock()
	defer registered.Unlock()
	return registered.hooks
}
