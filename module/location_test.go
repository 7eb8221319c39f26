package module_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"unicode"

	"github.com/tofureg/tofureg/failure"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
)

const (
	sum256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	sumMD5 = "d41d8cd98f00b204e9800998ecf8427e"
)

// parsed is a text and the location that it means.
type parsed struct {
	Text                                                     string
	Kind                                                     module.Kind
	URL, Archive, Subdir, Ref, Checksum, Tag, Digest, Getter string
}

func TestParseLocation(t *testing.T) {
	t.Parallel()
	for _, c := range casetest.Read[parsed](t, "locations.txt") {
		want := module.Location{Kind: c.Kind, URL: c.URL, Archive: c.Archive, Subdir: c.Subdir, Ref: c.Ref, Checksum: c.Checksum, Tag: c.Tag, Digest: c.Digest, Getter: c.Getter}
		got, err := module.ParseLocation(c.Text)
		if err != nil {
			t.Errorf("%s: %v", c.Text, err)
			continue
		}
		if diff := cmp.Diff(want, *got, cmpAddrs); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.Text, diff)
		}
		roundTrip(t, got)
		if strings.Contains(got.String(), "secret") {
			t.Errorf("String is %q, want no secrets", got)
		}
		var stored module.Location
		if data, err := json.Marshal(got); err != nil || json.Unmarshal(data, &stored) != nil || stored != *got {
			t.Errorf("%s: JSON %s, %v", c.Text, data, err)
		}
	}
}

var cmpAddrs = cmpopts.EquateComparable(addrs.Module{}, addrs.ModuleSource{}, addrs.Version{})

// roundTrip checks that the text of a location means the same location.
func roundTrip(t *testing.T, l *module.Location) {
	t.Helper()
	again, err := module.ParseLocation(l.Source())
	if err != nil {
		t.Fatalf("%+v: its own text %q is refused: %v", *l, l.Source(), err)
	}
	if *again != *l {
		t.Errorf("ParseLocation(%q) = %+v, want %+v", l.Source(), *again, *l)
	}
	if s := l.String(); strings.ContainsFunc(s, unicode.IsControl) || len(s) > 1100 {
		t.Errorf("String is %q, want at most 1,100 printable bytes", s)
	}
}

func TestLocationRefused(t *testing.T) {
	t.Parallel()
	for text, reason := range casetest.Pairs(t, "locations-refused.txt") {
		got, err := module.ParseLocation(text)
		e, ok := errors.AsType[*addrs.ParseError](err)
		if !ok {
			t.Errorf("%.80q: %v, %v; want a *ParseError", text, got, err)
			continue
		}
		if !strings.Contains(e.Reason, reason) || e.Kind != "module location" {
			t.Errorf("%.80q: %v, want a reason with %q", text, err, reason)
		}
		if strings.ContainsFunc(err.Error(), unicode.IsControl) || len(err.Error()) > 600 {
			t.Errorf("error text %q, want at most 600 printable bytes", err)
		}
	}
}

// jwt is a JSON Web Token, as one real server has it in its paths. A part of it is "secret".
const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJtIn0.secretsecretsecretsecret"

// TestLocationRedacted checks that the text of a location, and errors about it, contain no
// secrets.
func TestLocationRedacted(t *testing.T) {
	t.Parallel()
	for text, want := range casetest.Pairs(t, "locations-secret.txt") {
		l, err := module.ParseLocation(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for _, verb := range []string{"%v", "%s", "%+v", "%q"} {
			if got := fmt.Sprintf(verb, l) + fmt.Sprintf(verb, *l); strings.Contains(got, "secret") {
				t.Errorf("%s of %s: %s, want no secrets", verb, text, got)
			}
		}
		if l.String() != want {
			t.Errorf("%s: String is %q, want %q", text, l, want)
		}
	}
	for _, text := range []string{
		"https://user:secret@example.com:port/x?sig=secret", "git::ssh://git@example.com/x.git?sshkey=secret", "https://user:sec/ret-secret@example.com/", "user:secret@example.com:x",
		"https://user:secret@example.com/x.zip#secret?secret", "git::ssh://git:secret@example.com:acme/x.git",
		"https://example.com/" + jwt + "/x.zip?archive=rar", "//example.com/" + jwt + "/x?", strings.Repeat("a/", 95) + jwt,
		"ftp//user:secret@x", "https://user:secret@/x", "git::https://user:secret@example.com/x?ref=-secret",
	} {
		if _, err := module.ParseLocation(text); err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "sec/") {
			t.Errorf("ParseLocation(%q): error %v, want one without secrets", text, err)
		}
	}
}

