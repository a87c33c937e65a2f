package report

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"golnx/internal/need"
)

var picture = flag.String("picture", "", "where TestPicture leaves its picture of a report")

// patience is for what takes seconds on a busy machine; running into it is a failure.
const patience = 2 * time.Minute

// noBrowser is why tests in a browser are skipped, which they never are in CI.
var noBrowser = &need.Missing{What: "there is no browser", Do: "scripts/setup.sh --test installs Chromium"}

// browser is a page in headless Chromium, with what went wrong in it.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	troubles []string
}

func newBrowser(t *testing.T, width, height int64) *browser {
	t.Helper()
	path := findBrowser(t)
	profile := t.TempDir()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(profile))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // which Chromium refuses to root
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience) // t's ends before the browser is closed
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx}
	require.NoError(t, chromedp.Listen(ctx, b.listen))
	b.run(chromedp.EmulateViewport(width, height))
	family := descendants(t, chromedp.FromContext(ctx).Browser.Process().Pid)
	t.Cleanup(func() {
		require.NoError(t, chromedp.Cancel(ctx))
		for _, p := range family {
			p.awaitEnd(t)
		}
	})
	return b
}

func findBrowser(t *testing.T) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	need.Skip(t, noBrowser)
	return ""
}

// listen keeps what a page that loads nothing and has no mistakes does not do.
func (b *browser) listen(event any) {
	trouble := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		trouble = "exception: " + e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			trouble += " " + x.Description
		}
	case *runtime.EventConsoleAPICalled:
		trouble = "console: " + string(e.Type)
		for _, arg := range e.Args {
			trouble += " " + string(arg.Value) + arg.Description
		}
	case *log.EventEntryAdded:
		trouble = fmt.Sprintf("log: %s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, "data:") && (e.DocumentURL != e.Request.URL || e.Type != network.ResourceTypeDocument) {
			trouble = "request: " + e.Request.URL
		}
	case *cdppage.EventJavascriptDialogOpening:
		trouble = "dialog: " + e.Message
	}
	if trouble != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.troubles = append(b.troubles, trouble)
	}
}

func (b *browser) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, actions...))
}

// open loads a page from a file.
func (b *browser) open(path string) {
	b.t.Helper()
	b.run(chromedp.Navigate((&url.URL{Scheme: "file", Path: path}).String()))
}

// noTrouble fails if anything went wrong so far.
func (b *browser) noTrouble() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, b.troubles)
}

func evaluate[T any](b *browser, script string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script))
	require.NoError(b.t, err)
	return value
}

// pixels counts those of a section's chart that have a colour, as #rrggbb.
func (b *browser) pixels(section, colour string) int {
	b.t.Helper()
	return evaluate[int](b, fmt.Sprintf(`(() => {
		const chart = document.querySelector("#%s canvas"), want = parseInt("%s".slice(1), 16);
		const copy = new OffscreenCanvas(chart.width, chart.height), ctx = copy.getContext("2d", { willReadFrequently: true });
		ctx.drawImage(chart, 0, 0);
		const { data } = ctx.getImageData(0, 0, copy.width, copy.height);
		let n = 0;
		for (let i = 0; i < data.length; i += 4) if ((data[i] << 16 | data[i + 1] << 8 | data[i + 2]) === want && data[i + 3] === 255) n++;
		return n;
	})()`, section, colour))
}

// middle answers where on the screen the middle of a section's plotting area is, after
// scrolling there, and how wide the area is.
func (b *browser) middle(section string) (x, y, width float64) {
	b.t.Helper()
	box := evaluate[[3]float64](b, fmt.Sprintf(`(() => {
		const over = document.querySelector("#%s .u-over");
		over.scrollIntoView({ block: "center", behavior: "instant" });
		const r = over.getBoundingClientRect();
		return [r.left + r.width / 2, r.top + r.height / 2, r.width];
	})()`, section))
	return box[0], box[1], box[2]
}

// process is one of the browser's.
type process struct{ pid, fd int }

// descendants answers a process and its children's children.
func descendants(t *testing.T, pid int) []process {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil // it has ended
	}
	t.Cleanup(func() { require.NoError(t, unix.Close(fd)) })
	all := []process{{pid, fd}}
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		for _, word := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(word)
			require.NoError(t, err)
			all = append(all, descendants(t, child)...)
		}
	}
	return all
}

func (p process) awaitEnd(t *testing.T) {
	t.Helper()
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
		if err == syscall.EINTR {
			continue
		}
		require.NoError(t, err)
		require.Equal(t, 1, n, "process %d of the browser goes on", p.pid)
		return
	}
}
