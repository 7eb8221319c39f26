package dirtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
)

// tryWrite writes a file and notes that it has to be removed.
func (r *run) tryWrite(ctx context.Context, s mirrordir.Storage, name string, content *io.SectionReader, was mirrordir.Revision) error {
	r.mu.Lock()
	r.written[name] = true
	r.mu.Unlock()
	return s.Write(ctx, name, content, was)
}

// write writes a file that can be written.
func (r *run) write(name, content string, was mirrordir.Revision) bool {
	err := r.tryWrite(r.ctx, r.storage(0), name, section(content), was)
	if err != nil {
		r.errorf("Write(%q, %d bytes, %q) = %v, want success", name, len(content), was, err)
	}
	return err == nil
}

// conflict writes a file that has changed.
func (r *run) conflict(name string, was mirrordir.Revision, why string) {
	err := r.tryWrite(r.ctx, r.storage(0), name, section("must not be written"), was)
	if !errors.Is(err, mirrordir.ErrConflict) {
		r.errorf("Write(%q) %s = %v, want an error that wraps mirrordir.ErrConflict", name, why, err)
	}
}

// read returns the content and the revision of a file.
func (r *run) read(s mirrordir.Storage, name string) (string, mirrordir.Revision, error) {
	o, err := s.Open(r.ctx, name)
	if err != nil {
		return "", "", err
	}
	defer o.Close()
	var b bytes.Buffer
	if o.Size > 0 && o.Size <= 64<<20 {
		b.Grow(int(o.Size) + bytes.MinRead) // not copied again and again as it grows
	}
	_, err = b.ReadFrom(o)
	data := b.Bytes()
	if err != nil {
		return "", "", fmt.Errorf("read after Open: %w", err)
	}
	if o.Size != int64(len(data)) {
		r.errorf("Open(%q): Size is %d, but there are %d bytes", name, o.Size, len(data))
	}
	if o.Revision == "" {
		r.errorf("Open(%q): Revision is empty", name)
	}
	return string(data), o.Revision, nil
}

// want reads a file that is there, compares it, and returns its revision.
func (r *run) want(name, content, when string) mirrordir.Revision {
	var last mirrordir.Revision
	for i := range r.storages {
		got, revision, err := r.read(r.storage(i), name)
		switch {
		case err != nil:
			r.errorf("Open(%q) %s = %v, want %s", name, when, err, excerpt(content))
		case got != content:
			r.errorf("Open(%q) %s has %s, want %s", name, when, excerpt(got), excerpt(content))
		case i > 0 && revision != last:
			r.errorf("Open(%q) %s has revision %q, and %q for others; nobody has changed it", name, when, last, revision)
		}
		last = revision
	}
	return last
}

func section(content string) *io.SectionReader {
	return io.NewSectionReader(strings.NewReader(content), 0, int64(len(content)))
}

// excerpt shows the beginning of a content.
func excerpt(content string) string {
	if len(content) <= 40 {
		return fmt.Sprintf("%q", content)
	}
	return fmt.Sprintf("%d bytes, %q...", len(content), content[:40])
}

// text returns n bytes that differ from those for another seed.
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