func TestSuggestion(t *testing.T) {
	t.Parallel()
	_, err := module.ParseLocation("git::ssh://git@example.com:acme/vpc.git?ref=v1")
	e, ok := errors.AsType[*addrs.ParseError](err)
	if !ok || e.Suggestion != "git::git@example.com:acme/vpc.git" {
		t.Errorf("error %v, want a suggestion", err)
	}
	_, err = module.ParseLocation("git@[::1]:vpc.git") // this form has no equivalent
	if e, ok := errors.AsType[*addrs.ParseError](err); !ok || e.Suggestion != "" {
		t.Errorf("error %v, want no suggestion", err)
	}
}

func TestWithSubdir(t *testing.T) {
	t.Parallel()
	for _, test := range casetest.Read[struct{ Base, Sub, Want string }](t, "subdirs.txt") {
		l, err := module.Location{Kind: module.KindHTTP, URL: "https://example.com/x", Subdir: test.Base}.WithSubdir(test.Sub)
		if err != nil || l.Subdir != test.Want {
			t.Errorf("WithSubdir(%q) of %q: %v, %v; want %q", test.Sub, test.Base, l, err, test.Want)
		}
	}
	for _, sub := range []string{"..", "../b", "b/../../c", "/b", `b\c`, "c:", "a?b", "a\x00"} {
		if l, err := (module.Location{Subdir: "a"}).WithSubdir(sub); err == nil {
			t.Errorf("WithSubdir(%q) = %v, want an error", sub, l)
		}
	}
}

func TestResolveLocation(t *testing.T) {
	t.Parallel()
	base := parseURL(t, "https://registry.example.com/v1/modules/acme/vpc/aws/1.0.0/download?x=1")
	for answer, want := range casetest.Pairs(t, "answers-relative.txt") {
		l, err := module.ResolveLocation(base, answer)
		if err != nil || l.Source() != want {
			t.Errorf("%q: %v, %v; want %s", answer, l, err, want)
		}
	}
	for _, answer := range []string{
		"", "vpc.zip", "?x=1", "/a#b", `/a\b`, "/a\x00", "//", "/a%zz", ".\\x", "acme/vpc/aws", "/x.zip//../..", "/" + strings.Repeat("x", 20_000),
	} {
		if l, err := module.ResolveLocation(base, answer); err == nil {
			t.Errorf("ResolveLocation(%.50q) = %v, want an error", answer, l)
		}
	}
	// An absolute path is relative to the server, and never a local file.
	if l, err := module.ResolveLocation(base, "/etc/passwd"); err != nil || l.Kind != module.KindHTTP {
		t.Errorf("ResolveLocation(/etc/passwd) = %v, %v; want an http location", l, err)
	}
}

func TestDirectLocation(t *testing.T) {
	t.Parallel()
	base := parseURL(t, "https://registry.example.com/v1/acme/vpc/aws/1.0.0/download")
	for answer, want := range casetest.Pairs(t, "answers-direct.txt") {
		l, err := module.DirectLocation(base, answer)
		if err != nil || l.URL != want || !l.Direct || l.Kind != module.KindHTTP || l.Subdir != "" || l.UseRegistryCredentials {
			t.Errorf("%q: %+v, %v; want %s", answer, l, err, want)
		}
	}
	for _, answer := range []string{"", "p#x", "file:///etc/passwd", "git::https://example.com/x", "ftp://x/y", "https:x", `a\b`, "%zz"} {
		if l, err := module.DirectLocation(base, answer); err == nil {
			t.Errorf("DirectLocation(%q) = %v, want an error", answer, l)
		}
	}
}

