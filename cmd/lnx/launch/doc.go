// Package launch decides how ranks are started on one machine: on which processors each
// runs, which NIC is nearest to it, what its environment says, and how the run ends when
// a rank fails, a signal comes or time is up. It starts nothing, and has no clock and no
// environment of its own; package supervise does what it decides.
package launch
