package doccache_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/transport/doccache"
)

// frame returns a file with the correct checksum.
func frame(rest string) []byte { return fmt.Appendf(nil, "%x\n%s", sha256.Sum256([]byte(rest)), rest) }

// badFiles have an invalid head.
var badFiles = []string{
	``, `null`, `[]`, `{}`, `{"status":200}`, `{"status":1e99,"header":{}}`, `{"status":200,"header":[]}`, strings.Repeat("[", 10_000),
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	const good = `{"status":200,"header":{"Etag":["a"]}}`
	if _, err := doccache.Decode(frame(good)); err != nil {
		t.Errorf("Decode(%s): %v", good, err)
	}
	for _, rest := range badFiles {
		if _, err := doccache.Decode(frame(rest + "\nx")); err == nil {
			t.Errorf("Decode(%.80s) succeeded, want an error", rest)
		}
	}
}

// FuzzDecode decodes files, also with a correct checksum. Either Decode fails, or encoding and
// decoding again gives the same file.
func FuzzDecode(f *testing.F) {
	at := time.Unix(1_000_000_000, 5)
	for _, body := range []string{"", `{}`, strings.Repeat("x", 1000)} {
		file := must.Get(doccache.Encode(http.StatusOK, headers("Etag", `"a"`, "Cache-Control", "max-age=60"), at, at.Add(1), []byte(body)))(f)
		f.Add(file)
		f.Add(file[:len(file)/2])
	}
	for _, rest := range badFiles {
		f.Add([]byte(rest + "\nx"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, file := range [][]byte{data, frame(string(data))} {
			again, err := doccache.Decode(file)
			if err != nil {
				continue
			}
			twice, err := doccache.Decode(again)
			if err != nil || !bytes.Equal(again, twice) {
				t.Errorf("%q is encoded as %q, and then as %q, %v", file, again, twice, err)
			}
		}
	})
}

// TestEncodeLimits: the largest document and the largest head can be encoded and decoded. With one
// more byte, Encode fails.
func TestEncodeLimits(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_000_000_000, 0).UTC()
	encode := func(tag, size int) ([]byte, error) {
		return doccache.Encode(http.StatusOK, headers("Etag", strings.Repeat("x", tag)), at, at, make([]byte, size))
	}
	short := must.Get(encode(1, 0))(t)
	most := doccache.MaxHead - (len(short) - 2*sha256.Size - 1) + 1
	for _, test := range []struct {
		tag, size int
		fits      bool
	}{{most, doccache.MaxDocument, true}, {most + 1, 1, false}, {1, doccache.MaxDocument + 1, false}} {
		file, err := encode(test.tag, test.size)
		if (err == nil) != test.fits {
			t.Errorf("Encode of a tag of %d and a body of %d bytes: %v, want success %v", test.tag, test.size, err, test.fits)
		}
		if err == nil {
			if _, err := doccache.Decode(file); err != nil {
				t.Errorf("Decode of a tag of %d and a body of %d bytes: %v", test.tag, test.size, err)
			}
		}
	}
}

// FuzzDirectives: no header gives a negative time.
func FuzzDirectives(f *testing.F) {
	for _, s := range []string{
		"", "max-age=60", `private="a, b", max-age="6\0", no-store`, "max-stale", "max-age=,", ",,=,", `a="`, `a="\`, "max-age=99999999999999999999",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, d := range doccache.Directives(http.Header{"Cache-Control": {s, s}}) {
			if d < -1 {
				t.Errorf("%q means %v", s, d)
			}
		}
	})
}

// FuzzAnswer: for all headers, a cached answer is the answer of the server.
func FuzzAnswer(f *testing.F) {
	f.Add("max-age=60", "Accept", `"a"`, date(0), "5", "/x", "./x?y", `{}`, uint16(200))
	f.Add("no-cache", "*", "W/", "0", "-1", "http://x", "git::https://u:p@h/x?a=b#c", `[`, uint16(204))
	f.Add("stale-if-error=9", ",,", "", "x", "99999999999", "%", "", "", uint16(302))
	dir := f.TempDir() // to make another key each time takes long
	f.Fuzz(func(t *testing.T, control, vary, tag, expires, age, location, get, body string, status uint16) {
		h := http.Header{
			"Content-Type": {"application/json"}, "Cache-Control": {control}, "Vary": {vary}, "Etag": {tag},
			"Expires": {expires}, "Age": {age}, "Location": {location}, "X-Terraform-Get": {get},
		}
		o := answers(answer{int(status), h.Clone(), body})
		for _, path := range entries(t, dir) {
			must.Do(t, os.Remove(path))
		}
		for _, tr := range []*doccache.Transport{{Base: o, Dir: dir}, {Base: o, Dir: dir}, {Base: o, Dir: dir, Offline: true}} {
			resp, err := tr.RoundTrip(request(t, doc))
			if errors.Is(err, doccache.ErrOffline) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			must.Get(got.ReadFrom(resp.Body))(t)
			resp.Body.Close()
			if resp.StatusCode != int(status) || got.String() != body && status/100 == 2 && status != 204 {
				t.Errorf("status %d with %q, want %d with %q", resp.StatusCode, got.String(), status, body)
			}
		}
	})
}
