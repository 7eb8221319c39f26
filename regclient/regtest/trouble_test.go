package regtest_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/regclient/regtest"
)

// TestParts checks the right answer to a request for a part of a file, and the wrong
// ones.
func TestParts(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	rel := reg.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: []string{"linux_amd64"}, Size: 10_000})
	u := archiveURL(t, reg)
	whole := content(t, rel, "linux_amd64")
	size := len(whole)
	label := func(first, total int) string { return fmt.Sprintf("bytes %d-%d/%d", first, size-1, total) }
	for _, test := range []struct {
		part  regtest.Part
		from  int
		first int // byte of the body
		code  int
		label string
	}{
		{regtest.RightPart, 5000, 5000, 206, label(5000, size)},
		{regtest.Whole, 5000, 0, 200, ""},
		{regtest.Overlap, 5000, 4000, 206, label(4000, size)},
		{regtest.Overlap, 300, 0, 206, label(0, size)},
		{regtest.Gap, 5000, 6000, 206, label(6000, size)},
		{regtest.Gap, size - 300, size - 1, 206, label(size-1, size)},
		{regtest.OtherTotal, 5000, 5000, 206, label(5000, size+1)},
		{regtest.Unlabelled, 5000, 5000, 206, ""},
		{regtest.Unsatisfiable, 5000, size, 416, fmt.Sprintf("bytes */%d", size)},
	} {
		reg.ClearFaults()
		reg.AddFault(regtest.Fault{Part: test.part})
		a := get(t, reg.Client(), u, "Range", fmt.Sprintf("bytes=%d-", test.from))
		if a.StatusCode != test.code || a.Header.Get("Content-Range") != test.label || !bytes.Equal(a.body, whole[test.first:]) || a.ContentLength != int64(len(a.body)) {
			t.Errorf("%d from %d: %s, %q, %d of %d bytes", test.part, test.from, a.Status, a.Header.Get("Content-Range"), len(a.body), a.ContentLength)
		}
		if a := get(t, reg.Client(), u); a.StatusCode != 200 || !bytes.Equal(a.body, whole) {
			t.Errorf("%d: whoever wants the whole gets %s", test.part, a.Status)
		}
		if a := get(t, reg.Client(), listURL, "Range", "bytes=5-"); a.StatusCode != 200 {
			t.Errorf("%d: a document: %s", test.part, a.Status)
		}
	}
	reg.ClearFaults()
	reg.AddFault(regtest.Fault{Part: regtest.Multipart})
	a := get(t, reg.Client(), u, "Range", "bytes=5000-")
	if a.StatusCode != 206 || !strings.HasPrefix(a.Header.Get("Content-Type"), "multipart/byteranges; boundary=") ||
		!bytes.Contains(a.body, whole[5000:]) || !bytes.Contains(a.body, []byte(label(5000, size))) || a.ContentLength != int64(len(a.body)) {
		t.Errorf("%s %v", a.Status, a.Header)
	}
}

func TestPadTo(t *testing.T) {
	t.Parallel()
	reg, _ := start()
	plain := get(t, reg.Client(), listURL)
	for _, size := range []int64{1 << 20, int64(len(plain.body)), 1, -1} {
		reg.ClearFaults()
		reg.AddFault(regtest.Fault{PadTo: size})
		a := get(t, reg.Client(), listURL)
		if want := max(size, int64(len(plain.body))); a.ContentLength != want || int64(len(a.body)) != want || !bytes.Equal(bytes.TrimRight(a.body, " "), plain.body) {
			t.Errorf("%d: %d bytes, said to be %d", size, len(a.body), a.ContentLength)
		}
		object(t, reg.Client(), listURL)
	}
	reg.ClearFaults()
	reg.AddFault(regtest.Fault{Status: 500, PadTo: 5000})
	if a := get(t, reg.Client(), listURL); len(a.body) != 5000 || a.StatusCode != 500 {
		t.Errorf("an error of %d bytes", len(a.body))
	}
}

// TestGzip checks that the body is compressed for those who accept it, in process as
// over a connection.
func TestGzip(t *testing.T) {
	t.Parallel()
	reg, _ := start()
	plain := get(t, reg.Client(), listURL)
	server, err := reg.ServeTLS()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	reg.AddFault(regtest.Fault{Gzip: true, PadTo: 1 << 20})
	for name, client := range map[string]*http.Client{"in process": reg.Client(), "over TLS": server.Client()} {
		reg.Reset()
		a := get(t, client, listURL)
		if !a.Uncompressed || a.ContentLength != -1 || len(a.body) != 1<<20 || a.Header.Get("Content-Encoding") != "" || !bytes.HasPrefix(a.body, plain.body) {
			t.Errorf("%s: %d bytes, %+v", name, len(a.body), a.Header)
		}
		if sent := reg.Requests()[0].Sent; sent == 0 || sent > 10_000 {
			t.Errorf("%s: %d bytes were sent", name, sent)
		}
		if a := get(t, client, listURL, "Accept-Encoding", "identity"); a.Uncompressed || len(a.body) != 1<<20 {
			t.Errorf("%s: %d bytes for those who do not accept it", name, len(a.body))
		}
		if a := get(t, client, listURL, "Accept-Encoding", "gzip"); a.Uncompressed || a.Header.Get("Content-Encoding") != "gzip" || len(a.body) > 10_000 {
			t.Errorf("%s: %d bytes for those who ask for it", name, len(a.body))
		}
		if a := get(t, client, archiveURL(t, reg), "Range", "bytes=5-"); a.StatusCode != 206 || a.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: a part: %s, %v", name, a.Status, a.Header)
		}
	}
	reg.ClearFaults()
	reg.AddFault(regtest.Fault{Raw: []byte("no gzip"), Header: http.Header{"Content-Encoding": {"gzip"}}})
	if a := get(t, reg.Client(), listURL); a.err == nil {
		t.Errorf("what is not compressed has become %q", a.body)
	}
}

func TestEvery(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		skip, every, first int
		want               []int // of twenty requests, from 1
	}{
		{0, 5, 0, []int{5, 10, 15, 20}},
		{3, 5, 0, []int{8, 13, 18}},
		{0, 5, 2, []int{5, 10}},
		{3, 5, 1, []int{8}},
		{17, 1, 0, []int{18, 19, 20}},
		{17, 0, 2, []int{18, 19}},
	} {
		reg, _ := start()
		reg.AddFault(regtest.Fault{Skip: test.skip, Every: test.every, First: test.first, Status: 500})
		var got []int
		for i := range 20 {
			if get(t, reg.Client(), listURL).StatusCode == 500 {
				got = append(got, i+1)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%+v: requests %v", test, got)
		}
	}
}

// TestSent checks that the record tells how much was sent.
func TestSent(t *testing.T) {
	t.Parallel()
	reg, rel := start()
	size := int64(len(content(t, rel, "linux_amd64")))
	u := archiveURL(t, reg)
	reg.Reset()
	get(t, reg.Client(), u)
	get(t, reg.Client(), u, "Range", "bytes=10-")
	resp, err := reg.Client().Get(u)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, 7)); err != nil {
		t.Error(err)
	}
	_ = resp.Body.Close()
	reg.AddFault(regtest.Fault{Break: regtest.Cut, After: 9})
	get(t, reg.Client(), u)
	var got []int64
	for _, q := range reg.Requests() {
		got = append(got, q.Sent)
	}
	if want := []int64{size, size - 10, 7, 9}; !slices.Equal(got, want) {
		t.Errorf("sent %v, want %v", got, want)
	}
}
