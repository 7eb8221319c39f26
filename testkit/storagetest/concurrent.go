package storagetest

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

	"github.com/tofureg/tofureg/storage"
)

// writers is the number of concurrent writers.
const writers = 8

// testOneWriter checks that one of several writers with the same revision succeeds.
func testOneWriter(r *run) { r.race(20) }

// race lets several processes write a file on the same condition, in some rounds.
func (r *run) race(rounds int) {
	for round := range rounds {
		if r.failed() {
			return
		}
		// Two rounds for each file: create and replace.
		name, was := r.path(strconv.Itoa(round/2)), storage.Revision("")
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
				if err != nil && !errors.Is(err, storage.ErrConflict) {
					r.errorf("concurrent Write(%q) = %v, want nil or an error that wraps storage.ErrConflict", name, err)
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
			r.errorf("%d concurrent Writes of %q with revision %q succeed, want 1", winners, name, was)
			return
		}
		r.want(name, text(last+round*writers, 1000+last), "after concurrent Writes")
	}
}

// testUpdates checks that no update is lost.
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
				r.errorf("after concurrent updates the line %q is in the file %d times, want 1", line, strings.Count("\n"+got, "\n"+line))
			}
		}
	}
}

// appendLine appends a line to a file, and repeats this after a conflict.
func (r *run) appendLine(s storage.Store, name, line string) {
	const tries = 1000 // there are 80 updates, and each can cause a conflict
	for range tries {
		if r.failed() {
			return
		}
		old, was, err := r.read(s, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.errorf("Open(%q) during Writes = %v", name, err)
			return
		}
		err = r.tryWrite(r.ctx, s, name, section(old+line), was)
		if err == nil {
			return
		}
		if !errors.Is(err, storage.ErrConflict) {
			r.errorf("concurrent Write(%q) = %v, want nil or an error that wraps storage.ErrConflict", name, err)
			return
		}
	}
	r.errorf("concurrent Write(%q) has failed %d times with storage.ErrConflict, although there are fewer other Writes", name, tries)
}

// numbered returns a content that contains its number and shows whether it is complete.
func numbered(n int) string {
	line := fmt.Sprintf("number %d\n", n)
	return strings.Repeat(line, 1+n*37%1500) + "end\n"
}

// numberOf returns the number of a content, or an error if it is not complete.
func numberOf(content string) (int, error) {
	line, _, _ := strings.Cut(content, "\n")
	n, err := strconv.Atoi(strings.TrimPrefix(line, "number "))
	if err != nil || content != numbered(n) {
		return 0, fmt.Errorf("%s is not a complete content that was written", excerpt(content))
	}
	return n, nil
}

// testReplaced checks that a reader gets a complete content, and the last one that was written before
// Open or a later one.
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
					r.errorf("Open(%q) during Writes = %v", name, err)
					return
				}
				n, err := numberOf(content)
				if err != nil {
					r.errorf("Open(%q) during Writes: %v", name, err)
				} else if int64(n) < least {
					r.errorf("Open(%q) returns content %d after Write of content %d has returned", name, n, least)
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
			r.errorf("Write(%q) of the only writer = %v", name, err)
		}
		written.Store(int64(n))
	}
	stop()
	wg.Wait()
}

// testMade checks that a new file is complete when it can be opened or listed.
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
			r.errorf("Write(%q) during Open and List = %v", name, err)
		}
	}
	stop()
	wg.Wait()
}

// look opens and lists a file that is being created.
func (r *run) look(s storage.Store, name string, size int64) {
	entries, err := s.List(r.ctx, r.dir)
	if err != nil {
		r.errorf("List(%q) during Writes = %v", r.dir, err)
	}
	for _, e := range entries {
		if e.Size != size || e.IsDir || strings.Trim(e.Name, "0123456789") != "" {
			r.errorf("List(%q) during Writes has %+v, want only files of %d bytes", r.dir, e, size)
		}
	}
	o, err := s.Open(r.ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		r.errorf("Open(%q) during its Write = %v", name, err)
		return
	}
	defer o.Close()
	n, err := io.Copy(io.Discard, o)
	if err != nil || n != size || o.Size != size {
		r.errorf("Open(%q) during its Write: %d bytes, Size %d, %v, want %d", name, n, o.Size, err, size)
	}
}

// testComeAndGo checks that removing the last file of a directory does not affect other writers.
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
					r.errorf("Write(%q) during other Writes and Deletes in the directory = %v", name, err)
				}
				if _, _, err := r.read(s, name); err != nil {
					r.errorf("Open(%q) during other Writes and Deletes in the directory = %v", name, err)
				}
				if err := s.Delete(r.ctx, name); err != nil {
					r.errorf("Delete(%q) during other Writes and Deletes in the directory = %v", name, err)
				}
			}
		})
	}
	wg.Wait()
	r.wantEntries(r.path("a/b"))
}
