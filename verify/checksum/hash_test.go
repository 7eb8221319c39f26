package checksum_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/verify/checksum"
)

const (
	zhText = "zh:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	h1Text = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
)

func TestParseHash(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, scheme, value, text string }{
		{zhText, "zh", zhText[3:], zhText},
		{"zh:" + strings.ToUpper(zhText[3:]), "zh", zhText[3:], zhText},
		{h1Text, "h1", h1Text[3:], h1Text},
		{"h2:whatever", "h2", "whatever", "h2:whatever"},
		{"a:b:c", "a", "b:c", "a:b:c"},
		{"ZH:not checked", "", "", ""},
		{"ZH:unknown-scheme", "ZH", "unknown-scheme", "ZH:unknown-scheme"},
		{"x:!~", "x", "!~", "x:!~"},
		{"x:" + strings.Repeat("y", 510), "x", strings.Repeat("y", 510), "x:" + strings.Repeat("y", 510)},
	} {
		h, err := checksum.ParseHash(tt.in)
		if tt.text == "" {
			if err == nil {
				t.Errorf("%q parsed", tt.in)
			}
			continue
		}
		if err != nil || h.Scheme() != tt.scheme || h.Value() != tt.value || h.String() != tt.text || h.IsZero() {
			t.Errorf("ParseHash(%q) = %q %q %q, %v", tt.in, h.Scheme(), h.Value(), h, err)
		}
	}
}

func TestParseHashRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", ":", ":x", "zh", "no colon",
		"zh:", "h1:", "h2:",
		"zh:00", zhText + "00", zhText[:len(zhText)-1], "zh:" + strings.Repeat("g", 64), "zh: " + zhText[3:], zhText + "\n",
		h1Text[:len(h1Text)-1], h1Text + "=", h1Text + "A", "h1:" + strings.Repeat("A", 44),
		"h1:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU=", // the other Base64
		"h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFV=", // bits beyond the end
		"h1:47DEQpj8HBSa+/TImW+5\nJCeuQeRkm5NMpJWZG3hSuFU=",
		"x:y z", "x:\x1b[31m", "x:\u00e9", "x y:z", "x:y\x00", "x:\x7f",
		"x:" + strings.Repeat("y", 511),
	} {
		h, err := checksum.ParseHash(s)
		if err == nil || !h.IsZero() {
			t.Errorf("ParseHash(%.80q) = %v, %v", s, h, err)
			continue
		}
		if !strings.HasPrefix(err.Error(), fmt.Sprintf("hash %.80q: ", s)) || strings.ContainsAny(err.Error(), "\n\x1b\x00") || len(err.Error()) > 300 {
			t.Errorf("error %q", err)
		}
		if empty := strings.Count(s, ":") == 1 && strings.HasSuffix(s, ":") && s != ":"; empty != errors.Is(err, checksum.ErrEmptyHash) {
			t.Errorf("%q: ErrEmptyHash is %v", s, !empty)
		}
	}
}

