package dirtest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing/iotest"

	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
)

func testMissing(r *run) {
	for _, name := range []string{r.path("missing"), r.path("no/such/directory/missing")} {
		r.wantMissing(name, "which was never written")
		if err := r.storage(0).Delete(r.ctx, name); err != nil {
			r.errorf("Delete(%q), which was never written, = %v, want nil", name, err)
		}
		r.conflict(name, "some revision", "with a revision, though there is no file,")
		r.wantMissing(name, "which could not be written")
		r.wantEntries(name)
	}
	if r.write(r.path("directory/sub/file"), "x", "") {
		r.wantMissing(r.path("directory"), "a directory,")
		r.wantMissing(r.path("directory/su"), "the beginning of another name,")
	}
}

// wantMissing opens a file that is not there.
func (r *run) wantMissing(name, what string) {
	for i := range r.storages {
		o, err := r.storage(i).Open(r.ctx, name)
		switch {
		case err == nil:
			o.Close()
			r.errorf("Open(%q), %s succeeds, want an error that wraps fs.ErrNotExist", name, what)
		case !errors.Is(err, fs.ErrNotExist):
			r.errorf("Open(%q), %s = %v, want an error that wraps fs.ErrNotExist", name, what, err)
		case errors.Is(err, mirrordir.ErrConflict):
			r.errorf("Open(%q), %s = %v, which wraps mirrordir.ErrConflict too", name, what, err)
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
			continue // the rest takes long for large ones
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
	// The content may be a part of something larger.
	whole := text(1, 3000)
	part := io.NewSectionReader(section(whole), 1000, 1000)
	if err := r.tryWrite(r.ctx, r.storage(0), name, part, ""); err != nil {
		r.errorf("Write(%q) of a section = %v", name, err)
		return
	}
	first := r.want(name, whole[1000:2000], "after Write of a section")

	r.conflict(name, "", "of a new file, though there is one,")
	r.conflict(name, first+"x", "with a revision that never was,")
	r.want(name, whole[1000:2000], "after a conflict")

	// The same size, a shorter one, a longer one, none at all.
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
		r.conflict(name, was, "with the revision before the last,")
		r.conflict(name, "", "of a new file, though there is one,")
		was = r.want(name, content, "after a conflict")
	}
	if err := r.storage(0).Delete(r.ctx, name); err != nil {
		r.errorf("Delete(%q) = %v", name, err)
	}
	r.conflict(name, was, "with the revision of a file that was deleted,")
	r.wantMissing(name, "which was deleted,")
	if r.write(name, "again", "") {
		r.want(name, "again", "after it was deleted and made again")
	}
}

// failing gives an error after some bytes.
type failing struct{ after int64 }

var errFailing = errors.New("the source fails")

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
		for name, was := range map[string]mirrordir.Revision{fresh: "", old: was} {
			content := io.NewSectionReader(failing{after}, 0, 2<<20)
			if err := r.tryWrite(r.ctx, r.storage(0), name, content, was); err == nil {
				r.errorf("Write(%q) succeeds, though its content could not be read after %d bytes", name, after)
			} else if errors.Is(err, mirrordir.ErrConflict) {
				r.errorf("Write(%q), whose content could not be read, = %v, which is no conflict", name, err)
			}
		}
		r.wantMissing(fresh, "which could not be written,")
		r.want(old, "old", "after a Write whose content could not be read")
	}
}

// testRevisions: they tell states apart, and stay when nothing changes.
func testRevisions(r *run) {
	seen := map[mirrordir.Revision]string{}
	name, was := r.path("file"), mirrordir.Revision("")
	for i := range 20 {
		content := text(i, 100) // always of the same size
		if !r.write(name, content, was) {
			return
		}
		was = r.want(name, content, "after Write")
		if again := r.want(name, content, "when it is opened again"); again != was {
			r.errorf("Open(%q) has revision %q and then %q; nobody has changed it", name, was, again)
		}
		if before, ok := seen[was]; ok {
			r.errorf("revision %q stands for %s and for %s", was, excerpt(before), excerpt(content))
		}
		seen[was] = content
	}
	// Who has a file open has all of it, also when it is replaced meanwhile.
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
		r.errorf("%q was replaced while it was open: it has %s, %v, want %s", name, excerpt(got), err, excerpt(want))
	}
}
