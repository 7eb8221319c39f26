package stored_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/storage"
)

func section(text string) *io.SectionReader {
	return io.NewSectionReader(strings.NewReader(text), 0, int64(len(text)))
}

// TestReadAndWrite writes documents at the limit and beyond it, and reads them.
func TestReadAndWrite(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), &storage.Memory{}
	if doc, err := stored.Read(ctx, s, "x.json"); err != nil || doc.Data != nil || doc.Revision != "" {
		t.Errorf("Read of a missing document = %v, %v", doc, err)
	}
	full := bytes.Repeat([]byte("x"), stored.MaxDocument)
	must.Do(t, stored.Write(ctx, s, "x.json", full, stored.Document{}))
	doc := must.Get(stored.Read(ctx, s, "x.json"))(t)
	if len(doc.Data) != stored.MaxDocument {
		t.Errorf("Read of a document of %d bytes returns %d", stored.MaxDocument, len(doc.Data))
	}
	if err := stored.Write(ctx, s, "x.json", append(full, 'x'), doc); !errors.Is(err, failure.ErrTooLarge) {
		t.Errorf("Write of %d bytes: %v, want ErrTooLarge", stored.MaxDocument+1, err)
	}
	must.Do(t, stored.Write(ctx, s, "x.json", full, doc))
	if again := must.Get(stored.Read(ctx, s, "x.json"))(t); again.Revision != doc.Revision {
		t.Errorf("Write of the same content changes the revision from %q to %q", doc.Revision, again.Revision)
	}
	if err := stored.Write(ctx, s, "x.json", []byte("y"), stored.Document{}); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("Write of a document that was missing before: %v, want ErrConflict", err)
	}
	must.Do(t, s.Write(ctx, "large.json", section(string(full)+"x"), ""))
	if doc, err := stored.Read(ctx, s, "large.json"); !errors.Is(err, stored.ErrDamaged) || !errors.Is(err, failure.ErrTooLarge) || doc.Data != nil || doc.Revision == "" {
		t.Errorf("Read of %d bytes = %d bytes of revision %q, %v, want only the revision, ErrDamaged and ErrTooLarge", stored.MaxDocument+1, len(doc.Data), doc.Revision, err)
	}
}

// TestDecode accepts JSON objects only.
func TestDecode(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{`{"a": 1}`: true, " {}\n": true, "null": false, "[]": false, "": false, "{": false, `{"a": "x"}`: false} {
		var v map[string]int
		if err := stored.Decode([]byte(text), &v); (err == nil) != ok || err != nil && !errors.Is(err, stored.ErrDamaged) {
			t.Errorf("Decode(%q): %v, want ErrDamaged: %t", text, err, !ok)
		}
	}
}

// TestDecodeMembers: a document has at most 500,000 members.
func TestDecodeMembers(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]error{500_000: nil, 500_001: stored.ErrDamaged} {
		var v map[string][]int
		err := stored.Decode([]byte(`{"a":[0`+strings.Repeat(",0", n-1)+"]}"), &v)
		if !errors.Is(err, want) || want == nil && err != nil || errors.Is(err, failure.ErrTooLarge) != (want != nil) {
			t.Errorf("Decode of %d members: %v, want %v", n, err, want)
		}
	}
}

// TestRetry gives up after 100 conflicts, and at other errors, and at the end of its context.
func TestRetry(t *testing.T) {
	t.Parallel()
	other := errors.New("other")
	for name, test := range map[string]struct {
		succeedAt, endAt, want int
		err                    error
	}{
		"success":    {succeedAt: 1, want: 1},
		"100th":      {succeedAt: 100, want: 100},
		"101st":      {succeedAt: 101, want: 100, err: storage.ErrConflict},
		"other":      {want: 1, err: other},
		"ended":      {succeedAt: 50, endAt: 3, want: 3, err: context.Canceled},
		"never ends": {succeedAt: 1000, want: 100, err: storage.ErrConflict},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			calls := 0
			err := stored.Retry(ctx, "x.json", func() error {
				switch calls++; {
				case test.err == other:
					return other
				case calls == test.succeedAt:
					return nil
				case calls == test.endAt:
					cancel()
				}
				return storage.ErrConflict
			})
			if calls != test.want || !errors.Is(err, test.err) {
				t.Errorf("%s: Retry made %d calls and returned %v, want %d and %v", name, calls, err, test.want, test.err)
			}
		})
	}
}

// TestLock excludes others where the store has locks.
func TestLock(t *testing.T) {
	t.Parallel()
	dir := &storage.Dir{Path: t.TempDir()}
	for name, s := range map[string]storage.Store{"memory": &storage.Memory{}, "directory": dir} {
		unlock := must.Get(stored.Lock(t.Context(), s, "x"))(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		free, err := stored.Lock(ctx, s, "x")
		if (err == nil) != (s != storage.Store(dir)) {
			t.Errorf("%s: the second Lock: %v", name, err)
		}
		if err == nil {
			free()
		}
		unlock()
		must.Get(stored.Lock(t.Context(), s, "x"))(t)()
	}
}
