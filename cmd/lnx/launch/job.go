package launch

import "syscall"

// Job decides how a run ends. Each method takes what happened and answers what to do. It
// is for one goroutine.
type Job struct {
	ranks int // that have not ended
	code  int // of the first rank that failed, or of what ended the run before
	phase phase
	// interrupted is the signal that ended the run, if one did.
	interrupted syscall.Signal
	cutShort    bool
}

// phase is how far a run is.
type phase int

const (
	running phase = iota
	ending        // everything was told to end
	killing       // everything was killed
)

// Action is what to do.
type Action struct {
	// Signal goes to all processes that are left, ranks or not. 0 is none.
	Signal syscall.Signal
	// New restricts Signal to those that have not had it.
	New bool
	// Grace starts the time after which GraceOver is called, anew.
	Grace bool
	// GiveUp says not to wait for what is left, which cannot be killed.
	GiveUp bool
}

// CodeTimeout is the exit code of a run that took too long, as timeout(1) has it.
const CodeTimeout = 124

// NewJob is a run of ranks that were started.
func NewJob(ranks int) *Job { return &Job{ranks: ranks} }

// Code is the exit code: that of the first rank that failed, or of what ended the run
// before one did. 0 if neither.
func (j *Job) Code() int {
	if j.code == 0 && j.interrupted != 0 {
		return codeOfSignal(j.interrupted)
	}
	return j.code
}

// CutShort says whether there was a signal to end the run, or time was up.
func (j *Job) CutShort() bool { return j.cutShort }

// codeOfSignal is the exit code of a process that a signal ended, as shells have it.
func codeOfSignal(s syscall.Signal) int { return 128 + int(s) }

// CodeOf is the exit code of a process that ended.
func CodeOf(s syscall.WaitStatus) int {
	if s.Signaled() {
		return codeOfSignal(s.Signal())
	}
	return s.ExitStatus()
}

// Ended says that a rank ended. If it failed, the others are ended. When all have, so is
// what they left behind.
func (j *Job) Ended(code int) Action {
	j.ranks--
	if code != 0 && j.code == 0 {
		j.code = code
	}
	if j.phase == running && (code != 0 || j.ranks == 0) {
		return j.end(syscall.SIGTERM)
	}
	return j.Left()
}

// Left says that a process ended that is no rank. Others, whose parent it was, may have
// come to light.
func (j *Job) Left() Action {
	switch {
	case j.phase == killing:
		return Action{Signal: syscall.SIGKILL}
	case j.phase == ending && j.ranks == 0:
		// Not the signal that a user sent: a shell's background commands ignore
		// SIGINT.
		return Action{Signal: syscall.SIGTERM, New: true}
	}
	return Action{}
}

// Signal says that a signal came, which is passed on. SIGINT, SIGTERM and SIGHUP end the
// run.
func (j *Job) Signal(s syscall.Signal) Action {
	switch s {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP:
	default:
		return Action{Signal: s}
	}
	j.cutShort = true
	if j.phase != running {
		return Action{Signal: s}
	}
	j.interrupted = s
	return j.end(s)
}

// Stop ends the run with an exit code, unless it is ending.
func (j *Job) Stop(code int) Action {
	if j.phase != running {
		return Action{}
	}
	j.code, j.cutShort = code, true
	return j.end(syscall.SIGTERM)
}

func (j *Job) end(s syscall.Signal) Action {
	j.phase = ending
	return Action{Signal: s, Grace: true}
}

// GraceOver says that the time is over that there was for ending.
func (j *Job) GraceOver() Action {
	switch j.phase {
	case ending:
		j.phase = killing
		return Action{Signal: syscall.SIGKILL, Grace: true}
	case killing:
		return Action{GiveUp: true}
	}
	return Action{}
}