// TestLongLocations checks the limit of 16 KiB, including the base of a relative location and
// escaped characters.
func TestLongLocations(t *testing.T) {
	t.Parallel()
	const limit = 16 << 10
	base := parseURL(t, "https://registry.example.com/v1/modules/")
	fill := func(start string, n int) string { return start + strings.Repeat("x", n-len(start)) }
	for name, parse := range map[string]func(n int) error{
		"absolute": func(n int) error {
			_, err := module.ParseLocation(fill("https://files.example.com/", n))
			return err
		},
		"of the registry": func(n int) error {
			_, err := module.DirectLocation(base, "./"+fill(base.String(), n)[len(base.String()):])
			return err
		},
		"escaped": func(n int) error { // file:///a%5B%5B…
			_, err := module.ParseLocation("/" + strings.Repeat("a", (n-8)%3) + strings.Repeat("[", (n-8)/3))
			return err
		},
		"relative and escaped": func(n int) error {
			n -= len(base.String())
			_, err := module.ResolveLocation(base, "./"+strings.Repeat("a", n%3)+strings.Repeat("<", n/3))
			return err
		},
	} {
		if err := parse(limit); err != nil {
			t.Errorf("%s of %d bytes: %.200v", name, limit, err)
		}
		if err := parse(limit + 1); err == nil || len(err.Error()) > 1000 {
			t.Errorf("%s of %d bytes: %.200v, want a short error", name, limit+1, err)
		}
	}
}

func parseURL(t testing.TB, s string) *url.URL {
	t.Helper()
	return must.Get(url.Parse(s))(t)
}

func FuzzParseLocation(f *testing.F) {
	for _, c := range casetest.Read[parsed](f, "locations.txt") {
		f.Add(c.Text)
	}
	f.Add("git::ext::sh -c x")
	f.Add("https://example.com/x.zip//a//../b?archive=zip&checksum=" + sum256)
	base := parseURL(f, "https://registry.example.com/v1/download")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := module.ParseLocation(text)
		if err != nil {
			if _, ok := errors.AsType[*addrs.ParseError](err); !ok || strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Errorf("error %q, want a printable ParseError", err)
			}
		} else {
			roundTrip(t, l)
			for elem := range strings.SplitSeq(l.Subdir, "/") {
				if elem == ".." || l.Subdir != "" && elem == "" {
					t.Errorf("Subdir %q, want a clean path in the package", l.Subdir)
				}
			}
			if strings.HasPrefix(l.Ref, "-") || l.Kind == "" || l.UseRegistryCredentials {
				t.Errorf("ParseLocation(%q) = %+v, want a kind and no option as ref", text, *l)
			}
		}
		if l, err := module.ResolveLocation(base, text); err == nil && strings.HasPrefix(strings.TrimSpace(text), "/") && l.Kind != module.KindHTTP {
			t.Errorf("ResolveLocation(%q) = %v, want an http location", text, l)
		}
	})
}

// nextOf returns the path of the location that a page names, or "".
func nextOf(t testing.TB, page io.Reader) (string, error) {
	t.Helper()
	src := &fake{open: map[string]func() (*module.Body, error){"https://example.com/m": func() (*module.Body, error) {
		return &module.Body{ReadCloser: io.NopCloser(page)}, nil
	}}}
	_, _, err := get(t, src, "https://example.com/m", module.Options{})
	if next := src.asked[len(src.asked)-1]; len(src.asked) == 2 && errors.Is(err, failure.ErrNotFound) {
		return strings.TrimPrefix(next, "open https://example.com/"), nil
	}
	if errors.Is(err, failure.ErrArchive) {
		err = nil
	}
	return "", err
}

func TestPages(t *testing.T) {
	t.Parallel()
	for page, want := range casetest.Pairs(t, "pages.txt") {
		got, err := nextOf(t, strings.NewReader(page))
		if got != want || err != nil {
			t.Errorf("%.100q: %q, %v; want %q", page, got, err, want)
		}
	}
	broken := errors.New("broken")
	if _, err := nextOf(t, io.MultiReader(strings.NewReader("<html><head>"), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("broken page: %v, want the error of the reader", err)
	}
	if got, err := nextOf(t, zeros{}); got != "" || err != nil { // only the start is read
		t.Errorf("endless page: %q, %v; want no location", got, err)
	}
}

func FuzzPage(f *testing.F) {
	f.Add(`<html><head><!-- x --><script>y</script><meta name="terraform-get" content='./a&amp;b'></head>`)
	f.Add(`<?x?><meta =><title>`)
	f.Fuzz(func(t *testing.T, page string) {
		if got, err := nextOf(t, strings.NewReader(page)); err == nil && got != "" && !strings.Contains(strings.ToLower(page), "meta") {
			t.Errorf("next location %q, but the page has no meta tag", got)
		}
	})
}
