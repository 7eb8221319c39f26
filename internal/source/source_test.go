package source_test

import (
	"io"
	"slices"
	"strconv"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/verify/checksum"
)

func TestFailed(t *testing.T) {
	t.Parallel()
	if err := source.Failed("find", "it", nil); err != nil {
		t.Errorf("of nil: %v", err)
	}
	request := &failure.RequestError{URL: "https://example.com/", Status: 503, Attempts: 3, Err: io.ErrUnexpectedEOF}
	err := source.Failed("find", "it", request)
	if e, ok := err.(*failure.Error); !ok || *e != (failure.Error{Op: "find", Subject: "it", Err: request}) {
		t.Errorf("of a request: %#v", err)
	}
	if again := source.Failed("find", "it", err); again != err {
		t.Errorf("of its own: %v", again)
	}
	inner := &failure.Error{Op: "discover services of", Subject: "host", Err: request}
	if e, ok := source.Failed("find", "it", inner).(*failure.Error); !ok || e.Err != inner {
		t.Errorf("of another operation: %#v", e)
	}
}

func TestParseHashes(t *testing.T) {
	t.Parallel()
	hashes, err := source.ParseHashes([]string{"x9:b", "h1:", "x9:a", "x9:b"})
	if want := []checksum.Hash{checksum.MustParseHash("x9:a"), checksum.MustParseHash("x9:b")}; err != nil || !slices.Equal(hashes, want) {
		t.Errorf("%v, %v, want %v", hashes, err, want)
	}
	if hashes, err := source.ParseHashes([]string{"x9:a", "nonsense"}); err == nil {
		t.Errorf("nonsense is %v", hashes)
	}
}

func TestSpellings(t *testing.T) {
	t.Parallel()
	version := func(i int) addrs.Version { return addrs.MustParseVersion(strconv.Itoa(i) + ".0.0") }
	for _, test := range [][]string{{"1.0", "1.0", "1"}, {"1.0.0", "1.0.0", "1.0"}, {"1.0.0", "1.0", "1.0.0"}, {"1.0.0", "1.0", "1.0.0", "1"}} {
		want, texts := test[0], test[1:]
		var list source.Spelling
		for i, text := range texts {
			list.Add(version(1), text, i > 0)
		}
		var all source.Spellings[int]
		all.Set(0, list)
		if got := all.Of(0, version(1)); got != want {
			t.Errorf("listed as %q, asked for as %s", texts, got)
		}
	}
	var all source.Spellings[int]
	var list source.Spelling
	list.Add(version(1), "1.0.0", false)
	if list != nil {
		t.Errorf("the canonical form is in %v", list)
	}
	list.Add(version(1), "1.0", false)
	full := source.Spelling{}
	for i := range 10_000 {
		full.Add(version(i), "v", false)
	}
	for address := range 11 { // the first ten fill all the room
		all.Set(address, full)
	}
	all.Set(1000, list)
	known := 0
	for address := range 11 {
		if all.Of(address, version(1)) == "v" {
			known++
		}
	}
	if known != 9 || all.Of(1000, version(1)) != "1.0" || all.Of(1000, version(2)) != "2.0.0" {
		t.Errorf("%d addresses are known, want 9 and the newest", known)
	}
	if all.Set(1000, nil); all.Of(1000, version(1)) != "1.0.0" {
		t.Error("what was known has not been replaced")
	}
	for i := range 10_001 {
		list.Add(version(i), "v", false)
	}
	if len(list) != 10_000 {
		t.Errorf("%d versions are known, want 10000", len(list))
	}
}
