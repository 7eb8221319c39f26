package vectors_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/testkit/regtest/vectors"
)

// each runs the cases of a file, of which there are at least least.
func each[T any](t *testing.T, file string, least int, run func(t *testing.T, c T)) {
	t.Parallel()
	data := must.Get(vectors.Files.ReadFile(file + ".json"))(t)
	var doc struct {
		About    string
		Versions []string
		Cases    []json.RawMessage
	}
	must.Do(t, json.Unmarshal(data, &doc))
	if doc.About == "" || len(doc.Cases) < least {
		t.Fatalf("%d cases, want %d; about %q", len(doc.Cases), least, doc.About)
	}
	seen := map[string]bool{}
	for i, raw := range doc.Cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			var c T
			d := json.NewDecoder(bytes.NewReader(raw))
			d.DisallowUnknownFields()
			must.Do(t, d.Decode(&c))
			if seen[string(raw)] {
				t.Error("the case is there twice")
			}
			seen[string(raw)] = true
			run(t, c)
			if t.Failed() {
				t.Logf("case %.1500s", raw)
			}
		})
	}
}

// result compares a result, or the kind of an error, with what a case wants.
func result[T any](t *testing.T, got, want T, err error, kind, wantKind string) {
	t.Helper()
	switch {
	case err == nil && wantKind != "":
		t.Errorf("accepted as %s, want error %q", shown(got), wantKind)
	case err != nil && wantKind == "":
		t.Errorf("error %v, want %s", err, shown(want))
	case err != nil && kind != wantKind:
		t.Errorf("error of kind %q, want %q: %v", kind, wantKind, err)
	case err == nil:
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("want (-), got (+):\n%s", diff)
		}
	case strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' && r != '\n' }):
		t.Errorf("the error has control characters: %q", err)
	}
}

func shown(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return string(data)
}

// TestDocumented: the README names each file, property and kind of error.
func TestDocumented(t *testing.T) {
	t.Parallel()
	doc := must.Get(os.ReadFile("README.md"))(t)
	words := map[string]bool{}
	for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllSubmatch(doc, -1) {
		words[string(m[1])] = true
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+\\.json)` \\|").FindAllSubmatch(doc, -1) {
		named[string(m[1])] = true
	}
	entries := must.Get(vectors.Files.ReadDir("."))(t)
	for _, e := range entries {
		if !named[e.Name()] {
			t.Errorf("%s is not in the README", e.Name())
		}
		delete(named, e.Name())
		data := must.Get(vectors.Files.ReadFile(e.Name()))(t)
		var file struct{ Cases []map[string]json.RawMessage }
		must.Do(t, json.Unmarshal(data, &file))
		for i, c := range file.Cases {
			for name := range c {
				if !words[name] && !words[strings.TrimSuffix(name, "_base64")] {
					t.Errorf("%s: the property %s of case %d is not in the README", e.Name(), name, i)
				}
			}
			var kind string
			if c["error"] != nil && (json.Unmarshal(c["error"], &kind) != nil || !bytes.Contains(doc, []byte("\n| `"+kind+"` |"))) {
				t.Errorf("%s: case %d has an error of kind %s, which is not in the README", e.Name(), i, c["error"])
			}
		}
	}
	for name := range named {
		t.Errorf("there is no %s", name)
	}
}

// TestPlain: no file has characters that an editor or a tool may change unseen.
func TestPlain(t *testing.T) {
	t.Parallel()
	entries := must.Get(vectors.Files.ReadDir("."))(t)
	for _, e := range entries {
		data := must.Get(vectors.Files.ReadFile(e.Name()))(t)
		for i, r := range string(data) {
			// The second half of a composed letter, and signs that stand for another letter.
			composed := unicode.Is(unicode.Mn, r) || r >= 0x2100 && r <= 0x214f
			if r == utf8.RuneError || r != '\n' && !unicode.IsPrint(r) || composed {
				t.Errorf("%s has %U at byte %d: write it as an escape", e.Name(), r, i)
			}
		}
	}
}
