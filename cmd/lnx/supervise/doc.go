// Package supervise starts processes and sees to it that nothing of them is left in the
// end: not they, not what they started, and not when this process is killed.
//
// Three things together do that. The kernel sends SIGTERM to each process when the one
// that started it ends (PR_SET_PDEATHSIG of prctl(2)). A process whose parent ended
// becomes a child of this one (PR_SET_CHILD_SUBREAPER), whatever session or group it put
// itself into, so that all that is left is found among the children. And signals go to
// the groups of these. A process that is killed itself leaves this to the one that
// started it, if that uses this package, too: two of them, one below the other, look
// after one another.
package supervise
