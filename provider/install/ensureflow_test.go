package install_test

import (
	"context"
	"io"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// delay is the latency of each answer in the tests that count round trips.
const delay = time.Second

// timed calls Ensure and checks the number of sequential round trips.
func (s *site) timed(t *testing.T, lock *lockfile.File, deep int) *install.Result {
	t.Helper()
	s.Latency = delay
	begin := time.Now()
	result := s.ensure(t, lock)
	if took := time.Since(begin); took != time.Duration(deep)*delay {
		t.Errorf("took %v, want %d answers one after the other", took, deep)
	}
	return result
}

// elsewhere makes the site install into another, empty directory.
func (s *site) elsewhere(t *testing.T) {
	t.Helper()
	next := *s.in
	next.Dir = newDir(t)
	s.in = &next
}

// TestRoundTrips: Ensure makes the minimum number of sequential round trips, for one provider and
// for many, also with more platforms, and no request twice.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ n, platforms int }{{1, 1}, {20, 1}, {5, len(platformsOf)}} {
		synctest.Test(t, func(t *testing.T) {
			n, all := test.n, test.n*test.platforms
			s := newSite(t, n)
			s.in.LockPlatforms = platformsOf[:test.platforms]
			// Discovery, versions, package, and the three files.
			lock := s.timed(t, nil, 4).Lock
			s.counts(t, map[regtest.Kind]int{
				regtest.Discovery: 1, regtest.Versions: n, regtest.Package: all, regtest.Sums: n, regtest.Signature: n, regtest.Archive: all,
			})
			// Everything is installed.
			s.timed(t, lock, 0)
			s.counts(t, nil)
			// Discovery is known.
			s.elsewhere(t)
			s.timed(t, nil, 3)
			s.counts(t, map[regtest.Kind]int{
				regtest.Versions: n, regtest.Package: all, regtest.Sums: n, regtest.Signature: n, regtest.Archive: all,
			})
			// With a lock file: package and archive.
			s.elsewhere(t)
			s.timed(t, lock, 2)
			s.counts(t, map[regtest.Kind]int{regtest.Package: n, regtest.Archive: n})
		})
	}
}

// TestParallel: at most Parallel packages are in progress, including those of other platforms.
func TestParallel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 6)
		s.in.LockPlatforms = platformsOf[:2]
		s.in.Parallel = 3
		busy := &busiest{Source: s.in.Source}
		s.in.Source = busy
		s.Latency = delay
		s.ensure(t, nil)
		if busy.most != 3 {
			t.Errorf("%d archives at once, want 3", busy.most)
		}
	})
}

// busiest counts the archives that are open at the same time.
type busiest struct {
	provider.Source
	mu        sync.Mutex
	now, most int
}

func (b *busiest) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	b.mu.Lock()
	b.now++
	b.most = max(b.most, b.now)
	b.mu.Unlock()
	body, err := b.Source.Open(ctx, pkg)
	if err == nil {
		body.ReadCloser = &leaving{body.ReadCloser, b}
	}
	return body, err
}

// leaving is an archive of a busiest.
type leaving struct {
	io.ReadCloser
	b *busiest
}

func (l *leaving) Close() error {
	l.b.mu.Lock()
	l.b.now--
	l.b.mu.Unlock()
	return l.ReadCloser.Close()
}

// TestTogether: concurrent calls for projects with a common cache download each package once and
// lock the same.
func TestTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 3)
		s.in.Cache = newDir(t)
		s.Latency = delay // all wait for the first answer before the second one comes
		var wg sync.WaitGroup
		locks := make([]string, 4)
		for i := range locks {
			project := *s.in
			project.Dir = newDir(t)
			wg.Go(func() {
				result, err := project.Ensure(t.Context(), s.want, nil)
				if err != nil {
					t.Error(err)
					return
				}
				locks[i] = string(result.Lock.Bytes())
				s.check(t, result)
			})
		}
		wg.Wait()
		if n := s.Count(regtest.Archive); n != 3 && runtime.GOOS != "windows" { // where notes are ignored
			t.Errorf("%d archives, want 3", n)
		}
		for _, lock := range locks[1:] {
			if lock != locks[0] {
				t.Errorf("locked\n%s\nand\n%s", locks[0], lock)
			}
		}
	})
}
