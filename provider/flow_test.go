package provider_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// hang waits until ctx ends.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestFirstFailureStopsTheOther: the first failure cancels the other request and is returned.
func TestFirstFailureStopsTheOther(t *testing.T) {
	t.Parallel()
	cause := errors.New("the cause")
	t.Run("evidence fails", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			path := target(t)
			src := &fake{
				open: func(ctx context.Context, _ int) (*provider.Body, error) {
					return body(readerFunc(func([]byte) (int, error) { return 0, hang(ctx) })), nil
				},
				evidence: func(context.Context, *provider.Package) (verify.Evidence, error) {
					time.Sleep(time.Second)
					return verify.Evidence{}, cause
				},
			}
			_, err := provider.Download(t.Context(), src, promising(packageOf(nil)), path, provider.Options{})
			if !errors.Is(err, cause) || errors.Is(err, context.Canceled) {
				t.Errorf("%v, want the cause and no cancellation", err)
			}
			wantFile(t, path, nil)
		})
	})
	t.Run("archive fails", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			src := &fake{
				open: func(context.Context, int) (*provider.Body, error) {
					time.Sleep(time.Second)
					return nil, cause
				},
				evidence: func(ctx context.Context, _ *provider.Package) (verify.Evidence, error) {
					return verify.Evidence{}, hang(ctx)
				},
			}
			_, err := provider.Download(t.Context(), src, promising(packageOf(nil)), target(t), provider.Options{})
			if !errors.Is(err, cause) || errors.Is(err, context.Canceled) {
				t.Errorf("%v, want the cause and no cancellation", err)
			}
		})
	})
}

func TestDownloadCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		path := target(t)
		src := &fake{
			open: func(ctx context.Context, _ int) (*provider.Body, error) {
				return body(io.MultiReader(bytes.NewReader([]byte("some")), readerFunc(func([]byte) (int, error) { return 0, hang(ctx) }))), nil
			},
			evidence: func(ctx context.Context, _ *provider.Package) (verify.Evidence, error) {
				return verify.Evidence{}, hang(ctx)
			},
		}
		begin := time.Now()
		_, err := provider.Download(ctx, src, promising(packageOf(nil)), path, provider.Options{})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want DeadlineExceeded", err)
		}
		if took := time.Since(begin); took != time.Minute {
			t.Errorf("took %v, want a minute", took)
		}
		wantFile(t, path, nil)
	})
}

// TestCancelBeforeTheVerdict: hashing the content ends with the context, too.
func TestCancelBeforeTheVerdict(t *testing.T) {
	t.Parallel()
	for name, content := range map[string][]byte{"archive": archive(t), "no archive": []byte("no archive")} {
		ctx, cancel := context.WithCancel(t.Context())
		o := provider.Options{
			Policy: verify.Policy{Accept: []checksum.Hash{checksum.MustParseHash("h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")}},
			Progress: func(e provider.Event) {
				if e.Bytes > 0 && e.Bytes == e.Total {
					cancel() // all has arrived
				}
			},
		}
		path := target(t)
		_, err := provider.Download(ctx, serve(content), packageOf(content), path, o)
		if !errors.Is(err, context.Canceled) || errors.Is(err, checksum.ErrArchive) || errors.Is(err, verify.ErrNotAccepted) {
			t.Errorf("%s: %v, want Canceled and no verdict", name, err)
		}
		wantFile(t, path, nil)
	}
}

// TestCancelBetweenReads: the transfer ends even if the source ignores the context.
func TestCancelBetweenReads(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var reads int
	src := &fake{open: func(context.Context, int) (*provider.Body, error) {
		return body(readerFunc(func(p []byte) (int, error) {
			if reads++; reads == 10 {
				cancel()
			}
			return 1, nil
		})), nil
	}}
	_, err := provider.Download(ctx, src, packageOf(nil), target(t), accepting(nil))
	if !errors.Is(err, context.Canceled) || reads != 10 {
		t.Errorf("%v after %d reads, want Canceled after 10", err, reads)
	}
}

// TestEvidenceBesideArchive: evidence and archive take two seconds each, and two seconds
// together.
func TestEvidenceBesideArchive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		content := archive(t)
		src := &fake{
			open: func(context.Context, int) (*provider.Body, error) {
				time.Sleep(2 * time.Second)
				return body(bytes.NewReader(content)), nil
			},
			evidence: func(_ context.Context, pkg *provider.Package) (verify.Evidence, error) {
				time.Sleep(2 * time.Second)
				return pkg.Evidence(), nil
			},
		}
		begin := time.Now()
		if _, err := provider.Download(t.Context(), src, promising(packageOf(content)), target(t), provider.Options{}); !errors.Is(err, verify.ErrUnsigned) {
			t.Errorf("Download returned %v, want ErrUnsigned", err)
		}
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("took %v, want 2s", took)
		}
	})
}

// TestProgress: 100,000 small reads in 100 seconds cause about 1,000 calls.
func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		content := bytes.Repeat([]byte("content "), 12_500)
		rest := bytes.NewReader(content)
		var resumes atomic.Int32
		src := &fake{open: func(context.Context, int) (*provider.Body, error) {
			b := body(readerFunc(func(p []byte) (int, error) {
				time.Sleep(time.Millisecond)
				if rest.Len() == len(content)/2 {
					resumes.Store(1)
				}
				return rest.Read(p[:1])
			}))
			b.Size, b.Resumes = int64(len(content)), func() int { return int(resumes.Load()) }
			return b, nil
		}}
		var events []provider.Event
		var inside atomic.Int32
		o := accepting(content)
		o.Progress = func(e provider.Event) {
			if inside.Add(1) != 1 {
				t.Error("two calls at a time")
			}
			events = append(events, e)
			inside.Add(-1)
		}
		must(provider.Download(t.Context(), src, packageOf(content), target(t), o))(t)
		if len(events) < 900 || len(events) > 1100 {
			t.Errorf("%d events, want about 1000", len(events))
		}
		checkEvents(t, events, int64(len(content)))
	})
}

// checkEvents checks the events of a download that resumed once.
func checkEvents(t *testing.T, events []provider.Event, size int64) {
	t.Helper()
	var last int64
	kinds := map[provider.EventKind]int{}
	for _, e := range events {
		kinds[e.Kind]++
		if e.Bytes < last || e.Total != size {
			t.Errorf("bytes %d of %d after %d", e.Bytes, e.Total, last)
		}
		if e.Provider != demo || e.Version != version("1.2.3") || e.Platform != linux || e.Err != nil {
			t.Errorf("event %v is not about the package", e)
		}
		last = e.Bytes
	}
	if first := events[0]; first.Kind != provider.EventBytes || first.Bytes != 0 {
		t.Errorf("the first event is %v", first)
	}
	end := events[len(events)-2:]
	if end[0].Kind != provider.EventBytes || end[0].Bytes != size || end[1].Kind != provider.EventVerified {
		t.Errorf("the last events are %v", end)
	}
	if kinds[provider.EventResumed] != 1 || kinds[provider.EventRestarted] != 0 || kinds[provider.EventVerified] != 1 {
		t.Errorf("kinds %v", kinds)
	}
}

// TestProgressPanic: a callback that panics leaves no file behind.
func TestProgressPanic(t *testing.T) {
	t.Parallel()
	content := archive(t)
	path, o := target(t), accepting(content)
	o.Progress = func(provider.Event) { panic("callback") }
	func() {
		defer func() {
			if recover() != "callback" {
				t.Error("the panic was swallowed")
			}
		}()
		provider.Download(t.Context(), serve(content), packageOf(content), path, o)
	}()
	wantFile(t, path, nil)
}
