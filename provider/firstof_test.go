package provider_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// timeoutError is a timeout of the network.
type timeoutError struct{}

func (timeoutError) Error() string        { return "no answer within 10s" }
func (timeoutError) Timeout() bool        { return true }
func (timeoutError) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// request returns the error of a request, with a wrapped cause.
func request(status, attempts int, cause error) error {
	return &provider.Error{Op: "find", Subject: "x", Err: &failure.RequestError{URL: "https://a.example.com/", Status: status, Attempts: attempts, Err: fmt.Errorf("asking: %w", cause)}}
}

// TestFirstOfFailsOver: the next source is asked after a fault only.
func TestFirstOfFailsOver(t *testing.T) {
	t.Parallel()
	other := errors.New("other")
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for name, test := range map[string]struct {
		err  error
		over bool
	}{
		"500":                      {request(500, 3, other), true},
		"501":                      {request(501, 1, other), true},
		"502":                      {request(502, 3, other), true},
		"503":                      {request(503, 3, other), true},
		"429":                      {request(429, 3, other), true},
		"408":                      {request(408, 3, other), true},
		"refused connection":       {request(0, 3, refused), true},
		"no certificate":           {request(0, 1, other), true},
		"broken document":          {request(200, 3, io.ErrUnexpectedEOF), true},
		"reset within a document":  {request(200, 3, syscall.ECONNRESET), true},
		"timeout":                  {request(0, 3, timeoutError{}), true},
		"timeout within":           {request(200, 3, timeoutError{}), true},
		"no time left for a retry": {request(503, 1, fmt.Errorf("%w: the next attempt would be too late", context.DeadlineExceeded)), true},
		"unreadable directory":     {&provider.Error{Op: "find", Subject: "x", Err: &fs.PathError{Op: "open", Path: "dir", Err: syscall.EIO}}, true},
		"bare timeout":             {timeoutError{}, true},

		"not found":         {request(404, 1, provider.ErrNotFound), false},
		"no version":        {request(404, 1, provider.ErrNoVersion), false},
		"no platform":       {request(200, 1, provider.ErrNoPlatform), false},
		"500 for a version": {request(500, 3, provider.ErrNoVersion), false},
		"no protocol":       {request(200, 1, provider.ErrProtocol), false},
		"unauthorised":      {request(401, 1, provider.ErrUnauthorized), false},
		"forbidden":         {request(403, 1, provider.ErrUnauthorized), false},
		"insecure":          {request(302, 1, provider.ErrInsecure), false},
		"too large":         {request(200, 1, failure.ErrTooLarge), false},
		"other status":      {request(418, 1, other), false},
		"unusable answer":   {request(200, 1, other), false},
		"refused redirect":  {request(302, 1, other), false},
		"helper fails":      {request(0, 0, &fs.PathError{Op: "exec", Path: "helper", Err: syscall.ENOENT}), false},
		"vetoed host":       {request(0, 0, other), false},
		"verification":      {verify.ErrUnsigned, false},
		"any other":         {other, false},
		"end of the call":   {context.Canceled, false},
		"its deadline":      {context.DeadlineExceeded, false},
		"deadline within":   {request(200, 1, context.DeadlineExceeded), false},
	} {
		a, b := &stub{name: "a", err: test.err}, &stub{name: "b", versions: list("1.0.0 - -")}
		var p skipped
		src := &provider.FirstOf{Sources: sources(a, b), Skipped: p.add}
		if provider.IsFault(test.err) != test.over {
			t.Errorf("%s: IsFault(%v) is not %v", name, test.err, test.over)
		}
		pkg, findErr := src.ProviderPackage(t.Context(), demo, version("1.0.0"), linux)
		versions, listErr := src.ProviderVersions(t.Context(), demo)
		if !test.over {
			for _, err := range []error{findErr, listErr} {
				failed, ok := errors.AsType[*provider.SourceError](err)
				if !ok || failed.Source != "a" || !errors.Is(err, test.err) || b.lists.Load()+b.finds.Load() != 0 || p != nil {
					t.Errorf("%s: %v, skipped %v", name, err, p)
				}
			}
			continue
		}
		if findErr != nil || listErr != nil || pkg.Via != "b" || len(versions.List) != 1 || !slices.Equal(p, skipped{"a: fault", "a: fault"}) {
			t.Errorf("%s: %v, %v, %v, skipped %v", name, pkg, findErr, listErr, p)
		}
	}
}

