// Package storagetest tests implementations of a store. It is meant for 1.0.
//
//	if err := storagetest.TestStore(t.Context(), clientOf(bucket), clientOf(bucket)); err != nil {
//		t.Fatal(err)
//	}
//
// Errors join all failures. Some failures of concurrent writers are found by chance: run the test several times,
// also with the race detector. Replaced files have at most 64 KiB. Crashes are not tested.
package storagetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/tofureg/tofureg/storage"
)

// TestStore tests s, also as a [storage.Locker]. others are values for the same place that share no memory with s,
// as in other processes. They are used concurrently; without them, a mutex in s hides failures.
//
// TestStore writes about 1200 files, 40 MiB in total, to a new directory at the top, "storagetest-" and a
// random suffix, and removes them. If ctx ends, the error wraps its cause.
func TestStore(ctx context.Context, s storage.Store, others ...storage.Store) error {
	return test(ctx, checks(), append([]storage.Store{s}, others...))
}

// RaceWrites tests, in many rounds, that one of several concurrent writes on the same condition succeeds.
// TestStore has 20 rounds; a fault may need hundreds.
func RaceWrites(ctx context.Context, rounds int, s storage.Store, others ...storage.Store) error {
	return test(ctx, []check{{"raced writes", func(r *run) { r.race(rounds) }}}, append([]storage.Store{s}, others...))
}

// check is one part of the test.
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
		{"stat", testStat},
		{"names", testNames},
		{"invalid names", testInvalidNames},
		{"one of many writers", testOneWriter},
		{"updates", testUpdates},
		{"readers while files are replaced", testReplaced},
		{"readers while files are created", testMade},
		{"files that are created and deleted", testComeAndGo},
		{"ended context", testEndedContext},
		{"context that ends", testContextEnds},
		{"lock", testLock},
	}
}

// test runs checks with storages for one place.
func test(ctx context.Context, checks []check, storages []storage.Store) error {
	c := &checker{
		storages: storages,
		root:     "storagetest-" + strings.ToLower(rand.Text()[:12]),
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

// soon is the maximum time that a method may continue after its context has ended.
const soon = 5 * time.Second

// checker is the state of one call of TestStore.
type checker struct {
	storages []storage.Store
	root     string

	mu      sync.Mutex
	found   []error
	written map[string]bool
}

// cleanUp removes the files of the test.
func (c *checker) cleanUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var names []string
	for name := range c.written {
		names = append(names, name)
	}
	inParallel(len(names), func(i int) { c.storages[0].Delete(ctx, names[i]) })
}

// inParallel calls do with 0 to n-1, with a few concurrent calls.
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

// run is the state of one check.
type run struct {
	*checker
	ctx    context.Context
	name   string
	dir    string // directory for the files of this check
	errors int
}

// maxErrors is the maximum number of errors for each check.
const maxErrors = 3

// errorf adds an error.
func (r *run) errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.errors++; r.errors <= maxErrors && r.ctx.Err() == nil {
		r.found = append(r.found, fmt.Errorf("%s: "+format, append([]any{r.name}, args...)...))
	}
}

// failed reports whether there are errors or the context has ended.
func (r *run) failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.errors > 0 || r.ctx.Err() != nil
}

// storage returns the storage of process i.
func (r *run) storage(i int) storage.Store { return r.storages[i%len(r.storages)] }

// path returns the name of a file of this check.
func (r *run) path(name string) string { return path.Join(r.dir, name) }
