// Package dirtest tells whether a [mirrordir.Storage] does what mirrordir relies on.
//
// Who keeps a mirror elsewhere than in a local directory, in an object store or a
// database, implements four methods. Most of what can go wrong with them shows only when
// several processes write at the same time: a version that is missing in an index, half a
// document at a client. [TestStorage] looks for that, and for the rest of the contract:
//
//	func TestMyStorage(t *testing.T) {
//		if err := dirtest.TestStorage(t.Context(), newStorage(t), newStorage(t)); err != nil {
//			t.Fatal(err)
//		}
//	}
//
// # Limits
//
// What happens by chance is not always found: run the test more than once, and with the
// race detector. Files of up to 64 KiB are replaced, larger ones only made and removed, as
// package mirrordir does with documents and archives. It cannot be tested whether anything
// survives a crash.
package dirtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
)

// TestStorage tests s and returns nil if it found nothing wrong. The error joins all that
// it found, in lines that say what was done, what came back and what should have.
//
// Others are further values for the same place, such as another process has: made on their
// own, with nothing in memory that they share with s. Writers and readers then use them
// all. Without any, what s does by a mutex passes, though another process would not
// notice it.
//
// All files are in one new directory at the top, whose name begins with "dirtest-"; they are
// removed in the end. What else is there is left alone. About 1300 files are written, the
// largest has 20 MiB. If s is a [mirrordir.Locker] the locks are tested too, and if it is a
// [mirrordir.Local] its staged files and paths. When ctx ends, the test stops and returns its error.
func TestStorage(ctx context.Context, s mirrordir.Storage, others ...mirrordir.Storage) error {
	return test(ctx, checks(), append([]mirrordir.Storage{s}, others...))
}

// check is a part of the test.
type check struct {
	name string
	run  func(*run)
}

func checks() []check {
	return []check{
		{"missing files", testMissing},
		{"read", testRead},
		{"write", testWrite},
		{"write from a failing source", testFailingContent},
		{"revisions", testRevisions},
		{"list", testList},
		{"list many", testListMany},
		{"delete", testDelete},
		{"names", testNames},
		{"invalid names", testInvalidNames},
		{"one of many writers", testOneWriter},
		{"updates", testUpdates},
		{"readers while files are replaced", testReplaced},
		{"readers while files are made", testMade},
		{"files that come and go", testComeAndGo},
		{"ended context", testEndedContext},
		{"context that ends", testContextEnds},
		{"lock", testLock},
		{"staged files", testStaged},
	}
}

// test does some checks of storages for one place.
func test(ctx context.Context, checks []check, storages []mirrordir.Storage) error {
	c := &checker{
		storages: storages,
		root:     "dirtest-" + strings.ToLower(rand.Text()[:12]),
		written:  map[string]bool{},
	}
	defer c.cleanUp(context.WithoutCancel(ctx))
	for _, check := range checks {
		if ctx.Err() != nil {
			break
		}
		dir := path.Join(c.root, strings.ReplaceAll(check.name, " ", "-"))
		check.run(&run{checker: c, ctx: ctx, name: check.name, dir: dir})
	}
	if ctx.Err() != nil {
		c.found = append(c.found, context.Cause(ctx))
	}
	return errors.Join(c.found...)
}

// soon is how long a method may go on after its context has ended.
const soon = 5 * time.Second

// checker does one call of TestStorage.
type checker struct {
	storages []mirrordir.Storage
	root     string

	mu      sync.Mutex
	found   []error
	written map[string]bool
}

// cleanUp removes what the test has left, as far as s can.
func (c *checker) cleanUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var names []string
	for name := range c.written {
		names = append(names, name)
	}
	inParallel(len(names), func(i int) { c.storages[0].Delete(ctx, names[i]) })
}

// inParallel calls do with 0 to n-1, a few at the same time.
func inParallel(n int, do func(i int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(16, n) {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// run is one check.
type run struct {
	*checker
	ctx    context.Context
	name   string
	dir    string // for the files of this check only
	errors int
}

// maxErrors is how many errors one check reports: it is often the same one.
const maxErrors = 3

// errorf reports that something is wrong.
func (r *run) errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.errors++; r.errors <= maxErrors && r.ctx.Err() == nil {
		r.found = append(r.found, fmt.Errorf("%s: "+format, append([]any{r.name}, args...)...))
	}
}

// failed reports whether the check has found anything, or cannot go on.
func (r *run) failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.errors > 0 || r.ctx.Err() != nil
}

// storage returns that of the i-th process.
func (r *run) storage(i int) mirrordir.Storage { return r.storages[i%len(r.storages)] }

// path returns the name of a file of this check.
func (r *run) path(name string) string { return path.Join(r.dir, name) }
