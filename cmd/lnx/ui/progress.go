package ui

import (
	"io"
	"os"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	"golang.org/x/sys/unix"
)

const (
	// progressAfter is how long work takes that is worth showing.
	progressAfter = 500 * time.Millisecond
	// progressEvery is rare enough not to disturb what is measured.
	progressEvery = 250 * time.Millisecond
)

// Progress shows how far a piece of work is, on a terminal and if it takes a while;
// anywhere else it shows nothing. done is asked now and then. The answer ends the
// display and must be called.
func Progress(w io.Writer, what string, total int64, done func() int64) (stop func()) {
	if !isTerminal(w) {
		return func() {}
	}
	ended, closed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(closed)
		select {
		case <-time.After(progressAfter):
			show(w, what, total, done, ended)
		case <-ended:
		}
	}()
	return func() {
		close(ended)
		<-closed
	}
}

// show shows a bar until ended is closed.
func show(w io.Writer, what string, total int64, done func() int64, ended <-chan struct{}) {
	tracker := &progress.Tracker{Message: what, Total: total}
	bar := progress.NewWriter()
	bar.SetOutputWriter(w)
	bar.SetUpdateFrequency(progressEvery)
	bar.SetTrackerLength(30)
	bar.Style().Visibility.Value = false
	bar.AppendTracker(tracker)
	go func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				tracker.SetValue(min(done(), total-1)) // the end is not for us to say
			case <-ended:
				tracker.MarkAsDone()
				bar.Stop()
				return
			}
		}
	}()
	bar.Render() // until Stop
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
