package module_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/progress"
)

// many returns a fake with n modules, each with two versions, and requests for them.
func many(t testing.TB, dir string, n int) (*fake, []module.Request) {
	t.Helper()
	f := serve(map[string][]byte{})
	f.versions = map[addrs.Module]*module.Versions{}
	f.location = func(m addrs.Module, _ addrs.Version) (*module.Location, error) {
		return module.ParseLocation("https://files.example.com/" + m.Name() + ".zip")
	}
	var requests []module.Request
	for i := range n {
		m := addrs.MustParseModule(fmt.Sprintf("registry.example.com/acme/m%d/aws", i))
		f.versions[m] = &module.Versions{Module: m, Versions: []module.Release{{Version: v1}, {Version: addrs.MustParseVersion("0.9.0")}}}
		content := files{"main.tf": m.Name()}.zip(t)
		f.open["https://files.example.com/"+m.Name()+".zip"] = func() (*module.Body, error) { return body(content), nil }
		requests = append(requests, module.Request{
			Source:     addrs.ModuleSource{Module: m},
			Constraint: addrs.MustParseModuleConstraint("~> 1.0"),
			Dir:        filepath.Join(dir, m.Name()),
		})
	}
	return f, requests
}

// TestDownloadAllAtATime checks that ten modules take as long as one, and that Parallel is
// respected.
func TestDownloadAllAtATime(t *testing.T) {
	t.Parallel()
	for parallel, delays := range map[int]time.Duration{0: 3, 3: 12} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			src, requests := many(t, dir, 10)
			src.delay = 200 * time.Millisecond
			start := time.Now()
			results := must.Get(module.DownloadAll(t.Context(), src, requests, module.Options{Parallel: parallel}))(t)
			if took := time.Since(start); took != delays*src.delay || len(src.asked) != 3*10 {
				t.Errorf("Parallel %d: took %v and %d requests, want %v and 30", parallel, took, len(src.asked), delays*src.delay)
			}
			for i, r := range results {
				if r.Err != nil || r.Report.Module != requests[i].Source.Module || r.Report.Version != v1 {
					t.Errorf("result %d: %+v, want version %s of %s", i, r, v1, requests[i].Source)
				}
			}
		})
	}
}

// slowEnd is an archive whose end arrives a second late.
type slowEnd struct {
	*bytes.Reader
	once sync.Once
}

func (s *slowEnd) Read(p []byte) (int, error) {
	if s.Len() == 0 {
		s.once.Do(func() { time.Sleep(time.Second) })
	}
	return s.Reader.Read(p)
}

// TestDownloadAllXZ checks that two tar.xz are unpacked at a time, because each may need a large
// dictionary.
func TestDownloadAllXZ(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]time.Duration{"tar.gz": time.Second, "tar.xz": 2 * time.Second} {
		dir := t.TempDir()
		content := packed(t, example.entries())[format]
		synctest.Test(t, func(t *testing.T) {
			src, requests := many(t, dir, 4)
			for url := range src.open {
				src.open[url] = func() (*module.Body, error) {
					return &module.Body{ReadCloser: io.NopCloser(&slowEnd{Reader: bytes.NewReader(content)})}, nil
				}
			}
			start := time.Now()
			_, err := module.DownloadAll(t.Context(), src, requests, module.Options{})
			if took := time.Since(start); err != nil || took != want {
				t.Errorf("four %s took %v, %v; want %v", format, took, err, want)
			}
		})
	}
}

