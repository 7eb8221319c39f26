package doccache_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/transport/doccache"
)

// frame makes a file of a head and a body.
func frame(head, body string) []byte {
	file := append([]byte("tofudoc1"), make([]byte, doccache.Overhead-12)...)
	file = binary.BigEndian.AppendUint32(file, uint32(len(head)))
	return append(append(file, head...), body...)
}

// badHeads do not fit a body of one byte, or anything at all.
var badHeads = []string{
	``, `{}`, `null`, `[]`, `{"status":200}`, `{"status":99,"size":1}`, `{"status":500,"size":1}`, `{"status":1e99,"size":1}`,
	`{"status":200,"size":2}`, `{"status":200,"size":-1}`, `{"status":200,"size":1,"header":{"Set-Cookie":["a"]}}`,
	`{"status":200,"size":1,"header":{"etag":["a"]}}`, strings.Repeat("[", 10_000),
}

// TestDecodeRefuses: neither what others have written, nor headers that we never keep.
func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	const good = `{"status":200,"size":1,"header":{"Etag":["a"]}}`
	if _, err := doccache.Decode(frame(good, "x")); err != nil {
		t.Errorf("%s: %v", good, err)
	}
	for _, head := range badHeads {
		if _, err := doccache.Decode(frame(head, "x")); err == nil {
			t.Errorf("%.80s was read", head)
		}
	}
}

// FuzzDecode reads files whose sum is right, as if somebody had the key: they are refused,
// or mean the same when they are written again.
func FuzzDecode(f *testing.F) {
	at := time.Unix(1_000_000_000, 5)
	for _, body := range []string{"", `{}`, strings.Repeat("x", 1000)} {
		file, err := doccache.Encode(http.StatusOK, headers("Etag", `"a"`, "Cache-Control", "max-age=60"), "abc", at, at.Add(1), []byte(body))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file)
		f.Add(file[:len(file)/2])
	}
	for _, head := range badHeads {
		f.Add(frame(head, "x"))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		again, err := doccache.Decode(file)
		if err != nil {
			return
		}
		twice, err := doccache.Decode(again)
		if err != nil || !bytes.Equal(again, twice) {
			t.Errorf("%q is written as %q, and then as %q, %v", file, again, twice, err)
		}
	})
}

// TestDecodeLimits: the head of a file may be as long as one that is written can be, and no
// longer.
func TestDecodeLimits(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_000_000_000, 0)
	largest := make([]byte, doccache.MaxDocument)
	file, err := doccache.Encode(http.StatusOK, headers("Etag", strings.Repeat(`"`, doccache.MaxHeader)), "", at, at, largest)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := doccache.Decode(file); err != nil {
		t.Errorf("the largest: %v", err)
	}
	if _, err := doccache.Decode(append(file, 0)); err == nil {
		t.Error("a file with a byte more was read")
	}
	if _, err := doccache.Encode(http.StatusOK, headers(), "", at, at, append(largest, 0)); err == nil {
		t.Error("a document with a byte more was written")
	}
	if _, err := doccache.Encode(http.StatusOK, headers("Etag", strings.Repeat(`"`, 2*doccache.MaxHeader)), "", at, at, nil); err == nil {
		t.Error("a head that cannot be read was written")
	}
}

// FuzzDirectives: no header makes a time negative, or takes longer than it is long.
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

// FuzzAnswer: whatever the headers of an answer are, what is kept of it is what came, and
// neither a panic nor an answer for another.
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
		o := &origin{answer: func(int, *http.Request) (*http.Response, error) {
			return reply(int(status), h.Clone(), body), nil
		}}
		for _, path := range entries(t, dir) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
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
			if _, err := got.ReadFrom(resp.Body); err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != int(status) || got.String() != body && status/100 == 2 && status != 204 {
				t.Errorf("status %d with %q, want %d with %q", resp.StatusCode, got.String(), status, body)
			}
		}
	})
}