func TestMustParseHash(t *testing.T) {
	t.Parallel()
	if h := checksum.MustParseHash(zhText); h.String() != zhText {
		t.Error(h)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	checksum.MustParseHash("h1:")
}

func TestHashCompare(t *testing.T) {
	t.Parallel()
	list := []checksum.Hash{checksum.MustParseHash(zhText), checksum.MustParseHash(h1Text), {}}
	slices.SortFunc(list, checksum.Hash.Compare)
	if !list[0].IsZero() || list[1].String() != h1Text || list[2].String() != zhText {
		t.Error(list)
	}
	if list[1] != checksum.MustParseHash(h1Text) || list[1] == list[2] {
		t.Error("Equal is not ==")
	}
}

// TestLists: only hashes of known schemes vouch for a package.
func TestLists(t *testing.T) {
	t.Parallel()
	zh, h1, h9 := checksum.MustParseHash(zhText), checksum.MustParseHash(h1Text), checksum.MustParseHash("h9:x")
	for _, tt := range []struct {
		a, b    []checksum.Hash
		overlap bool
	}{
		{[]checksum.Hash{h9, zh}, []checksum.Hash{h1, zh}, true}, {[]checksum.Hash{h1}, []checksum.Hash{zh, h1}, true},
		{[]checksum.Hash{zh}, []checksum.Hash{h1}, false}, {[]checksum.Hash{h9}, []checksum.Hash{h9}, false}, {[]checksum.Hash{{}}, []checksum.Hash{{}}, false},
	} {
		if hashlist.Overlap(tt.a, tt.b) != tt.overlap || hashlist.Overlap(tt.b, tt.a) != tt.overlap {
			t.Errorf("Overlap of %v and %v is not %t", tt.a, tt.b, tt.overlap)
		}
	}
	if got := checksum.WithScheme([]checksum.Hash{h1, zh, h9}, "zh"); !slices.Equal(got, []checksum.Hash{zh}) {
		t.Errorf("WithScheme = %v, want %v", got, zh)
	}
	if !hashlist.Has([]checksum.Hash{zh, h1}, "h1") || hashlist.Has([]checksum.Hash{zh, h9}, "h1") {
		t.Error("HasScheme is wrong")
	}
}

func TestHashText(t *testing.T) {
	t.Parallel()
	type doc struct {
		A checksum.Hash   `json:"a"`
		B checksum.Hash   `json:"b,omitzero"`
		C []checksum.Hash `json:"c"`
	}
	in := doc{C: []checksum.Hash{checksum.MustParseHash(zhText), checksum.MustParseHash("h9:x")}}
	data, err := json.Marshal(in)
	if want := `{"a":"","c":["` + zhText + `","h9:x"]}`; err != nil || string(data) != want {
		t.Fatalf("%s, %v, want %s", data, err, want)
	}
	var out doc
	if err := json.Unmarshal(data, &out); err != nil || !out.A.IsZero() || !slices.Equal(in.C, out.C) {
		t.Errorf("%+v, %v", out, err)
	}
	h := checksum.MustParseHash(zhText)
	if err := h.UnmarshalText([]byte("h1:")); !errors.Is(err, checksum.ErrEmptyHash) || h.String() != zhText {
		t.Errorf("%v, %v: a failure must leave the hash alone", h, err)
	}
}

func FuzzParseHash(f *testing.F) {
	for _, s := range []string{zhText, h1Text, "h1:", "h2:x", ":", strings.ToUpper(zhText)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := checksum.ParseHash(s)
		if err != nil {
			if !h.IsZero() {
				t.Error("a hash beside an error")
			}
			return
		}
		again, err := checksum.ParseHash(h.String())
		if err != nil || again != h || h.Scheme()+":"+h.Value() != h.String() {
			t.Errorf("%q: %v, %v", s, again, err)
		}
	})
}

// Every mismatch is an ErrMismatch, and one without hashes to compare says so.
func TestMismatch(t *testing.T) {
	t.Parallel()
	n := func(i int) checksum.Hash { return checksum.MustParseHash(fmt.Sprintf("n:%d", i)) }
	for err, want := range map[error]string{
		&checksum.MismatchError{Source: "accepted hashes"}:                                                                      "package does not match the accepted hashes: the list is empty",
		&checksum.MismatchError{Filename: "a.zip", Source: "SHA256SUMS", Want: []checksum.Hash{checksum.MustParseHash(zhText)}}: `package "a.zip" does not match the SHA256SUMS: want ` + zhText + ", got none",
		&checksum.MismatchError{Source: "x", Want: []checksum.Hash{n(1), n(2), n(2), n(3), n(4), n(5)}}:                         "package does not match the x: want n:1 or n:2 or n:3 or 2 more, got none",
		&checksum.MismatchError{Source: "x", Want: []checksum.Hash{n(1), n(2), n(3)}}:                                           "package does not match the x: want n:1 or n:2 or n:3, got none",
	} {
		if !errors.Is(err, checksum.ErrMismatch) || err.Error() != want {
			t.Errorf("%v: ErrMismatch %t; want %q", err, errors.Is(err, checksum.ErrMismatch), want)
		}
	}
}