// TestDownloadAllFailures checks that failures neither hide nor stop other requests.
func TestDownloadAllFailures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src, requests := many(t, dir, 6)
	unknown := addrs.MustParseModule("registry.example.com/acme/none/aws")
	requests[1].Source.Module = unknown
	requests[2].Constraint = addrs.MustParseModuleConstraint(">= 2.0")
	requests[3].H1 = h1(t, files{"main.tf": "other"})
	requests[4].H1 = h1(t, files{"main.tf": "m4"})
	requests[5].Version = addrs.MustParseVersion("0.9.0")
	must.Do(t, os.WriteFile(requests[0].Dir, nil, 0o644))
	results, err := module.DownloadAll(t.Context(), src, requests, module.Options{})
	if len(results) != 6 || err == nil {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for i, want := range []error{module.ErrOccupied, failure.ErrNotFound, failure.ErrNoVersion, nil, nil, nil} {
		if want != nil && (!errors.Is(results[i].Err, want) || !errors.Is(err, want) || results[i].Report != nil) {
			t.Errorf("%d: %+v, want %v", i, results[i], want)
		}
	}
	if results[3].Err == nil || results[4].Err != nil || results[5].Err != nil {
		t.Errorf("results %v, want only the fourth to fail of the last three", results)
	}
	if r := results[5].Report; r == nil || r.Version.String() != "0.9.0" {
		t.Errorf("report %+v, want version 0.9.0", r)
	}
	for _, gone := range []int{1, 2, 3} {
		if _, err := os.Lstat(requests[gone].Dir); err == nil {
			t.Errorf("%s exists", requests[gone].Dir)
		}
	}
	if n := strings.Count(err.Error(), "\n"); n != 3 {
		t.Errorf("%d line breaks in %v, want 3", n, err)
	}
	results, err = module.DownloadAll(t.Context(), src, nil, module.Options{})
	if len(results) != 0 || err != nil {
		t.Errorf("nothing to do: %v, %v", results, err)
	}
}

func TestDownloadAllCancelled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		src, requests := many(t, dir, 5)
		src.delay = time.Second
		ctx, cancel := context.WithTimeout(t.Context(), 4500*time.Millisecond) // within the second one
		defer cancel()
		results, err := module.DownloadAll(ctx, src, requests, module.Options{Parallel: 1})
		if !errors.Is(err, context.DeadlineExceeded) || results[0].Err != nil {
			t.Errorf("%v, first %v", err, results[0].Err)
		}
		for _, r := range results[1:] {
			if !errors.Is(r.Err, context.DeadlineExceeded) {
				t.Errorf("error %v, want DeadlineExceeded", r.Err)
			}
		}
	})
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%d directories, %v; want only the first", len(entries), err)
	}
}

// TestDownloadAllEvents checks that events of several requests do not overlap.
func TestDownloadAllEvents(t *testing.T) {
	t.Parallel()
	src, requests := many(t, t.TempDir(), 20)
	var running atomic.Int32
	stored := map[string]bool{}
	_, err := module.DownloadAll(t.Context(), src, requests, module.Options{Progress: func(e progress.Event) {
		if running.Add(1) != 1 {
			t.Error("Progress: two concurrent calls")
		}
		if e.Kind == progress.Stored {
			stored[e.Dir] = true
		}
		running.Add(-1)
	}})
	if err != nil || len(stored) != 20 {
		t.Errorf("%d stored, %v", len(stored), err)
	}
}

// TestDownloadAllSameDir checks that requests with overlapping directories fail, except the
// first.
func TestDownloadAllSameDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src, requests := many(t, dir, 9)
	one := requests[0].Dir
	requests[1].Dir = one + string(filepath.Separator)
	requests[2].Dir = filepath.Join(one, "a", "b")
	requests[3].Dir = dir // around all
	requests[4].Dir = ""
	requests[6].Dir = filepath.Join(dir, strings.ToUpper(filepath.Base(one)))
	requests[7].Dir = filepath.Join(requests[6].Dir, "a")
	results, err := module.DownloadAll(t.Context(), src, requests, module.Options{Replace: true})
	if err == nil {
		t.Error("DownloadAll: no error")
	}
	for i, want := range []error{nil, module.ErrOccupied, module.ErrOccupied, module.ErrOccupied, fs.ErrInvalid, nil, module.ErrOccupied, module.ErrOccupied, nil} {
		if !errors.Is(results[i].Err, want) {
			t.Errorf("%d: %v, want %v", i, results[i].Err, want)
		}
		if _, ok := errors.AsType[*failure.Error](results[i].Err); ok != (want != nil) {
			t.Errorf("%d: %v, want a *failure.Error", i, results[i].Err)
		}
	}
}
