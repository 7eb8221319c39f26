package evidence_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/internal/evidence"
	"github.com/tofureg/tofureg/verify"
)

var key = evidence.Key{Sums: "s", Signature: "g", Via: "v"}

// fetcher returns documents with this text and counts its calls.
type fetcher struct {
	text  string
	err   error
	takes time.Duration
	calls int
}

func (f *fetcher) fetch(context.Context) (verify.Evidence, error) {
	f.calls++
	time.Sleep(f.takes)
	return verify.Evidence{Sums: []byte(f.text), Signature: []byte("!")}, f.err
}

// get asks for the documents of key, which must be those with this text.
func get(t *testing.T, c *evidence.Cache, key evidence.Key, f *fetcher, want string) {
	t.Helper()
	ev, err := c.Get(t.Context(), key, verify.Evidence{Filename: want}, f.fetch)
	if err != nil || string(ev.Sums) != want || string(ev.Signature) != "!" || ev.Filename != want {
		t.Errorf("Get(%v) = %q, %q for %q, %v; want %q for the package asked for", key, ev.Sums, ev.Signature, ev.Filename, err, want)
	}
}

// TestOneFetch: callers at the same time share one fetch, and each gets a copy of its own.
func TestOneFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, f := &evidence.Cache{Lifetime: time.Hour, Bytes: 100}, &fetcher{text: "a", takes: time.Second}
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				ev, err := c.Get(t.Context(), key, verify.Evidence{}, f.fetch)
				if err != nil || string(ev.Sums) != "a" || string(ev.Signature) != "!" {
					t.Errorf("Get = %q, %q, %v; want a and !", ev.Sums, ev.Signature, err)
					return
				}
				ev.Sums[0], ev.Signature[0] = 'x', 'x'
			})
		}
		all.Wait()
		if get(t, c, key, f, "a"); f.calls != 1 {
			t.Errorf("%d fetches, want 1", f.calls)
		}
	})
}

// TestLifetime: documents are used until their lifetime has passed.
func TestLifetime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, f := &evidence.Cache{Lifetime: time.Hour, Bytes: 100}, &fetcher{text: "a"}
		for i, wait := range []time.Duration{0, time.Hour - 1, 1} {
			time.Sleep(wait)
			get(t, c, key, f, "a")
			if want := 1 + i/2; f.calls != want {
				t.Errorf("%d fetches at the %d. time, want %d", f.calls, i, want)
			}
		}
	})
}

// TestBytes: documents of the maximum size are cached, and larger ones are not. A new one evicts others.
func TestBytes(t *testing.T) {
	t.Parallel()
	const around = len("sgv!") // the texts of the key, and the signature
	for n, calls := range map[int]int{20: 1, 21: 2} {
		c, f := &evidence.Cache{Lifetime: time.Hour, Bytes: int64(20 + around)}, &fetcher{text: strings.Repeat("a", n)}
		for range 2 {
			get(t, c, key, f, f.text)
		}
		if f.calls != calls {
			t.Errorf("%d fetches of %d bytes with a maximum of 20, want %d", f.calls, n, calls)
		}
	}
	c, f := &evidence.Cache{Lifetime: time.Hour, Bytes: 100}, &fetcher{text: strings.Repeat("a", 20)}
	for i := range 50 {
		get(t, c, evidence.Key{Sums: fmt.Sprint(i)}, f, f.text)
	}
	if get(t, c, evidence.Key{Sums: "49"}, f, f.text); f.calls != 50 {
		t.Errorf("%d fetches, want 50: the newest documents stay", f.calls)
	}
	for i := range 50 {
		get(t, c, evidence.Key{Sums: fmt.Sprint(i)}, f, f.text)
	}
	if f.calls < 50+45 {
		t.Errorf("%d fetches, want at least 95: at most four documents of 22 bytes fit in 100", f.calls)
	}
}

// TestFailureIsNotCached: neither a failed fetch is kept nor documents that are not accepted, which the caller gets.
func TestFailureIsNotCached(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	c := &evidence.Cache{Lifetime: time.Hour, Bytes: 100, Accept: func(ev verify.Evidence) bool { return string(ev.Sums) != "bad" }}
	if ev, err := c.Get(t.Context(), key, verify.Evidence{}, (&fetcher{text: "a", err: broken}).fetch); !errors.Is(err, broken) || ev.Sums != nil {
		t.Errorf("Get = %q, %v; want the error of fetch", ev.Sums, err)
	}
	for _, text := range []string{"bad", "good"} {
		get(t, c, key, &fetcher{text: text}, text)
	}
	unused := &fetcher{text: "unused"}
	ev, err := c.Get(t.Context(), key, verify.Evidence{}, unused.fetch)
	if err != nil || string(ev.Sums) != "good" || unused.calls > 0 {
		t.Errorf("Get = %q, %v after %d fetches; want the accepted documents from the cache", ev.Sums, err, unused.calls)
	}
}

// TestMissAtTheEndOfAnotherFetch: a caller that finds nothing, just before the fetch of another caller ends, gets what
// that one has cached.
func TestMissAtTheEndOfAnotherFetch(t *testing.T) {
	t.Parallel()
	c := &evidence.Cache{Lifetime: time.Hour, Bytes: 100}
	other, late := &fetcher{text: "new"}, &fetcher{text: "new"}
	missed := false
	c.Accept = func(ev verify.Evidence) bool {
		if ev.Filename == "new" && string(ev.Sums) == "old" && !missed {
			missed = true
			get(t, c, key, other, "new") // ends between the first look of the late caller and its fetch
		}
		return string(ev.Sums) == ev.Filename
	}
	get(t, c, key, &fetcher{text: "old"}, "old")
	get(t, c, key, late, "new")
	if !missed || other.calls != 1 || late.calls != 0 {
		t.Errorf("missed: %t, fetches: %d by the other caller and %d by the late one; want 1 and 0", missed, other.calls, late.calls)
	}
}