// TestFirstOfStays: after the first answer no other source is asked.
func TestFirstOfStays(t *testing.T) {
	t.Parallel()
	a := &stub{name: "a", versions: list("1.0.0 - -")}
	b := &stub{name: "b", versions: list("2.0.0 - -")}
	src := &provider.FirstOf{Sources: sources(a, b)}
	if v, err := src.ProviderVersions(t.Context(), demo); err != nil || len(v.List) != 1 || b.lists.Load() != 0 {
		t.Errorf("ProviderVersions returned %v, %v and asked the second source %d times; want the list of the first", v, err, b.lists.Load())
	}
	// The second source has the version, but must not add it to the first.
	if _, err := src.ProviderPackage(t.Context(), demo, version("2.0.0"), linux); !errors.Is(err, provider.ErrNoVersion) || b.finds.Load() != 0 {
		t.Errorf("ProviderPackage returned %v and asked the second source %d times, want ErrNoVersion of the first", err, b.finds.Load())
	}
}

// TestFirstOfAllFail: the error is the first fault, lists all, and is not "not found".
func TestFirstOfAllFail(t *testing.T) {
	t.Parallel()
	down := outage()
	src := &provider.FirstOf{Sources: []provider.NamedSource{
		{Name: "out", Source: &stub{name: "out"}, Exclude: patterns("*/*/*")},
		{Name: "a", Source: &stub{name: "a", err: down}},
		{Name: "b", Source: &stub{name: "b", err: timeoutError{}}},
	}}
	_, err := src.ProviderVersions(t.Context(), demo)
	wantError(t, err)
	e, _ := errors.AsType[*failure.RequestError](err)
	none, ok := errors.AsType[*provider.NoSourceError](err)
	if !ok || len(none.Skipped) != 3 || e == nil || e.Status != 503 || !errors.Is(err, down) || errors.Is(err, provider.ErrNotFound) {
		t.Errorf("ProviderVersions returned %v with the request %+v, want the first fault and three sources", err, e)
	}
	for _, text := range []string{
		"list versions of registry.opentofu.org/acme/demo: no source answers: ",
		`"out": excluded by the patterns of the source; "a": https://down.example.com/: HTTP status 503: service unavailable (3 attempts); "b": `,
	} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%s, want %q in it", err, text)
		}
	}
	// An outer FirstOf treats that as a fault, too.
	backup := &stub{name: "backup", versions: list("1.0.0 - -")}
	outer := &provider.FirstOf{Sources: append([]provider.NamedSource{{Name: "inner", Source: src}}, sources(backup)...)}
	if pkg, err := outer.ProviderPackage(t.Context(), demo, version("1.0.0"), linux); err != nil || pkg.Via != "backup" {
		t.Errorf("ProviderPackage returned %v, %v, want the package of backup", pkg, err)
	}
}

func TestFirstOfNoMethod(t *testing.T) {
	t.Parallel()
	for _, list := range [][]provider.NamedSource{nil, {{Name: "out", Source: &stub{name: "out"}, Include: patterns("example.com/*/*")}}} {
		_, err := (&provider.FirstOf{Sources: list}).ProviderPackage(t.Context(), demo, version("1.0.0"), linux)
		if wantError(t, err); !errors.Is(err, provider.ErrNotFound) || errors.Is(err, provider.ErrExcluded) != (list != nil) {
			t.Errorf("ProviderPackage returned %v, want ErrNotFound", err)
		}
	}
}
