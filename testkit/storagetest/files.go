package storagetest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing/iotest"

	"github.com/tofureg/tofureg/storage"
)

func testMissing(r *run) {
	for _, name := range []string{r.path("missing"), r.path("no/such/directory/missing")} {
		r.wantMissing(name, "which was never written,")
		if err := r.storage(0).Delete(r.ctx, name); err != nil {
			r.errorf("Delete(%q) of a missing file = %v, want nil", name, err)
		}
		r.conflict(name, "some revision", "of a missing file with a revision")
		r.wantMissing(name, "after a failed Write,")
		r.wantEntries(name)
	}
	if r.write(r.path("directory/sub/file"), "x", "") {
		r.wantMissing(r.path("directory"), "of a directory,")
		r.wantMissing(r.path("directory/su"), "of a prefix of a name,")
	}
}

// wantMissing checks that a file is missing.
func (r *run) wantMissing(name, what string) {
	for i := range r.storages {
		o, err := r.storage(i).Open(r.ctx, name)
		switch {
		case err == nil:
			o.Close()
			r.errorf("Open(%q) %s succeeds, want an error that wraps fs.ErrNotExist", name, what)
		case !errors.Is(err, fs.ErrNotExist):
			r.errorf("Open(%q) %s = %v, want an error that wraps fs.ErrNotExist", name, what, err)
		case errors.Is(err, storage.ErrConflict):
			r.errorf("Open(%q) %s = %v, which also wraps storage.ErrConflict", name, what, err)
		}
	}
}

// testRead reads files of many sizes in many ways.
func testRead(r *run) {
	for i, size := range []int{0, 1, 511, 4096, 64 << 10, 1<<20 + 1, 5<<20 + 1, 20 << 20} {
		name, content := r.path(fmt.Sprintf("%d", size)), text(i, size)
		if !r.write(name, content, "") {
			return
		}
		r.want(name, content, "after Write")
		if size > 1<<20+1 {
			continue // TestReader is slow for large files
		}
		o, err := r.storage(0).Open(r.ctx, name)
		if err != nil {
			r.errorf("Open(%q) = %v", name, err)
			return
		}
		if err := iotest.TestReader(o.ReadCloser, []byte(content)); err != nil {
			r.errorf("Open(%q): reading %d bytes: %w", name, size, err)
		}
		if err := o.Close(); err != nil {
			r.errorf("Open(%q): Close = %v", name, err)
		}
	}
}

func testWrite(r *run) {
	name := r.path("file.json")
	// The content may be a section of a larger reader.
	whole := text(1, 3000)
	part := io.NewSectionReader(section(whole), 1000, 1000)
	if err := r.tryWrite(r.ctx, r.storage(0), name, part, ""); err != nil {
		r.errorf("Write(%q) of a section = %v", name, err)
		return
	}
	first := r.want(name, whole[1000:2000], "after Write of a section")

	r.conflict(name, "", "of an existing file without a revision")
	r.conflict(name, first+"x", "with an unknown revision")
	r.want(name, whole[1000:2000], "after a conflict")

	// The same size, shorter, longer, empty.
	was := first
	for i, size := range []int{1000, 10, 64 << 10, 0, 5} {
		content := text(i+2, size)
		if !r.write(name, content, was) {
			return
		}
		now := r.want(name, content, "after it was replaced")
		if now == was {
			r.errorf("Write(%q): the revision is still %q", name, was)
		}
		r.conflict(name, was, "with an old revision")
		r.conflict(name, "", "of an existing file without a revision")
		was = r.want(name, content, "after a conflict")
	}
	if err := r.storage(0).Delete(r.ctx, name); err != nil {
		r.errorf("Delete(%q) = %v", name, err)
	}
	r.conflict(name, was, "with the revision of a deleted file")
	r.wantMissing(name, "after Delete,")
	if r.write(name, "again", "") {
		r.want(name, "again", "after it was deleted and created again")
	}
}

// failing is a reader that fails after some bytes.
type failing struct{ after int64 }

var errFailing = errors.New("the reader fails")

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	n := min(int64(len(p)), max(0, f.after-off))
	for i := range n {
		p[i] = 'f'
	}
	if n < int64(len(p)) {
		return int(n), errFailing
	}
	return int(n), nil
}

func testFailingContent(r *run) {
	fresh, old := r.path("fresh"), r.path("old")
	if !r.write(old, "old", "") {
		return
	}
	was := r.want(old, "old", "after Write")
	for _, after := range []int64{0, 1000, 1 << 20} {
		for name, was := range map[string]storage.Revision{fresh: "", old: was} {
			content := io.NewSectionReader(failing{after}, 0, 2<<20)
			if err := r.tryWrite(r.ctx, r.storage(0), name, content, was); err == nil {
				r.errorf("Write(%q) of a reader that fails after %d bytes succeeds, want an error", name, after)
			} else if errors.Is(err, storage.ErrConflict) {
				r.errorf("Write(%q) of a reader that fails = %v, want an error that does not wrap storage.ErrConflict", name, err)
			}
		}
		r.wantMissing(fresh, "after a failed Write,")
		r.want(old, "old", "after a failed Write")
	}
}

// testRevisions checks that a revision changes exactly when the content changes.
func testRevisions(r *run) {
	seen := map[storage.Revision]string{}
	name, was := r.path("file"), storage.Revision("")
	for i := range 20 {
		content := text(i, 100) // always the same size
		if !r.write(name, content, was) {
			return
		}
		was = r.want(name, content, "after Write")
		if again := r.want(name, content, "when it is opened again"); again != was {
			r.errorf("Open(%q) of an unchanged file has revision %q, then %q", name, was, again)
		}
		if before, ok := seen[was]; ok {
			r.errorf("revision %q is used for %s and for %s", was, excerpt(before), excerpt(content))
		}
		seen[was] = content
	}
	// A reader gets the complete old file if the file is replaced.
	o, err := r.storage(0).Open(r.ctx, name)
	if err != nil {
		r.errorf("Open(%q) = %v", name, err)
		return
	}
	defer o.Close()
	begin := make([]byte, 10)
	if _, err := io.ReadFull(o, begin); err != nil {
		r.errorf("read %q: %v", name, err)
	}
	if !r.write(name, "another", was) {
		return
	}
	rest, err := io.ReadAll(o)
	if got, want := string(begin)+string(rest), text(19, 100); err != nil || got != want {
		r.errorf("reading %q, which was replaced after Open, = %s, %v, want %s", name, excerpt(got), err, excerpt(want))
	}
}
