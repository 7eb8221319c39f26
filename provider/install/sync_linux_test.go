package install_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// TestSync: with Options.Sync, and with Installer.TrustCache, each file of a verified package is opened for
// writing and closed once more before the package gets its name. So files are synced.
func TestSync(t *testing.T) {
	t.Parallel()
	// watch returns a function for Progress, and one that returns how many verified files were closed after writing.
	watch := func(d *install.Dir, files ...string) (func(progress.Event), func() int) {
		fd := must.Get(unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC))(t)
		t.Cleanup(func() { unix.Close(fd) })
		start := func(e progress.Event) {
			for _, name := range files {
				if e.Kind == progress.Verified {
					found := must.Get(filepath.Glob(staged(d, name)))(t)
					must.Get(unix.InotifyAddWatch(fd, found[0], unix.IN_CLOSE_WRITE))(t)
				}
			}
		}
		return start, func() int {
			n, err := unix.Read(fd, make([]byte, 16*unix.SizeofInotifyEvent))
			if err == unix.EAGAIN {
				return 0
			}
			must.Do(t, err)
			return n / unix.SizeofInotifyEvent
		}
	}
	for _, sync := range both {
		o, d := newOffer(t, regtest.Provider{Files: map[string]string{"docs/a.txt": "text"}}), newDir(t)
		progress, closed := watch(d, program, "docs/a.txt")
		o.install(t, d, install.Options{Sync: sync, Progress: progress})
		if n := closed(); n != map[bool]int{true: 2}[sync] {
			t.Errorf("Install with Sync %t has synced %d of 2 files", sync, n)
		}
		s := newSite(t, 1)
		s.in.TrustCache = sync
		s.in.Progress, closed = watch(s.in.Dir, "terraform-provider-p0_v1.1.0")
		s.ensure(t, nil)
		if n := closed(); n != map[bool]int{true: 1}[sync] {
			t.Errorf("Ensure with TrustCache %t has synced %d of 1 file", sync, n)
		}
	}
}
