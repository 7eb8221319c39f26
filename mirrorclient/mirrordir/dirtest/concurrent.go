package dirtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
)

// writers is how many write at the same time.
const writers = 8

// testOneWriter: of those that have seen the same file, or none, one may write.
func testOneWriter(r *run) {
	for round := range 20 {
		if r.failed() {
			return
		}
		// Two rounds for each file: it is made, and replaced.
		name, was := r.path(strconv.Itoa(round/2)), mirrordir.Revision("")
		if round%2 == 1 {
			_, revision, err := r.read(r.storage(0), name)
			if err != nil {
				r.errorf("Open(%q) = %v", name, err)
				return
			}
			was = revision
		}
		var won [writers]bool
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				<-start
				err := r.tryWrite(r.ctx, r.storage(i), name, section(text(i+round*writers, 1000+i)), was)
				won[i] = err == nil
				if err != nil && !errors.Is(err, mirrordir.ErrConflict) {
					r.errorf("Write(%q) of many = %v, want one success and errors that wrap mirrordir.ErrConflict", name, err)
				}
			})
		}
		close(start)
		wg.Wait()
		winners, last := 0, 0
		for i, ok := range won {
			if ok {
				winners, last = winners+1, i
			}
		}
		if winners != 1 {
			r.errorf("%d writers of %q with the same revision %q succeed, want one", winners, name, was)
			return
		}
		r.want(name, text(last+round*writers, 1000+last), "after it was written by one of many")
	}
}

// testUpdates: nothing that was written is lost.
func testUpdates(r *run) {
	const each = 10
	name := r.path("index.json")
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for n := range each {
				r.appendLine(r.storage(i), name, fmt.Sprintf("%d.%d\n", i, n))
			}
		})
	}
	wg.Wait()
	got, _, err := r.read(r.storage(0), name)
	if r.failed() {
		return
	}
	if err != nil {
		r.errorf("Open(%q) = %v", name, err)
	}
	for i := range writers {
		for n := range each {
			if line := fmt.Sprintf("%d.%d\n", i, n); strings.Count("\n"+got, "\n"+line) != 1 {
				r.errorf("%q has been written to a list %d times, want once: an update was lost", line, strings.Count("\n"+got, "\n"+line))
			}
		}
	}
}

// appendLine reads, edits and writes a file until nobody interferes.
func (r *run) appendLine(s mirrordir.Storage, name, line string) {
	const tries = 1000 // a conflict is the success of another one, and there are 80
	for range tries {
		if r.failed() {
			return
		}
		old, was, err := r.read(s, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.errorf("Open(%q) while it is written = %v", name, err)
			return
		}
		err = r.tryWrite(r.ctx, s, name, section(old+line), was)
		if err == nil {
			return
		}
		if !errors.Is(err, mirrordir.ErrConflict) {
			r.errorf("Write(%q) while others write = %v, want success or an error that wraps mirrordir.ErrConflict", name, err)
			return
		}
	}
	r.errorf("Write(%q) while others write has failed %d times with mirrordir.ErrConflict, and nobody else has written as often", name, tries)
}

// numbered returns a content that tells its number and whether it is whole.
func numbered(n int) string {
	line := fmt.Sprintf("number %d\n", n)
	return strings.Repeat(line, 1+n*37%1500) + "end\n"
}

// numberOf returns the number of a content, and an error if it is not whole.
func numberOf(content string) (int, error) {
	line, _, _ := strings.Cut(content, "\n")
	n, err := strconv.Atoi(strings.TrimPrefix(line, "number "))
	if err != nil || content != numbered(n) {
		return 0, fmt.Errorf("%s is not a whole file that was ever written", excerpt(content))
	}
	return n, nil
}

// testReplaced: a reader has the whole of one file, and of none that is older than the
// last that was written when the reader came.
func testReplaced(r *run) {
	name := r.path("index.json")
	if !r.write(name, numbered(0), "") {
		return
	}
	var written atomic.Int64
	ctx, stop := context.WithCancel(r.ctx)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for ctx.Err() == nil && !r.failed() {
				least := written.Load()
				content, _, err := r.read(r.storage(i), name)
				if err != nil {
					r.errorf("Open(%q) while it is replaced = %v", name, err)
					return
				}
				n, err := numberOf(content)
				if err != nil {
					r.errorf("Open(%q) while it is replaced: %v", name, err)
				} else if int64(n) < least {
					r.errorf("Open(%q) has number %d, after Write of number %d has returned", name, n, least)
				}
			}
		})
	}
	for n := 1; n <= 100 && !r.failed(); n++ {
		_, was, err := r.read(r.storage(n), name)
		if err == nil {
			err = r.tryWrite(r.ctx, r.storage(n), name, section(numbered(n)), was)
		}
		if err != nil {
			r.errorf("Write(%q) by the only writer = %v", name, err)
		}
		written.Store(int64(n))
	}
	stop()
	wg.Wait()
}

// testMade: a new file is there as a whole or not at all, also for those who list.
func testMade(r *run) {
	const size = 2 << 20
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(r.ctx)
	var made atomic.Int64
	for i := range 4 {
		wg.Go(func() {
			for ctx.Err() == nil && !r.failed() {
				r.look(r.storage(i), r.path(strconv.FormatInt(made.Load(), 10)), size)
			}
		})
	}
	for n := range 8 {
		if r.failed() {
			break
		}
		made.Store(int64(n))
		name := r.path(strconv.Itoa(n))
		if err := r.tryWrite(r.ctx, r.storage(n), name, section(text(0, size)), ""); err != nil {
			r.errorf("Write(%q) while others look for it = %v", name, err)
		}
	}
	stop()
	wg.Wait()
}

// look opens and lists a file that is being made.
func (r *run) look(s mirrordir.Storage, name string, size int64) {
	entries, err := s.List(r.ctx, r.dir)
	if err != nil {
		r.errorf("List(%q) while files are made = %v", r.dir, err)
	}
	for _, e := range entries {
		if e.Size != size || e.Dir || strings.Trim(e.Name, "0123456789") != "" {
			r.errorf("List(%q) while files are made has %+v, want only files of %d bytes", r.dir, e, size)
		}
	}
	o, err := s.Open(r.ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		r.errorf("Open(%q) while it is made = %v", name, err)
		return
	}
	defer o.Close()
	n, err := io.Copy(io.Discard, o)
	if err != nil || n != size || o.Size != size {
		r.errorf("Open(%q) while it is made has %d bytes, and Size %d, want %d, %v", name, n, o.Size, size, err)
	}
}

// testComeAndGo: that a directory has become empty is nothing to its other writers.
func testComeAndGo(r *run) {
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			s, name := r.storage(i), r.path(fmt.Sprintf("a/b/%d", i))
			for range 10 {
				if r.failed() {
					return
				}
				if err := r.tryWrite(r.ctx, s, name, section("x"), ""); err != nil {
					r.errorf("Write(%q) while others write and delete beside it = %v", name, err)
				}
				if _, _, err := r.read(s, name); err != nil {
					r.errorf("Open(%q) while others write and delete beside it = %v", name, err)
				}
				if err := s.Delete(r.ctx, name); err != nil {
					r.errorf("Delete(%q) while others write and delete beside it = %v", name, err)
				}
			}
		})
	}
	wg.Wait()
	r.wantEntries(r.path("a/b"))
}
