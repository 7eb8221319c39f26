package source_test

import (
	"io"
	"slices"
	"testing"

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
