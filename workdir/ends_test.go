package workdir

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/workdir/internal/must"
)

// ending is a transport that ends a context with one of its requests.
type ending struct {
	http.RoundTripper
	last    int64
	end     context.CancelFunc
	sent    atomic.Int64
	running sync.WaitGroup
}

func (e *ending) RoundTrip(r *http.Request) (*http.Response, error) {
	e.running.Add(1)
	defer e.running.Done()
	if e.sent.Add(1) == e.last {
		e.end()
	}
	return e.RoundTripper.RoundTrip(r)
}

// TestPrepareEnds: whenever the context ends, Prepare leaves no staging directory and no request, no module is
// changed before all are there, and the next call completes it.
func TestPrepareEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := everyKind(t, repositoryOf(t, tree{files: map[string]string{"sub/main.tf": "# from git\n"}}))
	for last := int64(1); ; last++ {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		dir := t.TempDir()
		c.write(t, w, dir)
		requests := &ending{RoundTripper: w.server.Client().Transport, last: last, end: end}
		config := must.Get(cliconfig.Load(t.Context(), cliconfig.System{Home: t.TempDir(), Dir: dir}))(t)
		config.HTTP = &http.Client{Transport: requests}
		d := New(config, dir)
		_, err := d.Prepare(ctx)
		requests.running.Wait() // or the test does not end
		if requests.sent.Load() < last {
			if err != nil || last < 10 {
				t.Errorf("Prepare with %d requests: %v", requests.sent.Load(), err)
			}
			return
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("after request %d: %v, want context.Canceled", last, err)
		}
		must.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			parent := filepath.Base(filepath.Dir(path))
			if strings.HasPrefix(d.Name(), ".tofureg-") || parent == ".tofureg" && !d.IsDir() {
				t.Errorf("after request %d: %s is left", last, path)
			}
			return err
		}))
		_, manifest := os.Stat(filepath.Join(dir, filepath.FromSlash(modulesJSON)))
		packages := must.Get(filepath.Glob(filepath.Join(dir, filepath.FromSlash(modulesPath), "*", "*")))(t)
		if (manifest == nil) != (len(packages) > 0) {
			t.Errorf("after request %d: modules %q and the manifest: %v; want both or neither", last, packages, manifest)
		}
		must.Do(t, prepare(t.Context(), w.dir(t, dir, false)))
	}
}
