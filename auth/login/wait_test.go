package login_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/regclient/regtest"
)

// TestOpenFails checks that an error of Open ends the login, without the URL in its text.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	errNone := errors.New("no browser")
	c := client(registry(regtest.Login{}))
	var page string
	c.Open = func(u string) error {
		page = u
		return errors.Join(errNone, &url.Error{Op: "open", URL: u, Err: errors.New(u)})
	}
	_, err := c.Login(t.Context(), host)
	wantError(t, err)
	if !errors.Is(err, errNone) || strings.Contains(err.Error(), query(t, page).Get("state")) || !strings.Contains(err.Error(), "no browser") {
		t.Errorf("%v", err)
	}
}

// TestOpenTakesItsTime checks that Login does not wait for Open, and ignores its late error.
func TestOpenTakesItsTime(t *testing.T) {
	t.Parallel()
	reg, release := registry(regtest.Login{}), make(chan struct{})
	c := client(reg)
	c.Open = func(page string) error {
		_ = reg.Browse(page)
		<-release
		return errors.New("too late")
	}
	_, err := c.Login(t.Context(), host)
	close(release)
	if err != nil {
		t.Error(err)
	}
}

// TestNobodyAnswers checks that the wait ends with Timeout or the context, and that the error
// mentions refused requests.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	errCause := errors.New("the program ends")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	deadline, stop := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer stop()
	for name, test := range map[string]struct {
		ctx     context.Context
		timeout time.Duration
		is      []error
		text    string
	}{
		"timeout":  {t.Context(), time.Millisecond, []error{os.ErrDeadlineExceeded}, "no redirect of the browser within 1ms"},
		"cancel":   {ctx, -1, []error{context.Canceled, errCause}, "the program ends"},
		"deadline": {deadline, 0, []error{context.DeadlineExceeded}, "deadline"},
	} {
		c := client(registry(regtest.Login{}))
		c.Timeout = test.timeout
		c.Open = func(page string) error {
			if name == "cancel" {
				asked := query(t, page)
				for _, state := range []string{"x", "y"} {
					if _, err := (visit{"GET", asked.Get("redirect_uri") + "?code=abc&state=" + state, ""}).send(); err != nil {
						t.Error(err)
					}
				}
				cancel(errCause)
			}
			return nil
		}
		_, err := c.Login(test.ctx, host)
		wantError(t, err)
		for _, want := range test.is {
			if !errors.Is(err, want) {
				t.Errorf("%s: %v is not %v", name, err, want)
			}
		}
		if !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), "of another login: 2)") != (name == "cancel") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestExchangeIsCancelled cancels the context during the request to the token endpoint.
func TestExchangeIsCancelled(t *testing.T) {
	t.Parallel()
	errCause := errors.New("the program ends")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	reg := registry(regtest.Login{})
	c := client(reg)
	c.Transport.HTTP.Transport = roundTripper(func(req *http.Request) (*http.Response, error) {
		if req.Method == http.MethodPost {
			cancel(errCause)
			<-req.Context().Done()
			return nil, req.Context().Err()
		}
		return reg.RoundTrip(req)
	})
	_, err := c.Login(ctx, host)
	if wantError(t, err); !errors.Is(err, context.Canceled) || !errors.Is(err, errCause) {
		t.Error(err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
