package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/tofureg/tofureg/storage"
)

// tryWrite writes a file that cleanUp removes.
func (r *run) tryWrite(ctx context.Context, s storage.Store, name string, content *io.SectionReader, was storage.Revision) error {
	r.mu.Lock()
	r.written[name] = true
	r.mu.Unlock()
	return s.Write(ctx, name, content, was)
}

// write writes a file, which must succeed.
func (r *run) write(name, content string, was storage.Revision) bool {
	err := r.tryWrite(r.ctx, r.storage(0), name, section(content), was)
	if err != nil {
		r.errorf("Write(%q, %d bytes, %q) = %v, want nil", name, len(content), was, err)
	}
	return err == nil
}

// conflict checks that Write returns ErrConflict.
func (r *run) conflict(name string, was storage.Revision, why string) {
	err := r.tryWrite(r.ctx, r.storage(0), name, section("must not be written"), was)
	if !errors.Is(err, storage.ErrConflict) {
		r.errorf("Write(%q) %s = %v, want an error that wraps storage.ErrConflict", name, why, err)
	}
}

// read returns the content and the revision of a file.
func (r *run) read(s storage.Store, name string) (string, storage.Revision, error) {
	o, err := s.Open(r.ctx, name)
	if err != nil {
		return "", "", err
	}
	defer o.Close()
	var b bytes.Buffer
	if o.Size > 0 && o.Size <= 64<<20 {
		b.Grow(int(o.Size) + bytes.MinRead) // avoid repeated copies
	}
	_, err = b.ReadFrom(o)
	data := b.Bytes()
	if err != nil {
		return "", "", fmt.Errorf("read after Open: %w", err)
	}
	if o.Size != int64(len(data)) {
		r.errorf("Open(%q): Size is %d, want %d", name, o.Size, len(data))
	}
	if o.Revision == "" {
		r.errorf("Open(%q): Revision is empty", name)
	}
	return string(data), o.Revision, nil
}

// want checks the content of a file and returns its revision.
func (r *run) want(name, content, when string) storage.Revision {
	var last storage.Revision
	for i := range r.storages {
		got, revision, err := r.read(r.storage(i), name)
		switch {
		case err != nil:
			r.errorf("Open(%q) %s = %v, want %s", name, when, err, excerpt(content))
		case got != content:
			r.errorf("Open(%q) %s has %s, want %s", name, when, excerpt(got), excerpt(content))
		case i > 0 && revision != last:
			r.errorf("Open(%q) %s has revision %q in one storage and %q in another, want the same", name, when, last, revision)
		}
		last = revision
	}
	return last
}

func section(content string) *io.SectionReader {
	return io.NewSectionReader(strings.NewReader(content), 0, int64(len(content)))
}

// excerpt returns the beginning of a content.
func excerpt(content string) string {
	if len(content) <= 40 {
		return fmt.Sprintf("%q", content)
	}
	return fmt.Sprintf("%d bytes, %q...", len(content), content[:40])
}

// text returns n bytes that are different for each seed.
func text(seed, n int) string {
	b := make([]byte, 0, n+100)
	for i := 0; len(b) < n; i++ {
		b = strconv.AppendInt(b, int64(seed), 10)
		b = append(b, ':')
		b = strconv.AppendInt(b, int64(i), 10)
		b = append(b, ": all work and no play makes a dull mirror\n"...)
	}
	return string(b[:n])
}
