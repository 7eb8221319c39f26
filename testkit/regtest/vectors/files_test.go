package vectors_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

func TestSums(t *testing.T) {
	each(t, "sums", 40, func(t *testing.T, c struct {
		Name, Note, Error, Document string
		DocumentBase64              []byte `json:"document_base64"`
		DocumentPad                 int    `json:"document_pad"`
		Line                        int
		Files                       map[string]string
	}) {
		doc := c.DocumentBase64
		if doc == nil {
			doc = []byte(c.Document)
		}
		if n := c.DocumentPad - len(doc); n > 0 {
			doc = append(doc, bytes.Repeat([]byte("\n"), n)...)
		}
		sums, err := verify.ParseSums(doc)
		got, kind, line := map[string]string{}, "syntax", 0
		if err != nil {
			fmt.Sscanf(err.Error(), "SHA256SUMS line %d:", &line)
		}
		if errors.Is(err, failure.ErrTooLarge) {
			kind = "too-large"
		}
		if err == nil {
			for name, h := range sums.All() {
				got[name] = h.String()
			}
		}
		result(t, got, c.Files, err, kind, c.Error)
		if c.Line != 0 && line != c.Line {
			t.Errorf("%v: line %d, want %d", err, line, c.Line)
		}
	})
}

func TestHashes(t *testing.T) {
	type want struct{ Scheme, String string }
	each(t, "hashes", 30, func(t *testing.T, c struct{ Input, Note, Error, Scheme, String string }) {
		h, err := checksum.ParseHash(c.Input)
		result(t, want{h.Scheme(), h.String()}, want{c.Scheme, c.String}, err, "syntax", c.Error)
	})
}

func TestArchives(t *testing.T) {
	type want struct{ H1, Unpacked string }
	each(t, "archives", 20, func(t *testing.T, c struct {
		Name, Note, Error, ZH, H1 string
		Unpacked                  string `json:"h1_unpacked"`
		Zip                       []byte `json:"zip_base64"`
	}) {
		zh, err := checksum.ZH(t.Context(), bytes.NewReader(c.Zip))
		if err != nil || zh.String() != c.ZH {
			t.Errorf("zh: %v, %v, want %s", zh, err, c.ZH)
		}
		packed, tree, err := checksum.H1Zip(t.Context(), bytes.NewReader(c.Zip), int64(len(c.Zip)), checksum.Limits{})
		kind := "other"
		if errors.Is(err, failure.ErrArchive) {
			kind = "archive"
		}
		result(t, want{packed.String(), tree.String()}, want{c.H1, c.Unpacked}, err, kind, c.Error)
	})
}

// entry is one of a lock file.
type entry struct {
	Provider, Version, Constraints string
	Hashes                         []string
}

func TestLockFiles(t *testing.T) {
	type want struct {
		Entries   []entry
		Canonical string
	}
	each(t, "lock-files", 40, func(t *testing.T, c struct {
		Name, Note, Error, Text string
		TextBase64              []byte `json:"text_base64"`
		Line                    int
		want
	}) {
		text := c.TextBase64
		if text == nil {
			text = []byte(c.Text)
		}
		f, err := lockfile.Parse(text, "")
		got, kind, line := want{Entries: []entry{}}, "syntax", 0
		if e, ok := errors.AsType[*lockfile.ParseError](err); ok {
			line = e.Line
		}
		if errors.Is(err, lockfile.ErrNotLockable) {
			kind = "not-lockable"
		}
		if err == nil {
			got.Canonical = string(f.Bytes())
			for e := range f.All() {
				x := entry{e.Provider.String(), e.Version.String(), e.Constraints.String(), []string{}}
				for _, h := range e.Hashes {
					x.Hashes = append(x.Hashes, h.String())
				}
				got.Entries = append(got.Entries, x)
			}
			if again, err := lockfile.Parse(f.Bytes(), ""); err != nil || !bytes.Equal(again.Bytes(), f.Bytes()) {
				t.Errorf("what was written is not read as the same: %v", err)
			}
		}
		result(t, got, c.want, err, kind, c.Error)
		if c.Line != 0 && line != c.Line {
			t.Errorf("%s: line %d, want %d", strings.ReplaceAll(err.Error(), "\n", "; "), line, c.Line)
		}
	})
}
